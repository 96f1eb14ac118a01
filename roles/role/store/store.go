// Package store keeps the commits of an instance in a bare git repository of its own,
// and prepares the private trees in which its agents work.
//
// A tool may have written anything into its tree. So a directory here is either a
// tool's or trusted, never both:
//
//   - The store, and the index of each tree, are trusted. No tool can write them. Git
//     runs on them alone, without the configuration of a user, the system or the tree,
//     and so without any hook, filter or other program that they could name.
//   - Of the things that a tool wrote, git reads files of the working tree, and copies of
//     objects whose content is checked. A tool's own git directory is removed unread.
//
// Each commit that counts hangs on a ref (Goal, Artefact, Leftover, Start), and so
// git never prunes it. The package knows no blackboard, no claim and no network.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"sett/roles/role/git"
)

// The refs of a store.
const (
	goalRefs     = "refs/sett/goals/"
	artefactRefs = "refs/sett/artefacts/"
	leftoverRefs = "refs/sett/leftovers/"
	startRefs    = "refs/sett/trees/"
)

// Goal is the ref of the commit that a goal begins with.
func Goal(id string) string { return goalRefs + id }

// Artefact is the ref of an artefact's commit.
func Artefact(id string) string { return artefactRefs + id }

// Leftover is the ref of the changes that an attempt left in its tree.
func Leftover(claim, agent string, attempt int) string {
	return fmt.Sprintf("%s%s/%s-%d", leftoverRefs, claim, agent, attempt)
}

// Start is the ref of the commit that a tree started from.
func Start(slot string) string { return startRefs + slot }

// ErrNoCommit says that a hash does not name one commit that is at hand.
var ErrNoCommit = git.ErrNoCommit

// Store is the bare repository of an instance.
type Store struct {
	Dir string // absolute

	persons bool // it is a person's repository: its locks are those of living gits
}

// Open returns the store in a directory, without a look at it.
func Open(dir string) *Store { return &Store{Dir: dir} }

// Objects is the directory of the store's objects.
func (s *Store) Objects() string { return filepath.Join(s.Dir, "objects") }

// Exists says whether there is a store that was made to its end.
func (s *Store) Exists() bool {
	_, err := os.Stat(filepath.Join(s.Dir, "HEAD")) // written last
	return err == nil
}

// Format is the hash algorithm of the store's objects: sha1 or sha256.
func (s *Store) Format(ctx context.Context) (string, error) {
	out, err := s.git(ctx, "rev-parse", "--show-object-format")
	return line(out), err
}

// Create makes the store of a repository with these directories of objects, its own one
// first, in the format sha1 or sha256. It brings all their objects, by hard links where
// the file system allows that. A store that is there stays; one that is half made is
// completed.
func Create(ctx context.Context, dir, format string, from []string) (*Store, error) {
	s := Open(dir)
	if s.Exists() {
		return s, nil
	}
	for _, d := range []string{"objects/info", "objects/pack", "refs/sett", "info"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return nil, fmt.Errorf("make store: %w", err)
		}
	}
	for _, objects := range from {
		if err := bring(ctx, objects, s.Objects()); err != nil {
			return nil, fmt.Errorf("bring objects into the store: %w", err)
		}
	}
	if err := WriteWhole(filepath.Join(dir, "config"), configOf(format, true)); err != nil {
		return nil, fmt.Errorf("make store: %w", err)
	}
	if err := WriteWhole(filepath.Join(dir, "HEAD"), "ref: refs/heads/none\n"); err != nil {
		return nil, fmt.Errorf("make store: %w", err)
	}
	return s, nil
}

// Borrow has git find the objects of other directories in the store, which must stay there
// as long as the store. The history of each ends there where its own repository's does.
func (s *Store) Borrow(objects ...string) error {
	var b strings.Builder
	var ends []string
	for _, dir := range objects {
		b.WriteString(quoted(dir) + "\n")
		more, err := boundaryOf(dir)
		if err != nil {
			return err
		}
		ends = union(ends, more)
	}
	if err := errors.Join(s.bound(ends), borrowContent(s, objects)); err != nil {
		return err
	}
	return WriteWhole(filepath.Join(s.Objects(), "info", "alternates"), b.String())
}

