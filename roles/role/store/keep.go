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
	"slices"
	"strings"
	"sync"

	"sett/runtime/repofile"
)

// Author is the name that a commit carries.
type Author struct{ Name, Email string }

// Changes asks for the changes that a tool made in its tree.
type Changes struct {
	Start   string // the commit that the tree started from; empty: none
	Message string
	Author  Author
	Size    int64    // the most bytes of changed files, and of the tool's own commits; 0: MaxSize
	Own     []string // paths of the tree that never get into a commit
	Parents []string // of a commit that settles a conflict, in the place of the start; none: it is about none
}

func (c Changes) size() int64 {
	if c.Size == 0 {
		return MaxSize
	}
	return c.Size
}

// Keep has a ref hold a commit of everything that a tool left in its tree, without
// ignored files, on top of the tool's own commits. It returns the commit; empty: the tree is as it was
// at the start. Nothing more works in the tree: Keep removes from it the things
// that git cannot store or must not read, such as pipes and repositories within.
func (t *Tree) Keep(ctx context.Context, c Changes, ref string) (commit string, err error) {
	parents := []string{}
	if c.Start != "" {
		parents = append(parents, c.Start)
	}
	before, err := t.store.Commit(ctx, ref) // of an earlier call, after which the tool's repository is gone
	if err != nil {
		return "", err
	}
	if before != "" {
		parents = append(parents, before)
	}
	if tip := t.tip(); tip != "" && tip != c.Start {
		offer := t.Offer(tip, parents)
		offer.Any, offer.Size, offer.Own = true, c.size(), c.Own
		took, err := t.store.Take(ctx, offer, ref)
		switch {
		case err == nil:
			parents = append(parents, took)
		case ctx.Err() != nil, errors.Is(err, ErrNoGit), IsTrouble(err):
			return "", err
		}
	}
	tree, err := t.snapshot(ctx, c)
	if err != nil {
		return "", fmt.Errorf("keep the tree's changes: %w", blame(t, err))
	}
	if len(parents) > 0 {
		last := parents[len(parents)-1]
		known, err := t.store.git(ctx, "rev-parse", "--verify", "-q", last+"^{tree}")
		switch {
		case err != nil:
			return "", err
		case line(known) == tree && last == c.Start:
			return "", nil
		case line(known) == tree && last == before:
			return before, nil
		}
	}
	if commit, err = t.store.commit(ctx, tree, c, parents); err == nil {
		err = t.store.Hold(ctx, ref, commit)
	}
	return commit, err
}

// snapshot stores the tree's files and returns git's tree of them.
func (t *Tree) snapshot(ctx context.Context, c Changes) (string, error) {
	if _, err := t.disarm(disarming{readable: true, own: c.Own}); err != nil {
		return "", err
	}
	if err := t.bounded(ctx, c); err != nil {
		return "", err
	}
	unlockIndex(t)
	if err := asPointers(ctx, t, commandOn(t, nil), c); err != nil {
		return "", err
	}
	env, specs := c.beside(t.Dir())
	_, err := t.git(ctx, env, append([]string{"add", "-A", "--ignore-errors"}, specs...)...)
	if exitCode(err) == 1 && !IsTrouble(err) { // git leaves out a file that it cannot read, and one that the store does not take
		err = Writable(t.store.Dir, t.store.Objects())
	}
	if err != nil {
		return "", err
	}
	out, err := t.git(ctx, nil, "write-tree")
	return line(out), err
}

// commit makes a commit of a tree, with further variables for git.
func (s *Store) commit(ctx context.Context, tree string, c Changes, parents []string, env ...string) (string, error) {
	args := []string{"commit-tree", "--no-gpg-sign", "-F", "-"}
	for i, p := range parents {
		if !slices.Contains(parents[:i], p) {
			args = append(args, "-p", p)
		}
	}
	if c.Author.Name != "" {
		env = append(env, "GIT_AUTHOR_NAME="+c.Author.Name, "GIT_AUTHOR_EMAIL="+c.Author.Email,
			"GIT_COMMITTER_NAME="+c.Author.Name, "GIT_COMMITTER_EMAIL="+c.Author.Email)
	}
	out, err := s.run(ctx, command{args: append(args, tree), env: env, stdin: strings.ReplaceAll(c.Message, "\x00", " ") + "\n"})
	return line(out), err
}

