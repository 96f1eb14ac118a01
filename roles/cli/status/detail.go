package status

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
	"sett/runtime"
)

// Agent is an agent as `list -v` shows it. The names of its fields are part of
// the interface.
type Agent struct {
	Name     string              `json:"name"`
	Role     string              `json:"role"`
	State    instance.AgentState `json:"state"`          // idle, working, starting, silent, unhealthy, unfit, paused or stopped
	Since    time.Time           `json:"since,omitzero"` // when its unit was started; absent: there is none
	Strategy string              `json:"strategy"`
	Replicas int                 `json:"replicas"`
	Slots    int                 `json:"concurrency"` // the grants that its own unit runs at once
	Unit     string              `json:"unit_id"`     // of its container, else of its process; empty: none runs
	BidsDue  int                 `json:"bids_due"`    // claims that await its bid
	Queued   int                 `json:"queued"`      // its grants that have not begun
	Works    []Work              `json:"works"`       // its running grants
}

// Work is a grant that runs.
type Work struct {
	ClaimID    string                   `json:"claim_id"`
	Attempt    int                      `json:"attempt"`
	Workspace  blackboard.WorkspaceMode `json:"workspace"`
	Since      time.Time                `json:"since"`
	AgeSeconds int64                    `json:"age_seconds"`
	Unit       string                   `json:"unit_id"` // that it runs in, where it is a worker's of its own
}

// Part is a unit that an instance has besides its agents and their workers.
type Part struct {
	Name     string    `json:"name"`
	State    string    `json:"state"`          // running, paused, restarting or stopped
	Since    time.Time `json:"since,omitzero"` // when it was started
	Unit     string    `json:"unit_id"`        // its container, or its process
	Restarts int       `json:"restarts"`       // how often it ended and was started again
}

func (r *Row) partDetails(units map[string]runtime.Unit) {
	r.Parts = []Part{}
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
		r.Parts = append(r.Parts, Part{u.Name, state, u.StartedAt, u.ID, u.Restarts})
	}
}

// detail adds the work of an instance's agents, and the waits of its open work.
func (r *Row) detail(ctx context.Context, at *instance.Locator, b *instance.Board, c *config.Config, units []runtime.Unit) error {
	f, err := b.Figures(ctx, c.Names())
	if err != nil {
		return err
	}
	var byUnit map[string]runtime.Unit
	if len(units) > 0 {
		byUnit = byName(r.in, units)
	}
	o, err := view.ReadOpen(ctx, BoardOf(b), "")
	if err != nil {
		return err
	}
	s, err := Reader(at, b, r.in).SceneWith(ctx, o, unitTrouble(byUnit), r.refusal)
	if err != nil {
		return err
	}
	r.Waits, r.WaitsMore, r.Stopping = s.Waits(o), o.More, s.Stopping
	r.partDetails(byUnit)
	r.Disk = diskOf(r.in)
	r.Details = []Agent{}
	for _, agent := range c.Agents {
		r.Details = append(r.Details, detailOf(s, agent, f, units, byUnit))
	}
	return nil
}

// spending reads the sums of models' calls, where the clan has models.
func (r *Row) spending(ctx context.Context, b *instance.Board, c *config.Config) (err error) {
	if len(c.Models) == 0 {
		return nil
	}
	paused, err := b.Calls.Paused(ctx)
	if err != nil {
		return err
	}
	r.ModelsPaused, r.ModelsPause = paused != nil, view.PauseOf(paused)
	sums, err := b.Calls.Sums(ctx)
	r.Models = view.SpentOf(sums)
	return err
}

func detailOf(s view.Scene, agent config.Agent, f blackboard.Figures, units []runtime.Unit, byUnit map[string]runtime.Unit) Agent {
	d := Agent{Name: agent.Name, Role: agent.Role, State: instance.AgentStopped, Strategy: agent.Strategy, Replicas: agent.Replicas, Slots: agent.Slots(),
		BidsDue: int(f.Agents[agent.Name].Due.Count), Works: []Work{}}
	workers := map[string]string{}
	for _, u := range units {
		if u.Labels[runtime.LabelComponent] == runtime.ComponentWorker && u.Running {
			workers[u.Labels[runtime.LabelIncarnation]] = u.ID
		}
	}
	for _, w := range f.Running {
		if w.Agent == agent.Name {
			d.Works = append(d.Works, Work{w.Claim, w.Attempt, agent.Workspace.Mode, w.Since, view.AgeSeconds(s.Now, w.Since), workers[w.Holder]})
		}
	}
	d.Queued = max(int(f.Agents[agent.Name].Grants.Count)-len(d.Works), 0)
	if u, ok := byUnit[runtime.AgentUnit(agent.Name)]; ok && u.Running {
		d.State, d.Since, d.Unit = instance.StateOf(u, s.Agents[agent.Name], s.Now, len(d.Works) > 0), u.StartedAt, u.ID
	}
	return d
}

