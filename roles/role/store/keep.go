package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sett/roles/role"
)

// Author is the name that a commit carries.
type Author struct{ Name, Email string }

// Changes asks for the changes that a tool made in its tree.
type Changes struct {
	Start   string // the commit that the tree started from; empty: none
	Before  string // where the start has work of the same claim, the commit that this began with; empty: it has none
	Message string
	Author  Author
	Size    int64    // the most bytes of changed files, and of the tool's own commits; 0: MaxSize
	Bound   string   // of which setting Size is, for people; empty: workspace.max_size
	Own     []string // paths of the tree that never get into a commit
	Known   []string // further commits that the store has for this tree
	Parents []string // of a commit that settles a conflict, in the place of the start; none: it is about none
}

func (c Changes) size() int64 {
	if c.Size == 0 {
		return MaxSize
	}
	return c.Size
}

// Keep has a ref hold a commit of everything that a tool left in its tree, without
// ignored files that it has not staged, on top of the tool's own commits, and beside the others that its repository
// names. Work of the same claim that the tree started with is kept again, so that this attempt can be resumed, too.
// Nothing more works in the tree: Keep removes from it the things
// that git cannot store or must not read, such as pipes and repositories within.
func (t *Tree) Keep(ctx context.Context, c Changes, ref string) (kept Kept, err error) {
	k := keeping{tree: t, changes: c, ref: ref, parents: named(c.Start)}
	if err := k.again(ctx); err != nil {
		return Kept{}, err
	}
	if err := k.commits(ctx); err != nil {
		return Kept{}, err
	}
	tree, err := k.snapshot(ctx)
	if err != nil {
		return Kept{}, fmt.Errorf("keep the tree's changes: %w", blame(t, err))
	}
	files, err := k.files(ctx, tree)
	if err != nil {
		return Kept{}, err
	}
	return k.hold(ctx, files)
}

// keeping is the work of one leftover.
type keeping struct {
	tree    *Tree
	changes Changes
	ref     string
	before  Kept     // of an earlier call, after which the tool's repository may be gone
	parents []string // of the commit of the files, the tool's last commit at the end
	beside  []Ref
	leftOut []string
	packs   []string // that came in, and that no ref holds yet
}

// leave says that something is not kept.
func (k *keeping) leave(format string, a ...any) {
	if what := fmt.Sprintf(format, a...); !slices.Contains(k.leftOut, what) {
		k.leftOut = append(k.leftOut, what)
	}
}

// leaveRef says that the commit of a ref is not kept.
func (k *keeping) leaveRef(r Ref, why error) {
	bound := ""
	if errors.Is(why, ErrTooLarge) {
		bound = ", above " + k.changes.bound()
	}
	k.leave("%s: %s%s", r, role.Clean(why.Error()), bound)
}

// again goes on from an earlier call.
func (k *keeping) again(ctx context.Context) error {
	before, err := k.tree.store.Commit(ctx, k.ref)
	if err != nil || before == "" {
		return err
	}
	if k.before, err = ReadKept(ctx, k.tree.store, before); err != nil {
		return err
	}
	k.beside, k.leftOut = slices.Clone(k.before.Beside), slices.Clone(k.before.LeftOut)
	if !slices.Contains(k.parents, k.before.Files) {
		k.parents = append(k.parents, k.before.Files)
	}
	return nil
}

// commits brings the commits of the tool into the store. The ref holds them all when it returns: the tool's
// repository goes before its files are stored.
func (k *keeping) commits(ctx context.Context) error {
	if tip := k.tree.tip(); tip != "" && tip != k.changes.Start {
		offer := k.tree.Offer(tip, k.parents)
		offer.Any, offer.Size, offer.Own = true, k.changes.size(), k.changes.Own
		took, err := k.tree.store.Take(ctx, offer, k.ref)
		switch {
		case err == nil:
			k.parents = append(k.parents, took)
		case fatal(ctx, err):
			return err
		default:
			k.leaveRef(Ref{"HEAD", tip}, err)
		}
	}
	beside, err := k.besides(ctx)
	if err != nil || len(beside) == 0 {
		return err
	}
	for _, r := range beside {
		if !slices.Contains(k.beside, r) {
			k.beside = append(k.beside, r)
		}
	}
	base := ""
	if len(k.parents) > 0 {
		base = k.parents[len(k.parents)-1]
	} else if base, err = k.tree.store.commit(ctx, k.beside[0].Commit+"^{tree}", k.changes, nil); err != nil {
		return err
	}
	_, err = k.hold(ctx, base)
	return err
}

// files returns a commit of the tool's files; the start, where it changed none.
func (k *keeping) files(ctx context.Context, tree string) (string, error) {
	if len(k.parents) > 0 {
		last := k.parents[len(k.parents)-1]
		known, err := k.tree.store.git(ctx, "rev-parse", "--verify", "-q", last+"^{tree}")
		if err != nil {
			return "", err
		}
		if line(known) == tree && (last == k.changes.Start || last == k.before.Files) {
			return last, nil
		}
	}
	c := k.changes
	c.Message = Kept{LeftOut: k.leftOut}.message(c.Message)
	return k.tree.store.commit(ctx, tree, c, k.parents)
}