// bounded refuses changes that are too large to keep.
func (t *Tree) bounded(ctx context.Context, c Changes) error {
	most := c.size()
	env, specs := c.beside(t.Dir())
	out, err := t.git(ctx, env, append([]string{"ls-files", "-z", "--others", "--modified", "--exclude-standard"}, specs...)...)
	if err != nil {
		return err
	}
	changed := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for _, name := range changed {
		if info, err := os.Lstat(filepath.Join(t.Dir(), name)); err == nil && info.Mode().IsRegular() {
			most -= info.Size()
		}
	}
	if most < 0 {
		return ErrTooLarge
	}
	return track(t, changed)
}

// disarming is a way to disarm a tree.
type disarming struct {
	readable bool     // let the owner read files
	spare    string   // the path of a repository that stays; empty: none
	own      []string // paths of the tree that stay as they are

	remove func(path string) error // nil: RemoveAll
}

// disarm removes from the tree everything that git would wait for or enter: pipes,
// sockets, devices, and repositories. It lets the owner change directories. It returns the
// first folders within the tree that were repositories.
func (t *Tree) disarm(how disarming) (embedded []string, err error) {
	remove := how.remove
	if remove == nil {
		remove = RemoveAll
	}
	err = filepath.WalkDir(t.Dir(), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == how.spare, how.isOwn(t.Dir(), path):
			if d.IsDir() {
				return fs.SkipDir
			}
		case strings.EqualFold(d.Name(), ".git"):
			if d.IsDir() {
				_ = unlock(path, d, 0o700) // else it cannot be moved
			}
			if err := remove(path); err != nil {
				return err
			}
			if within, err := filepath.Rel(t.Dir(), filepath.Dir(path)); err == nil && within != "." && len(embedded) < mostEmbedded {
				embedded = append(embedded, within)
			}
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
			return unlock(path, d, 0o700) // before it is read
		case d.Type().IsRegular():
			if how.readable {
				return unlock(path, d, 0o400)
			}
		case d.Type()&fs.ModeSymlink == 0:
			return remove(path)
		}
		return nil
	})
	return embedded, err
}

func (d disarming) isOwn(top, path string) bool {
	within, err := filepath.Rel(top, path)
	return len(d.own) > 0 && err == nil && slices.Contains(d.own, filepath.ToSlash(within))
}

// mostEmbedded is the most embedded repositories that are named.
const mostEmbedded = 20

func unlock(path string, d fs.DirEntry, want fs.FileMode) error {
	info, err := d.Info()
	if err != nil || info.Mode().Perm()&want == want {
		return nil //nolint:nilerr // it is gone
	}
	return os.Chmod(path, info.Mode().Perm()|want)
}

// Committed says whether HEAD of the tool's repository is at a commit that the store does
// not have: one that the tool made, and that nobody took.
func (t *Tree) Committed(ctx context.Context) (bool, error) {
	tip := t.tip()
	if tip == "" {
		return false, nil
	}
	_, err := t.store.git(ctx, "cat-file", "-e", tip+"^{commit}")
	if exitCode(err) > 0 {
		return true, nil
	}
	return false, err
}

// Bounds of the files of a tool's repository that Sett reads.
const (
	mostHead   = 4 << 10
	mostPacked = 4 << 20
)

// tip is the commit that HEAD of the tool's repository names, as far as a plain look
// finds one; empty: none. It is a hash by its form alone.
func (t *Tree) tip() string {
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	text := readIn(root, toolGit+"/HEAD", mostHead)
	name, isRef := strings.CutPrefix(text, "ref: ")
	if !isRef {
		return asHash(text)
	}
	if !strings.HasPrefix(name, "refs/heads/") || !filepath.IsLocal(name) {
		return ""
	}
	if found := asHash(readIn(root, toolGit+"/"+name, mostHead)); found != "" {
		return found
	}
	for row := range strings.Lines(readIn(root, toolGit+"/packed-refs", mostPacked)) {
		if hash, ref, _ := strings.Cut(line(row), " "); ref == name {
			return asHash(hash)
		}
	}
	return ""
}

var wholeHash = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`) })

func asHash(text string) string {
	if wholeHash().MatchString(text) {
		return text
	}
	return ""
}

// readIn reads a regular file of a tool; empty: there is none.
func readIn(root *os.Root, name string, most int64) string {
	f, err := repofile.Open(root, name)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return ""
	}
	return strings.TrimRight(string(text), "\n")
}