// detailText shows an instance's agents and waits below its name.
func (r Row) detailText(at *instance.Locator) error {
	if r.Details == nil {
		return nil
	}
	stopping := ""
	if r.Stopping {
		stopping = "  " + at.Paint("stopping", term.Warn)
	}
	at.Printf("\n%s%s\n", at.Paint(r.Name, term.Bold), stopping)
	agents, waits := at.Table(), at.Table()
	for _, p := range r.Parts {
		if p.Restarts > 0 {
			agents.Row("  "+role.Clean(p.Name), term.Cell{Text: p.State, As: term.Plain}, "started again "+words.Count(p.Restarts, "time"))
		}
	}
	for _, d := range r.Details {
		agents.Row("  "+d.Name, term.Cell{Text: string(d.State), As: agentStyle(d.State)}, d.does(), term.Cell{Text: d.where(r.Runtime, at.Now()), As: term.Dim})
	}
	for _, m := range r.Models {
		agents.Row("  "+role.Clean(m.Model), words.Count(int(m.Calls), "call"), view.Tokens(m.Spent)+", cost "+view.CostText(m.Spent))
	}
	if r.ModelsPause != nil {
		agents.Row("  models", term.Cell{Text: "stopped", As: term.Warn}, strings.TrimLeft(r.ModelsPause.Text(at.Now())+"; ", " ;")+at.CommandLine(r.in, "models resume")+" lets calls go on")
	}
	for _, w := range r.Waits {
		waits.Row("    "+words.Short(w.WorkflowID), term.Cell{Text: string(w.What), As: ToneOf(w)}, w.Text, term.Cell{Text: w.Lasted(), As: term.Dim})
	}
	if err := agents.Write(at.Stdout); err != nil {
		return err
	}
	if !r.Disk.At.IsZero() {
		at.Printf("  %s %s\n", r.Disk.text(), at.Paint("(measured "+words.Age(at.Now().Sub(r.Disk.At))+" ago)", term.Dim))
	}
	if len(r.Waits) == 0 {
		return nil
	}
	at.Printf("  waits for:\n")
	if err := waits.Write(at.Stdout); err != nil {
		return err
	}
	if r.WaitsMore > 0 {
		at.Printf("    and what %d more wait for\n", r.WaitsMore)
	}
	return nil
}

// does names an agent's work.
func (d Agent) does() string {
	var all []string
	if d.Slots > 1 && len(d.Works) > 0 {
		all = append(all, fmt.Sprintf("%d of %d running", len(d.Works), d.Slots))
	}
	for _, w := range d.Works {
		all = append(all, fmt.Sprintf("claim %s for %s%s", words.Short(w.ClaimID), view.AgeOf(w.AgeSeconds), view.Nth(w.Attempt)))
	}
	if d.Queued > 0 {
		all = append(all, fmt.Sprintf("%d queued", d.Queued))
	}
	if d.BidsDue > 0 {
		all = append(all, words.Count(d.BidsDue, "bid")+" due")
	}
	return strings.Join(all, "; ")
}

// where names an agent's process or container, and its age.
func (d Agent) where(kind string, now time.Time) string {
	if d.Unit == "" {
		return ""
	}
	what := "pid "
	if kind == config.RuntimeDocker {
		what = "container "
	}
	return fmt.Sprintf("%s%.12s, up %s", what, d.Unit, words.Age(now.Sub(d.Since)))
}

func agentStyle(state instance.AgentState) term.Style {
	switch state {
	case instance.AgentWorking:
		return term.Good
	case instance.AgentIdle:
		return term.Plain
	case instance.AgentStarting:
		return term.Warn
	}
	return term.Bad
}
