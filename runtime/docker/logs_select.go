package docker

import (
	"bufio"
	"io"
	"time"

	"sett/runtime"
)

// selection passes on the lines of a log that were asked for.
type selection struct {
	w       io.Writer
	since   time.Time // zero: whenever
	passing bool      // the verdict on the last line that told its time
	most    int       // the last so many, until release; negative: all, at once
	last    [][]byte  // at least those
	open    bool      // the last line given had no line feed
}

// kept takes in a kept log, whose lines tell their time themselves, if they do.
func (s *selection) kept(log io.Reader) error {
	in := bufio.NewReaderSize(log, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			if t, ok := runtime.LineTime(line); ok {
				s.passing = !t.Before(s.since)
			}
			if err == io.EOF {
				line = append(line, '\n') // what follows is of another run
			}
			if s.passing {
				if err := s.add(line); err != nil {
					return err
				}
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// add takes in a line that was selected by its time already. It is the caller's
// again afterwards.
func (s *selection) add(line []byte) error {
	if len(line) == 0 || s.most == 0 {
		return nil
	}
	if s.most < 0 {
		s.open = line[len(line)-1] != '\n'
		_, err := s.w.Write(line)
		return err
	}
	if len(s.last) >= 2*s.most {
		s.last = append(s.last[:0], s.last[len(s.last)-s.most+1:]...)
	}
	s.last = append(s.last, append([]byte(nil), line...))
	return nil
}

// release passes on the last lines, and what comes after them as it comes.
func (s *selection) release() error {
	last := s.last[max(0, len(s.last)-max(s.most, 0)):]
	s.most, s.last = -1, nil
	for _, line := range last {
		if err := s.add(line); err != nil {
			return err
		}
	}
	return nil
}

// breakLine ends a line that will not be continued: its run is over.
func (s *selection) breakLine() error {
	if !s.open {
		return nil
	}
	return s.add([]byte{'\n'})
}
