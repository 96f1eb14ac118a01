//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sett/runtime"
)

// place is a Runtime in memory, in which units end when the test says so.
type place struct {
	exits   chan runtime.Exit
	started chan string
	fail    atomic.Bool
	clock   *clockwork
	n       int
}

func (p *place) Start(_ context.Context, s runtime.Spec) (runtime.Unit, error) {
	defer func() { p.started <- s.Name }() // last: then the test goes on
	if p.fail.Load() {
		return runtime.Unit{}, errors.New("no room")
	}
	p.n++
	return runtime.Unit{Name: s.Name, ID: fmt.Sprint(p.n), StartedAt: p.clock.Now(), Running: true}, nil
}

func (p *place) Stop(context.Context, string, time.Duration) error { return nil }
func (p *place) List(context.Context, runtime.Labels) ([]runtime.Unit, error) {
	return nil, nil
}
func (p *place) Exits(context.Context) (<-chan runtime.Exit, error) { return p.exits, nil }

// clockwork is a clock that jumps to the end of every wait, and tells its length.
type clockwork struct {
	mu    sync.Mutex
	now   time.Time
	waits chan time.Duration
}

func (c *clockwork) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clockwork) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *clockwork) After(d time.Duration) <-chan time.Time {
	c.waits <- d
	c.advance(d)
	fired := make(chan time.Time, 1)
	fired <- c.Now()
	return fired
}

func receive[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(deadline):
		t.Fatal("nothing came")
	}
	panic("unreachable")
}

func TestKeepBacksOff(t *testing.T) {
	clock := &clockwork{now: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), waits: make(chan time.Duration)}
	p := &place{exits: make(chan runtime.Exit), started: make(chan string), clock: clock}
	var stopping atomic.Bool
	done := make(chan error, 1)
	go func() {
		done <- Keep(t.Context(), p, []runtime.Spec{{Name: "a"}, {Name: "b"}}, KeepOptions{
			Logger: slog.New(slog.DiscardHandler), Stopping: stopping.Load, Now: clock.Now, After: clock.After})
	}()
	if a, b := receive(t, p.started), receive(t, p.started); a != "a" || b != "b" {
		t.Fatalf("started %s, %s", a, b)
	}
	id, began := 1, time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	end := func(after time.Duration) time.Duration {
		t.Helper()
		clock.advance(after)
		// First ends that must not count: of other units, and of earlier starts.
		for _, u := range []runtime.Unit{{Name: "c", ID: fmt.Sprint(id), StartedAt: began},
			{Name: "a", ID: "0", StartedAt: began}, {Name: "a", ID: fmt.Sprint(id), StartedAt: began.Add(-time.Hour)}} {
			p.exits <- runtime.Exit{Unit: u, At: clock.Now()}
		}
		p.exits <- runtime.Exit{Unit: runtime.Unit{Name: "a", ID: fmt.Sprint(id), StartedAt: began}, At: clock.Now()}
		d := receive(t, clock.waits)
		receive(t, p.started)
		id, began = max(3, id+1), clock.Now()
		return d
	}
	want := []time.Duration{100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000}
	for i, w := range want {
		if d := end(time.Second); d != w*time.Millisecond {
			t.Errorf("back-off %d: %v, want %v", i, d, w*time.Millisecond)
		}
	}
	if d := end(30 * time.Second); d != 100*time.Millisecond {
		t.Errorf("back-off after a long run: %v", d)
	}
	p.fail.Store(true)
	clock.advance(time.Second)
	p.exits <- runtime.Exit{Unit: runtime.Unit{Name: "a", ID: fmt.Sprint(id), StartedAt: began}, At: clock.Now()}
	for _, w := range []time.Duration{200, 400, 800} { // failed starts count
		if d := receive(t, clock.waits); d != w*time.Millisecond {
			t.Errorf("back-off %v, want %v", d, w*time.Millisecond)
		}
		receive(t, p.started)
	}
	stopping.Store(true)
	select { // it saw that at once, or waits for the next start
	case err := <-done:
		done <- err
	case <-clock.waits:
	}
	if err := receive(t, done); err != nil {
		t.Error(err)
	}
}

func TestKeepSaysThatItCannotFollow(t *testing.T) {
	p := &place{exits: make(chan runtime.Exit)}
	close(p.exits)
	if err := Keep(t.Context(), p, nil, KeepOptions{}); err == nil {
		t.Error("no error without exits")
	}
}

func TestKeepProcesses(t *testing.T) {
	dir := stateDir(t)
	r := newRuntime(t, dir)
	first := exitsOf(t, r)
	start(t, r, spec("ended", "exit", "0")) // it ended long ago: one start is due, not two
	next(t, first)
	adopted := startUp(t, r, spec("adopted", "wait"))

	var mu sync.Mutex
	var log strings.Builder
	said := func(words ...string) bool {
		mu.Lock()
		defer mu.Unlock()
		for line := range strings.Lines(log.String()) {
			found := true
			for _, w := range words {
				found = found && strings.Contains(line, w)
			}
			if found {
				return true
			}
		}
		return false
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Keep(ctx, r, []runtime.Spec{spec("ended", "wait"), spec("adopted", "wait")}, KeepOptions{
			Backoff: runtime.Backoff{Shortest: time.Millisecond, Longest: 10 * time.Second, Healthy: 30 * time.Second}, Logger: slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				return log.Write(p)
			}), nil))})
	}()
	until(t, "adopted", func() bool { return said("unit runs", "unit=adopted", "id="+adopted.ID) })
	if err := syscall.Kill(pidOf(t, adopted), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "exit logged", func() bool {
		return said("unit ended", "unit=adopted", "code=-1", `text="signal: killed"`, "tail=up", "again_in=1ms")
	})
	until(t, "started again", func() bool {
		units, err := r.List(t.Context(), runtime.Labels{runtime.LabelAgent: "adopted"})
		return err == nil && len(units) == 1 && units[0].Running && units[0].ID != adopted.ID
	})
	cancel()
	if err := receive(t, done); err != nil {
		t.Error(err)
	}
	if said("unit ended", "unit=ended") {
		t.Error("an end from before was taken for that of a later start")
	}
	units, err := r.List(t.Context(), nil)
	if err != nil || len(units) != 2 || !units[0].Running || !units[1].Running {
		t.Errorf("after keep: %+v, %v; want both running", units, err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
