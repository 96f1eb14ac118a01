package cli

import (
	"fmt"
	"slices"
	"sync"

	"sett/roles/cli/instance"
	"sett/roles/cli/status"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
)

type listCmd struct {
	Names   []string `arg:"" optional:"" name:"instance" help:"Only these instances (default: all)."`
	All     bool     `help:"Also what the container engine has of instances that this user's state directory does not know."`
	Verbose bool     `short:"v" help:"Also what each agent does, and what open work waits for."`
	term.Form
}

// Help is shown by `sett list --help`.
func (listCmd) Help() string {
	return `Shows all instances of this user, wherever they are. States: running, degraded (some
part does not run, is paused or just being restarted, an agent is not ready, the notifier
cannot tell an event, or the blackboard refuses writes), unreachable (its blackboard or its container engine does not
answer), lost (its state directory was removed, and processes of it run) and stopped.

With -v each instance that runs is followed by its agents (idle, working, starting, silent,
unhealthy, unfit, paused, stopped), with what they work on, have queued and owe a bid for; and by what its
open work waits for, with the goal and for how long:
  claim       the orchestrator to open a claim on an artefact
  bid         an agent to bid
  decision    the orchestrator to decide about a claim
  start       an agent, or a worker of its, to begin
  slot        one of an agent's workers, or of its slots, to be free
  repository  the repository to prepare a tree, or to take a commit
  result      an agent's tool
  blackboard  the blackboard to take a result that is there: its disk is full, say
  answer      a person to answer a question
  approval    a person to approve or reject an artefact
  landing     a goal's result to reach its branch: its turn, a verification, or you
  conflict    commits that contradict each other to be settled, by an agent or a rework
Of each kind of open work the oldest 200 are looked at. A line says what disk the instance's
store and its agents' trees take, as the repository measured it while they were at rest.

For programs notifier is there if its command cannot be run, or did not take an event: unfit,
untold_since, untold_age_seconds, event, workflow_id, position, tries, error, given_up.
With -v there are also parts (name, state, since, unit_id, and restarts: how often it ended
and was started again), agents_detail (name, role, state, since, strategy, replicas,
concurrency, unit_id, bids_due, queued, works), waits (what, agent, since, age_seconds, until,
subject_id, workflow_id, text), waits_more (open work that was not looked at), stopping and disk.

Examples:
  sett list -v
  sett list my-sett
  sett list -o json`
}

// only returns the instances that are meant.
func (c *listCmd) only(all []*instance.Instance) ([]*instance.Instance, error) {
	if len(c.Names) == 0 {
		return all, nil
	}
	var known []string
	for _, in := range all {
		known = append(known, in.Name)
	}
	for _, name := range c.Names {
		if !slices.Contains(known, name) {
			return nil, role.Fail(role.NotFound, fmt.Errorf("no instance %s", role.Clean(name)), "%s", words.DidYouMean(name, known, "sett list"))
		}
	}
	return slices.DeleteFunc(all, func(in *instance.Instance) bool { return !slices.Contains(c.Names, in.Name) }), nil
}

// Run shows the instances.
func (c *listCmd) Run(a *app) error {
	all, err := a.at.All()
	if err != nil {
		return err
	}
	lost, err := instance.Lost(a.at, all)
	if err != nil {
		return err
	}
	if c.All {
		strangers, err := a.at.Strangers(a.ctx, all)
		if err != nil {
			a.Sayf("sett: note: no container engine was asked: %s\n", words.FirstLine(err))
		}
		all = append(all, strangers...)
	}
	all = append(all, lost...)
	if own, err := a.at.Find(); err == nil { // this repository's instance first
		slices.SortStableFunc(all, func(x, y *instance.Instance) int {
			switch {
			case x.Name == y.Name:
				return 0
			case x.Name == own.Name:
				return -1
			case y.Name == own.Name:
				return 1
			}
			return 0
		})
	}
	if all, err = c.only(all); err != nil {
		return err
	}
	rows := make([]status.Row, len(all))
	var wg sync.WaitGroup
	for i, in := range all {
		wg.Go(func() { rows[i] = status.Inspect(a.ctx, a.at, in, c.Verbose) })
	}
	wg.Wait()
	if err := a.ctx.Err(); err != nil {
		return err
	}
	return a.Emit(c.Form, term.Shown{
		Whole: struct {
			Instances []status.Row `json:"instances"`
		}{rows},
		Lines: rows,
		Table: func() error { return status.Table(a.at, rows) },
	})
}
