// Package repofile opens the files that lie in a repository. Anybody may have written a
// repository, so that a name in it can be a pipe that nobody writes to, a device without
// an end, or a link to another file of this machine. This package opens regular files
// only, never waits for one, reads a bounded amount, and follows no link out of the
// directory that the file has to lie in.
//
// It is not for the files of Sett itself, nor for data that a person names on the
// command line, which may well be a pipe.
package repofile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrOutside is the error of a name that leads, by a link, out of its directory.
var ErrOutside = errors.New("a link leads out of its repository")

// flags never wait for a pipe's other end, and never make a terminal ours.
const flags = os.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY

// Read returns the content of a regular file of at most so many bytes. The path is below
// root, and links in it lead to no other place. With an empty root, they may lead
// anywhere. The errors have no path: the caller names it.
func Read(root, path string, most int64) ([]byte, error) {
	f, err := OpenIn(root, path)
	if err != nil {
		return nil, cause(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, cause(err)
	case int64(len(text)) > most:
		return nil, fmt.Errorf("larger than %d KiB", most>>10)
	}
	return text, nil
}

// OpenIn opens a regular file of any size. Root and path are those of Read.
func OpenIn(root, path string) (*os.File, error) {
	if root == "" {
		info, err := os.Stat(path)
		return regular(info, err, func() (*os.File, error) { return os.OpenFile(path, flags, 0) })
	}
	name, err := filepath.Rel(root, path)
	if err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	f, err := Open(dir, name)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, errIrregular) {
		return f, err
	}
	// An absolute link within the root is refused, too, but harmless.
	to, within := resolve(root, path)
	switch {
	case to != "" && !within:
		return nil, ErrOutside
	case to == "" || to == name:
		return nil, err
	}
	return Open(dir, to)
}

// resolve returns the file that a path leads to, relative to root, and whether it lies
// there; empty: nowhere.
func resolve(root, path string) (to string, within bool) {
	top, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", false
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", false
	}
	to, err = filepath.Rel(top, target)
	return to, err == nil && to != ".." && !strings.HasPrefix(to, ".."+string(filepath.Separator))
}

// Place returns the place of a file or directory below root, without links; it need not be
// there yet. The error is ErrOutside if a link leads to another place.
func Place(root, path string) (string, error) {
	found, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, there := os.Lstat(path); there == nil {
			return "", errNowhere
		}
		above, err := Place(root, filepath.Dir(path))
		return filepath.Join(above, filepath.Base(path)), err
	}
	if err != nil {
		if _, said := os.Stat(path); said != nil { // in the system's words
			err = said
		}
		return "", cause(err)
	}
	top, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", cause(err)
	}
	if rel, err := filepath.Rel(top, found); err != nil || !filepath.IsLocal(rel) {
		return "", ErrOutside
	}
	return found, nil
}

// errNowhere is the error of a link to nothing.
var errNowhere = errors.New("a link leads nowhere")

// Open opens a regular file below a directory. A link may lead to another file below it.
func Open(dir *os.Root, name string) (*os.File, error) {
	info, err := dir.Stat(name) // first: opening a device may already do something
	return regular(info, err, func() (*os.File, error) { return dir.OpenFile(name, flags, 0) })
}

// errIrregular is the error of everything that is no regular file.
var errIrregular = errors.New("not a regular file")

// regular opens a file that was looked at. It looks again afterwards: another file may
// have the name by now.
func regular(info fs.FileInfo, err error, open func() (*os.File, error)) (*os.File, error) {
	if err == nil {
		err = CheckRegular(info.Mode())
	}
	if err != nil {
		return nil, err
	}
	f, err := open()
	if err != nil {
		return nil, err
	}
	info, err = f.Stat()
	if err == nil {
		err = CheckRegular(info.Mode())
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// CheckRegular refuses everything that is no regular file, by its kind.
func CheckRegular(m fs.FileMode) error {
	kind := "something else"
	switch {
	case m.IsRegular():
		return nil
	case m.IsDir():
		kind = "a directory"
	case m&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case m&fs.ModeSocket != 0:
		kind = "a socket"
	case m&fs.ModeDevice != 0:
		kind = "a device"
	}
	return fmt.Errorf("%w but %s", errIrregular, kind)
}

// cause strips the operation and the path.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
