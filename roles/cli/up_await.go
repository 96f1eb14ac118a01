package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/roles/role"
	"sett/runtime"
)

// patience is how often a part may be started during one up before it counts as
// one that cannot run.
const patience = 3

// pause waits a moment between two looks; false when the context ended.
func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(30 * time.Millisecond):
		return true
	}
}

// waiting is what an up still waits for.
type waiting struct {
	u        *upping
	leader   bool
	position string // in the ledger, from where the leader's entry is looked for
	agents   map[string]bool
	notifier bool
	starts   map[string]map[time.Time]bool // by unit
}

// await waits for the orchestrator to lead and for every agent to be ready, and
// prints a line for each. An empty position: it leads already.
func (u *upping) await(ctx context.Context, position string) error {
	w := &waiting{u: u, position: position, agents: map[string]bool{}, starts: map[string]map[time.Time]bool{}}
	for {
		done, err := w.look(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if done {
			return nil
		}
		if !pause(ctx) {
			return u.late(w.missing())
		}
	}
}

// look reads the present state once.
func (w *waiting) look(ctx context.Context) (done bool, err error) {
	units, err := w.u.place.List(ctx, nil)
	if err != nil {
		return false, fmt.Errorf("list what runs: %w", err)
	}
	running := map[string]runtime.Unit{}
	for _, unit := range units {
		if unit.Running {
			running[unit.Name] = unit
		}
		if err := w.count(unit); err != nil {
			return false, err
		}
	}
	if err := w.lookForLeader(ctx, running); err != nil || !w.leader {
		return false, err
	}
	present, err := w.u.board.Agents(ctx)
	if err != nil {
		return false, err
	}
	now, err := w.u.board.ServerTime(ctx)
	if err != nil {
		return false, err
	}
	done = true
	for _, agent := range w.u.c.Agents {
		unit, ok := running[runtime.AgentUnit(agent.Name)]
		p := present[agent.Name]
		ok = ok && unit.Labels[runtime.LabelConfig] == agent.Digest() && isPresent(p, unit, now)
		if ok && !w.agents[agent.Name] {
			w.agents[agent.Name] = true
			w.u.ready(agent.Name, "")
		}
		done = done && ok
	}
	done = w.lookForNotifier(running) && done
	for _, unit := range running { // of an agent that sett.yml has no more
		if unit.Labels[runtime.LabelComponent] == runtime.ComponentAgent {
			_, wanted := w.u.c.Agent(unit.Labels[runtime.LabelAgent])
			done = done && wanted
		}
	}
	return done, nil
}

// isPresent says whether the registry's entry is this unit's and it lives.
func isPresent(p redis.Presence, unit runtime.Unit, now time.Time) bool {
	return p.Incarnation != "" && p.Incarnation == unit.Labels[runtime.LabelIncarnation] && p.Alive.After(now)
}

// count notices a part that is started again and again.
func (w *waiting) count(unit runtime.Unit) error {
	switch unit.Labels[runtime.LabelComponent] {
	case runtime.ComponentWorker:
		return nil // they come and go
	case runtime.ComponentAgent:
		if _, ok := w.u.c.Agent(unit.Labels[runtime.LabelAgent]); !ok {
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
	return role.Fail(role.Failed, w.u.failed(partOf(unit), fmt.Sprintf("ended %d times", patience-1)), "sett logs %s", partOf(unit))
}

// partOf is what people call a unit.
func partOf(unit runtime.Unit) string {
	if agent := unit.Labels[runtime.LabelAgent]; agent != "" {
		return agent
	}
	return unit.Name
}

// lookForLeader looks for the ledger's entry that an orchestrator leads, and that it
// goes by what has to be approved: a goal may be posted next.
func (w *waiting) lookForLeader(ctx context.Context, running map[string]runtime.Unit) error {
	_, runs := running[runtime.ComponentOrchestrator]
	if w.leader || !runs {
		return nil
	}
	for w.position != "" {
		events, err := w.u.board.History(ctx, w.position, 500)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			return nil
		}
		w.position = events[len(events)-1].ID
		for _, e := range events {
			if e.Kind == blackboard.EventLeader {
				w.position = ""
			}
		}
	}
	if enacted, err := w.u.board.Approves(ctx, w.u.c.Approve); err != nil || !enacted {
		return err
	}
	w.leader = true
	w.u.ready(runtime.ComponentOrchestrator, w.u.healthDetail(ctx))
	return nil
}

// missing names the part that is waited for.
func (w *waiting) missing() string {
	if !w.leader {
		return runtime.ComponentOrchestrator
	}
	for _, agent := range w.u.c.Agents {
		if !w.agents[agent.Name] {
			return agent.Name
		}
	}
	if w.u.c.Notify != nil && !w.notifier {
		return runtime.ComponentNotifier
	}
	return runtime.ComponentOrchestrator
}

// announce prints the heading of the parts' lines.
func (u *upping) announce() {
	u.a.printf("%s  %s\n", u.a.paint(u.in.Name, bold), clean(u.a.tilde(u.in.Workspace)))
}

// ready prints the line of a part.
func (u *upping) ready(part, detail string) {
	line := fmt.Sprintf("  %-*s  %s  %6s  %s", partWidth(u.c), part, u.a.paint("ready", good), span(u.a.Now().Sub(u.began)), detail)
	u.a.printf("%s\n", strings.TrimRight(line, " "))
}

// partWidth is that of the longest name of a part.
func partWidth(c *config.Config) int {
	width := len(runtime.ComponentOrchestrator)
	for _, name := range c.Names() {
		width = max(width, len(name))
	}
	return width
}

// blackboardDetail says which blackboard is in use.
func (u *upping) blackboardDetail() string {
	if u.in.External {
		return "external, " + clean(redis.Redact(u.in.URL))
	}
	return u.launch.blackboardDetail()
}

// late is the error about a part that was not ready in time.
func (u *upping) late(part string) error {
	hint := "--timeout gives it more time"
	if part == runtime.ComponentBlackboard { // it may run, cut off from its network
		hint += ", sett down && sett up a new container; what it holds is kept"
	}
	return role.Fail(role.TimedOut, u.failed(part, "not ready after "+u.timeout.String()), "%s", hint)
}

// lastLines is how much of a log an error shows.
const lastLines = 8

// failed is the error about a part, with the last lines that it logged; or, when it
// logged nothing, what the orchestrator says of an agent that it cannot start.
func (u *upping) failed(part, what string) error {
	text := part + ": " + what
	var lines []logLine
	if _, ok := u.c.Agent(part); ok {
		lines = u.lastLogged(runtime.AgentUnit(part), func(logLine) bool { return true })
		if len(lines) == 0 {
			lines = u.lastLogged(runtime.ComponentOrchestrator, func(l logLine) bool {
				return (l.level == "ERROR" || l.level == "WARN") && slices.Contains(l.attrs, attr{"agent", part, true})
			})
			lines = lines[max(0, len(lines)-1):] // it says the same with every attempt
		}
	} else {
		lines = u.lastLogged(part, func(logLine) bool { return true })
	}
	if len(lines) == 0 {
		return fmt.Errorf("%s (it logged nothing)", text)
	}
	for _, line := range lines {
		text += "\n" + u.a.readable(line, false)
	}
	return errors.New(text)
}

// lastLogged returns what a unit logged last, since this up began.
func (u *upping) lastLogged(unit string, wanted func(logLine) bool) []logLine {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(u.a.ctx), time.Second)
	defer cancel()
	var lines []logLine
	// What cannot be read is not there; the error that it would explain matters more.
	_ = readLog(ctx, u.place, source{unit: unit}, runtime.LogOptions{Lines: -1, Since: u.began}, func(l logLine) {
		if wanted(l) {
			lines = append(lines, l)
		}
	})
	return lines[max(0, len(lines)-lastLines):]
}
