package logfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"sett/runtime"
)

// Source is a log opened for reading: the current file and those before it. Each may be
// missing.
type Source struct {
	path string
	cur  *os.File
	old  []*os.File // the oldest first
}

// Open opens a unit's log; fs.ErrNotExist when there is no file. It begins with the newest
// file: a log that is put aside meanwhile is found twice, and left out once.
func (d Dir) Open(name string) (*Source, error) {
	s := &Source{path: d.Path(name)}
	var err error
	if s.cur, err = openIfThere(s.path); err != nil {
		return nil, err
	}
	newer := s.cur
	for n := 1; n <= olds; n++ {
		f, err := openIfThere(oldPath(s.path, n))
		if err != nil {
			s.Close()
			return nil, err
		}
		if f == nil {
			continue
		}
		if newer != nil && same(f, newer) {
			_ = f.Close()
			continue
		}
		s.old, newer = slices.Insert(s.old, 0, f), f
	}
	if newer == nil {
		return nil, fs.ErrNotExist
	}
	return s, nil
}

// same says whether two open files are one.
func same(a, b *os.File) bool {
	x, err := a.Stat()
	if err != nil {
		return false
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y)
}

func openIfThere(path string) (*os.File, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

// Close closes the files.
func (s *Source) Close() {
	for _, f := range append(s.old, s.cur) {
		if f != nil {
			_ = f.Close()
		}
	}
}

// Stream returns the selected lines from the oldest log on, and
// closes the source at its end. All lines are whole; only the last line of a log that
// is not followed may lack its line feed.
//
// With Follow, the reader ends with io.EOF when the context does. It goes on after
// the log was truncated or put aside.
func (s *Source) Stream(ctx context.Context, o runtime.LogOptions) (io.ReadCloser, error) {
	// Here and not in the background: "from now on" begins with this call.
	if o.Lines == 0 || o.Lines > 0 && o.Since.IsZero() {
		if err := s.seekLines(o.Lines); err != nil {
			s.Close()
			return nil, err
		}
		o.Lines = -1
	}
	return runtime.Stream(ctx, o.Follow, func(ctx context.Context, w io.Writer) error {
		defer s.Close()
		sv := NewSieve(w, o)
		if !o.Follow {
			return errors.Join(s.Copy(ctx, sv), sv.Release(true))
		}
		watch := newWatcher(s.path) // before reading, so that no change is missed
		defer watch.close()
		if err := errors.Join(s.Copy(ctx, sv), sv.Release(false)); err != nil {
			return err
		}
		return s.follow(ctx, sv, watch)
	}), nil
}

// Copy copies all files to their ends.
func (s *Source) Copy(ctx context.Context, sv *Sieve) error {
	for _, old := range s.old {
		if err := errors.Join(copyAll(ctx, sv, old), sv.BreakLine()); err != nil {
			return err
		}
	}
	if s.cur == nil {
		return nil
	}
	return copyAll(ctx, sv, s.cur)
}

// seekLines moves all files to where the last n lines begin.
func (s *Source) seekLines(n int) error {
	for _, f := range slices.Backward(append(s.old, s.cur)) {
		if f == nil {
			continue
		}
		st, err := f.Stat()
		if err != nil {
			return err
		}
		off, found, err := lastLines(f, st.Size(), n)
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

// lastLines finds where the last n lines of a file begin, and how many there are. A
// last line without line feed counts.
func lastLines(f io.ReaderAt, size int64, n int) (off int64, found int, err error) {
	if n <= 0 || size <= 0 {
		return size, 0, nil
	}
	buf := make([]byte, 64<<10)
	for end := size; end > 0; {
		begin := max(0, end-int64(len(buf)))
		b := buf[:end-begin]
		if _, err := f.ReadAt(b, begin); err != nil && err != io.EOF {
			return 0, 0, err
		}
		for i := len(b) - 1; i >= 0; i-- {
			if b[i] != '\n' || begin+int64(i) == size-1 {
				continue
			}
			if found++; found == n {
				return begin + int64(i) + 1, n, nil
			}
		}
		end = begin
	}
	return 0, found + 1, nil
}

// reader is a file that ends with the context.
type reader struct {
	ctx context.Context
	f   *os.File
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.f.Read(p)
}

// copyAll copies the rest of the file.
func copyAll(ctx context.Context, w io.Writer, f *os.File) error {
	_, err := io.CopyBuffer(w, reader{ctx, f}, make([]byte, 64<<10))
	return err
}
