package docker

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/events"

	"sett/runtime"

	"sett/runtime/docker/engine"
)

func TestExits(t *testing.T) {
	p := newPlace(t)
	one, two := p.exits(), p.exits()
	before := time.Now() // not StartedAt, which the engine puts down when it gets to it
	u := p.start(p.spec("x", "exit", "7"))
	for _, ch := range []<-chan runtime.Exit{one, two} {
		e := next(t, ch)
		if e.Code != 7 || e.Text != "exit status 7" || e.Tail != "last words" || e.OOM || e.Unit.ID != u.ID || e.Unit.Name != "x" ||
			e.Unit.Running || e.At.Before(before) || e.Unit.Labels[runtime.LabelAgent] != "x" || !e.Unit.StartedAt.Equal(u.StartedAt) {
			t.Errorf("exit %+v of %+v", e, u)
		}
	}
	v := p.startUp(p.spec("y", "wait"))
	p.signal("y", "KILL")
	killed := time.Now()
	if e := next(t, one); e.Code != -1 || e.Text != "signal: killed" || e.Unit.ID != v.ID || e.Tail != "up" {
		t.Errorf("exit %+v", e)
	}
	if late := time.Since(killed); late > 2*time.Second {
		t.Errorf("the end was told after %s", late)
	}
	p.startUp(p.spec("z", "wait"))
	if err := p.Stop(t.Context(), "z", 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if e := next(t, one); e.Unit.Name != "z" || e.Code != 3 || e.Tail != "up\nbye" {
		t.Errorf("exit %+v, want that of what was stopped", e)
	}
}

func TestExitsTellOfMemory(t *testing.T) {
	p := newPlace(t)
	exits := p.exits()
	p.start(p.with(p.spec("x", "eat"), func(c *runtime.Container) { c.Memory = 32 << 20 }))
	if e := next(t, exits); !e.OOM || e.Code != -1 || e.Text != "signal: killed" {
		t.Errorf("exit %+v", e)
	}
}

// TestMemoryThatIsToldLate has a busy engine tell of the end before the reason: the end
// waits for it, and only for a moment.
func TestMemoryThatIsToldLate(t *testing.T) {
	p := newPlace(t)
	p.startUp(p.spec("x", "wait"))
	p.signal("x", "KILL")
	p.until("x ended", func() bool { return !p.inspect("x").State.Running })
	c := p.inspect("x")
	about := events.Actor{ID: c.ID, Attributes: map[string]string{"name": p.names.container("x"), "exitCode": "137"}}
	at := instant(c.State.FinishedAt).Add(time.Millisecond).UnixNano()
	for _, oom := range []bool{true, false} {
		messages := make(chan events.Message, 2)
		messages <- events.Message{Action: events.ActionDie, TimeNano: at, Actor: about}
		if oom {
			messages <- events.Message{Action: events.ActionOOM, TimeNano: at + 1e6, Actor: about}
		}
		s := &subscription{w: p.ends, out: make(chan runtime.Exit), runs: map[string]*history{}}
		go s.run(t.Context(), &stream{messages: messages, close: func() {}})
		if e := next(t, s.out); e.OOM != oom || e.Text != killed {
			t.Errorf("exit %+v, want out of memory: %v", e, oom)
		}
	}
}

func TestExitsTellFirstWhatEndedBefore(t *testing.T) {
	p := newPlace(t)
	for i, name := range []string{"b", "a"} {
		p.await(p.start(p.spec(name, "exit", fmt.Sprint(i))))
	}
	p.startUp(p.spec("c", "wait"))
	ctx, cancel := context.WithCancel(t.Context())
	exits, err := p.Exits(ctx)
	if err != nil {
		t.Fatal(err)
	}
	p.signal("c", "KILL")
	var got []string
	for range 3 {
		e := next(t, exits)
		got = append(got, fmt.Sprint(e.Unit.Name, " ", e.Code))
	}
	if s := strings.Join(got, ", "); s != "b 0, a 1, c -1" {
		t.Errorf("exits %s", s)
	}
	cancel()
	if e, ok := <-exits; ok {
		t.Errorf("another exit: %+v", e)
	}
}

// TestExitsAreDeliveredOnce starts, adopts, revives and stops one name from two
// values, again and again: every run has one end, in both.
func TestExitsAreDeliveredOnce(t *testing.T) {
	p := newPlace(t)
	q := New(p.e, p.o) // another process: it tells nothing but through the engine
	mine, others := p.exits(), p.exits()
	theirs, err := q.Exits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	key := func(u runtime.Unit) string { return u.ID + " " + u.StartedAt.String() }
	const rounds = 4
	for i := range rounds {
		u := p.startUp(p.spec("x", "wait"))
		want[key(u)] = true
		if i%2 == 0 {
			p.signal("x", "KILL")
			p.await(u)
			if err := q.Revive(t.Context(), "x"); err != nil {
				t.Fatal(err)
			}
			again := p.start(p.spec("x", "wait"))
			if again.ID != u.ID || !again.StartedAt.After(u.StartedAt) {
				t.Errorf("revived %+v, was %+v", again, u)
			}
			want[key(again)] = true
		}
		if err := []*Runtime{p.Runtime, q}[i%2].Stop(t.Context(), "x", 0); err != nil {
			t.Fatal(err)
		}
	}
	p.start(p.spec("last", "exit", "0"))
	for i, ch := range []<-chan runtime.Exit{mine, others, theirs} {
		seen := map[string]bool{}
		for {
			e := next(t, ch)
			if e.Unit.Name == "last" {
				break
			}
			// When somebody else removed the container, its start may be unknown.
			k := key(e.Unit)
			if e.Unit.StartedAt.IsZero() {
				k = e.Unit.ID + " " + e.At.String()
			} else if !want[k] {
				t.Errorf("%d: exit %+v of nobody", i, e)
			}
			if seen[k] {
				t.Errorf("%d: exit %+v came twice", i, e)
			}
			seen[k] = true
		}
		if len(seen) != len(want) {
			t.Errorf("%d: %d exits, want %d", i, len(seen), len(want))
		}
	}
}

func TestExitsOfWhatTheEngineRestarts(t *testing.T) {
	p := newPlace(t)
	exits := p.exits()
	u := p.start(p.with(p.spec("x", "fail-once", "/mark"), func(c *runtime.Container) { c.Restart, c.Writable = true, true }))
	if e := next(t, exits); e.Unit.ID != u.ID || e.Code != 5 || e.Unit.Running {
		t.Errorf("exit %+v", e)
	}
	p.until("restarted", func() bool { return strings.Contains(p.logText("x", -1), "up\n") })
	if err := p.Stop(t.Context(), "x", 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if e := next(t, exits); e.Code != 3 || e.Tail != "up\nbye" {
		t.Errorf("exit %+v; want the last run's alone", e)
	}
}

// TestExitsTellOfWhatNeverRan finds the container that a crash left, once it is old enough.
func TestExitsTellOfWhatNeverRan(t *testing.T) {
	p := newPlace(t)
	sh, err := p.shapes.of(t.Context(), p.spec("x", "wait"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.api.ContainerCreate(t.Context(), sh.config, sh.host, nil, nil, p.names.container("x")); err != nil {
		t.Fatal(err)
	}
	o := p.o
	o.Now = func() time.Time { return time.Now().Add(2 * abandoned) }
	exits, err := New(p.e, o).Exits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if e := next(t, exits); e.Unit.Name != "x" || e.Code != -1 || e.Text != neverRan {
		t.Errorf("exit %+v", e)
	}
}

// wire is a way to the engine that can be cut.
type wire struct {
	to   string
	mu   sync.Mutex
	open map[net.Conn]bool
	cut  bool
}

func newWire(t *testing.T, e *engine.Engine) (*wire, *engine.Engine) {
	t.Helper()
	if e.Endpoint().Socket == "" {
		t.Fatal("the engine is not reached by a socket") // nor cut off by this test
	}
	w := &wire{to: e.Endpoint().Socket, open: map[net.Conn]bool{}}
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(); w.setCut(true) })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.carry(c)
		}
	}()
	wired, err := engine.Open(t.Context(), engine.Endpoint{Host: "unix://" + path, Socket: path, From: "the test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { wired.Close() })
	return w, wired
}

func (w *wire) carry(a net.Conn) {
	b, err := net.Dial("unix", w.to)
	if err != nil {
		a.Close()
		return
	}
	w.mu.Lock()
	refused := w.cut
	w.open[a], w.open[b] = true, true
	w.mu.Unlock()
	if !refused {
		go func() { io.Copy(a, b); a.Close() }()
		io.Copy(b, a)
	}
	a.Close()
	b.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, a)
	delete(w.open, b)
}

// setCut cuts all connections and refuses new ones, or accepts them again.
func (w *wire) setCut(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	for c := range w.open {
		c.Close()
	}
}

func TestExitsAcrossBreaks(t *testing.T) {
	p := newPlace(t)
	w, wired := newWire(t, p.e)
	exits, err := New(wired, p.o).Exits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		name := fmt.Sprint("x", round)
		p.startUp(p.spec(name, "wait"))
		gone := p.startUp(p.spec(name+"-gone", "wait"))
		if round == 1 { // as before, but the stream only broke
			w.setCut(true)
			w.setCut(false)
		} else {
			w.setCut(true)
		}
		p.signal(name, "KILL")
		if err := p.Stop(t.Context(), name+"-gone", 5*time.Second); err != nil {
			t.Fatal(err)
		}
		p.await(p.start(p.spec(name+"-short", "exit", "4"))) // began and ended unseen
		if err := p.Stop(t.Context(), name+"-short", 0); err != nil {
			t.Fatal(err)
		}
		w.setCut(false)
		codes := map[string]int{}
		for range 3 {
			e := next(t, exits)
			codes[e.Unit.Name] = e.Code
			if e.Unit.Name == name+"-gone" && e.Unit.ID != gone.ID {
				t.Errorf("exit %+v", e)
			}
		}
		if codes[name] != -1 || codes[name+"-gone"] != 3 || codes[name+"-short"] != 4 || len(codes) != 3 {
			t.Errorf("round %d: exits %v", round, codes)
		}
	}
	p.start(p.spec("last", "exit", "0"))
	if e := next(t, exits); e.Unit.Name != "last" {
		t.Errorf("exit %+v came twice", e)
	}
}

