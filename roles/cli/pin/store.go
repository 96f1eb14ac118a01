package pin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sett/contract/config"
)

// Store keeps sets in a directory, each in one that its digest names. Their files are
// read-only.
type Store struct{ Dir string }

// Path is the directory of a set.
func (s Store) Path(digest string) string { return filepath.Join(s.Dir, config.PinFolder(digest)) }

// Put takes a set into the store, as a whole or not at all. A set that is there already
// is compared, and replaced if it is not as it was.
func (s Store) Put(from Source, wants []Want) (Taken, error) {
	t, err := from.Take(wants, "")
	if err != nil || len(t.Set) == 0 || s.intact(s.Path(t.Set.Digest()), t.Set) {
		return t, err
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return Taken{}, fmt.Errorf("pin programs: %w", err)
	}
	temp, err := os.MkdirTemp(s.Dir, ".new-")
	if err != nil {
		return Taken{}, fmt.Errorf("pin programs: %w", err)
	}
	if t, err = from.Take(wants, temp); err != nil {
		return t, errors.Join(err, Remove(temp))
	}
	to := s.Path(t.Set.Digest())
	if err := Remove(to); err != nil {
		return t, fmt.Errorf("pin programs: %w", err)
	}
	if err := os.Rename(temp, to); err != nil {
		return t, errors.Join(fmt.Errorf("pin programs: %w", err), Remove(temp))
	}
	return t, nil
}

// intact says whether a directory has exactly the files of a set.
func (s Store) intact(dir string, set Set) bool {
	return slices.Equal(read(dir), set)
}

// Set reads a set; nil: it is not there, or not as it was.
func (s Store) Set(digest string) Set {
	if set := read(s.Path(digest)); set.Digest() == digest {
		return set
	}
	return nil
}

// read lists the files in a directory; nil: it cannot be read.
func read(dir string) Set {
	var top []Want
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		top = append(top, Want{Path: e.Name()})
	}
	if err != nil || len(top) == 0 {
		return nil
	}
	has, err := Source{Root: dir, all: true}.Take(top, "")
	if err != nil {
		return nil
	}
	return has.Set
}

// Keep removes all sets but those with these digests.
func (s Store) Keep(digests ...string) error {
	keep := map[string]bool{}
	for _, digest := range digests {
		keep[config.PinFolder(digest)] = true
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove old pinned programs: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if !keep[e.Name()] {
			errs = append(errs, Remove(filepath.Join(s.Dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// seal makes all directories of a set read-only. Its files are.
func seal(dir string) error { return eachDir(dir, 0o555) }

// Remove removes a set with its read-only directories.
func Remove(dir string) error {
	if err := eachDir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(dir)
}

// eachDir sets the mode of a directory and of those below it. It follows no link.
func eachDir(top string, mode fs.FileMode) error {
	return filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.Chmod(name, mode)
		}
		return nil
	})
}
