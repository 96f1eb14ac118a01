package process

import (
	"context"
	"os/exec"
	"slices"
	"sync"
	"time"

	"sett/runtime"
)

// child is a unit that this value started, and so learns the exit code of.
type child struct {
	done chan struct{} // closed when it was reaped, and exit is set
	exit runtime.Exit
}

// subscription is one call of Exits.
type subscription struct {
	ctx   context.Context
	out   chan runtime.Exit
	ready chan struct{} // closed when the ends of before are delivered
	seen  map[string]struct{}
	busy  sync.WaitGroup
}

// lockTime bounds how long the end of a unit waits to be written down. Who holds
// the lock for longer is stopped or hangs, and must not keep the end from others.
const lockTime = 5 * time.Second

// Exits delivers every unit's end once to each call. It knows the units that
// exist at the call and those that this value starts or adopts later, not those
// that other processes start later. Before an end is delivered, everything that
// the unit had started was killed, and the unit's record says how it ended: it
// stays until Stop or the next Start of that name.
//
// The exit code is known to the process that started the unit, and to those that
// look after it wrote the code down; to others it is -1.
func (r *Runtime) Exits(ctx context.Context) (<-chan runtime.Exit, error) {
	s := &subscription{ctx: ctx, out: make(chan runtime.Exit), ready: make(chan struct{}),
		seen: map[string]struct{}{}}
	// With mu held, no Start can announce between the list and the watching.
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

// announce tells all subscriptions of a unit that runs. The caller holds its
// lock, without which no end is delivered: so a unit that ends meanwhile is
// either still in seen, or was not found running.
func (r *Runtime) announce(rec record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.subs {
		r.watch(s, rec)
	}
}

// watch delivers the unit's end to the subscription when it comes. The caller
// holds mu.
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

// await waits for the unit's end: its own child's word, or that the process is gone.
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

// mind waits for a child, also when nobody asked for its end: it has to be reaped.
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
			_ = cmd.Wait() // ProcessState has what there is to know
		}
		e := end{Code: cmd.ProcessState.ExitCode(), Text: cmd.ProcessState.String(), At: r.now()}
		c.exit = r.note(rec, e)
		r.mu.Lock()
		delete(r.children, rec.Token)
		r.mu.Unlock()
		close(c.done)
	}()
}

// conclude does what the end of a unit asks for, unless that was done already.
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

// note writes the end into the unit's record, if that still speaks of this
// start. Who does not know the exit code takes it from who wrote it before.
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
		return r.exit(rec, e) // stopped, or started anew, meanwhile
	}
	if cur.End != nil && e.Text == unwatched {
		return r.exit(rec, *cur.End)
	}
	cur.End = &e
	if err := r.writeRecord(cur); err != nil {
		r.log.Warn("end of unit not recorded", "unit", rec.Name, "error", err)
	}
	return r.exit(rec, e)
}

func (r *Runtime) exit(rec record, e end) runtime.Exit {
	return runtime.Exit{Unit: rec.unit(false), Code: e.Code, Text: e.Text, At: e.At, Tail: r.tail(rec)}
}
