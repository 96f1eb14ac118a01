package status

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role/words"
	"sett/roles/view"
	"sett/runtime"
)

// Inspect looks at an instance, briefly; with detail also at its work.
func Inspect(ctx context.Context, at *instance.Locator, in *instance.Instance, detail bool) Row {
	l := inspect(ctx, at, in, detail)
	if l.State == Stopped {
		l.Ready = new(int)
	}
	return l
}

// inspect is Inspect. Without a blackboard that can be read no agent is counted as ready.
func inspect(ctx context.Context, at *instance.Locator, in *instance.Instance, detail bool) Row {
	l := Row{
		Name: in.Name, Workspace: in.Workspace, Runtime: in.Runtime, CreatedAt: in.CreatedAt, State: Stopped,
		NotReady: []string{}, Unhealthy: []string{}, Down: []string{}, Paused: []string{}, Restarting: []string{}, Known: in.Known() && !in.Foreign, in: in, host: in.Host,
	}
	cfg, err := &config.Config{}, error(nil)
	if l.Known {
		if cfg, err = in.Config(); err != nil {
			return l
		}
	}
	l.Agents = len(cfg.Agents)
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	place, err := at.Place(ctx, in)
	var units []runtime.Unit
	if err == nil {
		units, err = place.List(ctx, nil)
	}
	if err != nil {
		l.State, l.why = Unreachable, err
		return l
	}
	running := l.look(in, cfg, units)
	if in.Lost && len(running) > 0 {
		l.State, l.Down, l.Restarting, l.HealthURL = Lost, []string{}, []string{}, ""
		l.running = slices.Sorted(maps.Keys(running))
		return l
	}
	if l.State == Stopped || !l.Known { // or nobody here has its blackboard's password
		return l
	}
	l.asked = true
	if err = l.ask(ctx, at, running, cfg, units, detail); err == nil {
		return l
	}
	// The blackboard may have ended just after the look at the units.
	if again, e := place.List(ctx, nil); e == nil {
		if l.look(in, cfg, again); l.State == Stopped {
			return l
		}
	}
	l.Ready, l.Claims, l.Questions, l.Gates = nil, nil, nil, nil
	if !slices.Contains(l.Restarting, runtime.ComponentBlackboard) {
		l.State = Unreachable
		foreign := (*blackboard.KeyTypeError)(nil)
		if errors.As(err, &foreign) { // it answers
			l.State, err = Degraded, foreign
		}
		if len(l.Down)+len(l.Paused) == 0 || foreign != nil { // they say enough
			l.why = err
		}
	}
	return l
}

// look derives the state from the units, and returns those that run, by name.
func (r *Row) look(in *instance.Instance, c *config.Config, units []runtime.Unit) map[string]runtime.Unit {
	running := map[string]runtime.Unit{}
	r.State, r.Paused, r.Restarting, r.Down = Stopped, []string{}, []string{}, []string{}
	for _, u := range units {
		if u.Running {
			running[u.Name] = u
		}
		if u.Paused {
			r.Paused = append(r.Paused, u.Name)
		}
	}
	r.Restarting = append(r.Restarting, in.Returning(units)...)
	if len(running)+len(r.Restarting) == 0 {
		return running
	}
	r.State = Running
	if len(r.Restarting) > 0 {
		r.State = Degraded
	}
	if _, ok := running[runtime.ComponentOrchestrator]; ok {
		r.HealthURL = in.HealthURL()
	}
	if len(r.Paused) > 0 {
		r.State = Degraded
	}
	parts := in.Parts()
	kept := []string{} // by the orchestrator
	if c.Notify != nil {
		kept = append(kept, runtime.ComponentNotifier)
	}
	if c.HasTrees() {
		kept = append(kept, runtime.ComponentRepository)
	}
	if len(c.Models) > 0 {
		kept = append(kept, runtime.ComponentModelGateway)
	}
	parts = append(parts, kept...)
	for _, part := range parts {
		if _, ok := running[part]; ok || slices.Contains(r.Restarting, part) {
			continue
		}
		r.Down, r.State = append(r.Down, part), Degraded
		// A unit that ended is started again; a removed container is not.
		made := slices.ContainsFunc(units, func(u runtime.Unit) bool { return u.Name == part })
		r.lost = r.lost || !made && in.Runtime == config.RuntimeDocker && !slices.Contains(kept, part) &&
			(!in.Host || part == runtime.ComponentBlackboard)
	}
	return running
}