// TestExitsWithoutEvents has the engine's events lost without a sign: the regular
// look finds the same ends.
func TestExitsWithoutEvents(t *testing.T) {
	p := newPlace(t)
	s := &subscription{w: p.ends, runs: map[string]*history{}}
	look := func() []string {
		t.Helper()
		if err := s.relist(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range s.queue {
			got = append(got, fmt.Sprint(e.Unit.Name, " ", e.Code))
		}
		s.queue = nil
		return got
	}
	gone := p.startUp(p.spec("gone", "wait"))
	p.startUp(p.spec("again", "wait"))
	p.startUp(p.spec("ended", "wait"))
	if got := look(); len(got) != 0 {
		t.Errorf("told %v", got)
	}
	p.signal("ended", "TERM")
	p.signal("again", "KILL")
	for _, name := range []string{"again", "ended"} {
		p.until(name+" ended", func() bool { return !p.inspect(name).State.Running })
	}
	if err := p.Revive(t.Context(), "again"); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(t.Context(), "gone", 0); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(look(), ", "); got != "ended 3" {
		t.Errorf("told %q; of the rest, events may be on their way", got)
	}
	if got := look(); len(got) != 2 {
		t.Errorf("told %v, want the ends of again and gone", got)
	}
	// The stream breaks, and a new one repeats the event.
	late := events.Message{Action: events.ActionDie, TimeNano: time.Now().UnixNano(), Actor: events.Actor{ID: gone.ID,
		Attributes: map[string]string{"name": p.names.container("gone"), "exitCode": "3"}}}
	for range 4 {
		if got := look(); len(got) != 0 {
			t.Errorf("told again %v", got)
		}
	}
	if s.event(t.Context(), late); len(s.queue) != 0 {
		t.Errorf("told by a late event again: %v", s.queue)
	}
	s.heard = 2 // looks, with the new stream
	for range 4 {
		look()
	}
	if len(s.runs) != 2 {
		t.Errorf("%d containers remembered, want the two there are", len(s.runs))
	}
}

// TestOneEndByManyWays has word of one end come twice by event, as from an engine
// that repeats a whole second after the stream broke, and by the state, in any
// order, also when nothing is left to look at.
func TestOneEndByManyWays(t *testing.T) {
	p := newPlace(t)
	p.await(p.start(p.spec("x", "exit", "7")))
	c := p.inspect("x")
	died := events.Message{Action: events.ActionDie, TimeNano: instant(c.State.FinishedAt).Add(time.Millisecond).UnixNano(),
		Actor: events.Actor{ID: c.ID, Attributes: map[string]string{"name": p.names.container("x"), "exitCode": "7"}}}
	event := func(s *subscription) { s.event(t.Context(), died) }
	state := func(s *subscription) { s.ended(t.Context(), c) }
	ways := map[string][]func(*subscription){
		"event, event": {event, event}, "event, state": {event, state}, "state, event": {state, event}, "state, event, event, state": {state, event, event, state},
	}
	count := func(when string) {
		t.Helper()
		for name, words := range ways {
			s := &subscription{w: p.ends, runs: map[string]*history{}}
			for _, word := range words {
				word(s)
			}
			if len(s.queue) != 1 || s.queue[0].Code != 7 || s.queue[0].Unit.Name != "x" {
				t.Errorf("%s, %s: exits %+v, want one", when, name, s.queue)
			}
		}
	}
	count("still there")
	if err := p.Stop(t.Context(), "x", 0); err != nil {
		t.Fatal(err)
	}
	count("removed")
}

// TestExitOfWhatRunsAgain: a busy engine's event comes when the container runs again. The end is not one of the new run.
func TestExitOfWhatRunsAgain(t *testing.T) {
	p := newPlace(t)
	first := p.startUp(p.spec("x", "wait"))
	seen := func() *subscription {
		return &subscription{w: p.ends, runs: map[string]*history{}}
	}
	knows, not := seen(), seen()
	knows.look(t.Context())
	p.signal("x", "KILL")
	p.await(first)
	if err := p.Revive(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	again := p.startUp(p.spec("x", "wait"))
	if again.ID != first.ID || !again.StartedAt.After(first.StartedAt) {
		t.Fatalf("revived %+v, was %+v", again, first)
	}
	event := events.Message{Action: events.ActionDie, TimeNano: again.StartedAt.UnixNano(),
		Actor: events.Actor{ID: first.ID, Attributes: map[string]string{"name": p.names.container("x"), "exitCode": "137"}}}
	for name, s := range map[string]*subscription{"seen": knows, "not seen": not} {
		s.event(t.Context(), event)
		want := runtime.Exit{Code: -1, Text: killed}
		want.Unit.StartedAt = map[string]time.Time{"seen": first.StartedAt}[name]
		if len(s.queue) != 1 {
			t.Fatalf("%s: %d ends", name, len(s.queue))
		}
		if got := s.queue[0].Exit; got.Code != want.Code || got.Text != want.Text || got.Unit.Running || !got.Unit.StartedAt.Equal(want.Unit.StartedAt) {
			t.Errorf("%s: %+v, want the start %s; the new one is %s", name, got, want.Unit.StartedAt, again.StartedAt)
		}
	}
}
