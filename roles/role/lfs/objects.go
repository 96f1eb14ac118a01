package lfs

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"sett/runtime/repofile"
)

// Objects is a directory of content, each in a file that is named after its hash. Whatever wrote
// the files, none is believed before it was read.
type Objects string

// ErrContent says that a file is not the content of its pointer.
var ErrContent = errors.New("it is not the content that its pointer names")

// unfinished begins the names of files that are being written.
const unfinished = "sett-unfinished-"

// name is the path of a content below the directory.
func (p Pointer) name() string { return path.Join(p.Hash[:2], p.Hash[2:4], p.Hash) }

// Has says whether there is a file for a pointer, by its size alone.
func (o Objects) Has(p Pointer) bool {
	f, err := o.Open(p)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}

// Open opens the file of a pointer, which has its size: a regular one, and no link leads out of the directory.
func (o Objects) Open(p Pointer) (*os.File, error) {
	root, err := os.OpenRoot(string(o))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return OpenIn(root, ".", p)
}

// OpenIn is Open of a directory below another one, which no link leads out of.
func OpenIn(root *os.Root, dir string, p Pointer) (*os.File, error) {
	f, err := repofile.Open(root, path.Join(dir, p.name()))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() != p.Size {
		err = ErrContent
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// Copy copies a content, and fails unless it is that of its pointer. It reads no byte more.
func Copy(ctx context.Context, to io.Writer, from io.Reader, p Pointer) error {
	has, err := copied(ctx, to, io.LimitReader(from, p.Size+1))
	if err == nil && has != p {
		err = ErrContent
	}
	return err
}

// copied copies a content and returns its pointer.
func copied(ctx context.Context, to io.Writer, from io.Reader) (Pointer, error) {
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, h), interruptible{ctx, from})
	return Pointer{hex.EncodeToString(h.Sum(nil)), n}, err
}

// Exactly is a reader of a content of this size. It fails with ErrContent instead of an end that comes too early,
// and at the first byte too many: a content that was cut off is never taken for a whole one.
func Exactly(from io.Reader, size int64) io.Reader { return &exact{from, size} }

type exact struct {
	from io.Reader
	left int64
}

func (e *exact) Read(b []byte) (int, error) {
	n, err := e.from.Read(b)
	if e.left -= int64(n); e.left < 0 || errors.Is(err, io.EOF) && e.left > 0 {
		err = ErrContent
	}
	return n, err
}

// interruptible is a reader that ends with its context.
type interruptible struct {
	ctx context.Context
	io.Reader
}

func (r interruptible) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}

// Put stores a content, on disk when it returns, and returns its pointer.
func (o Objects) Put(ctx context.Context, from io.Reader) (Pointer, error) {
	return o.put(func(to io.Writer) (Pointer, error) { return copied(ctx, to, from) })
}

// Receive stores the content of a pointer, once it is checked.
func (o Objects) Receive(ctx context.Context, from io.Reader, p Pointer) error {
	_, err := o.put(func(to io.Writer) (Pointer, error) { return p, Copy(ctx, to, from, p) })
	return err
}

func (o Objects) put(write func(io.Writer) (Pointer, error)) (Pointer, error) {
	root, err := o.made()
	if err != nil {
		return Pointer{}, err
	}
	defer root.Close()
	next := unfinished + rand.Text()
	f, err := root.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return Pointer{}, err
	}
	p, err := write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil && p.Size > 0 {
		if err = root.MkdirAll(path.Dir(p.name()), 0o755); err == nil {
			err = root.Rename(next, p.name())
		}
	}
	if err != nil || p.Size == 0 {
		_ = root.Remove(next)
	}
	return p, err
}

// made opens the directory, which is made if it is not there.
func (o Objects) made() (*os.Root, error) {
	if err := os.MkdirAll(string(o), 0o755); err != nil {
		return nil, err
	}
	return os.OpenRoot(string(o))
}

// Bring has the file of a pointer here, too: under a second name where the file system allows that, else
// as a copy. Its content is checked where it is used.
func (o Objects) Bring(ctx context.Context, from Objects, p Pointer) error {
	source, err := from.Open(p)
	if err != nil {
		return err
	}
	defer source.Close()
	root, err := o.made()
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(path.Dir(p.name()), 0o755); err != nil { // a link that leads elsewhere is an error
		return err
	}
	name := filepath.FromSlash(p.name())
	if info, err := os.Lstat(filepath.Join(string(from), name)); err == nil && info.Mode().IsRegular() {
		err := os.Link(filepath.Join(string(from), name), filepath.Join(string(o), name))
		if err == nil || errors.Is(err, fs.ErrExist) && o.Has(p) {
			return nil
		}
	}
	return o.Receive(ctx, source, p)
}

// Drop removes the file of a pointer that is not its content.
func (o Objects) Drop(p Pointer) error {
	root, err := os.OpenRoot(string(o))
	if err != nil {
		return err
	}
	defer root.Close()
	return root.Remove(p.name())
}

// Clean removes files that a killed process was about to write.
func (o Objects) Clean() error {
	all, err := os.ReadDir(string(o))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, f := range all {
		if strings.HasPrefix(f.Name(), unfinished) {
			err = errors.Join(err, os.Remove(filepath.Join(string(o), f.Name())))
		}
	}
	if err != nil {
		return fmt.Errorf("clean the content of git LFS: %w", err)
	}
	return nil
}
