package orchestrator

import (
	"context"
	"errors"
	"sync"
	"time"

	"sett/blackboard"
	"sett/roles/role"
)

// deciders is the number of claims that are decided about at once. Each decision
// mostly waits for the blackboard; their calls share round trips.
const deciders = 32

// term is the time in which this orchestrator leads. Everything in it ends with it.
type term struct {
	*orchestrator
	lead     blackboard.Lead
	queue    *queue
	hints    hints
	staff    *staff            // nil: somebody else runs the agents
	again    chan struct{}     // read the open work
	toLand   chan struct{}     // look at the open landings
	orphaned chan struct{}     // keep the changes of dead cubs
	barredOn map[string]string // by goal that cannot land: the branch's commit at the last look
	ailing   ailments          // goals that the repository has trouble to land
	enacted  enacted
	courses  courses
	clock    clock

	mu     sync.Mutex
	alarms map[key]*alarm
}

// alarm has a key looked at again at a time by the blackboard's clock. Our own measures
// how long that is, from the first look on: the blackboard's may be set back.
type alarm struct {
	at    time.Time // by the blackboard's clock
	rings time.Time // by our own
	timer *time.Timer
	rang  bool
}

// staff is a term's use of its supervisor and its pool.
type staff struct {
	supervise func(ctx context.Context) error
	wake      func()                                        // the configuration or the instance's state may have changed
	offer     func(agent, claim string, g blackboard.Grant) // of a fresh_per_call agent
	runs      func(incarnation string) bool
	end       func(ctx context.Context, agent, why string) // all units of an agent; they are started again
}

func newTerm(o *orchestrator, lead blackboard.Lead) *term {
	t := &term{orchestrator: o, lead: lead, queue: newQueue(), again: make(chan struct{}, 1), toLand: make(chan struct{}, 1), orphaned: make(chan struct{}, 1), barredOn: map[string]string{}, ailing: ailments{}, clock: clock{own: o.env.Now}, alarms: map[key]*alarm{},
		courses: courses{off: o.settings.NoCourses, board: o.board, epoch: lead.Epoch, log: o.log}}
	if o.newStaff != nil {
		t.staff = o.newStaff(t)
	}
	return t
}

// run leads until the lead is lost or the context ends.
func (t *term) run(ctx context.Context) error {
	defer t.stopAlarms()
	if err := t.begin(ctx); err != nil {
		return err
	}
	actors := []func(context.Context) error{t.renew, t.follow, t.reconcileAgain, t.decideAll, t.tellOverruns}
	if t.staff != nil {
		actors = append(actors, t.staff.supervise)
	}
	if t.repository != nil {
		actors = append(actors, t.sweepRefs)
	}
	if t.tracer != nil {
		actors = append(actors, t.tracer.run)
	}
	if t.lander != nil {
		actors = append(actors, t.landAll)
	}
	err := role.Together(ctx, actors...)
	give, done := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer done()
	_ = t.board.RenewLead(give, t.lead, 0) // so that the next leader need not wait; it fails if there is one
	return err
}

// over says whether an error ends the term: somebody else leads, or the blackboard is not
// the one of before.
func over(err error) bool {
	return errors.Is(err, blackboard.ErrStale) || errors.Is(err, blackboard.ErrLost)
}

// renew keeps the lead. While the blackboard is away there is nothing to lead and
// nobody can take over; a successor's epoch fences us off.
func (t *term) renew(ctx context.Context) error {
	return role.Every(ctx, t.settings.Lease*3/10, func(ctx context.Context) error {
		soon, done := t.reachable.Bounded(ctx)
		err := t.board.RenewLead(soon, t.lead, t.settings.Lease)
		done()
		switch {
		case over(err) || ctx.Err() != nil:
			return err
		case err != nil: // gone, or there and refusing to write, such as on a full disk
			t.log.Warn("lead not renewed", "error", err)
			return t.reachable.Lost(err)
		}
		t.reachable.Back()
		t.saw()
		t.removed.tell(ctx)
		return nil
	})
}

// follow turns notices into keys, and has the open work read whenever notices may
// have been missed.
func (t *term) follow(ctx context.Context) error {
	return t.listen(ctx, func() {
		t.reachable.Back()
		t.enacted.doubt()
		wake(t.again)
	}, t.notice, func(err error) {
		if !errors.Is(err, blackboard.ErrUnavailable) {
			t.log.Warn("no notices: the open work is read at every tick", "error", err)
			return
		}
		t.log.Warn("blackboard lost, reconnecting", "error", err)
		_ = t.reachable.Lost(err) // renew gives up, when it is time
	})
}

