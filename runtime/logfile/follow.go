package logfile

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// watcher waits for changes of a log.
type watcher interface {
	renew()                         // the path leads to another file
	wait(ctx context.Context) error // returns nil after a change, and sometimes without one
	close()
}

// follow copies new lines until the context ends.
func (s *Source) follow(ctx context.Context, sv *Sieve, w watcher) error {
	for {
		if s.cur != nil {
			if err := copyAll(ctx, sv, s.cur); err != nil {
				return err
			}
		}
		again, err := s.turnover(ctx, sv)
		if err != nil {
			return err
		}
		if again {
			w.renew()
			continue
		}
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
}

// turnover looks whether the log was truncated, or its path leads to another file, and
// says whether there is more to read. Until there is a new file, it keeps the old one.
func (s *Source) turnover(ctx context.Context, sv *Sieve) (bool, error) {
	now, err := os.Stat(s.path)
	if err != nil {
		return false, nil
	}
	if s.cur == nil {
		s.cur, err = openIfThere(s.path)
		return s.cur != nil, err
	}
	st, err := s.cur.Stat()
	if err != nil {
		return false, err
	}
	if os.SameFile(st, now) {
		at, err := s.cur.Seek(0, io.SeekCurrent)
		if err != nil || st.Size() >= at {
			return false, err
		}
		if err := sv.BreakLine(); err != nil {
			return false, err
		}
		_, err = s.cur.Seek(0, io.SeekStart)
		return true, err
	}
	next, err := openIfThere(s.path)
	if err != nil || next == nil {
		return false, err
	}
	err = copyAll(ctx, sv, s.cur) // the rest of the file that was put aside
	if err == nil {
		err = sv.BreakLine()
	}
	if err == nil {
		err = s.between(ctx, sv)
	}
	_ = s.cur.Close()
	s.cur = next
	return true, err
}

// between copies the log that was begun and put aside since the last look.
func (s *Source) between(ctx context.Context, sv *Sieve) error {
	passed, err := openIfThere(oldPath(s.path, 1))
	if err != nil || passed == nil {
		return err
	}
	defer passed.Close()
	if same(passed, s.cur) {
		return nil
	}
	return errors.Join(copyAll(ctx, sv, passed), sv.BreakLine())
}

// ticker is the watcher without help from the kernel.
type ticker struct{ t *time.Ticker }

const tickerPause = 200 * time.Millisecond

func newTicker() watcher { return ticker{time.NewTicker(tickerPause)} }

func (t ticker) renew() {}
func (t ticker) close() { t.t.Stop() }

func (t ticker) wait(ctx context.Context) error {
	select {
	case <-t.t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
