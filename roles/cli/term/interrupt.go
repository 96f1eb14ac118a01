package term

import (
	"context"
	"io"
	"sync/atomic"
	"time"
)

// Hold says whether an interrupt may end a command as it stands. Nil never holds.
type Hold struct{ on atomic.Bool }

// On says that from now on the command has to stop or to clear something itself after an
// interrupt, for which it takes its time.
func (h *Hold) On() {
	if h != nil {
		h.on.Store(true)
	}
}

func (h *Hold) isOn() bool { return h != nil && h.on.Load() }

// lastMoment is the time that an interrupted command has to end by itself.
const lastMoment = 800 * time.Millisecond

// lastResort is the time that one has which holds on, from the second interrupt.
var lastResort = 10 * time.Second // tests shorten it

// Interruptible runs a command, and ends with the context's error a moment after the
// user's interrupt: the command may be blocked by a pipe that nobody writes to, or by a
// slow reader of its output. A command that holds on has to stop something first, and
// gets the time for it, but for a user who interrupts again: hurry is closed then.
func Interruptible(ctx context.Context, hurry <-chan struct{}, h *Hold, run func() error) error {
	done := make(chan error, 1)
	go func() { done <- run() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(lastMoment):
	}
	if !h.isOn() {
		return ctx.Err()
	}
	select {
	case err := <-done:
		return err
	case <-hurry:
	}
	select {
	case err := <-done:
		return err
	case <-time.After(lastResort):
		return ctx.Err()
	}
}

// ReadUntil returns a reader that ends with the context's error when the context ends,
// also in the middle of a read that is blocked. It is for the input of commands that
// hold on.
func ReadUntil(ctx context.Context, from io.Reader) io.Reader {
	return &readerUntil{ctx: ctx, from: from}
}

type readerUntil struct {
	ctx  context.Context
	from io.Reader
	next []byte // bytes that the caller has not taken yet
}

type readResult struct {
	bytes []byte
	err   error
}

// Read reads, or returns the error of the context.
func (r *readerUntil) Read(to []byte) (int, error) {
	if len(r.next) == 0 {
		done := make(chan readResult, 1)
		go func() {
			own := make([]byte, max(len(to), 1)) // an abandoned read must not touch the caller's
			n, err := r.from.Read(own)
			done <- readResult{own[:n], err}
		}()
		select {
		case got := <-done:
			if got.err != nil && len(got.bytes) == 0 {
				return 0, got.err
			}
			r.next = got.bytes
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		}
	}
	n := copy(to, r.next)
	r.next = r.next[n:]
	return n, nil
}
