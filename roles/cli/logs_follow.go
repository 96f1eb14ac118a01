package cli

import (
	"context"
	"slices"
	"time"

	"sett/runtime"
)

// settle is how long lines are held, so that those of different parts can be put
// in the order of time.
const settle = 100 * time.Millisecond

// gatherEvery is how soon the logs are shown of workers that were too quick to be
// seen running.
const gatherEvery = 2 * time.Second

// follower shows the last lines of logs and goes on with what comes.
type follower struct {
	c     *logsCmd
	p     *logPrinter
	in    *instance
	place place
	lines chan logLine
	open  map[string]bool // logs that are being read, by unit
	lost  chan string     // units whose logs were gone before they could be read
	held  []logLine       // not yet shown
	idle  int             // flushes since the last line came
	past  bool            // what is held is still the past, of which only the last lines count
	keep  int             // so many of them
}

// run follows, also units that start later, until the context ends.
func (f *follower) run(ctx context.Context, o runtime.LogOptions) error {
	first := o
	if f.keep > 0 && !f.c.narrowed() && o.Since.IsZero() {
		first.Lines = f.keep // of what starts later, all is new
	}
	if err := f.begin(ctx, first); err != nil {
		return err
	}
	look, flush, gather := time.NewTicker(500*time.Millisecond), time.NewTicker(settle), time.NewTicker(gatherEvery)
	defer look.Stop()
	defer gather.Stop()
	defer flush.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case l := <-f.lines:
			f.idle = 0
			if f.p.wants(l) {
				f.held = append(f.held, l)
			}
		case unit := <-f.lost:
			delete(f.open, unit)
		case <-look.C:
			if err := f.begin(ctx, o); err != nil {
				return err
			}
		case <-gather.C:
			// What cannot be had now comes the next time.
			_ = f.place.Gather(ctx)
		case <-flush.C:
			if err := f.flush(); err != nil {
				return err
			}
		}
	}
}

// begin reads the logs that are not being read yet.
func (f *follower) begin(ctx context.Context, o runtime.LogOptions) error {
	sources, err := f.c.sources(ctx, f.in, f.place)
	if err != nil {
		return err
	}
	for _, s := range sources {
		if f.open[s.unit] {
			continue
		}
		f.open[s.unit] = true
		o := o
		o.Follow = !s.over
		go func() {
			seen := false
			// It ends with the context; a log that was removed meanwhile has no more to say,
			// unless it was gone before it could say anything: then it comes home later.
			err := readLog(ctx, f.place, s, o, func(l logLine) {
				seen = true
				select {
				case f.lines <- l:
				case <-ctx.Done():
				}
			})
			if err != nil && !seen {
				select {
				case f.lost <- s.unit:
				case <-ctx.Done():
				}
			}
		}()
	}
	return nil
}

// manyHeld is how many lines are shown without waiting for a quiet moment.
const manyHeld = 1000

// flush shows what is held, if nothing came for a moment.
func (f *follower) flush() error {
	if f.idle++; f.idle < 2 && (f.past || len(f.held) < manyHeld) {
		return nil
	}
	slices.SortStableFunc(f.held, func(x, y logLine) int { return x.time.Compare(y.time) })
	if f.past && len(f.held) > f.keep {
		f.held = f.held[len(f.held)-f.keep:]
	}
	f.past = false
	for _, l := range f.held {
		if err := f.p.print(l); err != nil {
			return err
		}
	}
	f.held = f.held[:0]
	return nil
}
