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
)

// maxText is how much of a payload or a summary an event has, in bytes.
const maxText = 64 << 10

// describe reads what there is to say about an entry.
func (n *notifier) describe(ctx context.Context, e blackboard.Event, m matter) (event, error) {
	v := event{Event: m.kind, Instance: n.settings.Instance, Workspace: n.settings.PeoplesPath, Time: e.Time, Position: e.ID}
	// What stands in a command line for people to paste is an id, and nothing else.
	for _, id := range []string{e.Workflow, m.artefact} {
		if id != "" && !blackboard.ValidID(id) || e.Workflow == "" {
			return v, fmt.Errorf("read entry %s: it names no id", e.ID)
		}
	}
	var err error
	if v.Workflow, err = n.workflow(ctx, e, m); err != nil {
		return v, err
	}
	switch m.kind {
	case kindQuestion:
		if v.Question, err = n.question(ctx, m.artefact); err != nil {
			return v, err
		}
		v.Command = n.line("answer", m.artefact) + ` "…"`
	case kindGate:
		if v.Gate, err = n.gate(ctx, m.artefact); err != nil {
			return v, err
		}
		v.Command, v.RejectCommand = n.line("approve", m.artefact), n.line("reject", m.artefact)+` "…"`
	default:
		v.Command = n.line("show", e.Workflow)
	}
	return v, nil
}

// line is a command line about an artefact of this instance, from anywhere.
func (n *notifier) line(command, id string) string {
	return fmt.Sprintf("sett %s --name %s %s", command, role.ShellWord(n.settings.Instance), role.ShellWord(id))
}

func (n *notifier) workflow(ctx context.Context, e blackboard.Event, m matter) (workflow, error) {
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
	if m.kind != kindWorkflow {
		return out, nil
	}
	out.Status = string(m.status) // it may be active again
	if w.FailureID != "" && m.status == blackboard.WorkflowFailed {
		out.Failure, err = n.outcome(ctx, w.FailureID)
	}
	if err == nil && w.TerminalID != "" && m.status == blackboard.WorkflowAchieved {
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

func (n *notifier) question(ctx context.Context, id string) (*question, error) {
	a, err := n.board.Artefact(ctx, id)
	if err != nil {
		return nil, err
	}
	about, err := n.subject(ctx, a.ClaimID)
	if err != nil {
		return nil, err
	}
	open, err := n.board.WaitsForHuman(ctx, id)
	if err != nil {
		return nil, err
	}
	q := &question{ID: a.ID, Agent: a.ProducedByAgent, Role: brief(a.ProducedByRole), Open: open, About: about}
	q.Text, q.Truncated = cut(a.Payload)
	return q, nil
}

// subject reads what a claim is about. That it cannot be read is no reason to tell
// nobody of the question.
func (n *notifier) subject(ctx context.Context, claim string) (*subject, error) {
	claims, err := n.board.Claims(ctx, []string{claim})
	switch {
	case errors.Is(err, blackboard.ErrUnavailable):
		return nil, err
	case err != nil:
		n.log.Warn("claim not read", "claim", claim, "error", err)
		return nil, nil //nolint:nilnil // there is none to name
	}
	c := claims[0]
	return &subject{ID: c.ArtefactID, Type: brief(c.Target.Type), Version: c.Target.Version}, nil
}

func (n *notifier) gate(ctx context.Context, id string) (*gate, error) {
	a, err := n.board.Artefact(ctx, id)
	if err != nil {
		return nil, err
	}
	open, err := n.board.WaitsForHuman(ctx, id)
	if err != nil {
		return nil, err
	}
	g := &gate{ID: a.ID, Type: brief(a.Type), Version: a.Version, Agent: a.ProducedByAgent, Summary: brief(a.Summary), Open: open}
	g.Text, g.Truncated = cut(a.Payload)
	return g, nil
}

// cut returns the beginning of a text as UTF-8, at most maxText bytes of it, and
// whether there was more.
func cut(s string) (string, bool) {
	if len(s) <= maxText {
		return strings.ToValidUTF8(s, string(utf8.RuneError)), false
	}
	s = s[:maxText]
	for i := range utf8.UTFMax - 1 { // a character that is cut through goes
		if r, size := utf8.DecodeLastRuneInString(s[:len(s)-i]); r != utf8.RuneError || size != 1 {
			s = s[:len(s)-i]
			break
		}
	}
	return strings.ToValidUTF8(s, string(utf8.RuneError)), true
}

// brief is cut for what is short in all honesty.
func brief(s string) string {
	s, _ = cut(s)
	return s
}
