package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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
	Hunks  []git.Hunk
	Commit string // of both, with git's marks in the files
}

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
	out, err = s.git(ctx, mergeTree(c.Ours, theirs)...)
	tree, _, _ := strings.Cut(out, "\x00")
	if exitCode(err) != 1 || tree == "" {
		return fmt.Errorf("merge %s with %s: it was a conflict before: %w", c.Ours, theirs, err)
	}
	if c.Hunks, err = git.HunksOf(ctx, own(s), tree, c.Files); err != nil {
		return err
	}
	for i, file := range c.Files {
		c.Files[i] = role.Clean(file)
	}
	c.Commit, err = joined(ctx, s, tree, fmt.Sprintf("Merge %.12s and %.12s, not settled\n", c.Ours, theirs), c.Ours, theirs)
	return err
}

// Settles says why a commit does not settle a conflict, that is the commit `of`: it is none of the two
// sides' descendants, or its files still have marks or names that neither side has. Empty: it does.
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
	_, files, err := s.mergeTwo(ctx, sides[0], sides[1])
	if err != nil {
		return "", err
	}
	for _, file := range files {
		if beside, err := putBeside(ctx, s, file, commit, sides); err != nil || beside {
			name := role.Clean(file)
			return fmt.Sprintf("%s is still there: git put one side's %s under that name; give it the right name, or remove it", name, name[:strings.LastIndex(name, "~")]), err
		}
		at, err := markIn(ctx, s, file, commit, sides)
		if err != nil || at > 0 {
			return fmt.Sprintf("%s:%d still has a mark of the conflict", role.Clean(file), at), err
		}
	}
	return "", nil
}

// putBeside says whether a commit still has a file under the name that git makes up, FILE~COMMIT, where the two sides
// have a file and a directory of one name, or files of two kinds.
func putBeside(ctx context.Context, s *Store, file, commit string, sides []string) (bool, error) {
	if !strings.Contains(file, "~") {
		return false, nil
	}
	for _, side := range append(slices.Clone(sides), commit) {
		out, err := s.git(ctx, "ls-tree", "-z", side, "--", file)
		if err != nil || (out == "") != (side != commit) {
			return false, err
		}
	}
	return true, nil
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

// markIn returns the first line of a file that is a mark of a conflict and that no side has; 0: there is none.
func markIn(ctx context.Context, s *Store, file, commit string, sides []string) (at int, err error) {
	usual := map[string]bool{}
	for _, side := range append(slices.Clone(sides), commit) {
		out, err := s.git(ctx, "ls-tree", "-z", side, "--", file)
		if err != nil {
			return 0, err
		}
		entry, _, _ := strings.Cut(out, "\t")
		mode := strings.Fields(entry)
		if len(mode) != 3 || mode[1] != "blob" {
			continue
		}
		text, err := s.git(ctx, "cat-file", "blob", mode[2])
		if err != nil {
			return 0, err
		}
		for row := range strings.Lines(text) {
			if at++; !git.IsMark(row) {
				continue
			}
			if side == commit && !usual[row] {
				return at, nil
			}
			usual[row] = true
		}
		at = 0
	}
	return 0, nil
}
