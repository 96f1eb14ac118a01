package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sett/blackboard"
	"sett/roles/role"
)

type questionsCmd struct {
	Workflow string        `placeholder:"ID" help:"Only what belongs to this goal; @last is the newest."`
	Wait     bool          `help:"Wait for one that is not there yet, print it and end."`
	Timeout  time.Duration `placeholder:"DURATION" help:"With --wait: no longer than this (default, and 0: for ever)."`
	outputs
}

// Help is shown by `sett questions --help`.
func (questionsCmd) Help() string {
	return `Lists what waits for a person, the oldest first, with the command that settles it:
questions that agents ask, and gates: artefacts that wait for approval (approve in
sett.yml).

With --wait it ends when something new waits, and prints that: exit code 0. After
--timeout the exit code is 4. Something new is what was not there at the start. With
--workflow it also ends when the goal does: 1, or 6 when it ended without a Terminal.

For programs each has id, kind (question or gate), since, age_seconds, agent and role (who
asks, who made it), claim_id, about (id, type and version of the artefact), workflow_id,
goal, text, commands, and a gate look: the command that shows what is held.

Examples:
  sett questions
  sett questions --wait --timeout 10m
  sett questions --workflow @last -o json`
}

// Run lists what waits for people.
func (c *questionsCmd) Run(a *app) error {
	if c.Timeout < 0 || c.Timeout > 0 && !c.Wait {
		return role.Fail(role.Usage, errors.New("--timeout is how long --wait may take"), "sett questions --wait --timeout 10m")
	}
	b, in, done, err := a.boardWithin(c.Timeout)
	if err != nil {
		return err
	}
	defer done()
	r := matterReader{app: a, b: b, in: in, whole: !c.forPeople()}
	if c.Workflow != "" {
		if r.workflow, err = a.resolveWorkflow(a.ctx, b, c.Workflow); err != nil {
			return err
		}
	}
	if c.Wait {
		all, err := c.next(r)
		if err != nil {
			return err
		}
		return c.print(a, all)
	}
	questions, gates, err := openMatters(a.ctx, b)
	if err != nil {
		return err
	}
	all, err := r.read(a.ctx, questions, gates)
	if err != nil {
		return err
	}
	return c.print(a, all)
}

func (c *questionsCmd) print(a *app, all []matter) error {
	return a.emit(c.outputs, shown{
		whole: struct {
			Questions []matter `json:"questions"`
		}{all},
		lines: all,
		table: func() error {
			if len(all) == 0 {
				a.sayf("sett: nobody asks, and nothing waits for approval\n")
			}
			for i, m := range all {
				if i > 0 {
					a.printf("\n")
				}
				m.text(a)
			}
			return nil
		},
	})
}

// next waits for something that does not wait for a person yet.
func (c *questionsCmd) next(r matterReader) ([]matter, error) {
	ctx, cancel := bounded(r.ctx, c.Timeout, nil)
	defer cancel()
	n := &newcomers{r: r}
	err := n.begin(ctx)
	if err == nil {
		err = n.await(ctx)
	}
	switch {
	case errors.Is(err, errOver):
		return n.found, nil
	case r.ctx.Err() != nil:
		return nil, interrupted("interrupted; nothing new waits for a person")
	case ctx.Err() != nil:
		return nil, role.Fail(role.TimedOut, fmt.Errorf("nothing new waited for a person within %s", c.Timeout), "")
	}
	return nil, err
}

// newcomers waits for what is not open when it begins.
type newcomers struct {
	r     matterReader
	known []string
	found []matter
}

// begin takes note of what is open.
func (n *newcomers) begin(ctx context.Context) error {
	questions, gates, err := openMatters(ctx, n.r.b)
	n.known = slices.Concat(questions, gates)
	return err
}

// await returns errOver when it has found something. What came since begin is seen
// at once, what comes later in the ledger.
func (n *newcomers) await(ctx context.Context) error {
	from, err := n.r.b.Last(ctx)
	if err != nil {
		return err
	}
	if err := n.look(ctx); err != nil {
		return err
	}
	f := &ledgerFollower{a: n.r.app, board: n.r.b}
	return f.follow(ctx, from, func(e blackboard.Event) error {
		mine := n.r.workflow == "" || e.Workflow == n.r.workflow
		if !mine || !e.CallsPerson() && e.GoalEnded() == "" {
			return nil
		}
		return patiently(ctx, func() error { return n.look(ctx) })
	})
}

// look returns errOver when something is open that was not, and how a goal ended
// that can ask nothing any more.
func (n *newcomers) look(ctx context.Context) error {
	questions, gates, err := openMatters(ctx, n.r.b)
	if err != nil {
		return err
	}
	old := func(id string) bool { return slices.Contains(n.known, id) }
	n.found, err = n.r.read(ctx, slices.DeleteFunc(questions, old), slices.DeleteFunc(gates, old))
	if err == nil && len(n.found) > 0 {
		err = errOver
	}
	if err != nil || n.r.workflow == "" {
		return err
	}
	w, err := n.r.b.Workflow(ctx, n.r.workflow)
	if err != nil || !w.Status.Ended() {
		return err
	}
	end, err := n.r.endedUnasked(ctx, n.r.b, n.r.in, w)
	return cmp.Or(err, end)
}