// notice reads a message as a hint: anybody can send one, about anything.
func (t *term) notice(notice string) {
	m, ok := blackboard.ParseNotice(notice)
	switch {
	case !ok:
		t.log.Warn("notice ignored: it names no id", "notice", notice)
	case m.Artefact != "":
		t.queue.add(key{artefactKey, m.Artefact})
	case m.Claim != "":
		t.hints.complete(m)
		t.queue.add(key{claimKey, m.Claim})
	default:
		wake(t.toLand)
		wake(t.again)
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// reconcileAgain reads the open work at every tick, and when asked to.
func (t *term) reconcileAgain(ctx context.Context) error {
	every := time.NewTicker(t.pace.tick)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		case <-t.again:
		}
		if err := t.reconcile(ctx); err != nil {
			return err
		}
	}
}

// begin prepares the term, however long the blackboard is away. The configuration may
// have changed since this process was started.
func (t *term) begin(ctx context.Context) error {
	for {
		t.reload()
		err := t.enact(ctx)
		if err == nil {
			err = t.readClock(ctx)
		}
		if err == nil || ctx.Err() != nil || over(err) {
			return err
		}
		t.log.Warn("term not begun", "error", err)
		if err := t.reachable.Lost(err); err != nil {
			return err
		}
		role.Pause(ctx, t.pace.retry)
	}
}

// reload takes over changes of the configuration.
func (t *term) reload() {
	changed, err := t.clan.reload()
	switch {
	case err != nil:
		t.log.Error("configuration not reloaded", "error", err)
	case changed:
		t.log.Info("configuration changed")
		t.metrics.Reloads.Inc()
		t.metrics.Introduce(t.clan.get().Names())
		if t.tracer != nil {
			wake(t.tracer.changed)
		}
	}
}

// reconcile reads the open work, the configuration and the time. An error ends the
// term: another orchestrator leads.
func (t *term) reconcile(ctx context.Context) error {
	t.reload()
	switch err := t.enact(ctx); {
	case over(err):
		return err
	case err != nil:
		t.log.Warn("policy not set", "error", err)
		return nil // nothing may pass that has to wait for approval; the next tick tries again
	}
	if t.staff != nil {
		t.staff.wake()
	}
	err := t.readClock(ctx)
	var w blackboard.Work
	if err == nil {
		w, err = t.board.openWork(ctx)
	}
	if err != nil {
		if ctx.Err() == nil {
			t.log.Warn("open work not read", "error", err)
		}
		return nil
	}
	for _, id := range w.Unclaimed {
		t.queue.add(key{artefactKey, id})
	}
	for _, id := range w.Claims {
		t.queue.add(key{claimKey, id})
	}
	return nil
}

// decideAll works the queue until the context ends or the lead is lost.
func (t *term) decideAll(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, t.queue.close)
	defer stop()
	for range deciders {
		wg.Go(func() {
			for {
				k, ok := t.queue.next()
				if !ok {
					return
				}
				if err := t.look(ctx, k); err != nil {
					cancel(err) // the other deciders' decisions are void, too
				}
				t.queue.done(k)
			}
		})
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// later has a key looked at again at a time, by the blackboard's clock, or earlier; the
// zero time: only when something changes.
func (t *term) later(k key, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.alarms[k]
	if before != nil && !before.rang && !at.IsZero() && !at.Before(before.at) {
		return
	}
	wait := at.Sub(t.nowFor(k))
	if before != nil {
		if !before.rang { // by what was measured so far
			wait = min(wait, before.rings.Sub(t.clock.own())-before.at.Sub(at))
		}
		before.timer.Stop()
		delete(t.alarms, k)
	}
	if at.IsZero() {
		return
	}
	a := &alarm{at: at, rings: t.clock.own().Add(wait)}
	t.alarms[k] = a
	a.timer = time.AfterFunc(max(wait, 0)+time.Millisecond, func() {
		t.mu.Lock()
		a.rang = true
		t.mu.Unlock()
		t.queue.add(k)
	})
}

// timeFor is the time by which to decide about a key: that of its alarm at least, if it
// rang.
func (t *term) timeFor(k key) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.nowFor(k)
}

func (t *term) nowFor(k key) time.Time {
	now := t.now()
	if a := t.alarms[k]; a != nil && a.rang && a.at.After(now) {
		return a.at
	}
	return now
}

func (t *term) stopAlarms() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range t.alarms {
		a.timer.Stop()
	}
}
