package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/docker/docker/api/types/container"

	"sett/runtime"
)

// reopenPause is the pause between two looks for a unit's next run, for who
// follows its log.
const reopenPause = 250 * time.Millisecond

// Logs returns what the unit wrote: what is kept of its former containers, then
// the log of the one there is. Between stdout and stderr the order is the engine's,
// which reads them side by side.
// Of what is kept, Since goes by the "time" field of lines that are JSON objects; a
// line without has the time of the line before it, and passes when there is none.
//
// With Follow, the reader ends with io.EOF when the context does. It goes on when
// the unit is started again, in the same container or in another.
func (r *Runtime) Logs(ctx context.Context, name string, o runtime.LogOptions) (io.ReadCloser, error) {
	src, err := r.openLogs(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read log of %s: %w", name, err)
	}
	return runtime.Stream(ctx, o.Follow, func(ctx context.Context, w io.Writer) error {
		defer src.close()
		return src.copy(ctx, w, o)
	}), nil
}

// logSource is a unit's log: what is kept, and the container there is. Either may
// be missing.
type logSource struct {
	r    *Runtime
	name string
	kept []io.ReadCloser
	id   string // the container's, or empty
}

func (r *Runtime) openLogs(ctx context.Context, name string) (*logSource, error) {
	s := &logSource{r: r, name: name}
	// The container first: if it goes now, its log is among what is kept.
	c, err := r.find(ctx, name)
	switch {
	case err == nil:
		s.id = c.ID
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if runtime.CheckName(name) == nil {
		if s.kept, err = r.keptLogs(name); err != nil {
			return nil, err
		}
	}
	if s.id == "" && len(s.kept) == 0 {
		return nil, fs.ErrNotExist
	}
	return s, nil
}

func (s *logSource) close() {
	for _, f := range s.kept {
		_ = f.Close()
	}
}

func (s *logSource) copy(ctx context.Context, w io.Writer, o runtime.LogOptions) error {
	sel := &selection{w: w, since: o.Since, passing: true, most: o.Lines}
	for _, f := range s.kept {
		if err := sel.kept(f); err != nil {
			return err
		}
	}
	seen := &seenLines{}
	if s.id != "" {
		if err := s.history(ctx, sel, seen, o); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := sel.release(); err != nil || !o.Follow {
		return err
	}
	return s.follow(ctx, sel, seen)
}

// history copies what the container has written so far. The engine knows every
// line's time.
func (s *logSource) history(ctx context.Context, sel *selection, seen *seenLines, o runtime.LogOptions) error {
	since := ""
	if !o.Since.IsZero() {
		since = stamp(o.Since)
	}
	take := func(l logLine) error {
		seen.note(l.at)
		return sel.add(l.text)
	}
	if o.Lines < 0 {
		_, err := s.r.lines(ctx, s.id, container.LogsOptions{Since: since, Tail: "all"}, take)
		return err
	}
	last, err := s.r.newest(ctx, s.id, since, max(o.Lines, 1)) // one at least, to know where the log stands
	for _, l := range last {
		err = errors.Join(err, take(l))
	}
	return err
}

// follow copies what comes, from one run of the unit to the next.
func (s *logSource) follow(ctx context.Context, sel *selection, seen *seenLines) error {
	for {
		if s.id != "" {
			q := container.LogsOptions{Follow: true, Tail: "all"}
			if !seen.at.IsZero() {
				q.Since = stamp(seen.at)
			}
			skip := seen.again()
			_, err := s.r.lines(ctx, s.id, q, func(l logLine) error {
				if skip(l.at) {
					return nil
				}
				seen.note(l.at)
				return sel.add(l.text)
			})
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrEngine) {
				return err
			}
		}
		if err := s.reopen(ctx, sel, seen); err != nil {
			return err
		}
	}
}

// reopen waits until the unit runs again.
func (s *logSource) reopen(ctx context.Context, sel *selection, seen *seenLines) error {
	for {
		if err := pause(ctx, reopenPause); err != nil {
			return err
		}
		c, err := s.r.find(ctx, s.name)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrEngine):
			continue
		case err != nil:
			return err
		case c.ID != s.id:
			s.id, *seen = c.ID, seenLines{}
			return sel.breakLine()
		case c.State.Running || instant(c.State.StartedAt).After(seen.at):
			return nil
		}
	}
}

// stamp is a time as the engine reads it.
func stamp(t time.Time) string { return fmt.Sprintf("%d.%09d", t.Unix(), t.Nanosecond()) }

// seenLines remembers where a container's log was read to: the last line's time,
// and how many lines had it.
type seenLines struct {
	at time.Time
	n  int
}

func (s *seenLines) note(at time.Time) {
	if at.Equal(s.at) {
		s.n++
		return
	}
	s.at, s.n = at, 1
}

// again says of each line of a log that is read from that time on whether it was
// read before.
func (s *seenLines) again() func(time.Time) bool {
	at, n := s.at, s.n
	return func(t time.Time) bool {
		if n > 0 && !t.After(at) {
			n--
			return true
		}
		return false
	}
}
