package runtime

import (
	"context"
	"encoding/json"
	"io"
	"time"
)

// Stream returns the output of write, which runs in the background until it returns,
// the reader is closed, or the context ends. With follow, the context's end is not an
// error.
func Stream(ctx context.Context, follow bool, write func(ctx context.Context, w io.Writer) error) io.ReadCloser {
	ctx, cancel := context.WithCancel(ctx)
	pr, pw := io.Pipe()
	s := &stream{PipeReader: pr, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		err := write(ctx, pw)
		if follow && ctx.Err() != nil {
			err = nil
		}
		pw.CloseWithError(err)
	}()
	return s
}

// stream is the reading end of a copy in the background.
type stream struct {
	*io.PipeReader
	cancel context.CancelFunc
	done   chan struct{}
}

// Close ends the copy and waits for its end.
func (s *stream) Close() error {
	s.cancel()
	err := s.PipeReader.Close()
	<-s.done
	return err
}

// LineTime reads the "time" field of a line that is a JSON object, as units log.
func LineTime(line []byte) (time.Time, bool) {
	if len(line) == 0 || line[0] != '{' {
		return time.Time{}, false
	}
	var l struct {
		Time time.Time `json:"time"`
	}
	if json.Unmarshal(line, &l) != nil || l.Time.IsZero() {
		return time.Time{}, false
	}
	return l.Time, true
}
