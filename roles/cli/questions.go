package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/cli/ledger"
	"sett/roles/cli/status"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

type questionsCmd struct {
	Workflow string        `placeholder:"ID" help:"Only what belongs to this goal; @last is the newest."`
	Wait     bool          `help:"Wait for one that is not there yet, print it and end."`
	Timeout  time.Duration `placeholder:"DURATION" help:"With --wait: no longer than this (default, and 0: for ever)."`
	term.Form
}

// Help is shown by `sett questions --help`.
func (questionsCmd) Help() string {
	return `Lists what waits for a person, the oldest first, with the command that settles it:
questions that agents ask, gates: artefacts that wait for approval (approve in
sett.yml), landings: results that cannot reach their branch (land in sett.yml),
bids: claims whose bids wait, since a budget is used up or models are paused, and
models: claims whose agents do not begin, since models are paused.

With --wait it ends when something new waits, and prints that: exit code 0. After
--timeout the exit code is 4. Something new is what was not there at the start. With
--workflow it also ends when the goal does: 1, or 6 when it ended without a Terminal.

For programs each has id, kind (question, gate, landing, bid or model), since, age_seconds, agent
and role (who asks, who made it), claim_id, about (id, type and version of the artefact),
workflow_id, goal, text, commands, and a gate look: the command that shows what is held.

Examples:
  sett questions
  sett questions --wait --timeout 10m
  sett questions --workflow @last -o json`
}

// Run lists the open matters.
func (c *questionsCmd) Run(a *app) error {
	if c.Timeout > 0 && !c.Wait {
		return role.Fail(role.Usage, errors.New("--timeout is how long --wait may take"), "sett questions --wait --timeout 10m")
	}
	b, in, done, err := a.at.BoardWithin(a.ctx, c.Timeout)
	if err != nil {
		return err
	}
	defer done()
	r := view.MatterReader{Reader: status.Reader(a.at, b, in), Whole: !c.ForPeople()}
	if c.Workflow != "" {
		if r.Workflow, err = a.resolveWorkflow(a.ctx, b, c.Workflow); err != nil {
			return err
		}
	}
	if c.Wait {
		all, err := c.next(&newcomers{a: a, b: b, in: in, r: r})
		if err != nil {
			return err
		}
		return c.print(a, all)
	}
	all, err := r.Open(a.ctx)
	if err != nil {
		return err
	}
	others, err := view.Obstacles(a.ctx, r)
	if err != nil {
		return err
	}
	return c.print(a, append(all, others...))
}

func (c *questionsCmd) print(a *app, all []view.Matter) error {
	return a.Emit(c.Form, term.Shown{
		Whole: struct {
			Questions []view.Matter `json:"questions"`
		}{all},
		Lines: all,
		Table: func() error {
			if len(all) == 0 {
				a.Sayf("sett: nobody asks, and nothing waits for approval\n")
			}
			for i, m := range all {
				if i > 0 {
					a.Printf("\n")
				}
				printMatter(&a.Terminal, m)
			}
			return nil
		},
	})
}

// next waits for the next question or gate.
func (c *questionsCmd) next(n *newcomers) ([]view.Matter, error) {
	ctx, cancel := role.WithLimit(n.a.ctx, c.Timeout, nil)
	defer cancel()
	err := n.begin(ctx)
	if err == nil {
		err = n.await(ctx)
	}
	switch {
	case errors.Is(err, errOver):
		return n.found, nil
	case n.a.ctx.Err() != nil:
		return nil, term.Interrupted("interrupted; nothing new waits for a person")
	case ctx.Err() != nil:
		return nil, role.Fail(role.TimedOut, fmt.Errorf("nothing new waited for a person within %s", c.Timeout), "")
	}
	return nil, err
}

// newcomers waits for a matter that is not open at the beginning.
type newcomers struct {
	a     *app
	b     *instance.Board
	in    *instance.Instance
	r     view.MatterReader
	known []string
	found []view.Matter
}

// begin notes the open matters.
func (n *newcomers) begin(ctx context.Context) error {
	questions, gates, err := view.OpenMatters(ctx, n.b.Index)
	if err != nil {
		return err
	}
	others, err := view.Obstacles(ctx, n.r)
	n.known = slices.Concat(questions, gates)
	for _, m := range others {
		n.known = append(n.known, m.ID)
	}
	return err
}

// await returns errOver when a new matter is open. It sees matters since begin at once,
// later ones in the ledger.
func (n *newcomers) await(ctx context.Context) error {
	from, err := n.b.Ledger.Last(ctx)
	if err != nil {
		return err
	}
	if err := n.look(ctx); err != nil {
		return err
	}
	f := ledger.NewFollower(n.a.at, &n.a.Terminal, n.in, n.b)
	f.Goal = n.r.Workflow
	return f.Follow(ctx, from, func(e blackboard.Event) error {
		mine := n.r.Workflow == "" || e.Workflow == n.r.Workflow
		if !mine || !e.Tells() {
			return nil
		}
		return f.Patiently(ctx, func() error { return n.look(ctx) })
	})
}

// look returns errOver when a new question or gate is open, and the goal's end when
// the goal has ended and can ask nothing any more.
func (n *newcomers) look(ctx context.Context) error {
	questions, gates, err := view.OpenMatters(ctx, n.b.Index)
	if err != nil {
		return err
	}
	old := func(id string) bool { return slices.Contains(n.known, id) }
	if n.found, err = n.r.Read(ctx, slices.DeleteFunc(questions, old), slices.DeleteFunc(gates, old)); err != nil {
		return err
	}
	others, err := view.Obstacles(ctx, n.r)
	n.found = append(n.found, slices.DeleteFunc(others, func(m view.Matter) bool { return old(m.ID) })...)
	if err == nil && len(n.found) > 0 {
		err = errOver
	}
	if err != nil || n.r.Workflow == "" {
		return err
	}
	w, err := n.b.Records.Workflow(ctx, n.r.Workflow)
	if err != nil || !w.Status.Ended() {
		return err
	}
	end, err := n.a.endedUnasked(ctx, n.b, n.in, w)
	return cmp.Or(err, end)
}

// printMatter shows a question or gate to people, with the commands that settle it.
func printMatter(t *term.Terminal, m view.Matter) {
	if m.WorkflowID == "" {
		t.Printf("%s %s  cannot be read: %s\n", m.Kind, t.Paint(words.Short(m.ID), term.Accent), role.Clean(m.Text))
		return
	}
	head := fmt.Sprintf("%s %s  %s  ", m.Kind, words.Short(m.ID), view.AgeOf(m.AgeSeconds))
	rest := strings.TrimPrefix(term.Fold(t.Stdout, head+m.Heading(), "  "), head)
	t.Printf("%s %s  %s  %s\n", m.Kind, t.Paint(words.Short(m.ID), term.Accent), t.Paint(view.AgeOf(m.AgeSeconds), term.Dim), rest)
	t.Printf("%s\n", term.Fold(t.Stdout, words.Indent(view.Excerpt(blackboard.Artefact{Payload: m.Text}), "    "), ""))
	for _, c := range m.Next() {
		t.Printf("  %s\n", t.Paint(role.Clean(c), term.Bold))
	}
}
