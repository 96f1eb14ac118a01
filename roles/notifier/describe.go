package notifier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
)

// maxText is the length in an event of a payload or a summary, in bytes.
const maxText = 64 << 10

// describe makes the event of an entry.
func (n *notifier) describe(ctx context.Context, e blackboard.Event, a alert) (event, error) {
	v := event{Event: a.kind, Instance: n.settings.Instance, Workspace: n.settings.PeoplesPath, Time: e.Time, Position: e.ID}
	// People paste the command line: nothing but ids and quoted words may get into it.
	for _, id := range []string{e.Workflow, a.artefact} {
		if id != "" && !blackboard.ValidID(id) || e.Workflow == "" {
			return v, fmt.Errorf("read entry %s: it names no id", e.ID)
		}
	}
	var err error
	if v.Workflow, err = n.workflow(ctx, e, a); err != nil {
		return v, err
	}
	switch a.kind {
	case kindWorkflow:
		v.Command = n.line("show", e.Workflow)
		return v, nil
	case kindLanding:
		w, err := n.board.Workflow(ctx, e.Workflow)
		v.Landing = &landing{ID: e.Artefact, Branch: brief(e.Attributes["branch"]), Reason: brief(e.Reason),
			Open: !w.Status.Ended() && w.Landing != nil && w.Landing.People}
		land, args, _ := strings.Cut(words.Land(e.Workflow, v.Landing.Branch), " ")
		v.Command = n.line(land, args)
		return v, err
	case kindBid:
		v.Command = n.line("show", e.Workflow) // which names the budget, and how to raise it
		if e.Reason == string(blackboard.WithheldPaused) {
			v.Command = n.line("models resume")
		}
		v.Bid, err = n.bid(ctx, e)
		return v, err
	case kindModel:
		v.Command = n.line("models resume")
		v.Model, err = n.model(ctx, e)
		return v, err
	}
	return v, n.ask(ctx, &v, a.artefact)
}

// line returns a command as a line that works in any directory.
func (n *notifier) line(command string, args ...string) string {
	return strings.Join(append([]string{"sett", command, "--name", role.ShellWord(n.settings.Instance)}, args...), " ")
}

func (n *notifier) workflow(ctx context.Context, e blackboard.Event, a alert) (workflow, error) {
	w, err := n.board.Workflow(ctx, e.Workflow)
	if err != nil {
		return workflow{}, err
	}
	goal, err := n.board.Artefact(ctx, e.Workflow)
	if err != nil {
		return workflow{}, err
	}
	out := workflow{ID: w.ID, Status: string(w.Status), TookSeconds: max(e.Time.Sub(w.CreatedAt), 0).Seconds()}
	out.Goal, out.Truncated = cut(goal.Payload)
	if a.kind != kindWorkflow {
		return out, nil
	}
	out.Status = string(a.status) // it may be active again
	if w.FailureID != "" && a.status == blackboard.WorkflowFailed {
		out.Failure, err = n.outcome(ctx, w.FailureID)
	}
	if err == nil && w.TerminalID != "" && a.status == blackboard.WorkflowAchieved {
		out.Terminal, err = n.outcome(ctx, w.TerminalID)
	}
	return out, err
}

func (n *notifier) outcome(ctx context.Context, id string) (*outcome, error) {
	a, err := n.board.Artefact(ctx, id)
	if err != nil {
		return nil, err
	}
	text := a.Payload
	var report struct {
		Reason string `json:"reason"`
	}
	if a.StructuralType == blackboard.Failure && json.Unmarshal([]byte(a.Payload), &report) == nil && report.Reason != "" {
		text = report.Reason
	}
	o := &outcome{ID: a.ID, Type: brief(a.Type), Agent: a.ProducedByAgent, Summary: brief(a.Summary)}
	o.Text, o.Truncated = cut(text)
	return o, nil
}

// ask adds the question or the gate to an event.
func (n *notifier) ask(ctx context.Context, v *event, id string) error {
	a, err := n.board.Artefact(ctx, id)
	if err != nil {
		return err
	}
	open, err := n.board.open(ctx, id)
	if err != nil {
		return err
	}
	text, truncated := cut(a.Payload)
	if v.Event == kindGate {
		v.Gate = &gate{ID: a.ID, Type: brief(a.Type), Version: a.Version, Agent: a.ProducedByAgent, Summary: brief(a.Summary),
			Text: text, Truncated: truncated, Open: open}
		v.Command, v.RejectCommand = n.line("approve", id), n.line("reject", id, `"…"`)
		return nil
	}
	v.Question = &question{ID: a.ID, Agent: a.ProducedByAgent, Role: brief(a.ProducedByRole), Text: text, Truncated: truncated, Open: open}
	v.Command = n.line("answer", id, `"…"`)
	c, err := n.claim(ctx, a.ClaimID)
	v.Question.About = subjectOf(c)
	return err
}

// bid reads a bid that waits. Its reason is the present one of the same kind.
func (n *notifier) bid(ctx context.Context, e blackboard.Event) (*bid, error) {
	c, err := n.claim(ctx, e.Claim)
	out := &bid{Claim: brief(e.Claim), Agent: brief(e.Agent), Kind: e.Reason, About: subjectOf(c)}
	if c != nil {
		held := c.Withheld[e.Agent]
		if out.Open = c.Status == blackboard.PendingReview && string(held.Kind) == e.Reason; out.Open {
			out.Reason = brief(held.Why)
		}
	}
	return out, err
}

// model reads a grant that waits for its model.
func (n *notifier) model(ctx context.Context, e blackboard.Event) (*withheld, error) {
	out := &withheld{Claim: brief(e.Claim), Agent: brief(e.Agent)}
	s, err := n.board.Snapshot(ctx, e.Claim)
	switch {
	case errors.Is(err, blackboard.ErrUnavailable):
		return nil, err
	case err != nil:
		n.log.Warn("claim not read", "claim", e.Claim, "error", err)
		return out, nil
	}
	out.About = subjectOf(&s.Claim)
	if g, _ := s.Grant(e.Agent); g.WaitsForModel() {
		out.Open, out.Reason = true, brief(g.WaitsWhy)
	}
	return out, nil
}

// claim reads a claim. An event is told without what it says if it cannot be read.
func (n *notifier) claim(ctx context.Context, id string) (*blackboard.Claim, error) {
	claims, err := n.board.Claims(ctx, []string{id})
	switch {
	case errors.Is(err, blackboard.ErrUnavailable):
		return nil, err
	case err != nil:
		n.log.Warn("claim not read", "claim", id, "error", err)
		return nil, nil //nolint:nilnil // there is none to name
	}
	return &claims[0], nil
}

// subjectOf returns the artefact of a claim, if there is one.
func subjectOf(c *blackboard.Claim) *subject {
	if c == nil {
		return nil
	}
	return &subject{ID: c.ArtefactID, Type: brief(c.Target.Type), Version: c.Target.Version}
}

// cut returns the beginning of a text as UTF-8, at most maxText bytes of it, and
// whether there was more.
func cut(s string) (string, bool) {
	if len(s) <= maxText {
		return strings.ToValidUTF8(s, string(utf8.RuneError)), false
	}
	s = s[:maxText]
	for i := range utf8.UTFMax - 1 { // drop a character that was cut through
		if r, size := utf8.DecodeLastRuneInString(s[:len(s)-i]); r != utf8.RuneError || size != 1 {
			s = s[:len(s)-i]
			break
		}
	}
	return strings.ToValidUTF8(s, string(utf8.RuneError)), true
}

// brief cuts a text that is short as a rule.
func brief(s string) string {
	s, _ = cut(s)
	return s
}