// hold has the ref hold the commit of the files with those beside it.
func (k *keeping) hold(ctx context.Context, files string) (kept Kept, err error) {
	kept = Kept{Commit: files, Files: files, Beside: k.beside, LeftOut: k.leftOut}
	switch {
	case len(k.beside) == 0 && files == k.changes.Start && k.changes.Before == "":
		return Kept{LeftOut: k.leftOut}, nil
	case k.before.Commit != "" && files == k.before.Files && slices.Equal(k.beside, k.before.Beside) && slices.Equal(k.leftOut, k.before.LeftOut):
		return k.before, nil
	case len(k.beside) > 0:
		c, parents := k.changes, []string{files}
		c.Message = kept.message(c.Message)
		for _, r := range k.beside {
			parents = append(parents, r.Commit)
		}
		if kept.Commit, err = k.tree.store.commit(ctx, files+"^{tree}", c, parents); err != nil {
			return Kept{}, err
		}
	}
	if err := k.tree.store.Hold(ctx, k.ref, kept.Commit); err != nil {
		return Kept{}, err
	}
	for _, pack := range k.packs {
		k.tree.store.release(pack)
	}
	k.before, k.packs = kept, nil
	return kept, nil
}

// snapshot stores the tree's files and returns git's tree of them.
func (k *keeping) snapshot(ctx context.Context) (string, error) {
	t, c := k.tree, k.changes
	wanted, err := wishesOf(ctx, t, c)
	if err != nil {
		return "", err
	}
	found, err := t.disarm(disarming{readable: true, own: c.Own})
	if err != nil {
		return "", err
	}
	k.leavePaths(found.refused, "git takes such a name for its own")
	unlockIndex(t)
	if err := wanted.tell(ctx, t.store, func(args ...string) command { return commandOn(t, nil, args...) }); err != nil {
		return "", err
	}
	changed, err := changedFiles(ctx, t, c)
	if err != nil {
		return "", err
	}
	large, err := tooLarge(changed, c)
	if err != nil {
		return "", err
	}
	c.Own = slices.Concat(c.Own, k.leaveFiles(large))
	if err := asPointers(ctx, t, commandOn(t, nil), c); err != nil {
		return "", err
	}
	env, specs := c.beside(t.Dir())
	_, err = t.git(ctx, env, append([]string{"add", "-A", "--ignore-errors"}, specs...)...)
	if exitCode(err) == 1 && !IsTrouble(err) { // git leaves out a file that it cannot read, and one that the store does not take
		said := err
		if err = Writable(t.store.Dir, t.store.Objects()); err == nil {
			err = k.leaveRefused(ctx, c, said)
		}
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

// disarming is a way to disarm a tree.
type disarming struct {
	readable bool     // let the owner read files
	spare    string   // the path of a repository that stays; empty: none
	own      []string // paths of the tree that stay as they are

	remove func(path string) error // nil: RemoveAll
}

// disarmed names the first things that are no longer in a tree.
type disarmed struct {
	embedded []string // folders that were repositories
	refused  []string // with names such as .GIT, which git takes for those of its own directory
}

// disarm removes from the tree everything that git would wait for or enter: pipes,
// sockets, devices, and repositories. It lets the owner change directories.
func (t *Tree) disarm(how disarming) (found disarmed, err error) {
	remove := how.remove
	if remove == nil {
		remove = RemoveAll
	}
	mounts := mountsIn(t.Dir())
	err = filepath.WalkDir(t.Dir(), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == how.spare, slices.Contains(mounts, path), how.isOwn(t.Dir(), path):
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
			found.add(t.Dir(), path)
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
	return found, err
}

func (d *disarmed) add(top, path string) {
	within, err := filepath.Rel(top, path)
	switch folder := filepath.Dir(within); {
	case err != nil:
	case filepath.Base(within) != ".git":
		if len(d.refused) < mostEmbedded {
			d.refused = append(d.refused, within)
		}
	case folder != "." && len(d.embedded) < mostEmbedded:
		d.embedded = append(d.embedded, folder)
	}
}

func (d disarming) isOwn(top, path string) bool {
	within, err := filepath.Rel(top, path)
	return len(d.own) > 0 && err == nil && slices.Contains(d.own, filepath.ToSlash(within))
}

// mostEmbedded is the most embedded repositories, and the most paths that git refuses, that are named.
const mostEmbedded = 20

func unlock(path string, d fs.DirEntry, want fs.FileMode) error {
	info, err := d.Info()
	if err != nil || info.Mode().Perm()&want == want {
		return nil //nolint:nilerr // it is gone
	}
	return os.Chmod(path, info.Mode().Perm()|want)
}
