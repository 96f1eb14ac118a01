package logline

import (
	"cmp"
	"context"
	"slices"
	"time"

	"sett/runtime"
)

// settle is how long lines are held, so that those of different parts can be put
// in the order of time.
const settle = 100 * time.Millisecond

// gatherEvery is how often logs are fetched of workers that ended before a look saw
// them running.
const gatherEvery = 2 * time.Second

// Place has the units' logs.
type Place interface {
	runtime.Logs
	List(ctx context.Context, selector runtime.Labels) ([]runtime.Unit, error)
	// Gather copies logs from other places to the instance's directory.
	Gather(ctx context.Context) error
}

// Follower shows the last lines of logs, then the new ones as they come.
type Follower struct {
	Place   Place
	Sources func(ctx context.Context) ([]Source, error) // the logs to read now
	Wants   func(Line) bool
	Show    func(Line) error
	Keep    int  // so many old lines are shown; negative: all
	Picks   bool // Wants does not want every line, so the last ones have to be looked for

	lines chan Line
	open  map[string]bool // logs that are being read, by unit
	lost  chan string     // units with a log that was gone before it could be read
	held  []Line          // not yet shown
	idle  int             // flushes since the last line came
	past  bool            // held has old lines, and only the last of them are shown
}

// Run follows, also units that start later, until the context ends.
func (f *Follower) Run(ctx context.Context, o runtime.LogOptions) error {
	f.lines, f.lost, f.open, f.past = make(chan Line, 256), make(chan string), map[string]bool{}, f.Keep >= 0
	o.Follow = true
	first := o
	if f.Keep > 0 && !f.Picks && o.Since.IsZero() {
		first.Lines = f.Keep // later units are new: all of their lines count
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
			if f.Wants(l) {
				f.held = append(f.held, l)
			}
		case unit := <-f.lost:
			delete(f.open, unit)
		case <-look.C:
			if err := f.begin(ctx, o); err != nil {
				f.idle = 1
				return cmp.Or(f.flush(), err) // after the last words
			}
		case <-gather.C:
			// A log that cannot be fetched now comes the next time.
			_ = f.Place.Gather(ctx)
		case <-flush.C:
			if err := f.flush(); err != nil {
				return err
			}
		}
	}
}

// begin reads the logs that are not being read yet.
func (f *Follower) begin(ctx context.Context, o runtime.LogOptions) error {
	sources, err := f.Sources(ctx)
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
			err := Read(ctx, f.Place, s, o, func(l Line) {
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
func (f *Follower) flush() error {
	if f.idle++; f.idle < 2 && (f.past || len(f.held) < manyHeld) {
		return nil
	}
	slices.SortStableFunc(f.held, func(x, y Line) int { return x.Time.Compare(y.Time) })
	if f.past && len(f.held) > f.Keep {
		f.held = f.held[len(f.held)-f.Keep:]
	}
	f.past = false
	for _, l := range f.held {
		if err := f.Show(l); err != nil {
			return err
		}
	}
	f.held = f.held[:0]
	return nil
}
