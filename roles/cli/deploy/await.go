package deploy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/cli/logline"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/store"
	"sett/runtime"
)

// patience is the number of starts during one up with which a part counts as one that
// cannot run.
const patience = 3

// waiting is the wait for the parts of one up.
type waiting struct {
	j        *job
	leader   bool
	position string // in the ledger, from where the leader's entry is looked for
	agents   map[string]bool
	extras   map[string]bool               // the notifier, the repository and the model gateway, when they are ready
	starts   map[string]map[time.Time]bool // by unit
	read     time.Time                     // when the orchestrator's log was read last, for what it cannot start
}

// await waits for the orchestrator to lead and for every agent to be ready, and
// prints a line for each. An empty position: it leads already.
func (u *upRun) await(ctx context.Context) error {
	w := &waiting{j: &u.job, position: u.position, agents: map[string]bool{}, extras: map[string]bool{}, starts: map[string]map[time.Time]bool{}, read: u.at.Now()}
	for {
		done, err := w.look(ctx)
		if taken := takenMeanwhile(ctx, u); taken != nil {
			return taken
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
		if done {
			return nil
		}
		if err := w.refused(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		if !instance.Tick(ctx) {
			return u.late(ctx, w.missing())
		}
	}
}

// look reads the present state once.
func (w *waiting) look(ctx context.Context) (done bool, err error) {
	units, err := w.j.place.List(ctx, nil)
	if err != nil {
		return false, fmt.Errorf("list what runs: %w", err)
	}
	running := map[string]runtime.Unit{}
	for _, unit := range units {
		if unit.Running {
			running[unit.Name] = unit
		}
		if err := w.count(ctx, unit); err != nil {
			return false, err
		}
	}
	if err := w.lookForLeader(ctx, running); err != nil || !w.leader {
		return false, err
	}
	present, err := w.j.board.Roster.Agents(ctx)
	if err != nil {
		return false, err
	}
	now, err := w.j.board.ServerTime(ctx)
	if err != nil {
		return false, err
	}
	done = true
	for _, agent := range w.j.c.Agents {
		unit, p := running[runtime.AgentUnit(agent.Name)], present[agent.Name]
		state := instance.StateOf(unit, p, now, false)
		ok := unit.Labels[runtime.LabelConfig] == agent.Digest() && state.Answers()
		if ok && !w.agents[agent.Name] {
			w.agents[agent.Name] = true
			answers(w.j, agent, state, p)
		}
		done = done && ok
	}
	for _, part := range extrasOf(w.j) {
		done = w.lookForExtra(ctx, part, running) && done
	}
	for _, unit := range running { // of an agent that sett.yml has no more
		if unit.Labels[runtime.LabelComponent] == runtime.ComponentAgent {
			_, wanted := w.j.c.Agent(unit.Labels[runtime.LabelAgent])
			done = done && wanted
		}
	}
	return done, nil
}

// count fails for a part that is started again and again.
func (w *waiting) count(ctx context.Context, unit runtime.Unit) error {
	switch unit.Labels[runtime.LabelComponent] {
	case runtime.ComponentWorker:
		return nil // they come and go
	case runtime.ComponentAgent:
		if _, ok := w.j.c.Agent(unit.Labels[runtime.LabelAgent]); !ok {
			return nil
		}
	}
	if unit.StartedAt.IsZero() {
		return nil // it is being started
	}
	if w.starts[unit.Name] == nil {
		w.starts[unit.Name] = map[time.Time]bool{}
	}
	w.starts[unit.Name][unit.StartedAt] = true
	if len(w.starts[unit.Name]) < patience {
		return nil
	}
	return role.Fail(role.Failed, w.j.failed(ctx, partOf(unit), fmt.Sprintf("ended %d times", patience-1), beforeLast(w.starts[unit.Name])), "sett logs %s", partOf(unit))
}

// beforeLast is the last but one of at least two starts: that of the newest run that has ended.
func beforeLast(starts map[time.Time]bool) time.Time {
	all := slices.SortedFunc(maps.Keys(starts), time.Time.Compare)
	return all[len(all)-2]
}

// refusals is how often in one up a part may fail to start at all: about as many seconds, as the
// orchestrator waits twice as long after each. What the engine refuses so often, it refuses.
const refusals = 6

// notStarted is how the orchestrator's line ends about a part that it could not start, and
// refusalLines how many of the last lines of its log are read for such ones.
const (
	notStarted   = " not started"
	refusalLines = 2000
)

// refused fails for a part that the orchestrator cannot start, as its log says.
func (w *waiting) refused(ctx context.Context) error {
	if w.j.at.Now().Sub(w.read) < 2*time.Second {
		return nil
	}
	w.read = w.j.at.Now()
	times := map[string]int{}
	lines, _ := w.j.logged(ctx, runtime.ComponentOrchestrator, runtime.LogOptions{Lines: refusalLines}, func(l logline.Line) bool {
		return l.Level == "ERROR" && strings.HasSuffix(l.Msg, notStarted) && !l.Time.Before(w.j.began)
	})
	for _, line := range lines {
		part := strings.TrimSuffix(line.Msg, notStarted)
		for _, a := range line.Attrs {
			if a.Key == "agent" {
				part = a.Value
			}
		}
		if times[part]++; times[part] >= refusals && !w.agents[part] && !w.extras[part] {
			failed := role.Fail(role.Failed, w.j.failed(ctx, part, fmt.Sprintf("not started in %d tries", refusals), time.Time{}), "sett logs %s", runtime.ComponentOrchestrator)
			return instance.Full(failed, w.j.in.Dir)
		}
	}
	return nil
}

// partOf is the name of a unit for people.
func partOf(unit runtime.Unit) string {
	if agent := unit.Labels[runtime.LabelAgent]; agent != "" {
		return agent
	}
	return unit.Name
}

// lookForLeader looks for the ledger's entry that an orchestrator leads, and for the
// present settings in force on the blackboard: the next command may post a goal.
func (w *waiting) lookForLeader(ctx context.Context, running map[string]runtime.Unit) error {
	_, runs := running[runtime.ComponentOrchestrator]
	if w.leader || !runs {
		return nil
	}
	for w.position != "" {
		events, err := w.j.board.Ledger.History(ctx, w.position, 500)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			return nil
		}
		w.position = events[len(events)-1].ID
		for _, e := range events {
			if e.Kind == blackboard.EventLeader {
				w.position, w.j.led = "", true
			}
		}
	}
	if enacted, err := w.j.board.Control.Enacted(ctx, w.j.c.Approve, w.j.c.Land.Branch(), w.j.c.DecisionDigest()); err != nil || !enacted {
		return err
	}
	w.leader = true
	w.j.ready(runtime.ComponentOrchestrator, w.j.healthDetail(ctx))
	return nil
}

// missing names the first part that is not ready.
func (w *waiting) missing() string {
	if !w.leader {
		return runtime.ComponentOrchestrator
	}
	for _, agent := range w.j.c.Agents {
		if !w.agents[agent.Name] {
			return agent.Name
		}
	}
	for _, part := range extrasOf(w.j) {
		if part.digest != "" && !w.extras[part.name] {
			return part.name
		}
	}
	return runtime.ComponentOrchestrator
}

// extra is a part that the orchestrator keeps running besides the agents.
type extra struct {
	name    string
	digest  string // of its configuration; empty: it is not wanted
	answers func(ctx context.Context, unit runtime.Unit) (ok bool, unfit string)
}

// extrasOf returns the notifier, the repository and the model gateway.
func extrasOf(j *job) []extra {
	return []extra{
		{runtime.ComponentNotifier, j.c.Notify.Digest(), func(ctx context.Context, unit runtime.Unit) (bool, string) {
			said, err := j.board.Ledger.Notifier(ctx)
			return err == nil && said.Incarnation == unit.Labels[runtime.LabelIncarnation], said.Unfit
		}},
		{runtime.ComponentRepository, j.c.RepositoryDigest(), func(ctx context.Context, _ runtime.Unit) (bool, string) { return j.in.RepositoryAnswers(ctx), "" }},
		{runtime.ComponentModelGateway, j.c.ModelsDigest(), func(ctx context.Context, _ runtime.Unit) (bool, string) {
			return instance.GatewayAnswers(ctx, j.in), ""
		}},
	}
}

// lookForExtra says whether the part is as sett.yml wants it: ready, in its present form,
// or not at all.
func (w *waiting) lookForExtra(ctx context.Context, part extra, running map[string]runtime.Unit) bool {
	unit, runs := running[part.name]
	if part.digest == "" {
		return !runs
	}
	if !runs || unit.Labels[runtime.LabelConfig] != part.digest {
		return false
	}
	if w.extras[part.name] {
		return true
	}
	ok, unfit := part.answers(ctx, unit)
	if !ok {
		return false
	}
	w.extras[part.name] = true
	if unfit == "" {
		w.j.ready(part.name, "")
		return true
	}
	warnUnfit(w.j, "", "notify", w.j.c.Notify.Image, unfit, nobodyNotified)
	partLine(w.j, part.name, string(instance.AgentUnfit), term.Bad, programUnfit)
	return true
}

// late is the error about a part that is not ready in time.
func (j *job) late(ctx context.Context, part string) error {
	if no := store.Writable(j.in.Dir); store.IsFull(no) {
		return instance.Full(fmt.Errorf("%w: %w", j.failed(ctx, part, j.limit.over(), time.Time{}), no), j.in.Dir)
	}
	hint := "--timeout gives it more time"
	if part == runtime.ComponentBlackboard { // it may run, cut off from its network
		hint += ", sett down && sett up a new container; what it holds is kept"
	}
	return role.Fail(role.TimedOut, j.failed(ctx, part, j.limit.over(), time.Time{}), "%s", hint)
}
