package store

import (
	"context"
	"crypto/sha1" //nolint:gosec // names a file by its content, nothing more
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sett/runtime/repofile"
)

// A shallow repository has no parents of some commits, its boundary, and names them in a
// file of git's. The store of one has a boundary, too, which this file keeps true: all that
// the store's refs reach down to its boundary is there.

// shallowFile is git's name of the file in a git directory.
const shallowFile = "shallow"

// mostShallow bounds the file, in bytes.
const mostShallow = 16 << 20

// Boundary returns the commits at which the history of a git directory ends though they
// have parents, sorted; nil: the history is whole.
func Boundary(gitDir string) ([]string, error) {
	f, err := repofile.OpenIn("", filepath.Join(gitDir, shallowFile))
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostShallow))
	if err != nil {
		return nil, err
	}
	var all []string
	for row := range strings.Lines(string(text)) {
		if hash := asHash(strings.TrimSpace(row)); hash != "" {
			all = append(all, hash)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// boundaryOf is the boundary of the repository with this directory of objects.
func boundaryOf(objects string) ([]string, error) { return Boundary(filepath.Dir(objects)) }

// union returns the commits of both boundaries.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// minus returns the commits of one list that the other lacks.
func minus(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(c string) bool { return slices.Contains(b, c) })
}

// textOf is a boundary as git's file has it.
func textOf(boundary []string) string {
	if len(boundary) == 0 {
		return ""
	}
	return strings.Join(boundary, "\n") + "\n"
}

// bound gives the store a boundary.
func (s *Store) bound(boundary []string) error {
	if len(boundary) == 0 {
		if err := os.Remove(filepath.Join(s.Dir, shallowFile)); err != nil && !gone(err) {
			return err
		}
		return nil
	}
	return WriteWhole(filepath.Join(s.Dir, shallowFile), textOf(boundary))
}

// Ends returns git's variables with which it expects no parent beyond this store's boundary,
// and none beyond that of the repository with this directory of objects; nil: both have all parents.
func (s *Store) Ends(objects string) ([]string, error) {
	own, err := Boundary(s.Dir)
	if err != nil {
		return nil, err
	}
	other, err := boundaryOf(objects)
	if err != nil {
		return nil, err
	}
	ends, err := s.ending(union(own, other))
	return some(ends), err
}

// ending is the variable with which git takes this boundary for a repository's; empty:
// there is none. Git reads it from a file, which is named by its content.
func (s *Store) ending(boundary []string) (string, error) {
	if len(boundary) == 0 {
		return "", nil
	}
	text := textOf(boundary)
	sum := sha1.Sum([]byte(text)) //nolint:gosec // no secret
	path := filepath.Join(s.Dir, "info", "shallow-"+hex.EncodeToString(sum[:8]))
	if has, err := os.ReadFile(path); err != nil || string(has) != text {
		if err := WriteWhole(path, text); err != nil {
			return "", fmt.Errorf("read a shallow history: %w", err)
		}
	}
	return "GIT_SHALLOW_FILE=" + path, nil
}

// lock keeps others from changing what the store knows about itself.
func (s *Store) lock() (unlock func(), err error) {
	dir, err := os.Open(s.Dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the store: %w", err), dir.Close())
	}
	return func() { _ = dir.Close() }, nil // and the lock ends
}

// fetchShallow is fetch where the repository, or the store, has a boundary. The store's one
// has all new ends of history when it returns, and none that the repository has more history of.
func (s *Store) fetchShallow(ctx context.Context, objects, commit, known string, theirs []string) (packs []string, err error) {
	unlock, err := s.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	own, err := Boundary(s.Dir)
	if err != nil {
		return nil, err
	}
	if past := minus(own, theirs); len(past) > 0 {
		pack, deeper, err := s.deepen(ctx, objects, past, theirs)
		if err != nil {
			return nil, err
		}
		if deeper != nil {
			packs, own = append(packs, pack), union(minus(own, past), deeper)
			if err := s.bound(own); err != nil {
				return packs, err
			}
		}
	}
	ends, err := s.ending(union(own, theirs))
	if err != nil {
		return packs, err
	}
	if err := s.whole(ctx, ends, commit, known); exitCode(err) > 0 {
		var pack string
		if pack, err = s.fetch(ctx, objects, ends, []string{commit}, known); err != nil {
			return packs, err
		}
		packs = append(packs, pack)
	} else if err != nil {
		return packs, err
	}
	met, err := s.meets(ctx, ends, []string{commit}, known, theirs)
	if err != nil || len(minus(met, own)) == 0 {
		return packs, err
	}
	return packs, s.bound(union(own, met))
}

// deepen brings the history beyond commits of the store's boundary that is no longer one of
// the repository's. It returns the repository's boundary there; nil: the repository does not have that history.
func (s *Store) deepen(ctx context.Context, objects string, past, theirs []string) (pack string, deeper []string, err error) {
	ends, err := s.ending(theirs)
	if err != nil {
		return "", nil, err
	}
	if ends == "" {
		ends = "GIT_SHALLOW_FILE=" // none: the store's own does not count
	}
	pack, err = s.fetch(ctx, objects, ends, past, "")
	switch {
	case errors.Is(err, ErrIncomplete):
		return "", nil, nil
	case err != nil:
		return "", nil, err
	}
	deeper, err = s.meets(ctx, ends, past, "", theirs)
	if deeper == nil {
		deeper = []string{}
	}
	return pack, deeper, err
}

// sendEnds tells a repository that got a commit at which commits its history ends, as far as they
// are new to it: those of the store's boundary whose parents it lacks.
func (s *Store) sendEnds(ctx context.Context, to *Store, commit string, named, environ []string) error {
	own, err := Boundary(s.Dir)
	if err != nil || len(own) == 0 {
		return err
	}
	out, err := s.run(ctx, command{args: []string{"rev-list", "--stdin"}, stdin: reach(commit, named), env: environ})
	if err != nil {
		return err
	}
	var ends []string
	for row := range strings.Lines(out) {
		if _, found := slices.BinarySearch(own, line(row)); !found {
			continue
		}
		if _, err := to.git(ctx, "rev-list", "--quiet", "--max-count=2", line(row)); exitCode(err) > 0 {
			ends = append(ends, line(row))
		} else if err != nil {
			return err
		}
	}
	if len(ends) == 0 {
		return nil
	}
	return to.addEnds(ends)
}

// addEnds adds commits to the boundary of a repository of git's, with the lock that git takes for that.
func (s *Store) addEnds(ends []string) error {
	path := filepath.Join(s.Dir, shallowFile)
	f, err := os.OpenFile(path+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return fmt.Errorf("add to the shallow history: %w", err)
	}
	there, err := Boundary(s.Dir)
	if err == nil {
		_, err = f.WriteString(textOf(union(there, ends)))
	}
	if err == nil {
		err = inherit(s.Dir, f.Name())
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// whole is an error unless the store has all that a commit reaches up to a boundary.
func (s *Store) whole(ctx context.Context, ends, commit, known string) error {
	_, err := s.run(ctx, command{args: []string{"rev-list", "--objects", "--quiet", "--stdin"}, stdin: reach(commit, some(known)), env: some(ends)})
	return err
}

// meets returns those commits of a boundary that the history of commits reaches, and that of the known one does not.
func (s *Store) meets(ctx context.Context, ends string, commits []string, known string, boundary []string) ([]string, error) {
	if len(boundary) == 0 {
		return nil, nil
	}
	out, err := s.run(ctx, command{args: []string{"rev-list", "--stdin"}, stdin: reach(strings.Join(commits, "\n"), some(known)), env: some(ends)})
	if err != nil {
		return nil, err
	}
	var met []string
	for row := range strings.Lines(out) {
		if _, found := slices.BinarySearch(boundary, line(row)); found {
			met = append(met, line(row))
		}
	}
	return met, nil
}

// some is a list of one text, or none if it is empty.
func some(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
