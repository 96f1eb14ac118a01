package cli

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"sett/contract/config"
	"sett/runtime"
)

type listCmd struct {
	All     bool `help:"Also what the container engine has of instances that this user's state directory does not know."`
	Verbose bool `short:"v" help:"Also what each agent does, and what open work waits for."`
	outputs
}

// Help is shown by `sett list --help`.
func (listCmd) Help() string {
	return `Shows all instances of this user, wherever they are. States: running, degraded (some
part does not run, is paused or just being restarted, or an agent is not ready), unreachable (its blackboard
or its container engine does not answer) and stopped.

With -v each instance that runs is followed by its agents (idle, working, starting, silent,
paused, stopped), with what they work on, have queued and owe a bid for; and by what its
open work waits for, with the goal and for how long:
  claim      the orchestrator to open a claim on an artefact
  bid        an agent to bid
  decision   the orchestrator to decide about a claim
  start      an agent, or a worker of its, to begin
  slot       one of an agent's workers to be free
  workspace  others to let go of the working tree
  result     an agent's tool
  answer     a person to answer a question
  approval   a person to approve or reject an artefact
Of each kind of open work the oldest 200 are looked at.

For programs -v adds parts (name, state, since, unit_id, and restarts: how often it ended
and was started again), agents_detail (name, role, state, since, strategy, replicas,
unit_id, bids_due, queued, works), waits (what, agent, since, age_seconds, until,
subject_id, workflow_id, text), waits_more (open work that was not looked at) and stopping.

Examples:
  sett list -v
  sett list -o json`
}

// instanceRow is what is shown of an instance. The fields' names are part of the
// interface.
type instanceRow struct {
	Name       string    `json:"name"`
	Workspace  string    `json:"workspace"`
	Runtime    string    `json:"runtime"`
	State      string    `json:"state"` // running, degraded, unreachable or stopped
	Agents     int       `json:"agents"`
	Ready      int       `json:"agents_ready"`
	NotReady   []string  `json:"agents_not_ready"`
	Claims     int       `json:"claims_open"`
	Questions  int       `json:"questions_open"`
	Gates      int       `json:"gates_open"`          // artefacts that wait for approval
	CreatedAt  time.Time `json:"created_at,omitzero"` // absent: nobody knows
	Down       []string  `json:"parts_down"`          // of those that should run
	Paused     []string  `json:"parts_paused"`        // by the container engine
	Restarting []string  `json:"parts_restarting"`    // they have ended, and are being started again
	Known      bool      `json:"known"`               // to this user's state directory; otherwise only the engine has it
	HealthURL  string    `json:"health_url"`          // of the orchestrator; empty: it does not run, or serves none

	// With -v, of an instance that answers:
	Parts     []partDetail  `json:"parts,omitzero"`
	Details   []agentDetail `json:"agents_detail,omitzero"`
	Waits     []wait        `json:"waits,omitzero"`
	WaitsMore int           `json:"waits_more,omitempty"` // open work that was not looked at
	Stopping  bool          `json:"stopping,omitempty"`

	in     *instance
	why    error // it is unreachable
	silent bool  // its blackboard does not answer
	host   bool  // its orchestrator is a process
	lost   bool  // a part's container was removed
}

// Run shows the instances.
func (c *listCmd) Run(a *app) error {
	all, err := a.instances()
	if err != nil {
		return err
	}
	if c.All {
		strangers, err := a.strangers(a.ctx, all)
		if err != nil {
			a.sayf("sett: note: no container engine was asked: %s\n", firstLine(err))
		}
		all = append(all, strangers...)
	}
	rows := make([]instanceRow, len(all))
	var wg sync.WaitGroup
	for i, in := range all {
		wg.Go(func() { rows[i] = a.inspect(a.ctx, in, c.Verbose) })
	}
	wg.Wait()
	if err := a.ctx.Err(); err != nil {
		return err
	}
	return a.emit(c.outputs, shown{
		whole: struct {
			Instances []instanceRow `json:"instances"`
		}{rows},
		lines: rows,
		table: func() error { return a.instanceTable(rows) },
	})
}

func (a *app) instanceTable(rows []instanceRow) error {
	if len(rows) == 0 {
		a.sayf("sett: no instances; sett up starts one\n")
		return nil
	}
	t := a.table("NAME", "STATE", "AGENTS", "CLAIMS", "QUESTIONS", "GATES", "RUNTIME", "AGE", "WORKSPACE")
	for _, r := range rows {
		t.row(r.Name, stateCell(r.State), fmt.Sprintf("%d/%d ready", r.Ready, r.Agents), r.count(r.Claims), r.count(r.Questions), r.count(r.Gates),
			r.Runtime, r.age(a.Now()), a.tilde(r.Workspace)+r.remark())
	}
	if err := t.write(a.Stdout); err != nil {
		return err
	}
	for _, r := range rows {
		if err := r.detailText(a); err != nil {
			return err
		}
	}
	for _, r := range rows {
		r.explain(a)
	}
	return nil
}

// count shows a number that only a blackboard which answers can give.
func (r instanceRow) count(n int) string {
	if r.State == stateStopped || r.State == stateUnreachable || r.silent {
		return "-"
	}
	return strconv.Itoa(n)
}

// explain says what is wrong with an instance.
func (r instanceRow) explain(a *app) {
	if r.State == stateStopped {
		return
	}
	for _, part := range r.Down {
		a.sayf("sett: %s: %s does not run; sett logs --name %s %s\n", r.Name, part, r.Name, part)
	}
	for _, part := range r.Restarting {
		a.sayf("sett: %s: %s is being restarted by %s; sett logs --name %s %s\n", r.Name, clean(part), r.in.restarter(), r.Name, clean(part))
	}
	for _, part := range r.Paused {
		a.sayf("sett: %s: %s is paused; docker unpause sett-%s.%s\n", r.Name, clean(part), r.Name, clean(part))
	}
	if r.why != nil {
		a.sayf("sett: %s: %s\n", r.Name, firstLine(r.why))
	}
	for _, agent := range r.NotReady {
		a.sayf("sett: %s: agent %s is not ready; sett logs --name %s %s\n", r.Name, agent, r.Name, agent)
	}
	keeper := slices.Contains(r.Down, runtime.ComponentKeeper) || r.Runtime == config.RuntimeDocker && !r.host
	if r.Known && (r.lost || keeper && slices.Contains(r.Down, runtime.ComponentOrchestrator)) {
		a.sayf("sett: %s: nothing brings that back but: %s\n", r.Name, a.upLine(r.in))
	}
}

// age says how old an instance is, as far as anybody knows.
func (r instanceRow) age(now time.Time) string {
	if r.CreatedAt.IsZero() {
		return "-"
	}
	return age(now.Sub(r.CreatedAt))
}

// remark says what is peculiar about an instance.
func (r instanceRow) remark() string {
	switch {
	case !r.Known:
		return " (known to the engine only)"
	case !exists(r.Workspace):
		return " (gone)"
	}
	return ""
}

// The states of an instance as people see it.
const (
	stateRunning     = "running"
	stateDegraded    = "degraded"
	stateUnreachable = "unreachable"
	stateStopped     = "stopped"
)

func stateCell(s string) cell {
	return cell{s, map[string]style{stateRunning: good, stateDegraded: warn, stateUnreachable: bad}[s]}
}
