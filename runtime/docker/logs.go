package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/docker/docker/api/types/container"

	"sett/runtime"
	"sett/runtime/docker/engine"
	"sett/runtime/logfile"
)

// logs are the logs of an instance's units: of the containers on the engine, and of
// removed containers in a directory.
type logs struct {
	units *units
	dir   string // empty: the logs of removed containers are not kept
}

// keep adds the log of a container, which is about to be removed, to the unit's kept
// log. The caller holds the unit's lock.
func (l *logs) keep(ctx context.Context, name, id string) error {
	if l.dir == "" {
		return nil
	}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return fmt.Errorf("make directory of logs: %w", err)
	}
	w := logfile.Dir(l.dir).Writer(name)
	_, err := l.units.lines(ctx, id, container.LogsOptions{Tail: "all"}, func(line logLine) error {
		_, err := w.Write(line.text)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // somebody else removed it
	}
	if err := errors.Join(err, w.Close()); err != nil || !logfile.IsWorker(name) {
		return err
	}
	return logfile.Dir(l.dir).PruneWorkers(func(string) bool { return false }) // kept logs are of containers that are gone
}

// open opens a unit's log; fs.ErrNotExist when there is none.
func (l *logs) open(ctx context.Context, name string, o runtime.LogOptions) (io.ReadCloser, error) {
	s := &logSource{units: l.units, name: name}
	// First the container: if it is removed now, its log is among the kept ones.
	c, err := l.units.find(ctx, name)
	switch {
	case err == nil:
		s.id = c.ID
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if l.dir != "" && runtime.CheckName(name) == nil {
		s.kept, err = logfile.Dir(l.dir).Open(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if s.id == "" && s.kept == nil {
		return nil, fs.ErrNotExist
	}
	return runtime.Stream(ctx, o.Follow, func(ctx context.Context, w io.Writer) error {
		return s.copy(ctx, logfile.NewSieve(w, o), o)
	}), nil
}

// logSource reads one unit's log. Either part may be missing.
type logSource struct {
	units *units
	name  string
	kept  *logfile.Source
	id    string    // the container's
	at    time.Time // of the container's last line that was read
	n     int       // how many lines had that time
}

func (s *logSource) copy(ctx context.Context, sv *logfile.Sieve, o runtime.LogOptions) error {
	if s.kept != nil {
		defer s.kept.Close()
		if err := errors.Join(s.kept.Copy(ctx, sv), sv.BreakLine()); err != nil {
			return err
		}
	}
	sv.PassAll() // the engine knows the time of every line, and selects
	if s.id != "" {
		if err := s.history(ctx, sv, o); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := sv.Release(!o.Follow); err != nil || !o.Follow {
		return err
	}
	return s.follow(ctx, sv)
}

// take passes a line on.
func (s *logSource) take(sv *logfile.Sieve, l logLine) error {
	if !l.at.Equal(s.at) {
		s.at, s.n = l.at, 0
	}
	s.n++
	_, err := sv.Write(l.text)
	return err
}

// history copies everything that the container has written so far.
func (s *logSource) history(ctx context.Context, sv *logfile.Sieve, o runtime.LogOptions) error {
	since := ""
	if !o.Since.IsZero() {
		since = stamp(o.Since)
	}
	if o.Lines < 0 {
		_, err := s.units.lines(ctx, s.id, container.LogsOptions{Since: since, Tail: "all"}, func(l logLine) error { return s.take(sv, l) })
		return errors.Join(err, sv.Flush())
	}
	last, err := s.units.newest(ctx, s.id, since, max(o.Lines, 1)) // at least one: it marks the place to follow from
	for _, l := range last {
		err = errors.Join(err, s.take(sv, l))
	}
	return errors.Join(err, sv.Flush())
}

// follow copies new lines, from one run of the unit to the next.
func (s *logSource) follow(ctx context.Context, sv *logfile.Sieve) error {
	for {
		if s.id != "" {
			q := container.LogsOptions{Follow: true, Tail: "all"}
			if !s.at.IsZero() {
				q.Since = stamp(s.at)
			}
			at, again := s.at, s.n // the engine repeats the lines of that time
			_, err := s.units.lines(ctx, s.id, q, func(l logLine) error {
				if again > 0 && !l.at.After(at) {
					again--
					return nil
				}
				return s.take(sv, l)
			})
			if err := errors.Join(err, sv.Flush()); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, engine.ErrEngine) {
				return err
			}
		}
		if err := s.reopen(ctx, sv); err != nil {
			return err
		}
	}
}

// reopenPause is the pause between two looks for a unit's next run.
const reopenPause = 250 * time.Millisecond

// reopen waits until the unit runs again.
func (s *logSource) reopen(ctx context.Context, sv *logfile.Sieve) error {
	for {
		if err := pause(ctx, reopenPause); err != nil {
			return err
		}
		c, err := s.units.find(ctx, s.name)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, engine.ErrEngine):
			continue
		case err != nil:
			return err
		case c.ID != s.id:
			s.id, s.at, s.n = c.ID, time.Time{}, 0
			return sv.BreakLine()
		case c.State.Running || instant(c.State.StartedAt).After(s.at):
			return nil
		}
	}
}
