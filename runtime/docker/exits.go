package docker

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"

	"sett/runtime"
	"sett/runtime/docker/engine"
)

const (
	// relistTime is the time between two looks at the containers that no event caused:
	// events can be lost without a sign.
	relistTime = 5 * time.Second
	// abandoned is the age from which a container that was never started counts as
	// ended: its maker is gone.
	abandoned = 15 * time.Second
	// oomLate is the time for which the end of a killed container is kept back: a busy
	// engine tells that memory ran out after it tells of the end.
	oomLate = 500 * time.Millisecond
)

// watchers are the subscriptions to the ends of an instance's units.
type watchers struct {
	units *units
	log   *slog.Logger
	now   func() time.Time

	mu   sync.Mutex
	subs map[*subscription]struct{}
}

// subscription is one call of Exits. The goroutine of run owns it, except for the
// channels.
type subscription struct {
	w     *watchers
	out   chan runtime.Exit
	told  chan told
	done  <-chan struct{} // closed when the subscription ends
	queue []queued
	runs  map[string]*history // by container

	newest int64 // the time of the newest known event, in nanoseconds of the engine's clock
	heard  int   // looks since the stream of events was connected last: a new stream repeats events first
}

// queued is an end that waits for the reader, and, where the reason may still come, until
// then.
type queued struct {
	runtime.Exit
	until time.Time // by the local clock; zero: complete
}

// told is an end that this process caused or found.
type told struct {
	c    container.InspectResponse
	took chan struct{} // closed when the container is not needed any more
}

// subscribe delivers every end until the context does.
func (w *watchers) subscribe(ctx context.Context) (<-chan runtime.Exit, error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &subscription{w: w, out: make(chan runtime.Exit), told: make(chan told), done: ctx.Done(), runs: map[string]*history{}}
	// Registered and connected before the first look, so that no end is missed.
	w.mu.Lock()
	w.subs[s] = struct{}{}
	w.mu.Unlock()
	st := s.connect(ctx)
	if info, err := w.units.api.Info(ctx); err == nil {
		if at := instant(info.SystemTime); !at.IsZero() {
			s.newest = at.UnixNano()
		}
	}
	if err := s.relist(ctx, true); err != nil {
		cancel()
		s.leave()
		return nil, err
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
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	delete(s.w.subs, s)
}

// tell tells every subscription of an end, before the container is removed or
// started again and the end cannot be examined any more.
func (w *watchers) tell(ctx context.Context, c container.InspectResponse) {
	if c.State.Running && !c.State.Restarting || instant(c.State.FinishedAt).IsZero() {
		return
	}
	w.mu.Lock()
	subs := slices.Collect(maps.Keys(w.subs))
	w.mu.Unlock()
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

// stream is the engine's events about the instance's containers.
type stream struct {
	messages <-chan events.Message
	errs     <-chan error
	close    context.CancelFunc
}

// connect asks for the events since the newest known, or from now on. It returns
// after the engine's answer.
func (s *subscription) connect(ctx context.Context) *stream {
	ctx, cancel := context.WithCancel(ctx)
	which := s.w.units.names.labelled()
	which.Add("type", string(events.ContainerEventType))
	which.Add("event", string(events.ActionDie))
	which.Add("event", string(events.ActionOOM))
	o := events.ListOptions{Filters: which}
	if s.newest > 0 {
		since := s.newest + 1
		o.Since = fmt.Sprintf("%d.%09d", since/1e9, since%1e9)
	}
	late := time.AfterFunc(callTime, cancel)
	defer late.Stop()
	messages, errs := s.w.units.api.Events(ctx, o)
	return &stream{messages, errs, cancel}
}

// run queues ends and delivers them. A slow reader never delays the engine's events.
func (s *subscription) run(ctx context.Context, st *stream) {
	tick := time.NewTicker(relistTime)
	defer tick.Stop()
	var retry <-chan time.Time
	back := runtime.Backoff{Shortest: 50 * time.Millisecond, Longest: relistTime}
	for {
		var out chan runtime.Exit
		var next runtime.Exit
		var complete <-chan time.Time
		if len(s.queue) > 0 {
			if wait := time.Until(s.queue[0].until); wait > 0 {
				complete = time.After(wait)
			} else {
				out, next = s.out, s.queue[0].Exit
			}
		}
		select {
		case <-ctx.Done():
			return
		case out <- next:
			s.queue = s.queue[1:]
		case <-complete:
		case t := <-s.told:
			s.ended(ctx, t.c)
			close(t.took)
		case e := <-st.messages:
			back.Reset()
			s.event(ctx, e)
		case err := <-st.errs:
			if back.Last() == 0 && ctx.Err() == nil {
				s.w.log.Warn("stream of events broke", "error", engine.Plain(err))
			}
			st.close()
			st, s.heard = &stream{}, 0 // the closed channel would always be ready
			retry = time.After(back.Failed())
		case <-retry:
			st = s.connect(ctx)
			s.look(ctx)
		case <-tick.C:
			if st.messages != nil {
				s.heard++
			}
			s.look(ctx)
		}
	}
}

// put queues an end about which everything is known.
func (s *subscription) put(x runtime.Exit) { s.queue = append(s.queue, queued{Exit: x}) }

// look is relist without an error: the next look finds the same ends.
func (s *subscription) look(ctx context.Context) {
	if err := s.relist(ctx, false); err != nil && ctx.Err() == nil {
		s.w.log.Debug("containers not listed", "error", err)
	}
}

// relist queues the ends that the containers' states show and no event told.
func (s *subscription) relist(ctx context.Context, first bool) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	all, err := s.w.units.snapshot(ctx, nil)
	if err != nil {
		return err
	}
	// Earlier ends come first.
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
			s.put(lost(h.unit, s.w.now()))
			h.running, h.lost = false, true
		} else if !h.running && h.missed > 2 && s.heard > 1 {
			delete(s.runs, id) // no more events come of a removed container
		}
	}
	return nil
}

// observe compares a container's state with its history.
func (s *subscription) observe(ctx context.Context, c container.InspectResponse, first bool) {
	h := s.history(c.ID)
	finished := instant(c.State.FinishedAt)
	switch {
	case c.State.Status == container.StateCreated:
		if made := instant(c.Created); h.finished.IsZero() && s.w.now().Sub(made) > abandoned {
			h.finished = made
			s.put(runtime.Exit{Unit: s.w.units.unit(c), Code: -1, Text: neverRan, At: made})
		}
	case !c.State.Running || c.State.Restarting:
		s.ended(ctx, c)
	case finished.After(h.finished) && first:
		h.finished = finished // of an earlier run, before this call
		s.newest = max(s.newest, finished.UnixNano())
	case finished.After(h.finished):
		// It ended and runs again. The event, which has the code, may be on its way.
		if h.missed++; h.missed > 1 {
			u := h.ofRun(s.w.units.unit(c), finished)
			h.finished, h.missed = finished, 0
			s.put(lost(u, finished))
		}
	default:
		h.missed = 0
	}
	if c.State.Running {
		h.running, h.unit = true, s.w.units.unit(c)
	}
}

// ended queues the end of a container that does not run, unless that is known.
func (s *subscription) ended(ctx context.Context, c container.InspectResponse) {
	h := s.history(c.ID)
	h.running, h.missed = false, 0
	if finished := instant(c.State.FinishedAt); finished.After(h.finished) {
		s.put(s.w.exit(ctx, c, h.finished))
		h.finished = finished
		s.newest = max(s.newest, finished.UnixNano())
	}
}
