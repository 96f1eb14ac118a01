package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/role"
	"sett/runtime"
	"sett/runtime/process"
)

type downCmd struct {
	All     bool          `help:"End every instance of this user, and all that the container engine has of Sett."`
	Purge   bool          `help:"Also remove what is kept: the ledger, the logs, the instance's name."`
	Yes     bool          `short:"y" help:"Do not ask."`
	Timeout time.Duration `placeholder:"DURATION" help:"Wait no longer than this for another sett up or down to end (default, and 0: for ever)."`
}

// Help is shown by `sett down --help`.
func (downCmd) Help() string {
	return `Stops the instance: no new work is taken, running tools get their grace period and
are ended then, with their claims put back. What happened is kept, and the next
sett up goes on from there. Also cleans up after a sett up that was killed, and, with
--name, what the container engine has of an instance that is known nowhere else.

Examples: sett down
          sett down --name my-sett --purge --yes
          sett down --all`
}

// stopTime bounds how long stopping may take beyond the tools' grace periods.
const stopTime = 30 * time.Second

// Run stops the instance, or all.
func (c *downCmd) Run(a *app) error {
	if c.All {
		return c.all(a)
	}
	in, err := a.instance(a.ctx)
	if err != nil {
		if in, err = a.ofEngine(err); err != nil {
			return err
		}
	}
	if c.Purge && !c.Yes {
		if err := a.sure(fmt.Sprintf("Remove everything that is kept of instance %s?", in.Name)); err != nil {
			return err
		}
	}
	err = c.end(a, in)
	if err != nil && a.ctx.Err() != nil {
		return role.Fail(role.Interrupted, errors.New("interrupted; part of the instance may still run"), "sett down goes on, sett up starts it again")
	}
	return err
}

// sure asks before something that cannot be taken back.
func (a *app) sure(question string) error {
	ok, err := a.confirm(question, "--yes")
	if err == nil && !ok {
		err = role.Fail(role.Failed, errors.New("nothing was done"), "")
	}
	return err
}

// end stops one instance, and removes it if that is wanted.
func (c *downCmd) end(a *app, in *instance) error {
	place, err := a.place(a.ctx, in)
	if err != nil {
		return err
	}
	release, err := lockToStop(a, in, c.Timeout)
	if err != nil {
		return err
	}
	defer release()
	cfg, err := in.config()
	if err != nil {
		cfg = &config.Config{} // what is known of grace periods is not worth failing for
	}
	stranger := !in.known()
	s := &stopper{a: a, in: in, place: place, config: cfg, tell: true}
	if err := s.stop(a.ctx); err != nil {
		return err
	}
	if s.stopped == 0 {
		a.printf("%s was not running\n", in.Name)
	}
	if c.Purge {
		return c.purge(a, in, place)
	}
	if err := place.Clear(a.ctx); err != nil {
		return role.Fail(role.Failed, fmt.Errorf("clean up after instance %s: %w", in.Name, err), "sett down tries again")
	}
	if stranger {
		_ = os.RemoveAll(in.dir) // it was made for the lock
	}
	return nil
}

// purge removes what is kept of a stopped instance.
func (c *downCmd) purge(a *app, in *instance, place place) error {
	if err := place.Purge(a.ctx); err != nil {
		return role.Fail(role.Failed, fmt.Errorf("remove what the engine keeps of instance %s: %w", in.Name, err), "sett down --purge tries again")
	}
	if err := removeTree(a.ctx, in.dir); err != nil {
		return role.Fail(role.Failed, fmt.Errorf("remove instance %s: %w", in.Name, err), "")
	}
	a.printf("removed what was kept of %s\n", in.Name)
	if in.External {
		a.sayf("sett: note: its records stay on %s, under keys that begin with sett:{%s}:\n", clean(redis.Redact(in.URL)), in.Name)
	}
	return nil
}

// removeTree removes a directory also while another command, or a process that is
// just ending, writes a last file there.
func removeTree(ctx context.Context, dir string) error {
	for range rounds {
		if err := os.RemoveAll(dir); !errors.Is(err, syscall.ENOTEMPTY) || !pause(ctx) {
			return err
		}
	}
	return os.RemoveAll(dir)
}

