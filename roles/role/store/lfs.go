package store

// This file puts the content of git LFS into trees. Sett does that by itself, by the form of the pointers: no
// filter is run, whoever names one.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sett/roles/role/lfs"
	"sett/runtime/repofile"
)

// contentMarkFile is a file of a store whose repository has git LFS. It names further directories of content, a line each.
func contentMarkFile(s *Store) string { return filepath.Join(s.Dir, "info", "sett-lfs") }

// Content is the directory of a repository's content of git LFS, by that of its objects. There git-lfs finds
// it, too, also from a repository that borrows those objects.
func Content(objects string) lfs.Objects {
	return lfs.Objects(filepath.Join(filepath.Dir(objects), "lfs", "objects"))
}

// contentMark is a text that changes when a store gets content from elsewhere; empty: its repository has no git LFS.
func contentMark(s *Store) string {
	info, err := os.Stat(contentMarkFile(s))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" lfs %d", info.ModTime().UnixNano())
}

// contents are the directories of content that a store has, its own first; nil: its repository has no git LFS.
func contents(s *Store) ([]lfs.Objects, error) {
	text, err := os.ReadFile(contentMarkFile(s))
	switch {
	case gone(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	all := []lfs.Objects{Content(s.Objects())}
	for row := range strings.Lines(string(text)) {
		all = append(all, lfs.Objects(line(row)))
	}
	return all, nil
}

// borrowContent has a store find the content of the repositories with these directories of objects.
func borrowContent(s *Store, objects []string) error {
	var b strings.Builder
	for _, o := range objects {
		dir := Content(o)
		if info, err := os.Stat(string(dir)); err == nil && info.IsDir() && !strings.Contains(string(dir), "\n") {
			b.WriteString(string(dir) + "\n")
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return WriteWhole(contentMarkFile(s), b.String())
}

// FetchContent brings the content of pointers into the store, as far as the directory has it, and has the store's
// trees know of git LFS.
func FetchContent(ctx context.Context, s *Store, from lfs.Objects, pointers []lfs.Pointer) error {
	own, brought := Content(s.Objects()), false
	for _, p := range pointers {
		if own.Has(p) || !from.Has(p) {
			continue
		}
		if err := own.Bring(ctx, from, p); err != nil {
			return fmt.Errorf("bring content of git LFS: %w", err)
		}
		brought = true
	}
	if brought {
		if err := ownContent(s); err != nil {
			return err
		}
	}
	if _, err := os.Stat(contentMarkFile(s)); err == nil && !brought {
		return nil
	}
	return WriteWhole(contentMarkFile(s), "")
}

// ownContent gives content that root brought to the owner of the store.
// It does nothing for anybody else.
func ownContent(s *Store) error {
	owner := ownerOf(s.Dir)
	if owner == nil {
		return nil
	}
	dir := filepath.Join(s.Dir, "lfs")
	if err := giveBelow(dir, int(owner.Uid), int(owner.Gid)); err != nil {
		return err
	}
	return inherit(s.Dir, dir)
}

// filtered are the paths among these that attributes give to git LFS. The command has the tree, or only an index.
func filtered(ctx context.Context, s *Store, c command, paths []string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	c.args, c.stdin = append(c.args, "-z", "--stdin", "filter"), strings.Join(paths, "\x00")+"\x00"
	out, err := s.run(ctx, c)
	if err != nil {
		return nil, err
	}
	var found []string
	fields := strings.Split(out, "\x00")
	for i := 2; i < len(fields); i += 3 {
		if fields[i] == "lfs" {
			found = append(found, fields[i-2])
		}
	}
	return found, nil
}

// withContent puts the content of git LFS into a tree that git has just made, as far as it is at hand.
// Others stay pointers.
func withContent(ctx context.Context, t *Tree) error {
	places, err := contents(t.store)
	if err != nil || places == nil {
		return err
	}
	out, err := t.git(ctx, []string{"GIT_LITERAL_PATHSPECS=0"}, "ls-files", "-z", "--", ":(top,attr:filter=lfs)")
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	f := filler{root: root, places: places, states: map[string]unix.Stat_t{}}
	for name := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if err := f.fill(ctx, name); err != nil {
			return fmt.Errorf("put content of git LFS into %s: %w", name, err)
		}
	}
	if len(f.states) > 0 {
		if err := t.restate(f.states); err != nil && !errors.Is(err, errIndex) { // then git reads the files
			return err
		}
	}
	text, err := json.Marshal(f.lacking)
	if err == nil {
		err = WriteSoon(t.lackingFile(), string(text))
	}
	return err
}

// lackingFile names the files of a tree that are pointers.
func (t *Tree) lackingFile() string { return filepath.Join(t.dir, "lacking") }

// mostLacking is the most files without content that are named.
const mostLacking = 100

// Lacking are files of the prepared tree that are pointers of git LFS: their content was not at hand.
func Lacking(t *Tree) (names []string) {
	if contentMark(t.store) == "" {
		return nil
	}
	text, err := os.ReadFile(t.lackingFile())
	if err == nil {
		err = json.Unmarshal(text, &names)
	}
	if err != nil {
		return nil // a tree of an older Sett
	}
	return names
}

// filler puts content into a tree.
type filler struct {
	root    *os.Root // the tree's place
	places  []lfs.Objects
	states  map[string]unix.Stat_t // of the files that have their content now
	lacking []string
}

// quiet is how much older a file is than the index: else git would not believe the index about it.
const quiet = 2 * time.Second

func (f *filler) fill(ctx context.Context, name string) error {
	at := path.Join("tree", name)
	info, err := f.root.Lstat(at)
	if err != nil || !info.Mode().IsRegular() || info.Size() > lfs.MostText {
		return nil //nolint:nilerr // a sparse tree does not have it
	}
	p, ok := lfs.Parse(readWhole(f.root, at))
	if !ok {
		return nil
	}
	made, err := f.content(ctx, p, info.Mode().Perm())
	if err != nil {
		return err
	}
	if !made {
		if len(f.lacking) < mostLacking {
			f.lacking = append(f.lacking, name)
		}
		return nil
	}
	old := time.Now().Add(-quiet)
	if err := f.root.Chtimes(contentNext, old, old); err != nil {
		return err
	}
	if err := f.root.Rename(contentNext, at); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(filepath.Join(f.root.Name(), filepath.FromSlash(at)), &st); err != nil {
		return err
	}
	f.states[name] = st
	return nil
}

// contentNext is the file beside a tree in which its next content is made.
const contentNext = "content"

// content makes a content beside the tree, and says whether it is at hand. A file that is not what its name
// says counts for nothing.
func (f *filler) content(ctx context.Context, p lfs.Pointer, mode fs.FileMode) (bool, error) {
	for i, place := range f.places {
		from, err := place.Open(p)
		if err != nil {
			continue
		}
		err = f.write(ctx, from, p, mode)
		_ = from.Close()
		if !errors.Is(err, lfs.ErrContent) {
			return err == nil, err
		}
		if i == 0 {
			_ = place.Drop(p) // it is the store's own
		}
	}
	return false, nil
}

func (f *filler) write(ctx context.Context, from io.Reader, p lfs.Pointer, mode fs.FileMode) error {
	if err := f.root.Remove(contentNext); err != nil && !gone(err) {
		return err
	}
	to, err := f.root.OpenFile(contentNext, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = lfs.Copy(ctx, to, from, p)
	if err == nil {
		err = to.Chmod(mode)
	}
	return errors.Join(err, to.Close())
}

// readWhole reads a small regular file as it is; empty: it is none.
func readWhole(root *os.Root, name string) string {
	f, err := repofile.Open(root, name)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, lfs.MostText+1))
	if err != nil {
		return ""
	}
	return string(text)
}

// asPointers puts pointers in the place of a tool's changed files that attributes give to git LFS, once the store has
// their content. With an index that git has, c lists the changed files.
func asPointers(ctx context.Context, t *Tree, c command, own Changes) error {
	places, err := contents(t.store)
	if err != nil || places == nil {
		return err
	}
	env, specs := own.beside(t.Dir())
	c.args, c.env = append([]string{"ls-files", "-z", "--others", "--modified", "--exclude-standard"}, specs...), slices.Concat(c.env, env)
	out, err := t.store.run(ctx, c)
	if err != nil {
		return err
	}
	c.args = []string{"check-attr"}
	changed, err := filtered(ctx, t.store, c, strings.FieldsFunc(out, func(r rune) bool { return r == 0 }))
	if err != nil || len(changed) == 0 {
		return err
	}
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range changed {
		if linked(t.Dir(), name) {
			continue
		}
		if err := asPointer(ctx, root, places[0], path.Join("tree", name)); err != nil {
			return fmt.Errorf("keep %s for git LFS: %w", name, err)
		}
	}
	return nil
}

// asPointer stores the content of one file.
func asPointer(ctx context.Context, root *os.Root, to lfs.Objects, name string) error {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil //nolint:nilerr // git says what it thinks of it
	}
	if info.Size() <= lfs.MostText {
		if _, is := lfs.Parse(readWhole(root, name)); is {
			return nil
		}
	}
	from, err := repofile.Open(root, name)
	if err != nil {
		return nil //nolint:nilerr // git cannot read it, either
	}
	p, err := to.Put(ctx, lfs.Exactly(from, info.Size()))
	_ = from.Close()
	if err != nil {
		return err
	}
	if err := root.Remove(name); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(p.Text())
	return errors.Join(err, f.Close())
}
