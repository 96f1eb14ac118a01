package docker

import (
	"bytes"
	"context"
	be "encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"time"

	"github.com/docker/docker/api/types/container"

	"sett/runtime"
)

// reopenPause is the pause between two looks for a unit's next run, for who
// follows its log.
const reopenPause = 250 * time.Millisecond

// Logs returns what the unit wrote: what is kept of its former containers, then
// the log of the one there is, stdout and stderr in the order in which they came.
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
	ctx, cancel := context.WithCancel(ctx)
	pr, pw := io.Pipe()
	l := &logReader{PipeReader: pr, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		defer src.close()
		err := src.copy(ctx, pw, o)
		if o.Follow && ctx.Err() != nil {
			err = nil // that is how following ends
		}
		pw.CloseWithError(err)
	}()
	return l, nil
}

// logReader is the reading end of a copy that goes on in the background.
type logReader struct {
	*io.PipeReader
	cancel context.CancelFunc
	done   chan struct{}
}

// Close ends the copy and returns when it has ended.
func (l *logReader) Close() error {
	l.cancel()
	err := l.PipeReader.Close()
	<-l.done
	return err
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
	if checkName(name) == nil {
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
	q := container.LogsOptions{Tail: "all"}
	if !o.Since.IsZero() {
		q.Since = stamp(o.Since)
	}
	if o.Lines >= 0 {
		q.Tail = strconv.Itoa(max(o.Lines, 1)) // one at least, to know where the log stands
	}
	return s.r.lines(ctx, s.id, q, func(l logLine) error {
		seen.note(l.at)
		return sel.add(l.text)
	})
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
			err := s.r.lines(ctx, s.id, q, func(l logLine) error {
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

// logLine is a line that a container wrote, or a piece of a very long one.
type logLine struct {
	at   time.Time
	text []byte // with its line feed, if it has one; good until the next
}

// maxFrame bounds what the engine is believed about the length of a line: its own
// pieces have 16 KiB.
const maxFrame = 1 << 20

// lines gives what the container wrote, each line whole although stdout and stderr
// come in pieces between each other.
func (r *Runtime) lines(ctx context.Context, id string, o container.LogsOptions, each func(logLine) error) error {
	o.ShowStdout, o.ShowStderr, o.Timestamps = true, true, true
	body, err := r.e.api.ContainerLogs(ctx, id, o)
	if err != nil {
		return plain(err)
	}
	defer body.Close()
	var partial [3][]byte // by stream: stdin, which there is none of, stdout, stderr
	var head [8]byte
	for {
		if _, err := io.ReadFull(body, head[:]); err == io.EOF {
			break
		} else if err != nil {
			return plain(err)
		}
		from, size := int(head[0]), be.BigEndian.Uint32(head[4:])
		if from >= len(partial) || size > maxFrame {
			return errors.New("the engine's log is not what it should be")
		}
		frame := make([]byte, size)
		if _, err := io.ReadFull(body, frame); err != nil {
			return plain(err)
		}
		at, text := cutStamp(frame)
		if partial[from] = append(partial[from], text...); !bytes.HasSuffix(text, []byte("\n")) && len(partial[from]) < maxFrame {
			continue
		}
		if err := each(logLine{at, partial[from]}); err != nil {
			return err
		}
		partial[from] = partial[from][:0]
	}
	for _, rest := range partial {
		if len(rest) > 0 {
			if err := each(logLine{text: rest}); err != nil {
				return err
			}
		}
	}
	return nil
}

// cutStamp takes the engine's time off a frame.
func cutStamp(frame []byte) (time.Time, []byte) {
	word, text, ok := bytes.Cut(frame, []byte(" "))
	if !ok {
		return time.Time{}, frame
	}
	at, err := time.Parse(time.RFC3339Nano, string(word))
	if err != nil {
		return time.Time{}, frame
	}
	return at, text
}
