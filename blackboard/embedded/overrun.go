package embedded

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A script that has run for overrunTicks times overrunTick and has written nothing is
// ended with an error. Ticks are counted, so that the time of a stopped process is not.
// A script that has written runs on: half of it must not stay.
const (
	overrunTick  = 100 * time.Millisecond
	overrunTicks = 50
)

var errOverrun = errors.New("the script ran for longer than 5 s and was ended")

// overrun is the context of all scripts of an interpreter. It ends for good with a
// script that it ends, so the next script needs another one.
type overrun struct {
	context.Context
	done chan struct{}

	mu    sync.Mutex
	wrote bool
	ended bool
	run   int // the number of the script that runs; 0: none does
	runs  int
	ticks int
	timer *time.Timer
}

func newOverrun() *overrun {
	return &overrun{Context: context.Background(), done: make(chan struct{})}
}

// Done is closed when the script is to end.
func (o *overrun) Done() <-chan struct{} { return o.done }

// Err is the error with which it ends.
func (o *overrun) Err() error { return errOverrun }

// begin starts to count; end stops it.
func (o *overrun) begin() (end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.runs++
	o.run, o.ticks = o.runs, 0
	o.wrote = false
	number := o.run
	if o.timer == nil {
		o.timer = time.AfterFunc(overrunTick, o.tick)
	} else {
		o.timer.Reset(overrunTick)
	}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.run == number {
			o.run = 0
			o.timer.Stop()
		}
	}
}

// write says whether the script may write. From then on it is not ended.
func (o *overrun) write() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wrote = !o.ended
	return o.wrote
}

func (o *overrun) tick() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ticks++; o.run == 0 || o.wrote {
		return
	}
	if o.ticks == overrunTicks {
		o.ended = true
		close(o.done)
		return
	}
	o.timer.Reset(overrunTick)
}
