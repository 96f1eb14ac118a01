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
)

// What Exit.Text says of ends that nobody saw.
const (
	unwatched = "ended while nobody watched"
	neverRan  = "was never started"
)

// What Exit.Tail holds at most.
const (
	lastLines = 20
	lastBytes = 8 << 10
)

// history is what a subscription knows of a container. Each of its runs ends
// once, but word of it comes by several ways: an event, which may be repeated
// after the stream broke, and the state, which tells of the last run's end only.
type history struct {
	unit     runtime.Unit // as it was last seen running
	running  bool         // as far as is known
	missed   int          // looks that showed an end of which no event had come
	finished time.Time    // the newest end that was delivered, by the engine's clock
	died     int64        // the newest event of an end, nanoseconds by the same clock
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

// event takes in one event. The order of things is: the container's end is put
// down (finished), the event is made (at), and only then can it run again.
func (s *subscription) event(ctx context.Context, e events.Message) {
	unit, ok := s.r.unitName(e.Actor.Attributes["name"])
	if !ok {
		return
	}
	h := s.history(e.Actor.ID)
	if e.Action == events.ActionOOM {
		h.oom = true
		return
	}
	s.newest = max(s.newest, e.TimeNano)
	at := time.Unix(0, e.TimeNano).UTC()
	if e.TimeNano <= h.died {
		return // again, after the stream broke
	}
	before := time.Unix(0, h.died)
	h.died = e.TimeNano
	if h.finished.After(before) && !h.finished.After(at) {
		return // the state told of this end already
	}
	h.running, h.missed = false, 0
	call, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	c, err := s.r.e.api.ContainerInspect(call, e.Actor.ID)
	finished := at
	if err == nil {
		if f := instant(c.State.FinishedAt); f.After(h.finished) && !f.After(at) {
			finished = f
		} else {
			err = fmt.Errorf("its state is of another run")
		}
	}
	var exit runtime.Exit
	if err == nil {
		exit = s.r.exit(call, c, h.finished)
		if c.State.Running { // again already, and so its state is the new run's
			exit.Code, exit.Text = eventCode(e)
			exit.Unit.Running = false
		}
	} else {
		exit = runtime.Exit{Unit: runtime.Unit{Name: unit, ID: e.Actor.ID, Labels: ownLabels(e.Actor.Attributes)}, At: at}
		if h.unit.Name != "" {
			exit.Unit = ended(h.unit)
		}
		exit.Code, exit.Text = eventCode(e)
	}
	exit.OOM = exit.OOM || h.oom
	h.finished, h.oom = finished, false
	s.queue = append(s.queue, exit)
}

func eventCode(e events.Message) (int, string) {
	code, err := strconv.Atoi(e.Actor.Attributes["exitCode"])
	if err != nil {
		return -1, unwatched
	}
	return ending(code)
}

// ending reads the engine's exit code, which stands for a signal above 128.
func ending(code int) (int, string) {
	if name := signals[code-128]; name != "" {
		return -1, "signal: " + name
	}
	return code, fmt.Sprintf("exit status %d", code)
}

// signals that end the first process of a container, by Linux's numbers and in
// Go's words, whatever system this runs on. The kernel spares it the others, so
// that what looks like one of them is a shell's report of its child.
var signals = map[int]string{
	4: "illegal instruction", 5: "trace/breakpoint trap", 6: "aborted", 7: "bus error",
	8: "floating point exception", 9: "killed", 11: "segmentation fault", 31: "bad system call",
}

// exit is the end of a container's last run; that of the run before it, if it is
// known, is where its last words may begin.
func (r *Runtime) exit(ctx context.Context, c container.InspectResponse, before time.Time) runtime.Exit {
	x := runtime.Exit{Unit: r.unit(c), OOM: c.State.OOMKilled, At: instant(c.State.FinishedAt), Tail: r.tail(ctx, c, before)}
	x.Code, x.Text = ending(c.State.ExitCode)
	if c.State.Error != "" && c.State.ExitCode != 0 {
		x.Text += ": " + trailer().ReplaceAllString(c.State.Error, "")
	}
	return x
}

// lost is the end of a run that nobody saw.
func (r *Runtime) lost(u runtime.Unit, at time.Time) runtime.Exit {
	return runtime.Exit{Unit: ended(u), Code: -1, Text: unwatched, At: at.UTC()}
}

func ended(u runtime.Unit) runtime.Unit {
	u.Running, u.Paused, u.Address = false, false, ""
	return u
}

// startSlack is how long after its process a container counts as started: what it
// writes at once is older than that.
const startSlack = 250 * time.Millisecond

// tail returns the last lines of the container's last run.
func (r *Runtime) tail(ctx context.Context, c container.InspectResponse, before time.Time) string {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	since := ""
	switch {
	case !before.IsZero():
		since = stamp(before)
	case c.RestartCount > 0:
		since = stamp(instant(c.State.StartedAt).Add(-startSlack))
	}
	last, err := r.newest(ctx, c.ID, since, lastLines)
	if err != nil {
		r.log.Debug("last words not read", "id", c.ID, "error", err)
	}
	var all strings.Builder
	for _, l := range last[max(0, len(last)-lastLines):] {
		all.Write(l.text)
	}
	text := all.String()
	if over := len(text) - lastBytes; over > 0 {
		text = text[over:]
		if _, rest, ok := strings.Cut(text, "\n"); ok && rest != "" {
			text = rest
		}
	}
	return strings.ToValidUTF8(strings.TrimSuffix(text, "\n"), "\uFFFD")
}
