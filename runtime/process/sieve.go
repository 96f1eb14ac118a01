package process

import (
	"bytes"
	"io"
	"time"

	"sett/runtime"
)

// maxLine bounds what is held back of a line that does not end, in bytes. A
// longer one passes in pieces.
const maxLine = 1 << 20

// sieve passes whole lines on, those written since a time.
type sieve struct {
	w       io.Writer
	since   time.Time // zero: all
	last    *ring     // not nil: keep only the last lines, until release
	partial []byte    // of a line that has not ended yet
	passing bool      // the verdict on the last line that had a time
	inside  bool      // the line's beginning has passed, or not, already
}

func (s *sieve) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.partial = append(s.partial, p...)
			break
		}
		s.partial = append(s.partial, p[:i+1]...)
		p = p[i+1:]
		if err := s.flush(); err != nil {
			return 0, err
		}
		s.inside = false
	}
	if len(s.partial) > maxLine {
		if err := s.flush(); err != nil {
			return 0, err
		}
		s.inside = true
	}
	return n, nil
}

// flush passes what is held back.
func (s *sieve) flush() error {
	line := s.partial
	s.partial = s.partial[:0]
	if len(line) == 0 {
		return nil
	}
	if !s.since.IsZero() && !s.inside {
		if t, ok := runtime.LineTime(line); ok {
			s.passing = !t.Before(s.since)
		}
	}
	if !s.passing {
		return nil
	}
	if s.last != nil {
		s.last.add(line, s.inside)
		return nil
	}
	_, err := s.w.Write(line)
	return err
}

// breakLine ends a line that will not be continued: its file is over.
func (s *sieve) breakLine() error {
	if len(s.partial) == 0 && !s.inside {
		return nil
	}
	_, err := s.Write([]byte{'\n'})
	return err
}

// release passes on the last lines, and what comes after them as it comes. At
// the log's end, it gives the unfinished line too.
func (s *sieve) release(atEnd bool) error {
	if atEnd {
		if err := s.flush(); err != nil {
			return err
		}
	}
	if s.last == nil {
		return nil
	}
	last := s.last
	s.last = nil
	for _, line := range last.inOrder() {
		if _, err := s.w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// ring keeps the last lines it was given.
type ring struct {
	max   int
	lines [][]byte
	next  int // the oldest, once it is full
}

func newRing(n int) *ring { return &ring{max: n} }

// add keeps a line, or a further piece of the one before.
func (r *ring) add(line []byte, more bool) {
	if r.max == 0 {
		return
	}
	if more && len(r.lines) > 0 {
		i := (r.next + len(r.lines) - 1) % len(r.lines)
		r.lines[i] = append(r.lines[i], line...)
		return
	}
	line = bytes.Clone(line)
	if len(r.lines) < r.max {
		r.lines = append(r.lines, line)
		return
	}
	r.lines[r.next] = line
	r.next = (r.next + 1) % r.max
}

func (r *ring) inOrder() [][]byte {
	return append(append([][]byte{}, r.lines[r.next:]...), r.lines[:r.next]...)
}
