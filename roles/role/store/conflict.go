package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/git"
)

// Clash is the first conflict among commits that are merged in their order.
type Clash struct {
	Ours   string // the merge of those before
	Of     []int  // the places of the commits that are in it
	Theirs int    // the place of the one that does not merge with it
	Base   string // their best common ancestor; empty: there is none
	Files  []string
	Kinds  []blackboard.ConflictFile // of the first files, those without git's marks before the others
	Hunks  []git.Hunk
	Commit string // of both, with marks in the files, and beside them the versions that git cannot mark
}

// mostKinds bounds the files of a conflict that more than the name is told of.
const mostKinds = 200

// FindClash finds the first conflict among commits; false: they merge. The commit of it is
// made, and no ref holds it yet. The same commits give the same one.
func FindClash(ctx context.Context, s *Store, commits []string) (c Clash, found bool, err error) {
	for i, theirs := range commits {
		if i == 0 {
			c.Ours, c.Of = theirs, []int{0}
			continue
		}
		made, files, err := s.mergeTwo(ctx, c.Ours, theirs)
		switch {
		case err != nil:
			return c, false, fmt.Errorf("merge %s with %s: %w", c.Ours, theirs, err)
		case made != "":
			c.Ours, c.Of = made, append(c.Of, i)
			continue
		}
		c.Theirs, c.Files = i, files
		return c, true, mark(ctx, s, &c, theirs)
	}
	return c, false, nil
}

// mark makes the commit of a conflict.
func mark(ctx context.Context, s *Store, c *Clash, theirs string) error {
	out, err := s.git(ctx, "merge-base", c.Ours, theirs)
	if err != nil && exitCode(err) != 1 {
		return err
	}
	c.Base = line(out)
	u, err := readUnmerged(ctx, s, c.Ours, theirs)
	if err == nil && len(u.files) == 0 {
		err = fmt.Errorf("merge %s with %s: it was a conflict before", c.Ours, theirs)
	}
	if err != nil {
		return err
	}
	tree, err := u.beside(ctx, s)
	if err != nil {
		return err
	}
	var marked []string
	c.Files = nil
	for _, f := range u.files {
		if f.Marks || strings.HasPrefix(f.Kind, "rename/") {
			marked = append(marked, f.File)
		}
		c.Files, c.Kinds = append(c.Files, role.Clean(f.File)), append(c.Kinds, shown(f))
	}
	slices.SortStableFunc(c.Kinds, func(a, b blackboard.ConflictFile) int { return len(b.Decisions()) - len(a.Decisions()) })
	c.Kinds = c.Kinds[:min(len(c.Kinds), mostKinds)]
	if c.Hunks, err = git.HunksOf(ctx, own(s), u.tree, marked); err != nil {
		return err
	}
	c.Commit, err = joined(ctx, s, tree, fmt.Sprintf("Merge %.12s and %.12s, not settled\n", c.Ours, theirs), c.Ours, theirs)
	return err
}

// shown is a file of a conflict with names that are safe to show.
func shown(f blackboard.ConflictFile) blackboard.ConflictFile {
	f.File = role.Clean(f.File)
	for i, p := range f.Paths {
		f.Paths[i] = role.Clean(p)
	}
	for _, v := range []**blackboard.ConflictVersion{&f.Ours, &f.Theirs} {
		if *v != nil {
			safe := **v
			safe.At = role.Clean(safe.At)
			*v = &safe
		}
	}
	return f
}

// Settles says why a commit does not settle a conflict, that is the commit `of`: it is none of the two
// sides' descendants, or its files still have marks, or versions of a file still lie beside it. Empty: it does.
//
// The decision about a file without git's marks is the agent's own: either version, another content, or no such file. It has
// decided once no version lies beside the file. Nothing of the tool's but the commit is looked at: an agent may work
// without git, and what it has in its index is lost with git add --all.
func Settles(ctx context.Context, s *Store, commit, of string) (why string, err error) {
	sides, err := Parents(ctx, s, of)
	if err != nil || len(sides) != 2 {
		return "", errors.Join(err, fmt.Errorf("%s is no conflict", of))
	}
	for _, side := range sides {
		if _, err := s.git(ctx, "merge-base", "--is-ancestor", side, commit); exitCode(err) == 1 {
			return fmt.Sprintf("it does not build on %.12s, which is one side of the conflict", side), nil
		} else if err != nil {
			return "", err
		}
	}
	u, err := readUnmerged(ctx, s, sides[0], sides[1])
	if err != nil {
		return "", err
	}
	added, err := addedIn(ctx, s, sides[0], commit)
	if err != nil {
		return "", err
	}
	for i := range u.files {
		f := &u.files[i]
		for _, at := range f.Decisions() {
			if added[at] {
				return fmt.Sprintf("%s is still there, so nobody has decided about %s, %s", role.Clean(at), role.Clean(f.File), advice(f)), nil
			}
		}
		at, err := markIn(ctx, s, f.File, commit, sides)
		if err != nil {
			return "", err
		}
		if at > 0 {
			why := fmt.Sprintf("%s:%d still has a mark of the conflict", role.Clean(f.File), at)
			if !f.Marks {
				why += ", " + advice(f)
			}
			return why, nil
		}
	}
	return "", nil
}

// addedIn returns the files that a commit has and another has not.
func addedIn(ctx context.Context, s *Store, before, commit string) (map[string]bool, error) {
	out, err := s.git(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=A", before, commit)
	added := map[string]bool{}
	for name := range strings.SplitSeq(out, "\x00") {
		added[name] = name != ""
	}
	return added, err
}

// Parents returns the parents of a commit.
func Parents(ctx context.Context, s *Store, commit string) ([]string, error) {
	out, err := s.git(ctx, "rev-list", "--parents", "-n1", commit, "--")
	all := strings.Fields(out)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[1:], nil
}

// Reaches says whether a commit builds on another one, or is it. False also where the store has no such commit.
func Reaches(ctx context.Context, s *Store, commit, ancestor string) (bool, error) {
	_, err := s.git(ctx, "merge-base", "--is-ancestor", ancestor, commit)
	if code := exitCode(err); code == 1 || code == 128 { // 128: it has no such commit
		return false, nil
	}
	return err == nil, err
}

// markIn returns the first line of a file that is a mark of a conflict and that no side has; 0: there is none.
func markIn(ctx context.Context, s *Store, file, commit string, sides []string) (at int, err error) {
	own, err := blobIn(ctx, s, file, commit)
	if err != nil || own == "" {
		return 0, err
	}
	usual := map[string]bool{}
	for _, side := range sides {
		of, err := blobIn(ctx, s, file, side)
		if err != nil || of == own {
			return 0, err
		}
		if of == "" {
			continue
		}
		text, err := s.git(ctx, "cat-file", "blob", of)
		if err != nil {
			return 0, err
		}
		for row := range strings.Lines(text) {
			if git.IsMark(row) {
				usual[row] = true
			}
		}
	}
	text, err := s.git(ctx, "cat-file", "blob", own)
	if err != nil {
		return 0, err
	}
	for row := range strings.Lines(text) {
		if at++; git.IsMark(row) && !usual[row] {
			return at, nil
		}
	}
	return 0, nil
}

// blobIn returns the object of a commit's file; empty: there is none.
func blobIn(ctx context.Context, s *Store, file, commit string) (string, error) {
	out, err := s.git(ctx, "ls-tree", "-z", commit, "--", file)
	entry, _, _ := strings.Cut(out, "\t")
	if f := strings.Fields(entry); len(f) == 3 && f[1] == "blob" {
		return f[2], err
	}
	return "", err
}