// sha256 is the part of a configuration that says that hashes are of this format.
const sha256 = "[extensions]\n\tobjectFormat = sha256\n"

// configOf is the beginning of a repository's configuration.
func configOf(format string, bare bool) string {
	version, extension := 0, ""
	if format == "sha256" {
		version, extension = 1, sha256
	}
	return fmt.Sprintf("%s[core]\n\trepositoryFormatVersion = %d\n\tbare = %t\n\tfileMode = true\n", extension, version, bare)
}

// written is Format as the store's configuration has it, without a run of git.
func (s *Store) written() (format string, err error) {
	text, err := os.ReadFile(filepath.Join(s.Dir, "config"))
	if strings.Contains(string(text), sha256) {
		return "sha256", err
	}
	return "sha1", err
}

// WriteWhole writes a file, on disk when it returns, so that it is either there with this content, or not at all.
func WriteWhole(path, text string) error { return writeFile(path, text, true) }

// WriteSoon is WriteWhole for a file that need not be on disk when it returns: after a crash
// of the machine it may be empty.
func WriteSoon(path, text string) error { return writeFile(path, text, false) }

func writeFile(path, text string, sync bool) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // no longer there after the rename
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Chmod(0o600)
	}
	if err == nil {
		err = inherit(filepath.Dir(path), f.Name())
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

// passes is the most looks at a repository that git packs anew meanwhile.
const passes = 10

// bring links or copies the objects of one directory into another. While git packs the
// repository, objects move from files of their own into packs, and from packs into a new
// one: single objects are brought first, then packs, and all again if a file went away
// in between.
func bring(ctx context.Context, from, to string) error {
	for range passes {
		whole, err := bringOnce(ctx, from, to)
		if err != nil || whole {
			return err
		}
	}
	return errors.New("the repository changes all the time")
}

var (
	fanOut   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{2}$`) })
	object   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{38}|[0-9a-f]{62})$`) })
	packFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^pack-[0-9a-f]+\.(pack|idx)$`) })
)

// bringOnce says whether no file went away while it was at work.
func bringOnce(ctx context.Context, from, to string) (whole bool, err error) {
	folders, err := os.ReadDir(from)
	if err != nil {
		return false, err
	}
	whole = true
	for _, d := range folders {
		if !fanOut().MatchString(d.Name()) || !d.IsDir() {
			continue
		}
		if err := os.MkdirAll(filepath.Join(to, d.Name()), 0o700); err != nil {
			return false, err
		}
		all, err := bringFiles(ctx, filepath.Join(from, d.Name()), filepath.Join(to, d.Name()), object())
		if err != nil {
			return false, err
		}
		whole = whole && all
	}
	all, err := bringFiles(ctx, filepath.Join(from, "pack"), filepath.Join(to, "pack"), packFile())
	return whole && all, err
}

// bringFiles brings the files of a directory whose names fit. A pack comes before its
// index: git takes no pack for one without.
func bringFiles(ctx context.Context, from, to string, names *regexp.Regexp) (all bool, err error) {
	entries, err := os.ReadDir(from)
	if gone(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	var files []string
	for _, e := range entries {
		if e.Type().IsRegular() && names.MatchString(e.Name()) {
			files = append(files, e.Name())
		}
	}
	all = true
	for _, last := range []bool{false, true} {
		for _, name := range files {
			if strings.HasSuffix(name, ".idx") != last {
				continue
			}
			switch err := linkOrCopy(ctx, filepath.Join(from, name), filepath.Join(to, name)); {
			case gone(err):
				all = false
			case err != nil:
				return false, err
			}
		}
	}
	return all, nil
}

// linkOrCopy gives a file that never changes a second name, or copies it where the file
// system cannot.
func linkOrCopy(ctx context.Context, from, to string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	if gone(err) {
		if _, there := os.Stat(from); gone(there) {
			return err
		}
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.CreateTemp(filepath.Dir(to), ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(target.Name()) }()
	_, err = io.Copy(target, source)
	if err == nil {
		err = target.Chmod(0o444)
	}
	if err == nil {
		err = target.Sync()
	}
	if err = errors.Join(err, target.Close()); err == nil {
		err = os.Rename(target.Name(), to)
	}
	return err
}
