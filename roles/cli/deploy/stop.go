package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/repository"
	"sett/roles/role/words"
	"sett/runtime"
)

// stopTime bounds how long stopping may take beyond the tools' grace periods.
const stopTime = 30 * time.Second

// stopper stops the units of an instance. It uses the blackboard, the workspace and the
// configuration if they exist, and needs none of them.
type stopper struct {
	at      *instance.Locator
	in      *instance.Instance
	place   instance.Place
	config  *config.Config
	tell    bool   // print a line for each part
	unled   bool   // the orchestrator of this start did not lead yet
	with    string // the command that stops; empty: sett down
	purges  bool   // what the instance keeps goes, too
	cutOff  bool   // the blackboard could not be told: the cubs that are stopped are noted
	stopped int
	untold  untold // counted once the notifier has ended
}

// rounds bounds how often sweep looks for new units.
const rounds = 10

// stop stops all units, first those that would start others again.
func (s *stopper) stop(ctx context.Context) error {
	if err := s.in.SetStopping(true); err != nil {
		return err
	}
	units, err := s.place.List(ctx, nil)
	if err != nil {
		return fmt.Errorf("list what runs: %w", err)
	}
	if len(units) == 0 {
		return errors.Join(instance.DropModelKeys(s.in), s.in.Pins().Keep())
	}
	if s.tell {
		s.at.Printf("%s  %s\n", s.at.Paint(s.in.Name, term.Bold), role.Clean(s.at.Tilde(s.in.Workspace)))
	}
	told, why := s.announceStop(ctx, slices.ContainsFunc(units, atWork))
	if why != nil {
		s.cutsOff(units, why)
	}
	err = s.inOrder(ctx, units, told)
	s.tellCutOff(units)
	if err != nil {
		return err
	}
	return errors.Join(instance.DropModelKeys(s.in), s.in.Pins().Keep())
}

// inOrder stops units, and those that they start meanwhile.
func (s *stopper) inOrder(ctx context.Context, units []runtime.Unit, told bool) error {
	s.gather(ctx)
	for _, components := range stopOrder(told) {
		group := slices.DeleteFunc(slices.Clone(units), func(u runtime.Unit) bool {
			return !slices.Contains(components, u.Labels[runtime.LabelComponent])
		})
		if slices.Contains(components, runtime.ComponentOrchestrator) {
			s.gather(ctx)
		}
		if err := s.each(ctx, group); err != nil {
			return err
		}
		if told && slices.Contains(components, runtime.ComponentNotifier) {
			s.untold = untoldOf(ctx, s.at, s.in, s.config)
		}
	}
	return s.sweep(ctx)
}

// stopOrder is the order in which components are stopped. Agents come before the
// orchestrator, which puts their claims back; the blackboard comes last. An orchestrator
// that was not told of the stop would take it for crashes, and comes first. Agents have
// the repository keep what their tools leave, which needs nobody else.
func stopOrder(told bool) [][]string {
	workers := []string{runtime.ComponentAgent, runtime.ComponentWorker, runtime.ComponentNotifier}
	orchestrator := []string{runtime.ComponentOrchestrator}
	order := [][]string{{runtime.ComponentKeeper}, workers, {runtime.ComponentAnchor}, orchestrator, {runtime.ComponentRepository, runtime.ComponentModelGateway, runtime.ComponentBlackboard}}
	if !told {
		order[1], order[3] = orchestrator, workers
	}
	return order
}

// gather brings logs home. A stop does not fail for them.
func (s *stopper) gather(ctx context.Context) {
	if err := s.place.Gather(ctx); err != nil && ctx.Err() == nil {
		s.at.Sayf("sett: warning: %v\n", err)
	}
}

// sweep stops units that were started meanwhile, as by an orchestrator that did not hear
// of the stop.
func (s *stopper) sweep(ctx context.Context) error {
	for range rounds {
		units, err := s.place.List(ctx, nil)
		if err != nil {
			return fmt.Errorf("list what runs: %w", err)
		}
		if len(units) == 0 {
			return nil
		}
		if err := s.each(ctx, units); err != nil {
			return err
		}
	}
	return role.Fail(role.Failed, fmt.Errorf("stop instance %s: something starts its processes again and again", s.in.Name), "sett down")
}

// atWork says whether a unit runs, or is about to.
func atWork(u runtime.Unit) bool { return u.Running || u.Restarting }

