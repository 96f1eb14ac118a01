package docker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/docker/docker/api/types/container"

	"sett/runtime"
)

const (
	// relistTime is how often the containers are looked at although no event says
	// so: events can be lost without a sign.
	relistTime = 5 * time.Second
	// abandoned is the age from which a container that was made and never started
	// counts as ended: whoever made it is gone.
	abandoned = 15 * time.Second
)

// subscription is one call of Exits. All but queue's other end belongs to the
// goroutine of run.
type subscription struct {
	r     *Runtime
	out   chan runtime.Exit
	told  chan told
	done  <-chan struct{} // closed when nothing is told any more
	queue []runtime.Exit
	runs  map[string]*history // by container

	newest int64 // the time up to which the engine's events are known, nanoseconds by its clock
}

// told is an end that this process sees for itself.
type told struct {
	c    container.InspectResponse
	took chan struct{} // closed when all there is to learn of it is learnt
}

// Exits follows the engine's events, and lists the containers besides: at first,
// whenever the stream of events broke, and every few seconds. So an end is
// delivered at once as a rule, a few seconds late when events were lost, and
// without its exit code when the engine itself was gone or somebody else removed
// the container at that moment.
//
// A container that the engine restarts, or that is revived, ends once for each
// run. One that was made and never started counts as ended after a while.
func (r *Runtime) Exits(ctx context.Context) (<-chan runtime.Exit, error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &subscription{r: r, out: make(chan runtime.Exit), told: make(chan told),
		done: ctx.Done(), runs: map[string]*history{}}
	// Registered and connected before the first look: nothing falls in between.
	r.mu.Lock()
	r.subs[s] = struct{}{}
	r.mu.Unlock()
	st := s.connect(ctx)
	if info, err := r.e.api.Info(ctx); err == nil {
		if at := instant(info.SystemTime); !at.IsZero() {
			s.newest = at.UnixNano()
		}
	}
	if err := s.relist(ctx, true); err != nil {
		cancel()
		s.leave()
		return nil, fmt.Errorf("follow exits: %w", err)
	}
	go func() {
		defer close(s.out)
		defer s.leave()
		defer cancel()
		s.run(ctx, st)
	}()
	return s.out, nil
}

func (s *subscription) leave() {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	delete(s.r.subs, s)
}

// run takes in what comes and passes on what is queued. A slow reader never holds
// up the engine's events.
func (s *subscription) run(ctx context.Context, st *stream) {
	tick := time.NewTicker(relistTime)
	defer tick.Stop()
	var retry <-chan time.Time
	back := backOff{}
	for {
		var out chan runtime.Exit
		var next runtime.Exit
		if len(s.queue) > 0 {
			out, next = s.out, s.queue[0]
		}
		select {
		case <-ctx.Done():
			return
		case out <- next:
			s.queue = s.queue[1:]
		case t := <-s.told:
			s.ended(ctx, t.c)
			close(t.took)
		case e := <-st.messages:
			back = backOff{}
			s.event(ctx, e)
		case err := <-st.errs:
			if back.last == 0 && ctx.Err() == nil {
				s.r.log.Warn("stream of events broke", "error", plain(err))
			}
			st.close()
			st = &stream{} // silent: the closed channel would go on for ever
			retry = time.After(back.next())
		case <-retry:
			st = s.connect(ctx)
			s.look(ctx)
		case <-tick.C:
			s.look(ctx)
		}
	}
}

// look is relist where an error only means that the next one has more to tell.
func (s *subscription) look(ctx context.Context) {
	if err := s.relist(ctx, false); err != nil && ctx.Err() == nil {
		s.r.log.Debug("containers not listed", "error", err)
	}
}

// relist delivers what the containers' states tell and no event has told.
func (s *subscription) relist(ctx context.Context, first bool) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	all, err := s.r.snapshot(ctx, nil)
	if err != nil {
		return err
	}
	// What had ended before is told in the order in which it did.
	slices.SortStableFunc(all, func(a, b container.InspectResponse) int {
		return instant(a.State.FinishedAt).Compare(instant(b.State.FinishedAt))
	})
	there := map[string]bool{}
	for _, c := range all {
		there[c.ID] = true
		s.observe(ctx, c, first)
	}
	for id, h := range s.runs {
		if there[id] {
			continue
		}
		// Its event may be on its way: it has until the next look.
		if h.missed++; h.running && h.missed > 1 {
			s.queue = append(s.queue, s.r.lost(h.unit, s.r.now()))
			h.running = false
		} else if !h.running && h.missed > 2 {
			delete(s.runs, id) // no more events come of what is gone
		}
	}
	return nil
}

// observe takes in a container's state as a look at all of them shows it.
func (s *subscription) observe(ctx context.Context, c container.InspectResponse, first bool) {
	h := s.history(c.ID)
	finished := instant(c.State.FinishedAt)
	switch {
	case c.State.Status == container.StateCreated:
		if made := instant(c.Created); h.finished.IsZero() && s.r.now().Sub(made) > abandoned {
			h.finished = made
			s.queue = append(s.queue, runtime.Exit{Unit: s.r.unit(c), Code: -1, Text: neverRan, At: made})
		}
	case !c.State.Running || c.State.Restarting:
		s.ended(ctx, c)
	case finished.After(h.finished) && first:
		h.finished = finished // of a run before this one, and before anybody asked
		s.newest = max(s.newest, finished.UnixNano())
	case finished.After(h.finished):
		// It ended and runs again. The event, which has the code, may be on its way.
		if h.missed++; h.missed > 1 {
			h.finished, h.missed = finished, 0
			s.queue = append(s.queue, s.r.lost(s.r.unit(c), finished))
		}
	default:
		h.missed = 0
	}
	if c.State.Running {
		h.running, h.unit = true, s.r.unit(c)
	}
}

// ended takes in a container that does not run.
func (s *subscription) ended(ctx context.Context, c container.InspectResponse) {
	h := s.history(c.ID)
	h.running, h.missed = false, 0
	if finished := instant(c.State.FinishedAt); finished.After(h.finished) {
		s.queue = append(s.queue, s.r.exit(ctx, c, h.finished))
		h.finished = finished
		s.newest = max(s.newest, finished.UnixNano())
	}
}

// ended tells every subscription of an end before the container is removed or
// started again, and there is nothing left to learn.
func (r *Runtime) ended(ctx context.Context, c container.InspectResponse) {
	if c.State.Running && !c.State.Restarting || instant(c.State.FinishedAt).IsZero() {
		return
	}
	r.mu.Lock()
	subs := make([]*subscription, 0, len(r.subs))
	for s := range r.subs {
		subs = append(subs, s)
	}
	r.mu.Unlock()
	for _, s := range subs {
		t := told{c, make(chan struct{})}
		select {
		case s.told <- t:
		case <-s.done:
			continue
		case <-ctx.Done():
			return
		}
		select {
		case <-t.took:
		case <-s.done:
		case <-ctx.Done():
		}
	}
}
