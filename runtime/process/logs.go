package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"sett/runtime"
)

// Logs returns what the unit wrote, from the log before the last rotation on.
// It gives whole lines; only at the end of a log that is not followed may the
// last one lack its line feed. Since goes by the "time" field of lines that are
// JSON objects; a line without has the time of the line before it, and passes
// when there is none.
//
// With Follow, the reader ends with io.EOF when the context does. It goes on
// when the log is truncated or put aside, and when the unit is started again.
func (r *Runtime) Logs(ctx context.Context, name string, o runtime.LogOptions) (io.ReadCloser, error) {
	if err := runtime.CheckName(name); err != nil {
		return nil, fmt.Errorf("read log: %w: %w", err, fs.ErrNotExist)
	}
	src, err := openSource(r.logPath(name), r.oldLogPath(name))
	if err != nil {
		return nil, fmt.Errorf("read log of %s: %w", name, err)
	}
	// Here and not in the background: "from now on" is from this call on.
	if o.Lines == 0 || o.Lines > 0 && o.Since.IsZero() {
		if err := src.seekLines(o.Lines); err != nil {
			src.close()
			return nil, fmt.Errorf("read log of %s: %w", name, err)
		}
	}
	return runtime.Stream(ctx, o.Follow, func(ctx context.Context, w io.Writer) error {
		defer src.close()
		return src.copy(ctx, w, o)
	}), nil
}

// source is a log: the file that is written to, and the one before it. Either
// may be missing.
type source struct {
	path     string
	cur, old *os.File
}

func openSource(path, old string) (*source, error) {
	s := &source{path: path}
	var err error
	if s.old, err = openIfThere(old); err != nil {
		return nil, err
	}
	if s.cur, err = openIfThere(path); err != nil {
		s.close()
		return nil, err
	}
	if s.cur == nil && s.old == nil {
		return nil, fs.ErrNotExist
	}
	return s, nil
}

func openIfThere(path string) (*os.File, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

func (s *source) close() {
	for _, f := range []*os.File{s.old, s.cur} {
		if f != nil {
			_ = f.Close()
		}
	}
}

func (s *source) copy(ctx context.Context, w io.Writer, o runtime.LogOptions) error {
	var watch watcher
	if o.Follow {
		watch = newWatcher(s.path) // before reading: no change goes unnoticed
		defer watch.close()
	}
	sv := &sieve{w: w, since: o.Since, passing: true}
	if o.Lines >= 0 && !o.Since.IsZero() {
		sv.last = newRing(o.Lines)
	}
	if s.old != nil {
		if err := errors.Join(copyAll(ctx, sv, s.old), sv.breakLine()); err != nil {
			return err
		}
	}
	if s.cur != nil {
		if err := copyAll(ctx, sv, s.cur); err != nil {
			return err
		}
	}
	if err := sv.release(!o.Follow); err != nil || !o.Follow {
		return err
	}
	return s.follow(ctx, sv, watch)
}

// seekLines moves both files to where the last n lines begin.
func (s *source) seekLines(n int) error {
	for _, f := range []*os.File{s.cur, s.old} {
		if f == nil {
			continue
		}
		st, err := f.Stat()
		if err != nil {
			return err
		}
		off, found, err := lastLines(f, 0, st.Size(), n)
		if err != nil {
			return err
		}
		if _, err := f.Seek(off, io.SeekStart); err != nil {
			return err
		}
		n -= found
	}
	return nil
}

// copyAll copies what there is to the file's end.
func copyAll(ctx context.Context, w io.Writer, f *os.File) error {
	buf := make([]byte, 64<<10)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := f.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
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
