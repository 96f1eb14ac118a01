package process

import (
	"context"
	"io"
	"os"
	"time"
)

// watcher tells that a log may have changed.
type watcher interface {
	renew()                         // the path leads to another file now
	wait(ctx context.Context) error // returns nil after a change, and at times without
	close()
}

// follow copies what comes to the log until the context ends.
func (s *source) follow(ctx context.Context, sv *sieve, w watcher) error {
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

// turnover notices that the log was truncated, or that its path leads to another
// file, and says whether there is something new to read. Until there is a new
// file, the one it has is good.
func (s *source) turnover(ctx context.Context, sv *sieve) (bool, error) {
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
		if err := sv.breakLine(); err != nil {
			return false, err
		}
		_, err = s.cur.Seek(0, io.SeekStart)
		return true, err
	}
	next, err := openIfThere(s.path)
	if err != nil || next == nil {
		return false, err
	}
	err = copyAll(ctx, sv, s.cur) // what was written before it was put aside
	if err == nil {
		err = sv.breakLine()
	}
	_ = s.cur.Close()
	s.cur = next
	return true, err
}

// ticker is the watcher for where there is no better one.
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
