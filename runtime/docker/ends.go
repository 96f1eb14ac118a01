package docker

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"

	"sett/runtime"
	"sett/runtime/docker/engine"
	"sett/runtime/logfile"
)

// neverRan is Exit.Text of a container that was never started.
const neverRan = "was never started"

// history is a subscription's knowledge of a container. Each of its runs ends once,
// but several messages tell of that end: an event, which the engine may repeat after
// a broken stream, and the state, which shows the last run's end only.
type history struct {
	unit     runtime.Unit // as it was last seen running
	running  bool         // as far as is known
	missed   int          // looks that showed an end before its event
	lost     bool         // its end was delivered when it was gone: an event that comes after all is of that end
	finished time.Time    // the newest delivered end, by the engine's clock
	died     int64        // the newest event of an end, in nanoseconds of the same clock
	oom      bool         // memory ran out since
}

func (s *subscription) history(id string) *history {
	h := s.runs[id]
	if h == nil {
		h = &history{}
		s.runs[id] = h
	}
	return h
}

// event handles one event. The order is: the engine records the container's end
// (finished) and makes the event (at), and only then the container can run again.
func (s *subscription) event(ctx context.Context, e events.Message) {
	if _, ok := s.w.units.names.unit(e.Actor.Attributes["name"]); !ok {
		return
	}
	h := s.history(e.Actor.ID)
	if e.Action == events.ActionOOM {
		if !s.outOfMemory(e.Actor.ID) {
			h.oom = true
		}
		return
	}
	s.newest = max(s.newest, e.TimeNano)
	if e.TimeNano <= h.died {
		return // repeated after a broken stream
	}
	at, before := time.Unix(0, e.TimeNano).UTC(), time.Unix(0, h.died)
	h.died = e.TimeNano
	if h.lost || h.finished.After(before) && !h.finished.After(at) {
		return // the state has told of this end
	}
	h.running, h.missed = false, 0
	exit, finished := s.examine(ctx, e, h, at)
	exit.OOM = exit.OOM || h.oom
	h.finished, h.oom = finished, false
	q := queued{Exit: exit}
	if exit.Text == killed && !exit.OOM {
		q.until = time.Now().Add(oomLate)
	}
	s.queue = append(s.queue, q)
}

// outOfMemory completes an end that waits for its reason, and says whether one did.
func (s *subscription) outOfMemory(id string) bool {
	for i, q := range s.queue {
		if q.Unit.ID == id && !q.until.IsZero() {
			s.queue[i].OOM, s.queue[i].until = true, time.Time{}
			return true
		}
	}
	return false
}

// examine returns the end that an event told of, from the container's state as far as
// that still shows it, and its time by the engine's clock.
func (s *subscription) examine(ctx context.Context, e events.Message, h *history, at time.Time) (runtime.Exit, time.Time) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	c, err := s.w.units.api.ContainerInspect(ctx, e.Actor.ID)
	if err == nil {
		if f := instant(c.State.FinishedAt); f.After(h.finished) && !f.After(at) {
			exit := s.w.exit(ctx, c, h.finished)
			if c.State.Running { // it runs again, and its state has the new run's code
				exit.Code, exit.Text = eventCode(e)
				exit.Unit = h.ofRun(exit.Unit, f)
			}
			return exit, f
		}
	}
	name, _ := s.w.units.names.unit(e.Actor.Attributes["name"])
	exit := runtime.Exit{Unit: runtime.Unit{Name: name, ID: e.Actor.ID, Labels: ownLabels(e.Actor.Attributes)}, At: at}
	if h.unit.Name != "" {
		exit.Unit = ended(h.unit)
	}
	exit.Code, exit.Text = eventCode(e)
	return exit, at
}

// ofRun is the unit as it was in a run that ended then: where it runs again, its state has the start of the new run. The
// start is zero where nobody saw that run.
func (h *history) ofRun(u runtime.Unit, finished time.Time) runtime.Unit {
	u.StartedAt = time.Time{}
	if began := h.unit.StartedAt; began.After(h.finished) && began.Before(finished) {
		u.StartedAt = began
	}
	return ended(u)
}

func eventCode(e events.Message) (int, string) {
	code, err := strconv.Atoi(e.Actor.Attributes["exitCode"])
	if err != nil {
		return -1, runtime.Unwatched
	}
	return ending(code)
}

// killed is Exit.Text of a container that the kernel's SIGKILL ended.
const killed = "signal: killed"

// ending reads the engine's exit code, which stands for a signal above 128.
func ending(code int) (int, string) {
	if name := signals[code-128]; name != "" {
		return -1, "signal: " + name
	}
	return code, fmt.Sprintf("exit status %d", code)
}

// signals end the first process of a container. They have Linux's numbers and Go's
// words, on every system. The kernel does not deliver others to that process: a code
// above 128 for another signal is a shell's report of its child.
var signals = map[int]string{
	4: "illegal instruction", 5: "trace/breakpoint trap", 6: "aborted", 7: "bus error",
	8: "floating point exception", 9: "killed", 11: "segmentation fault", 31: "bad system call",
}

// exit is the end of a container's last run. The last words begin after the end of
// the run before, if that is known.
func (w *watchers) exit(ctx context.Context, c container.InspectResponse, before time.Time) runtime.Exit {
	x := runtime.Exit{Unit: w.units.unit(c), OOM: c.State.OOMKilled, At: instant(c.State.FinishedAt), Tail: w.tail(ctx, c, before)}
	x.Code, x.Text = ending(c.State.ExitCode)
	if c.State.Error != "" && c.State.ExitCode != 0 {
		x.Text += ": " + engine.Brief(c.State.Error)
	}
	return x
}

// lost is the end of a run that nobody saw.
func lost(u runtime.Unit, at time.Time) runtime.Exit {
	return runtime.Exit{Unit: ended(u), Code: -1, Text: runtime.Unwatched, At: at.UTC()}
}

func ended(u runtime.Unit) runtime.Unit {
	u.Running, u.Paused, u.Address = false, false, ""
	return u
}

// startSlack is the time between a process's start and its container's recorded start,
// at most. Output at once is older than the record.
const startSlack = 250 * time.Millisecond

// goCrash is the exit code of a Go program that crashed: its reason stands before a long stack trace.
const goCrash = 2

// tail returns the last words of the container's last run.
func (w *watchers) tail(ctx context.Context, c container.InspectResponse, before time.Time) string {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	since := ""
	switch {
	case !before.IsZero():
		since = stamp(before)
	case c.RestartCount > 0:
		since = stamp(instant(c.State.StartedAt).Add(-startSlack))
	}
	lines := logfile.TailLines
	if c.State.ExitCode == goCrash {
		lines = logfile.TraceLines
	}
	last, err := w.units.newest(ctx, c.ID, since, lines)
	if err != nil {
		w.log.Debug("last words not read", "id", c.ID, "error", err)
	}
	var all strings.Builder
	for _, l := range last {
		all.Write(l.text)
	}
	return logfile.Tail(all.String())
}
