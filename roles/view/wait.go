package view

import (
	"fmt"
	"strings"
	"time"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
)

// Wait is one event that open work waits for. The names of its fields are part of
// the interface.
type Wait struct {
	What       blackboard.WaitKind `json:"what"`            // see sett list --help
	Agent      string              `json:"agent,omitempty"` // has the next move, or has the grant or artefact that waits
	Since      time.Time           `json:"since"`
	AgeSeconds int64               `json:"age_seconds"`
	Until      time.Time           `json:"until,omitzero"`          // when the orchestrator ends the wait; absent: never
	Limit      float64             `json:"limit_seconds,omitempty"` // of a result: the agent's timeout; absent: unknown
	SubjectID  string              `json:"subject_id"`              // the claim or artefact that waits, for an answer the Question
	WorkflowID string              `json:"workflow_id"`             // empty: of a record that cannot be read
	Text       string              `json:"text"`                    // for people, in one line

	trouble string // of the agent or the orchestrator that has the next move; empty: none
	people  bool   // only people end it, though not every wait of its kind
}

// Is says whether two waits are the same one, however long they have lasted.
func (w Wait) Is(v Wait) bool {
	return w.What == v.What && w.Agent == v.Agent && w.SubjectID == v.SubjectID && w.trouble == v.trouble && w.Since.Equal(v.Since)
}

// Line is the wait for people, with its age.
func (w Wait) Line() string {
	if head, tail, ok := strings.Cut(w.Text, running); ok && w.What == blackboard.WaitResult {
		return fmt.Sprintf("%s%s (%s)%s", head, running, strings.TrimPrefix(w.Lasted(), "for "), tail)
	}
	return w.Text + ", " + w.Lasted()
}

// Brief is Line for a place where there is little room: a running tool without its claim.
func (w Wait) Brief() string {
	if w.What != blackboard.WaitResult {
		return w.Line()
	}
	head, tail, ok := strings.Cut(w.Text, running)
	if !ok {
		return w.Line()
	}
	if _, after, cut := strings.Cut(tail, words.Short(w.SubjectID)); cut {
		tail = after
	}
	return fmt.Sprintf("%s%s (%s)%s", head, running, strings.TrimPrefix(w.Lasted(), "for "), tail)
}

// Later is the wait after more time, if nothing else has changed.
func (w Wait) Later(passed time.Duration) Wait {
	w.AgeSeconds += int64(passed / time.Second)
	return w
}

const running = " is running"

// Lasted says how long the wait has lasted, and how long it may.
func (w Wait) Lasted() string {
	lasted := "for " + AgeOf(w.AgeSeconds)
	if w.Limit > 0 {
		lasted += " of " + words.Age(w.May())
	}
	return lasted
}

// May is how long the wait may last; 0: for ever, or it is not known.
func (w Wait) May() time.Duration {
	if !w.Until.IsZero() {
		return w.Until.Sub(w.Since)
	}
	return time.Duration(w.Limit * float64(time.Second))
}

// ByPerson says whether only people can end the wait.
func (w Wait) ByPerson() bool { return w.people || w.What.ByPerson() }

// Tone lets stand out the waits that a person ends, and those that nothing ends.
func (w Wait) Tone() Tone {
	switch {
	case w.trouble != "":
		return Bad
	case w.ByPerson():
		return Warn
	}
	return Plain
}

// AgeSeconds is an age for programs. Both times have to be the blackboard's: this
// machine's clock may be another.
func AgeSeconds(now, since time.Time) int64 { return int64(max(now.Sub(since), 0) / time.Second) }

// AgeOf is such an age for people.
func AgeOf(seconds int64) string { return words.Age(time.Duration(seconds) * time.Second) }

// Waits returns the waits of open work, claims first.
func (s Scene) Waits(o Open) []Wait {
	out := []Wait{}
	for _, c := range o.Claims {
		for _, w := range blackboard.Waits(c, s.policy, blackboard.Scene{Now: s.Now, Running: s.running}) {
			out = append(out, s.wait(w, s.text(w)))
		}
	}
	for _, c := range o.corrupt {
		out = append(out, s.never(blackboard.WaitDecision, c.id, o.workflow, "corrupt",
			fmt.Sprintf("claim %s has a corrupt record, which is left alone%s", words.Short(c.id), words.Because(role.Clean(c.err.Error())))))
	}
	for _, id := range o.lost {
		out = append(out, s.never(blackboard.WaitClaim, id, o.workflow, "lost",
			fmt.Sprintf("artefact %s is lost, its record is gone; cancelling its goal ends the wait", words.Short(id))))
	}
	for _, a := range o.unclaimed {
		w := blackboard.Wait{Kind: blackboard.WaitClaim, Agent: blackboard.RoleOrchestrator, Since: a.CreatedAt, SubjectID: a.ID, WorkflowID: a.WorkflowID}
		out = append(out, s.wait(w, "the orchestrator has to open a claim on "+Named(a.Artefact)))
	}
	for _, a := range o.gates {
		w := blackboard.Wait{Kind: blackboard.WaitApproval, Agent: a.ProducedByAgent, Since: a.CreatedAt, SubjectID: a.ID, WorkflowID: a.WorkflowID}
		out = append(out, s.wait(w, fmt.Sprintf("%s of %s needs approval%s", Named(a.Artefact), Maker(a.Artefact), words.Because(GistOf(&a)))))
	}
	for _, t := range o.landings {
		out = append(out, s.landing(t))
	}
	return out
}

