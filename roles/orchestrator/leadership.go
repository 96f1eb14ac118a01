package orchestrator

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/oklog/run"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
)

// deciders is how many claims are decided about at once. Each mostly waits for
// the blackboard; their calls share round trips.
const deciders = 32

// leadership is one term as the leader. Everything in it ends with the term.
type leadership struct {
	*orchestrator
	lead     redis.Lead
	queue    *queue
	hints    hints
	agents   *agents
	workers  *workers
	living   *living
	since    time.Time
	again    chan struct{} // read what is open
	approval approval
	clock    clock

	mu     sync.Mutex
	timers map[key]*time.Timer
}

func newLeadership(o *orchestrator, lead redis.Lead) *leadership {
	l := &leadership{orchestrator: o, lead: lead, queue: newQueue(), living: newLiving(), since: o.env.Now(),
		again: make(chan struct{}, 1), clock: clock{own: o.env.Now}, timers: map[key]*time.Timer{}}
	if o.runtime != nil {
		l.agents = newAgents(l)
		l.workers = newWorkers(l)
	}
	return l
}

// run leads until the lead is lost or the context ends.
func (l *leadership) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer l.stopTimers()
	if err := l.begin(ctx); err != nil {
		return err
	}
	var g run.Group
	add := func(f func(context.Context) error) {
		g.Add(func() error { return f(ctx) }, func(error) { cancel() })
	}
	add(l.renew)
	add(l.listen)
	add(l.reconcileAgain)
	add(l.decideAll)
	if l.agents != nil {
		add(l.agents.run)
	}
	err := g.Run()
	give, done := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer done()
	_ = l.board.RenewLead(give, l.lead, 0) // so that the next one need not wait; fails if there is one
	return err
}

// renew keeps the lead. While the blackboard is away there is nothing to lead and
// nobody who could take over; a successor's epoch fences us off.
func (l *leadership) renew(ctx context.Context) error {
	return role.Every(ctx, l.settings.Lease*3/10, func(ctx context.Context) error {
		err := l.board.RenewLead(ctx, l.lead, l.settings.Lease)
		switch {
		case errors.Is(err, blackboard.ErrStale) || ctx.Err() != nil:
			return err
		case err != nil: // gone, or there and refusing to write, such as on a full disk
			l.log.Warn("lead not renewed", "error", err)
			return l.reachable.Lost(err)
		}
		l.reachable.Back()
		return nil
	})
}

// listen turns notices into keys, and has read what is open whenever notices may
// have been missed.
func (l *leadership) listen(ctx context.Context) error {
	channels := []redis.Channel{redis.OrchestratorEvents}
	return l.board.Subscribe(ctx, channels, func() {
		l.reachable.Back()
		l.approval.doubt()
		wake(l.again)
	}, l.notice, func(err error) {
		l.log.Warn("blackboard lost, reconnecting", "error", err)
		_ = l.reachable.Lost(err) // renew gives up, when it is time
	})
}

// notice takes a message for what it is: a hint, by anybody, about anything.
func (l *leadership) notice(_ redis.Channel, notice string) {
	m, ok := redis.ParseMatter(notice)
	switch {
	case !ok:
		l.log.Warn("notice ignored: it names no id", "notice", notice)
	case m.Artefact != "":
		l.queue.add(key{artefactKey, m.Artefact})
	case m.Claim != "":
		l.hints.complete(m)
		l.queue.add(key{claimKey, m.Claim})
	default:
		wake(l.again)
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// reconcileAgain reads what is open at every tick, and when asked to.
func (l *leadership) reconcileAgain(ctx context.Context) error {
	every := time.NewTicker(l.pace.tick)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		case <-l.again:
		}
		if err := l.reconcile(ctx); err != nil {
			return err
		}
	}
}

// begin prepares before anybody works, however long the blackboard is away. The
// configuration may have changed since this process was started.
func (l *leadership) begin(ctx context.Context) error {
	for {
		l.reload()
		err := l.enact(ctx)
		if err == nil {
			err = l.readClock(ctx)
		}
		if err == nil || ctx.Err() != nil || errors.Is(err, blackboard.ErrStale) {
			return err
		}
		l.log.Warn("term not begun", "error", err)
		if err := l.reachable.Lost(err); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(l.pace.retry):
		}
	}
}

// reload takes over what changed of the configuration.
func (l *leadership) reload() {
	changed, err := l.clan.reload()
	switch {
	case err != nil:
		l.log.Error("configuration not reloaded", "error", err)
	case changed:
		l.log.Info("configuration changed")
		l.metrics.reloads.Inc()
		l.metrics.introduce(l.clan.get().Names())
	}
}

// reconcile reads everything that is open, the configuration and the time. An error
// ends the term: somebody else leads.
func (l *leadership) reconcile(ctx context.Context) error {
	l.reload()
	switch err := l.enact(ctx); {
	case errors.Is(err, blackboard.ErrStale):
		return err
	case err != nil:
		l.log.Warn("policy not set", "error", err)
		return nil // what may have to wait is not let pass; the next tick tries again
	}
	if l.agents != nil {
		l.agents.wake() // the clan may have changed, or the instance runs again
	}
	err := l.readClock(ctx)
	var w redis.Work
	if err == nil {
		w, err = l.board.OpenWork(ctx)
	}
	if err != nil {
		if ctx.Err() == nil {
			l.log.Warn("open work not read", "error", err)
		}
		return nil
	}
	for _, id := range w.Unclaimed {
		l.queue.add(key{artefactKey, id})
	}
	for _, id := range w.Claims {
		l.queue.add(key{claimKey, id})
	}
	return nil
}

// decideAll works the queue until the context ends or the lead is lost.
func (l *leadership) decideAll(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, l.queue.close)
	defer stop()
	for range deciders {
		wg.Go(func() {
			for {
				k, ok := l.queue.next()
				if !ok {
					return
				}
				if err := l.look(ctx, k); err != nil {
					cancel(err) // the others' decisions are void, too
				}
				l.queue.done(k)
			}
		})
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// later has a key looked at again at a time, by the blackboard's clock; the zero
// time: only when something changes.
func (l *leadership) later(k key, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t, ok := l.timers[k]; ok {
		t.Stop()
		delete(l.timers, k)
	}
	if at.IsZero() {
		return
	}
	var t *time.Timer
	t = time.AfterFunc(max(at.Sub(l.now()), 0)+time.Millisecond, func() {
		l.mu.Lock()
		if l.timers[k] == t {
			delete(l.timers, k)
		}
		l.mu.Unlock()
		l.queue.add(k)
	})
	l.timers[k] = t
}

func (l *leadership) stopTimers() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.timers {
		t.Stop()
	}
}
