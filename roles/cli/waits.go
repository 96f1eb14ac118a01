package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
)

// What work can wait for. The names are part of the interface.
const (
	waitClaim     = "claim"     // the orchestrator opens a claim on an artefact
	waitBid       = "bid"       // an agent bids
	waitDecision  = "decision"  // the orchestrator grants, completes or terminates
	waitStart     = "start"     // an agent takes up its grant
	waitSlot      = "slot"      // one of an agent's workers is free
	waitWorkspace = "workspace" // the working tree is free
	waitResult    = "result"    // an agent's tool ends
	waitAnswer    = "answer"    // a person answers a question
	waitApproval  = "approval"  // a person approves or rejects an artefact
)

// wait is one thing that open work waits for, with a name. The names of its
// fields are part of the interface.
type wait struct {
	What       string    `json:"what"`            // claim, bid, decision, start, slot, workspace, result, answer or approval: see sett list --help
	Agent      string    `json:"agent,omitempty"` // whose move it is, or whose grant or artefact waits
	Since      time.Time `json:"since"`
	AgeSeconds int64     `json:"age_seconds"`
	Until      time.Time `json:"until,omitzero"` // when the orchestrator ends the wait; absent: never
	SubjectID  string    `json:"subject_id"`     // the claim or artefact that waits, for an answer the Question
	WorkflowID string    `json:"workflow_id"`    // empty: of a record that cannot be read
	Text       string    `json:"text"`           // for people, in one line

	trouble string // what is wrong with whose move it is; empty: nothing
}

// is says whether two waits are the same one, however long they have lasted.
func (w wait) is(v wait) bool {
	return w.What == v.What && w.Agent == v.Agent && w.SubjectID == v.SubjectID && w.trouble == v.trouble && w.Since.Equal(v.Since)
}

// line is the wait for people, with its name and for how long.
func (w wait) line() string { return fmt.Sprintf("%s: %s, %s", w.What, w.Text, w.lasted()) }

// lasted says for how long.
func (w wait) lasted() string { return "for " + ageOf(w.AgeSeconds) }

// ageSeconds is how old something is, for programs. Both times have to be the
// blackboard's: this machine's clock may be another.
func ageSeconds(now, since time.Time) int64 { return int64(max(now.Sub(since), 0) / time.Second) }

// ageOf is such an age for people.
func ageOf(seconds int64) string { return age(time.Duration(seconds) * time.Second) }

// byPerson says whether only people can end the wait.
func (w wait) byPerson() bool { return w.What == waitAnswer || w.What == waitApproval }

// waits returns what open work waits for, claims first.
func (s scene) waits(o openWork) []wait {
	out := []wait{}
	for _, c := range o.claims {
		out = append(out, s.claimWaits(c)...)
	}
	for _, c := range o.corrupt {
		out = append(out, wait{What: waitDecision, Agent: theOrchestrator, Since: blackboard.IDTime(c.id), SubjectID: c.id, WorkflowID: o.workflow,
			Text: fmt.Sprintf("nobody: claim %s has a corrupt record, which is left alone%s", short(c.id), because(clean(c.err.Error()))), trouble: "corrupt"})
	}
	for _, id := range o.lost {
		out = append(out, wait{What: waitClaim, Agent: theOrchestrator, Since: blackboard.IDTime(id), SubjectID: id, WorkflowID: o.workflow,
			Text: fmt.Sprintf("nobody: artefact %s is lost, its record is gone; cancelling its goal ends the wait", short(id)), trouble: "lost"})
	}
	for _, a := range o.unclaimed {
		w := wait{What: waitClaim, Agent: theOrchestrator, Since: a.CreatedAt, SubjectID: a.ID, WorkflowID: a.WorkflowID,
			Text: fmt.Sprintf("the orchestrator to open a claim on %s %s", title(a.Artefact), short(a.ID))}
		out = append(out, s.blame(w, s.orchestratorTrouble()))
	}
	for _, a := range o.gates {
		out = append(out, wait{What: waitApproval, Agent: a.ProducedByAgent, Since: a.CreatedAt, SubjectID: a.ID, WorkflowID: a.WorkflowID,
			Text: fmt.Sprintf("approval of %s %s of %s%s", title(a.Artefact), short(a.ID), maker(a.Artefact), because(gistOf(&a)))})
	}
	for i := range out {
		out[i].AgeSeconds = ageSeconds(s.now, out[i].Since)
		if s.stopping && !out[i].byPerson() {
			out[i] = s.blame(out[i], trouble{what: "the instance is stopping"})
		}
	}
	return out
}

// claimWaits returns what a claim waits for; nothing when it is closed.
func (s scene) claimWaits(c blackboard.Snapshot) []wait {
	if c.Claim.Status.Closed() {
		return nil
	}
	failed := slices.ContainsFunc(c.Grants, func(g blackboard.Grant) bool { return g.State == blackboard.GrantFailed })
	var out []wait
	if !failed { // a failure is the orchestrator's to act on, whoever else is at work
		out = slices.Concat(s.bidWaits(c), s.grantWaits(c))
	}
	if len(out) > 0 {
		return out
	}
	last := c.Claim.OpenedAt
	for _, g := range c.Grants {
		if g.EndedAt.After(last) {
			last = g.EndedAt
		}
	}
	return []wait{s.blame(wait{What: waitDecision, Agent: theOrchestrator, Since: last, SubjectID: c.Claim.ID, WorkflowID: c.Claim.WorkflowID,
		Text: fmt.Sprintf("claim %s: the orchestrator's decision", short(c.Claim.ID))}, s.orchestratorTrouble())}
}

