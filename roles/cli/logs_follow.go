package cli

import (
	"context"
	"slices"
	"time"

	"sett/roles/cli/instance"
	"sett/roles/cli/logline"
	"sett/runtime"
)

// settle is how long lines are held, so that those of different parts can be put
// in the order of time.
const settle = 100 * time.Millisecond

// gatherEvery is how often logs are fetched of workers that ended before a look saw
// them running.
const gatherEvery = 2 * time.Second

// follower shows the last lines of logs, then the new ones as they come.
type follower struct {
	c     *logsCmd
	p     *logPrinter
	in    *instance.Instance
	place instance.Place
	lines chan logline.Line
	open  map[string]bool // logs that are being read, by unit
	lost  chan string     // units with a log that was gone before it could be read
	held  []logline.Line  // not yet shown
	idle  int             // flushes since the last line came
	past  bool            // held has old lines, and only the last of them are shown
	keep  int             // so many of them
}

// run follows, also units that start later, until the context ends.
func (f *follower) run(ctx context.Context, o runtime.LogOptions) error {
	first := o
	if f.keep > 0 && !f.c.narrowed() && o.Since.IsZero() {
		first.Lines = f.keep // later units are new: all of their lines count
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
			// A log that cannot be fetched now comes the next time.
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
		if f.open[s.Unit] {
			continue
		}
		f.open[s.Unit] = true
		o := o
		o.Follow = !s.Over
		go func() {
			seen := false
			// It ends with the context; a log that was removed meanwhile has no more to say,
			// unless it was gone before it could say anything: then it comes home later.
			err := logline.Read(ctx, f.place, s, o, func(l logline.Line) {
				seen = true
				select {
				case f.lines <- l:
				case <-ctx.Done():
				}
			})
			if err != nil && !seen {
				select {
				case f.lost <- s.Unit:
				case <-ctx.Done():
				}
			}
		}()
	}
	return nil
}

// manyHeld is how many lines are shown without waiting for a quiet moment.
const manyHeld = 1000

// flush shows the held lines when no new one came for a moment, or they are many.
func (f *follower) flush() error {
	if f.idle++; f.idle < 2 && (f.past || len(f.held) < manyHeld) {
		return nil
	}
	slices.SortStableFunc(f.held, func(x, y logline.Line) int { return x.Time.Compare(y.Time) })
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
