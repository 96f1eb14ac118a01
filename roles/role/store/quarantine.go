package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// quarantine is a directory for objects that git makes or receives for a repository. A git that
// fails leaves its temporary files there, and not in the repository.
type quarantine struct {
	to  *Store
	dir string
}

// newQuarantine makes one for a repository. It lies beside the repository's objects, under a name
// that git's own gc removes after a crash.
func newQuarantine(s *Store) (quarantine, error) {
	dir, err := os.MkdirTemp(s.Objects(), "tmp_objdir-sett-")
	q := quarantine{s, dir}
	if err != nil {
		return q, fmt.Errorf("make room for new objects: %w", err)
	}
	pack := filepath.Join(dir, "pack")
	if err := errors.Join(os.Mkdir(pack, 0o700), inherit(s.Dir, dir, pack)); err != nil {
		q.remove()
		return q, fmt.Errorf("make room for new objects: %w", err)
	}
	return q, nil
}

// environ has git write new objects into the quarantine, and read the repository's and those of
// other directories.
func (q quarantine) environ(others ...string) []string {
	all := Borrowed(q.to.Objects())
	for _, dir := range others {
		all += string(filepath.ListSeparator) + quoted(dir)
	}
	return []string{"GIT_OBJECT_DIRECTORY=" + q.dir, all}
}

// Making calls f with variables by which git's new objects come into the repository with this git
// directory once f has succeeded. Git reads those of other directories, too.
func Making(gitDir string, f func(environ []string) error, others ...string) error {
	q, err := newQuarantine(Open(gitDir))
	if err != nil {
		return err
	}
	defer q.remove()
	if err := f(q.environ(others...)); err != nil {
		return err
	}
	return q.admitLoose()
}

// admitLoose moves single objects into the repository.
func (q quarantine) admitLoose() error {
	folders, err := os.ReadDir(q.dir)
	for _, folder := range folders {
		if err != nil {
			break
		}
		if fanOut().MatchString(folder.Name()) {
			err = q.admitFolder(folder.Name())
		}
	}
	if err != nil {
		return fmt.Errorf("bring new objects into the repository: %w", err)
	}
	return nil
}

func (q quarantine) admitFolder(name string) error {
	from, to := filepath.Join(q.dir, name), filepath.Join(q.to.Objects(), name)
	if err := os.Mkdir(to, 0o777); err == nil {
		if err := inherit(q.to.Dir, to); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	objects, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if !object().MatchString(o.Name()) {
			continue // a temporary file
		}
		if err := os.Rename(filepath.Join(from, o.Name()), filepath.Join(to, o.Name())); err != nil {
			return err
		}
	}
	return nil
}

// admit moves a pack into the repository, and returns its name; empty: the repository keeps it
// from being pruned already. The index comes last: it is the sign of a whole pack.
func (q quarantine) admit(pack string) (kept string, err error) {
	to := filepath.Join(q.to.Objects(), "pack")
	if err := os.MkdirAll(to, 0o755); err != nil {
		return "", fmt.Errorf("receive a pack: %w", err)
	}
	if pack == "" {
		return "", nil
	}
	for _, end := range []string{".keep", ".pack", ".rev", ".idx"} {
		name := "pack-" + pack + end
		if _, err := os.Lstat(filepath.Join(to, name)); err == nil {
			continue // the same pack came before
		}
		if err := os.Rename(filepath.Join(q.dir, "pack", name), filepath.Join(to, name)); err != nil && !(end == ".rev" && gone(err)) {
			return kept, fmt.Errorf("receive a pack: %w", err)
		}
		if end == ".keep" {
			kept = pack
		}
	}
	return kept, nil
}

// remove removes the quarantine with all that is left in it.
func (q quarantine) remove() { _ = os.RemoveAll(q.dir) }
