//go:build linux

package process

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sett/runtime"
)

func TestExitsOfChildren(t *testing.T) {
	r := newRuntime(t, stateDir(t))
	one, two := exitsOf(t, r), exitsOf(t, r)
	u := start(t, r, spec("x", "exit", "7"))
	for _, ch := range []<-chan runtime.Exit{one, two} {
		e := next(t, ch)
		if e.Code != 7 || e.Text != "exit status 7" || e.Tail != "last words" || e.Unit.ID != u.ID ||
			e.Unit.Running || e.At.Before(u.StartedAt) || e.Unit.Labels[runtime.LabelAgent] != "x" {
			t.Errorf("exit %+v", e)
		}
	}
	units, err := r.List(t.Context(), nil)
	if err != nil || len(units) != 1 || units[0].Running || units[0].ID != u.ID {
		t.Errorf("listed %+v, %v; want the ended unit", units, err)
	}
	v := startUp(t, r, spec("y", "wait"))
	if err := syscall.Kill(pidOf(t, v), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e := next(t, one); e.Code != -1 || e.Text != "signal: killed" || e.Unit.Name != "y" {
		t.Errorf("exit %+v", e)
	}
}

// family starts the unit and returns its main process and its three children.
func family(t *testing.T, r *Runtime, name string) (pid int, children []int) {
	t.Helper()
	pid = pidOf(t, startUp(t, r, spec(name, "family")))
	var log string
	until(t, "children up", func() bool { // they write to the same log
		log = logText(t, r, name, runtime.LogOptions{Lines: -1})
		return strings.Count(log, "up\n") == 4
	})
	for line := range strings.Lines(log) {
		if n, ok := strings.CutPrefix(line, "child "); ok {
			child, err := strconv.Atoi(strings.TrimSpace(n))
			if err != nil || gone(child) {
				t.Fatalf("child %q does not run: %v", line, err)
			}
			children = append(children, child)
		}
	}
	if len(children) != 3 {
		t.Fatalf("children %v, want 3", children)
	}
	return pid, children
}

func TestKilledUnitTakesItsFamilyWithIt(t *testing.T) {
	r := newRuntime(t, stateDir(t))
	exits := exitsOf(t, r)
	_, bystanders := family(t, r, "other")
	pid, children := family(t, r, "x")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	next(t, exits)
	for _, c := range children { // before the exit is delivered: no waiting
		if !gone(c) {
			t.Errorf("process %d of the unit survived it", c)
		}
	}
	for _, c := range bystanders {
		if gone(c) {
			t.Errorf("process %d of another unit was killed", c)
		}
	}
}

func TestExitsOfOthersChildren(t *testing.T) {
	r := newRuntime(t, stateDir(t))
	startElsewhere(t, r, "x", "family")
	exits := exitsOf(t, r)
	pid, children := family(t, r, "x") // adopts it
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	e := next(t, exits)
	if e.Code != -1 || e.Text != runtime.Unwatched || e.Unit.ID != strconv.Itoa(pid) || !strings.HasSuffix(e.Tail, "up") {
		t.Errorf("exit %+v", e)
	}
	for _, c := range children {
		if !gone(c) {
			t.Errorf("process %d of the unit survived it", c)
		}
	}
}

func TestExitsTellFirstWhatEndedBefore(t *testing.T) {
	dir := stateDir(t)
	a := newRuntime(t, dir)
	first := exitsOf(t, a)
	start(t, a, spec("b", "exit", "4"))
	next(t, first)
	startElsewhere(t, a, "a", "wait") // nobody is there when it ends
	rec, err := a.readRecord("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(rec.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "unit ended", func() bool {
		units, err := a.List(t.Context(), runtime.Labels{runtime.LabelAgent: "a"})
		return err == nil && len(units) == 1 && !units[0].Running
	})
	running := startUp(t, a, spec("c", "wait"))

	b := newRuntime(t, dir) // as after a crash of the watcher
	ctx, cancel := context.WithCancel(t.Context())
	exits, err := b.Exits(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pidOf(t, running), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 3 {
		e := next(t, exits)
		got = append(got, fmt.Sprint(e.Unit.Name, " ", e.Code))
	}
	if s := strings.Join(got, ", "); s != "b 4, a -1, c -1" {
		t.Errorf("exits %s", s)
	}
	cancel()
	if e, ok := <-exits; ok {
		t.Errorf("another exit: %+v", e)
	}
	if err := b.Stop(t.Context(), "b", 0); err != nil {
		t.Fatal(err)
	}
	again := exitsOf(t, b)
	// No longer b, which was removed. The end of a has the time at which it was seen, maybe after that of c.
	if names := []string{next(t, again).Unit.Name, next(t, again).Unit.Name}; !slices.Contains(names, "a") || !slices.Contains(names, "c") {
		t.Errorf("exits of %s, want a and c", names)
	}
}

// TestExitsAreDeliveredOnce starts and adopts one name from two values at once,
// again and again: every start has one end, in both.
func TestExitsAreDeliveredOnce(t *testing.T) {
	dir := stateDir(t)
	a, b := newRuntime(t, dir), newRuntime(t, dir)
	exits := exitsOf(t, a)
	want := map[string]bool{}
	for range 20 {
		u := start(t, a, spec("x", "wait"))
		start(t, a, spec("x", "wait"))
		if err := b.Stop(t.Context(), "x", 0); err != nil {
			t.Fatal(err)
		}
		want[u.ID+u.StartedAt.String()] = true
	}
	for range 20 {
		e := next(t, exits)
		key := e.Unit.ID + e.Unit.StartedAt.String()
		if !want[key] {
			t.Errorf("exit %+v came twice", e)
		}
		delete(want, key)
	}
	start(t, a, spec("last", "exit", "0"))
	if e := next(t, exits); e.Unit.Name != "last" {
		t.Errorf("exit %+v came twice", e)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.children) != 0 {
		t.Errorf("%d children are remembered", len(a.children))
	}
}

func TestExitsWithoutListener(t *testing.T) {
	r := newRuntime(t, stateDir(t))
	ctx, cancel := context.WithCancel(t.Context())
	exits, err := r.Exits(ctx)
	if err != nil {
		t.Fatal(err)
	}
	startUp(t, r, spec("runs", "wait"))
	start(t, r, spec("x", "exit", "0"))
	cancel()
	late := time.After(deadline)
	for {
		select {
		case _, ok := <-exits:
			if !ok {
				return
			}
		case <-late:
			t.Fatal("the channel is not closed")
		}
	}
}