// bidWaits are for a claim that collects bids. A silence that is over, or of an
// agent that is no more, is not waited for.
func (s scene) bidWaits(c blackboard.Snapshot) []wait {
	granted := slices.ContainsFunc(c.Grants, blackboard.Grant.OfAgent)
	if c.Claim.Status != blackboard.PendingReview || granted {
		return nil
	}
	until := s.after(c.Claim.OpenedAt, s.bidTimeout())
	var out []wait
	for _, agent := range c.Missing() {
		if _, known := s.agent(agent); s.config != nil && !known || s.over(until) {
			continue
		}
		w := wait{What: waitBid, Agent: agent, Since: c.Claim.OpenedAt, Until: until, SubjectID: c.Claim.ID, WorkflowID: c.Claim.WorkflowID,
			Text: fmt.Sprintf("claim %s: the bid of %s%s", short(c.Claim.ID), agent, s.at(until, "bid_timeout"))}
		out = append(out, s.blame(w, s.agentTrouble(agent)))
	}
	return out
}

// grantWaits are for the grants of a claim that have not ended.
func (s scene) grantWaits(c blackboard.Snapshot) []wait {
	var out []wait
	for _, g := range c.Grants {
		w := wait{Agent: g.Agent, Since: g.QueuedAt, SubjectID: c.Claim.ID, WorkflowID: c.Claim.WorkflowID}
		switch g.State {
		case blackboard.GrantRunning:
			w.What, w.Since = waitResult, g.StartedAt
			w.Text = fmt.Sprintf("claim %s: %s, which works on it%s", short(c.Claim.ID), g.Agent, nth(g.Attempt))
			out = append(out, s.blame(w, s.holderTrouble(g)))
		case blackboard.GrantAwaitingAnswer:
			w.What, w.Since, w.SubjectID, w.Until = waitAnswer, g.EndedAt, g.ResultID, s.after(g.EndedAt, s.questionTimeout())
			if !s.over(w.Until) {
				w.Text = fmt.Sprintf("an answer to Question %s of %s%s%s", short(g.ResultID), g.Agent, s.at(w.Until, "question_timeout"), because(s.questions[g.ResultID]))
				out = append(out, w)
			}
		case blackboard.GrantQueued:
			out = append(out, s.queuedWait(w, g))
		}
	}
	return out
}

// queuedWait finds out what keeps a queued grant from being started.
func (s scene) queuedWait(w wait, g blackboard.Grant) wait {
	claim := "claim " + short(w.SubjectID) + ": "
	for i, u := range s.workspace {
		if u.Waiting && u.Claim == w.SubjectID && u.Agent == g.Agent {
			w.What, w.Since = waitWorkspace, u.Since
			w.Text = fmt.Sprintf("%sthe workspace for %s, held by %s", claim, g.Agent, inTheWay(u, s.workspace, i))
			return w
		}
	}
	var busy []string
	for _, u := range s.workspace {
		if !u.Waiting && u.Agent == g.Agent {
			busy = append(busy, "claim "+short(u.Claim))
		}
	}
	agent, known := s.agent(g.Agent)
	w.What = waitStart
	switch {
	case known && agent.Fresh() && len(busy) >= agent.Replicas:
		w.What = waitSlot
		w.Text = fmt.Sprintf("%sa free worker of %s: %s at most, on %s", claim, g.Agent, count(agent.Replicas, "worker"), strings.Join(busy, ", "))
		return w
	case known && agent.Fresh():
		w.Text = fmt.Sprintf("%sa worker of %s to start%s", claim, g.Agent, nth(g.Attempt))
		return s.blame(w, s.orchestratorTrouble())
	case len(busy) > 0:
		w.Text = fmt.Sprintf("%s%s, which works on %s", claim, g.Agent, strings.Join(busy, ", "))
	default:
		w.Text = fmt.Sprintf("%s%s to begin%s", claim, g.Agent, nth(g.Attempt))
	}
	return s.blame(w, s.agentTrouble(g.Agent))
}

// nth says which attempt it is, unless it is the first.
func nth(attempt int) string {
	if attempt < 2 {
		return ""
	}
	return fmt.Sprintf(", attempt %d", attempt)
}

// inTheWay names who has the workspace, or is first in line, before the use at
// index i.
func inTheWay(u redis.WorkspaceUse, all []redis.WorkspaceUse, i int) string {
	var way []string
	for j, v := range all {
		exclusive := u.Mode == blackboard.ReadWrite || v.Mode == blackboard.ReadWrite
		switch {
		case j == i || !exclusive || v.Waiting && !v.Since.Before(u.Since):
		case v.Waiting:
			way = append(way, v.String()+", first in line")
		case v.Restore:
			way = append(way, v.String()+", whose tree is being put back")
		default:
			way = append(way, v.String())
		}
	}
	if len(way) == 0 {
		return "nobody any more"
	}
	return strings.Join(way, " and ")
}
