package process

import (
	"context"
	"os/exec"
	"slices"
	"sync"
	"time"

	"sett/runtime"
)

// child is a unit that this value started: it will learn the exit code.
type child struct {
	done chan struct{} // closed after it was reaped and exit was set
	exit runtime.Exit
}

// subscription is one call of Exits.
type subscription struct {
	ctx   context.Context
	out   chan runtime.Exit
	ready chan struct{} // closed after the delivery of the ends before the call
	seen  map[string]struct{}
	busy  sync.WaitGroup
}

// lockTime bounds the wait for a unit's lock, to record its end. A process that holds
// the lock for longer is stopped or hangs, and must not delay the end for others.
const lockTime = 5 * time.Second

// Exits delivers every unit's end once to each call: of units that exist at the call,
// and of units that this value starts or adopts later, but not of units that other
// processes start later. Before the delivery, all the unit's processes are killed and
// the unit's record has its end; the record stays until Stop or the next Start of that
// name.
//
// The process that started the unit knows its exit code and records it. To processes
// that look before, the code is -1.
func (r *Runtime) Exits(ctx context.Context) (<-chan runtime.Exit, error) {
	s := &subscription{ctx: ctx, out: make(chan runtime.Exit), ready: make(chan struct{}),
		seen: map[string]struct{}{}}
	// While mu is held, no Start announces between the list and the watching.
	r.mu.Lock()
	defer r.mu.Unlock()
	recs, err := r.knownRecords()
	if err != nil {
		return nil, err
	}
	var ended []record
	for _, rec := range recs {
		if _, mine := r.children[rec.Token]; !mine && (rec.End != nil || !alive(rec.ident)) {
			ended = append(ended, rec)
			continue
		}
		r.watch(s, rec)
	}
	r.subs[s] = struct{}{}
	s.busy.Add(1)
	go func() {
		defer s.busy.Done()
		defer close(s.ready)
		r.deliverEnded(s, ended)
	}()
	go func() {
		<-ctx.Done()
		r.mu.Lock()
		delete(r.subs, s)
		r.mu.Unlock()
		s.busy.Wait()
		close(s.out)
	}()
	return s.out, nil
}

func (r *Runtime) deliverEnded(s *subscription, ended []record) {
	exits := make([]runtime.Exit, 0, len(ended))
	for _, rec := range ended {
		exits = append(exits, r.conclude(rec, r.unknownEnd()))
	}
	slices.SortStableFunc(exits, func(a, b runtime.Exit) int { return a.At.Compare(b.At) })
	for _, e := range exits {
		s.deliver(e)
	}
}

func (s *subscription) deliver(e runtime.Exit) {
	select {
	case s.out <- e:
	case <-s.ctx.Done():
	}
}

// announce tells all subscriptions of a running unit. The caller holds its lock, without
// which no end is delivered: a unit that ends meanwhile is either still in seen, or was
// not found running.
func (r *Runtime) announce(rec record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.subs {
		r.watch(s, rec)
	}
}

// watch delivers the unit's end to the subscription. The caller holds mu.
func (r *Runtime) watch(s *subscription, rec record) {
	if _, ok := s.seen[rec.Token]; ok {
		return
	}
	s.seen[rec.Token] = struct{}{}
	c := r.children[rec.Token]
	s.busy.Add(1)
	go func() {
		defer s.busy.Done()
		exit, ok := r.await(s.ctx, rec, c)
		if !ok {
			return
		}
		select {
		case <-s.ready:
		case <-s.ctx.Done():
			return
		}
		s.deliver(exit)
		r.mu.Lock()
		delete(s.seen, rec.Token)
		r.mu.Unlock()
	}()
}

// await waits for the unit's end: of a child for its exit, else for the process to go.
func (r *Runtime) await(ctx context.Context, rec record, c *child) (runtime.Exit, bool) {
	if c != nil {
		select {
		case <-c.done:
			return c.exit, true
		case <-ctx.Done():
			return runtime.Exit{}, false
		}
	}
	if err := awaitEnd(ctx, rec.ident); err != nil {
		return runtime.Exit{}, false
	}
	return r.conclude(rec, r.unknownEnd()), true
}

// mind waits for a child and reaps it, also without subscriptions.
func (r *Runtime) mind(cmd *exec.Cmd, rec record) {
	c := &child{done: make(chan struct{})}
	r.mu.Lock()
	r.children[rec.Token] = c
	r.mu.Unlock()
	go func() {
		awaitChild(cmd, rec.ident)
		// First kill, then reap: until then the kernel keeps the session's number.
		r.sweepUp(rec)
		if cmd.ProcessState == nil {
			_ = cmd.Wait() // ProcessState has the result
		}
		e := end{Code: cmd.ProcessState.ExitCode(), Text: cmd.ProcessState.String(), At: r.now()}
		c.exit = r.note(rec, e)
		r.mu.Lock()
		delete(r.children, rec.Token)
		r.mu.Unlock()
		close(c.done)
	}()
}

// conclude kills the rest of an ended unit and records its end, unless that is done.
func (r *Runtime) conclude(rec record, e end) runtime.Exit {
	if rec.End != nil {
		return r.exit(rec, *rec.End)
	}
	r.sweepUp(rec)
	return r.note(rec, e)
}

func (r *Runtime) sweepUp(rec record) {
	if err := r.kill(rec); err != nil {
		r.log.Error("unit left processes behind", "unit", rec.Name, "error", err)
	}
}

// note writes the end into the unit's record, if the record is still of this start. An
// end without exit code does not replace a recorded one.
func (r *Runtime) note(rec record, e end) runtime.Exit {
	ctx, cancel := context.WithTimeout(context.Background(), lockTime)
	defer cancel()
	release, err := waitLock(ctx, r.unitLockPath(rec.Name))
	if err != nil {
		r.log.Warn("end of unit not recorded", "unit", rec.Name, "error", err)
		return r.exit(rec, e)
	}
	defer release()
	cur, err := r.readRecord(rec.Name)
	if err != nil || cur.Token != rec.Token {
		return r.exit(rec, e) // it was stopped or restarted meanwhile
	}
	if cur.End != nil && e.Text == runtime.Unwatched {
		return r.exit(rec, *cur.End)
	}
	cur.End = &e
	if err := r.writeRecord(cur); err != nil {
		r.log.Warn("end of unit not recorded", "unit", rec.Name, "error", err)
	}
	return r.exit(rec, e)
}

func (r *Runtime) exit(rec record, e end) runtime.Exit {
	return runtime.Exit{Unit: rec.unit(false), Code: e.Code, Text: e.Text, At: e.At, Tail: r.logs().Tail(rec.Name, rec.LogOffset)}
}