// ask asks the blackboard.
func (r *Row) ask(ctx context.Context, at *instance.Locator, running map[string]runtime.Unit, c *config.Config, units []runtime.Unit, detail bool) error {
	b, err := r.in.Glance(ctx, at.Terminal, "sett-list")
	if errors.As(err, &r.schema) {
		r.OtherSchema = r.schema.Has
		return nil
	}
	if err != nil {
		return err
	}
	defer b.Close()
	if err := instance.OwnedByAnother(ctx, at, r.in, b); instance.IsOwned(err) {
		r.State, r.NoLedger, r.why, r.gone = Degraded, string(blackboard.LossForeign), err, err
		return nil
	}
	var gone *blackboard.LostError
	if err := instance.CheckBoard(ctx, at, r.in, b); errors.As(err, &gone) {
		r.State, r.NoLedger, r.why, r.gone = Degraded, string(gone.Loss), gone, err
		return nil
	} else if err != nil {
		return err
	}
	if foreign := b.Foreign(ctx); foreign != nil {
		return foreign
	}
	if r.refusal, err = b.Refusal(ctx); err != nil {
		return err
	}
	if r.refusal != nil {
		r.State, r.NoWrites, r.why = Degraded, r.refusal.Why, r.refusal
	}
	if err := r.read(ctx, b, running, c); err != nil || !detail {
		return err
	}
	return r.detail(ctx, at, b, c, units)
}

// read counts ready agents and open work, for the parts that run.
func (r *Row) read(ctx context.Context, b *instance.Board, running map[string]runtime.Unit, c *config.Config) error {
	present, err := b.Roster.Agents(ctx)
	if err != nil {
		return err
	}
	now, err := b.ServerTime(ctx)
	if err != nil {
		return err
	}
	leader, err := b.Roster.Leader(ctx)
	if err != nil {
		return err
	}
	if orchestrator, runs := running[runtime.ComponentOrchestrator]; runs && r.refusal == nil {
		if r.Unled = unled(leader, now, orchestrator.StartedAt); r.Unled != "" {
			r.State = Degraded
		}
	}
	ready := 0
	for _, name := range c.Names() {
		state := instance.StateOf(running[runtime.AgentUnit(name)], present[name], now, false)
		if state.Ready() {
			ready++
		} else {
			r.NotReady, r.State = append(r.NotReady, name), Degraded
		}
		if why := state.Trouble(present[name]); why != "" {
			r.Unhealthy, r.reasons, r.State = append(r.Unhealthy, name), append(r.reasons, why), Degraded
		}
	}
	if c.Notify != nil {
		said, err := b.Ledger.Notifier(ctx)
		if err != nil {
			return err
		}
		if r.Notifier = notifierTrouble(said, now); r.Notifier != nil {
			r.State = Degraded
		}
	}
	claims, err := b.Index.OpenClaims(ctx)
	if err != nil {
		return err
	}
	questions, gates, err := view.OpenMatters(ctx, b.Index)
	if err != nil {
		return err
	}
	open, asked, gated := len(claims), len(questions), len(gates)
	r.Ready, r.Claims, r.Questions, r.Gates = &ready, &open, &asked, &gated
	return r.spending(ctx, b, c)
}

// leaseOver is the time without a lead after which nobody is about to take it: a leader
// renews, and another one takes over, well before.
const leaseOver = 5 * time.Second

// unled says that nobody leads, though an orchestrator has run since a moment: nothing is
// granted then. Empty: somebody leads, or is about to.
func unled(leader blackboard.Leader, now, since time.Time) string {
	if leader.Holder != "" && leader.Until.After(since) {
		since = leader.Until
	}
	over := now.Sub(since)
	if over <= leaseOver {
		return ""
	}
	return "nobody leads, for " + words.Span(over) + ": the orchestrator runs and does not lead, so nothing is granted"
}
