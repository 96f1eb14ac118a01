package cub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"sett/blackboard"
	"sett/roles/role"
	line "sett/roles/role/repository"
	"sett/roles/role/words"
)

// Times of a wait with a name.
const (
	quickAnswer = time.Second      // a request that takes longer is such a wait
	newReason   = 15 * time.Second // between two reasons of one wait
	mostReason  = 300              // characters of a reason
	pausedAgain = time.Second      // between two questions whether calls of models are paused
)

// awaitModel waits while a person has stopped all calls of models: a tool that needs its model is not started only to
// fail. A stop of the cub ends the wait; the next holder of the grant asks again. No tool runs before the blackboard
// knows that the wait is over: a person who waits for a goal would be told that it waits for them.
func awaitModel(life, ctx context.Context, x *executor, w *work) error {
	if x.settings.Asks.Gateway == "" || x.settings.Asks.NoDoor {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(life, func() { cancel(errStopping) })()
	paused, err := arePaused(ctx, x)
	if err != nil || paused == nil {
		return err
	}
	var why hindrance
	over := nameWait(x, w, blackboard.WaitModel, &why)
	for err == nil && paused != nil {
		why.is(fmt.Errorf("%s: sett models resume", paused))
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-time.After(pausedAgain):
			paused, err = arePaused(ctx, x)
		}
	}
	over()
	if err != nil {
		return err
	}
	err = x.patiently(ctx, func() error { return x.board.work.Await(ctx, w.ref, "", "") })
	return refusedIsOver(err)
}

// arePaused says whether a person has stopped all calls of models; nil: nobody has.
func arePaused(ctx context.Context, x *executor) (paused *blackboard.Pause, err error) {
	err = x.patiently(ctx, func() error {
		paused, err = x.board.paused(ctx)
		return err
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return paused, err
}

// insist asks the repository until it answers, or the context ends: its error is then the
// context's cause. Granted work does not fail because the repository is away.
func insist[A any](ctx context.Context, x *executor, w *work, ask func() (A, error)) (A, error) {
	var last hindrance
	defer nameWait(x, w, blackboard.WaitRepository, &last)()
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		answer, err := ask()
		if err == nil || line.Answered(err) {
			return answer, err
		}
		last.is(err)
		select {
		case <-ctx.Done():
			return answer, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// hindrance is the newest failure of a request that is repeated.
type hindrance struct{ err atomic.Pointer[error] }

func (h *hindrance) is(err error) { h.err.Store(&err) }

// reason names it in a line; empty: the request has not failed.
func (h *hindrance) reason() string {
	p := h.err.Load()
	if p == nil {
		return ""
	}
	text := (*p).Error()
	var refusal *blackboard.NoWritesError
	var denied *blackboard.DeniedError
	switch {
	case errors.Is(*p, line.ErrAway):
		text = "it does not answer"
	case errors.As(*p, &refusal):
		text = refusal.Why
	case errors.As(*p, &denied):
		text = denied.Why
	}
	return words.Shorten(role.Clean(strings.ReplaceAll(strings.TrimPrefix(text, "ask the repository: "), "\n", "; ")), mostReason)
}

// nameWait has a wait named, in the log and on the blackboard, unless over is called soon.
func nameWait(x *executor, w *work, what blackboard.WaitKind, last *hindrance) (over func()) {
	n := &namedWait{x: x, w: w, what: what, last: last, began: time.Now(), ended: make(chan struct{})}
	done := make(chan struct{})
	late := time.AfterFunc(quickAnswer, func() {
		defer close(done)
		n.run()
	})
	return func() {
		if late.Stop() {
			return
		}
		close(n.ended)
		<-done
	}
}

// namedWait is a wait of a grant that may get a name.
type namedWait struct {
	x     *executor
	w     *work
	what  blackboard.WaitKind
	last  *hindrance
	began time.Time
	ended chan struct{}

	told bool      // it is on the blackboard
	said string    // with this reason
	at   time.Time // since when
}

func (n *namedWait) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if n.what != blackboard.WaitBlackboard { // that the blackboard is away is logged already
		why := n.last.reason()
		if why == "" {
			why = "it works on the request"
		}
		n.w.log.Warn("waiting for the "+string(n.what), "reason", why)
	} else { // nobody waits for word of a wait whose end is on the blackboard
		go func() {
			select {
			case <-n.ended:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	for over := false; !over; {
		n.tell(ctx)
		select {
		case <-n.ended:
			over = true
		case <-time.After(longestPause): // it may have a reason by then, or be told at last
		}
	}
	if n.what != blackboard.WaitBlackboard {
		n.w.log.Info("waiting for the "+string(n.what)+" no longer", "waited", time.Since(n.began).Round(time.Millisecond))
		n.record(context.Background(), "", "")
	}
}

// tell records the wait on the blackboard, where that is new.
func (n *namedWait) tell(ctx context.Context) {
	why := n.last.reason()
	switch {
	case !n.told, n.said == "" && why != "":
	case why == n.said, time.Since(n.at) < newReason:
		return
	}
	if n.record(ctx, n.what, why) {
		n.told, n.said, n.at = true, why, time.Now()
	}
}

// record says whether the blackboard needs no more word of it. Nothing depends on it.
func (n *namedWait) record(ctx context.Context, what blackboard.WaitKind, why string) bool {
	err := n.x.board.work.Await(ctx, n.w.ref, what, why)
	if err != nil {
		n.w.log.Debug("wait not recorded", "error", err)
	}
	return err == nil || errors.Is(err, blackboard.ErrRefused)
}
