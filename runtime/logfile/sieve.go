package logfile

import (
	"bytes"
	"io"
	"time"

	"sett/runtime"
)

// maxLine bounds how many bytes of an unfinished line the sieve holds back. A longer
// line passes in pieces.
const maxLine = 1 << 20

// Sieve passes the lines of a log on that were asked for, whole.
type Sieve struct {
	w       io.Writer
	since   time.Time // zero: all
	last    *ring     // not nil: keeps the last lines until Release
	partial []byte    // the beginning of an unfinished line
	passing bool      // the verdict on the last line with a time
	inside  bool      // the beginning of the line has been judged and is gone
}

// NewSieve returns a sieve that writes the selected lines to w. The last lines pass
// with Release.
//
// Since compares the "time" field of lines that are JSON objects. A line without
// that field has the time of the line before it; it passes when there is no such line.
func NewSieve(w io.Writer, o runtime.LogOptions) *Sieve {
	s := &Sieve{w: w, since: o.Since, passing: true}
	if o.Lines >= 0 {
		s.last = &ring{max: o.Lines}
	}
	return s
}

// Write takes part of a log.
func (s *Sieve) Write(p []byte) (int, error) {
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
		return n, s.Flush()
	}
	return n, nil
}

// Flush passes the beginning of an unfinished line on.
func (s *Sieve) Flush() error {
	if len(s.partial) == 0 {
		return nil
	}
	err := s.flush()
	s.inside = true
	return err
}

func (s *Sieve) flush() error {
	line := s.partial
	s.partial = s.partial[:0]
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

// BreakLine ends an unfinished line: its file is over.
func (s *Sieve) BreakLine() error {
	if len(s.partial) == 0 && !s.inside {
		return nil
	}
	_, err := s.Write([]byte{'\n'})
	return err
}

// PassAll ends the selection by time: another judge selects what follows.
func (s *Sieve) PassAll() { s.since, s.passing = time.Time{}, true }

// Release passes the last lines on, and from now on every line at once. At the end of
// the log it passes the unfinished line, too.
func (s *Sieve) Release(atEnd bool) error {
	if atEnd {
		if err := s.Flush(); err != nil {
			return err
		}
	}
	if s.last == nil {
		return nil
	}
	last := s.last.inOrder()
	s.last = nil
	for _, line := range last {
		if _, err := s.w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// ring keeps the last lines.
type ring struct {
	max   int
	lines [][]byte
	next  int // the oldest line of a full ring
}

// add keeps a line, or one more piece of the line before.
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
