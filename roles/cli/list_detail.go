package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/runtime"
)

// The states of an agent as people see them.
const (
	agentIdle     = "idle"
	agentWorking  = "working"
	agentStarting = "starting" // it runs, and has not reported yet
	agentSilent   = "silent"   // it runs, and is not heard of any more
	agentPaused   = "paused"   // by the container engine
	agentStopped  = "stopped"
)

// agentDetail is an agent as `list -v` shows it. The names of its fields are part of
// the interface.
type agentDetail struct {
	Name     string       `json:"name"`
	Role     string       `json:"role"`
	State    string       `json:"state"`          // idle, working, starting, silent, paused or stopped
	Since    time.Time    `json:"since,omitzero"` // when its unit was started; absent: there is none
	Strategy string       `json:"strategy"`
	Replicas int          `json:"replicas"`
	Unit     string       `json:"unit_id"`  // of its container, else of its process; empty: none runs
	BidsDue  int          `json:"bids_due"` // claims that await its bid
	Queued   int          `json:"queued"`   // its grants that have not begun
	Works    []workDetail `json:"works"`    // what it works on
}

// workDetail is a grant that runs.
type workDetail struct {
	ClaimID    string                   `json:"claim_id"`
	Attempt    int                      `json:"attempt"`
	Workspace  blackboard.WorkspaceMode `json:"workspace"`
	Since      time.Time                `json:"since"`
	AgeSeconds int64                    `json:"age_seconds"`
	Unit       string                   `json:"unit_id"` // that it runs in, where it is a worker's of its own
}

// partDetail is a unit that an instance has besides its agents and their workers.
type partDetail struct {
	Name     string    `json:"name"`
	State    string    `json:"state"`          // running, paused, restarting or stopped
	Since    time.Time `json:"since,omitzero"` // when it was started
	Unit     string    `json:"unit_id"`        // its container, or its process
	Restarts int       `json:"restarts"`       // how often it ended and was started again by what keeps it
}

func (r *instanceRow) partDetails(units map[string]runtime.Unit) {
	r.Parts = []partDetail{}
	for _, name := range slices.Sorted(maps.Keys(units)) {
		u := units[name]
		switch u.Labels[runtime.LabelComponent] {
		case runtime.ComponentAgent, runtime.ComponentWorker, runtime.ComponentAnchor:
			continue
		}
		state := "stopped"
		switch {
		case u.Restarting:
			state = "restarting"
		case u.Paused:
			state = "paused"
		case u.Running:
			state = "running"
		}
		r.Parts = append(r.Parts, partDetail{u.Name, state, u.StartedAt, u.ID, u.Restarts})
	}
}

// detail adds what an instance's agents do, and what its open work waits for.
func (r *instanceRow) detail(ctx context.Context, a *app, b *redis.Board, c *config.Config, units []runtime.Unit) error {
	f, err := b.Figures(ctx, c.Names())
	if err != nil {
		return err
	}
	o, err := readOpen(ctx, b, "")
	if err != nil {
		return err
	}
	s, err := a.readSceneWith(ctx, b, r.in, o, units)
	if err != nil {
		return err
	}
	r.Waits, r.WaitsMore, r.Stopping = s.waits(o), o.more, s.stopping
	r.partDetails(s.units)
	r.Details = []agentDetail{}
	for _, agent := range c.Agents {
		r.Details = append(r.Details, s.detail(agent, f, units))
	}
	return nil
}

func (s scene) detail(agent config.Agent, f redis.Figures, units []runtime.Unit) agentDetail {
	d := agentDetail{Name: agent.Name, Role: agent.Role, State: agentStopped, Strategy: agent.Strategy, Replicas: agent.Replicas,
		BidsDue: int(f.Agents[agent.Name].Due.Count), Works: []workDetail{}}
	workers := map[string]string{}
	for _, u := range units {
		if u.Labels[runtime.LabelComponent] == runtime.ComponentWorker && u.Running {
			workers[u.Labels[runtime.LabelIncarnation]] = u.ID
		}
	}
	for _, w := range f.Workspace {
		if w.Agent == agent.Name && !w.Waiting && !w.Restore {
			d.Works = append(d.Works, workDetail{w.Claim, w.Attempt, w.Mode, w.Since, ageSeconds(s.now, w.Since), workers[w.Holder]})
		}
	}
	d.Queued = max(int(f.Agents[agent.Name].Grants.Count)-len(d.Works), 0)
	if u, ok := s.units[runtime.AgentUnit(agent.Name)]; ok && u.Running {
		d.State, d.Since, d.Unit = s.agentState(agent.Name, u, len(d.Works) > 0), u.StartedAt, u.ID
	}
	return d
}

func (s scene) agentState(name string, u runtime.Unit, works bool) string {
	p := s.agents[name]
	switch {
	case u.Paused:
		return agentPaused
	case p.Incarnation == "" || p.Incarnation != u.Labels[runtime.LabelIncarnation]:
		return agentStarting
	case !p.Alive.After(s.now):
		return agentSilent
	case works:
		return agentWorking
	}
	return agentIdle
}

// detailText shows an instance's agents and what is waited for below its name.
func (r instanceRow) detailText(a *app) error {
	if r.Details == nil {
		return nil
	}
	stopping := ""
	if r.Stopping {
		stopping = "  " + a.paint("stopping", warn)
	}
	a.printf("\n%s%s\n", a.paint(r.Name, bold), stopping)
	agents, waits := a.table(), a.table()
	for _, p := range r.Parts {
		if p.Restarts > 0 {
			agents.row("  "+clean(p.Name), cell{p.State, plain}, "started again "+count(p.Restarts, "time"))
		}
	}
	for _, d := range r.Details {
		agents.row("  "+d.Name, cell{d.State, agentStyle(d.State)}, d.does(), cell{d.where(r.Runtime, a.Now()), dim})
	}
	for _, w := range r.Waits {
		waits.row("    "+short(w.WorkflowID), cell{w.What, waitStyle(w)}, w.Text, cell{w.lasted(), dim})
	}
	if err := agents.write(a.Stdout); err != nil || len(r.Waits) == 0 {
		return err
	}
	a.printf("  waits for:\n")
	if err := waits.write(a.Stdout); err != nil {
		return err
	}
	if r.WaitsMore > 0 {
		a.printf("    and what %d more wait for\n", r.WaitsMore)
	}
	return nil
}

// does says what an agent has to do.
func (d agentDetail) does() string {
	var all []string
	for _, w := range d.Works {
		all = append(all, fmt.Sprintf("claim %s for %s%s", short(w.ClaimID), ageOf(w.AgeSeconds), nth(w.Attempt)))
	}
	if d.Queued > 0 {
		all = append(all, fmt.Sprintf("%d queued", d.Queued))
	}
	if d.BidsDue > 0 {
		all = append(all, count(d.BidsDue, "bid")+" due")
	}
	return strings.Join(all, "; ")
}

// where says in what an agent runs, and since when.
func (d agentDetail) where(kind string, now time.Time) string {
	if d.Unit == "" {
		return ""
	}
	what := "pid "
	if kind == config.RuntimeDocker {
		what = "container "
	}
	return fmt.Sprintf("%s%.12s, up %s", what, d.Unit, age(now.Sub(d.Since)))
}

func agentStyle(state string) style {
	switch state {
	case agentWorking:
		return good
	case agentIdle:
		return plain
	case agentStarting:
		return warn
	}
	return bad
}

// waitStyle lets stand out what is a person's to end, and what nobody is there to.
func waitStyle(w wait) style {
	switch {
	case w.trouble != "":
		return bad
	case w.byPerson():
		return warn
	}
	return accent
}