// announceStop tells orchestrator and cubs of the stop, if the blackboard is this instance's, and nobody else goes on with
// it. Runs: a unit of the instance runs here. The error says why a blackboard of this instance could not be told.
func (s *stopper) announceStop(ctx context.Context, runs bool) (told bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	b, err := s.in.Glance(ctx, s.at.Terminal, "sett-down")
	if err != nil {
		return false, err
	}
	defer b.Close()
	if instance.IsOwned(instance.OwnedByAnother(ctx, s.at, s.in, b)) {
		return false, nil // its own workspace goes on
	}
	if errors.Is(instance.CheckBoard(ctx, s.at, s.in, b), blackboard.ErrLost) {
		return false, nil // it may be another instance's
	}
	if !runs && s.in.External {
		if elsewhere, err := instance.WorksElsewhere(ctx, s.at, s.in, b); err != nil || elsewhere {
			return false, err // a copy of this instance goes on
		}
	}
	if s.unled {
		if led, err := instance.Led(ctx, b); err != nil || led {
			return false, err // another orchestrator leads, and goes on
		}
	}
	if err := recordStop(ctx, s, b); err != nil {
		return false, err
	}
	_ = instance.CheckBoard(ctx, s.at, s.in, b) // what it has now is there at the next start, too
	return true, nil
}

// cutsOff says that the blackboard is not told of the stop, and has the cubs noted that are stopped.
func (s *stopper) cutsOff(units []runtime.Unit, why error) {
	if len(holders(units)) == 0 || !s.in.Known() || s.purges {
		return
	}
	s.cutOff = true
	says := "the blackboard was not told of the stop (" + role.Clean(words.FirstLine(why)) + ")"
	var refused *blackboard.NoWritesError
	if errors.As(why, &refused) {
		says = "the blackboard takes no writes (" + refused.Why + ")"
	}
	s.at.Sayf("sett: warning: %s: a result that it does not have yet is not recorded\n", says)
	s.at.Sayf("sett: note: the next sett up queues the work of these agents again, as no failed attempt; the commit of such a result will be a leftover (sett leftovers)\n")
}

// holders are the incarnations of the cubs among units that run.
func holders(units []runtime.Unit) (all []string) {
	for _, u := range units {
		c := u.Labels[runtime.LabelComponent]
		if id := u.Labels[runtime.LabelIncarnation]; id != "" && atWork(u) && (c == runtime.ComponentAgent || c == runtime.ComponentWorker) {
			all = append(all, id)
		}
	}
	return all
}

// noteCutOff notes cubs that are about to be stopped without word to the blackboard.
func (s *stopper) noteCutOff(units []runtime.Unit) {
	all := holders(units)
	if !s.cutOff || len(all) == 0 {
		return
	}
	if err := instance.NoteCutOff(s.in, s.at.Who(), all); err != nil {
		s.at.Sayf("sett: warning: %v: the work of these agents will count as a crash\n", err)
	}
}

// tellCutOff names results with a commit that the blackboard may not have: the repository has noted each, and was not
// told yet that it is recorded.
func (s *stopper) tellCutOff(units []runtime.Unit) {
	if !s.cutOff {
		return
	}
	stopped := map[string]bool{}
	for _, u := range units {
		stopped[u.Labels[runtime.LabelAgent]] = true
	}
	for _, t := range repository.ReadTaken(s.in.StoreDir()) {
		if stopped[t.Agent] {
			s.at.Sayf("sett: note: the result of agent %s for claim %s may be missing there; its commit is kept\n", role.Clean(t.Agent), words.Short(t.Claim))
		}
	}
}

// each stops units at the same time.
func (s *stopper) each(ctx context.Context, units []runtime.Unit) error {
	s.noteCutOff(units)
	began := s.at.Now()
	type result struct {
		unit runtime.Unit
		err  error
	}
	results := make(chan result)
	for _, u := range units {
		go func() { results <- result{u, s.place.Stop(ctx, u.Name, s.grace(u))} }()
	}
	var errs []error
	for range units {
		r := <-results
		errs = append(errs, r.err)
		if r.err != nil || !r.unit.Running {
			continue
		}
		s.stopped++
		component := r.unit.Labels[runtime.LabelComponent]
		if s.tell && component != runtime.ComponentKeeper && component != runtime.ComponentAnchor {
			s.at.Printf("  %-*s  stopped  %6s\n", partWidth(s.config), role.Clean(partOf(r.unit)), words.Span(s.at.Now().Sub(began)))
		}
	}
	if err := errors.Join(errs...); err != nil && ctx.Err() == nil {
		return role.Fail(role.Failed, err, "sett down tries again")
	}
	return ctx.Err()
}

// grace is the grace period of a unit. An agent gets that of its tool in sett.yml, and a
// little more to hand in the outcome.
func (s *stopper) grace(u runtime.Unit) time.Duration {
	if name := u.Labels[runtime.LabelAgent]; name != "" {
		if agent, ok := s.config.Agent(name); ok {
			return agent.Grace + 3*time.Second
		}
		return config.DefaultGrace + 3*time.Second
	}
	return 10 * time.Second
}