// landing is the wait of a goal that is about to land.
func (s Scene) landing(t turn) Wait {
	l := t.goal.Landing
	branch, id := role.Clean(l.Branch), words.Short(t.goal.ID)
	var text string
	switch {
	case len(t.needs) > 0:
		text = fmt.Sprintf("goal %s waits for its turn to land, after goal %s%s", id, words.Short(t.after), t.forYou())
	case l.Trouble != "":
		text = fmt.Sprintf("goal %s does not land yet; trouble: %s; it is tried again", id, role.Clean(l.Trouble))
	case l.State == blackboard.LandingBarred:
		text = fmt.Sprintf("goal %s cannot land: %s; or sett %s", id, role.Clean(l.Reason), words.Land(id, l.Branch))
	case l.State == blackboard.LandingVerifying:
		text = fmt.Sprintf("goal %s lands on %s once Landing %s is verified", id, branch, words.Short(l.Verification))
	case t.after != "":
		text = fmt.Sprintf("goal %s waits for its turn to land, after goal %s", id, words.Short(t.after))
	default:
		text = fmt.Sprintf("the repository has to land goal %s", id)
	}
	w := blackboard.LandingWait(t.goal)
	people := l.People || len(t.needs) > 0
	if people {
		w.Agent = ""
	}
	v := s.wait(w, text)
	v.people, v.trouble = people, v.trouble+l.Trouble
	return v
}

// never is the wait of a record that nothing takes on.
func (s Scene) never(kind blackboard.WaitKind, id, workflow, trouble, text string) Wait {
	w := s.wait(blackboard.Wait{Kind: kind, Since: blackboard.IDTime(id), SubjectID: id, WorkflowID: workflow}, text)
	w.Agent, w.trouble = blackboard.RoleOrchestrator, trouble
	return w
}

// wait puts a wait into words, with the trouble of the agent or the orchestrator
// that has the next move.
func (s Scene) wait(w blackboard.Wait, text string) Wait {
	v := Wait{What: w.Kind, Agent: w.Agent, Since: w.Since, AgeSeconds: AgeSeconds(s.Now, w.Since), Until: w.Until,
		SubjectID: w.SubjectID, WorkflowID: w.WorkflowID, Text: text, Limit: w.Limit.Seconds(), trouble: w.Why}
	if s.Refusal != nil { // the move cannot be made
		v.trouble, v.Text = "no writes", "the blackboard refuses writes ("+text+")"
		return v
	}
	v.blame(s.troubleOf(w), s.Now)
	if s.Stopping && !v.ByPerson() {
		v.blame(trouble{what: "the instance is stopping"}, s.Now)
	}
	return v
}

// text names a claim's wait for people.
func (s Scene) text(w blackboard.Wait) string {
	claim, again := "claim "+words.Short(w.SubjectID), Nth(w.Attempt)
	busy := "claim " + strings.Join(words.Shorts(w.Busy), ", claim ")
	switch w.Kind {
	case blackboard.WaitBid:
		if w.Why != "" {
			return fmt.Sprintf("%s waits for its model before it bids%s, %s", w.Agent, inParentheses(w.Why), claim)
		}
		return fmt.Sprintf("%s has to bid on %s%s", w.Agent, claim, s.until(w.Until, "bid_timeout"))
	case blackboard.WaitResult:
		return fmt.Sprintf("%s%s, %s%s", w.Agent, running, claim, again)
	case blackboard.WaitRepository:
		return fmt.Sprintf("%s waits for the repository%s, %s%s", w.Agent, inParentheses(w.Why), claim, again)
	case blackboard.WaitModel:
		return fmt.Sprintf("%s waits for its model%s, %s%s", w.Agent, inParentheses(w.Why), claim, again)
	case blackboard.WaitBlackboard:
		return fmt.Sprintf("%s has a result that the blackboard does not take%s, %s%s", w.Agent, inParentheses(w.Why), claim, again)
	case blackboard.WaitAnswer:
		return fmt.Sprintf("%s needs an answer to Question %s%s%s", w.Agent, words.Short(w.SubjectID), s.until(w.Until, "question_timeout"),
			words.Because(s.questions[w.SubjectID]))
	case blackboard.WaitConflict:
		return fmt.Sprintf("%s waits until Conflict %s is settled", w.Agent, words.Short(w.SubjectID))
	case blackboard.WaitSlot:
		if w.Slots > 0 {
			return fmt.Sprintf("%s has no free slot for %s: %d at once, on %s", w.Agent, claim, w.Slots, busy)
		}
		return fmt.Sprintf("%s has no free worker for %s: %s at most, on %s", w.Agent, claim, words.Count(w.Workers, "worker"), busy)
	case blackboard.WaitStart:
		switch {
		case w.Workers > 0:
			return fmt.Sprintf("the orchestrator has to start a worker of %s for %s%s", w.Agent, claim, again)
		case len(w.Busy) > 0:
			return fmt.Sprintf("%s works on %s before %s", w.Agent, busy, claim)
		}
		return fmt.Sprintf("%s has to begin %s%s", w.Agent, claim, again)
	}
	return "the orchestrator has to decide on " + claim
}

// inParentheses is a hindrance, within a text.
func inParentheses(why string) string {
	if why == "" {
		return ""
	}
	return " (" + role.Clean(why) + ")"
}

// Nth says which attempt it is, unless it is the first.
func Nth(attempt int) string {
	if attempt < 2 {
		return ""
	}
	return fmt.Sprintf(", attempt %d", attempt)
}

// until says how long a wait can last; nothing when that is for ever.
func (s Scene) until(at time.Time, setting string) string {
	if at.IsZero() {
		return ""
	}
	return fmt.Sprintf(", until %s (%s)", s.clock(at), setting)
}