// lockToStop locks the instance, after whoever starts or stops it now.
func lockToStop(a *app, in *instance, most time.Duration) (func(), error) {
	rt := in.processes()
	release, holder, err := rt.TryLock(upLock)
	if err == nil {
		return release, nil
	}
	if !errors.Is(err, process.ErrLocked) {
		return nil, role.Fail(role.Failed, fmt.Errorf("lock instance %s: %w", in.Name, err), "")
	}
	a.sayf("sett: waiting for another sett up or down of %s (process %d)\n", in.Name, holder)
	ctx, cancel := bounded(a.ctx, most, errTooLong)
	defer cancel()
	release, err = rt.Lock(ctx, upLock)
	if err != nil && errors.Is(context.Cause(ctx), errTooLong) {
		err = role.Fail(role.TimedOut, fmt.Errorf("stop instance %s: another sett up or down is at work on it after %s (process %d)", in.Name, most, holder), "--timeout gives it more time")
	}
	return release, err
}

// stopper stops the units of an instance. It needs no blackboard, no workspace
// and no configuration, but uses what there is.
type stopper struct {
	a       *app
	in      *instance
	place   place
	config  *config.Config
	tell    bool // print a line for each part
	stopped int
}

// rounds bounds how often it is looked for what was started meanwhile.
const rounds = 10

// stop stops everything: first whoever would start things again.
func (s *stopper) stop(ctx context.Context) error {
	if err := s.in.setStopping(true); err != nil {
		return err
	}
	units, err := s.place.List(ctx, nil)
	if err != nil {
		return fmt.Errorf("list what runs: %w", err)
	}
	if len(units) == 0 {
		return nil
	}
	if s.tell {
		s.a.printf("%s  %s\n", s.a.paint(s.in.Name, bold), clean(s.a.tilde(s.in.Workspace)))
	}
	told := s.announceStop(ctx)
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
	}
	return s.sweep(ctx)
}

// stopOrder is the order in which components are stopped. Agents come before the
// orchestrator, which deals with what they leave; the blackboard comes last. An
// orchestrator that nobody could tell what this is would take it for crashes, and
// goes first.
func stopOrder(told bool) [][]string {
	workers := []string{runtime.ComponentAgent, runtime.ComponentWorker, runtime.ComponentNotifier}
	orchestrator := []string{runtime.ComponentOrchestrator}
	order := [][]string{{runtime.ComponentKeeper}, workers, {runtime.ComponentAnchor}, orchestrator, {runtime.ComponentBlackboard}}
	if !told {
		order[1], order[3] = orchestrator, workers
	}
	return order
}

// gather brings logs home. They are not worth failing for.
func (s *stopper) gather(ctx context.Context) {
	if err := s.place.Gather(ctx); err != nil && ctx.Err() == nil {
		s.a.sayf("sett: warning: %v\n", err)
	}
}

// sweep stops what was started while the rest was being stopped, as the
// orchestrator may do that did not hear of it.
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

// announceStop tells orchestrator and cubs that this is the end, if the
// blackboard can be reached.
func (s *stopper) announceStop(ctx context.Context) (told bool) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	b, err := redis.Open(ctx, redis.Options{
		URL: s.in.URL, Instance: s.in.Name, Name: "sett-down", Timeout: time.Second, Retries: -1, CAFile: s.a.Getenv(env.RedisCAFile),
	})
	if err != nil {
		return false // the end comes anyway
	}
	defer b.Close()
	return b.SetInstance(ctx, redis.InstanceStopping, "sett down") == nil
}

// each stops units side by side.
func (s *stopper) each(ctx context.Context, units []runtime.Unit) error {
	began := s.a.Now()
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
			s.a.printf("  %-*s  stopped  %6s\n", partWidth(s.config), clean(partOf(r.unit)), span(s.a.Now().Sub(began)))
		}
	}
	if err := errors.Join(errs...); err != nil && ctx.Err() == nil {
		return role.Fail(role.Failed, err, "sett down tries again")
	}
	return ctx.Err()
}

// grace is how long a unit gets: an agent what sett.yml gives its tool, and a
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
