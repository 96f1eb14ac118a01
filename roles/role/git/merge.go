package git

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"sett/roles/role"
)

// Conflict is the error of a merge that git cannot make by itself.
type Conflict struct {
	Commit string // that could not be applied
	Files  []string

	tree string // that git wrote, with the conflicts marked in its files
}

func (c *Conflict) Error() string { return "merge conflict in " + strings.Join(c.Files, ", ") }

// IsAncestor says whether a commit is another's ancestor, or that commit itself.
func (g Repository) IsAncestor(ctx context.Context, commit, of string) (bool, error) {
	_, _, err := g.exec(ctx, "", []string{"merge-base", "--is-ancestor", commit, of})
	if exitCode(err) == 1 {
		return false, nil
	}
	if err != nil {
		_, err = g.Run(ctx, "merge-base", "--is-ancestor", commit, of)
	}
	return err == nil, err
}

// MergeBase returns the best common ancestor of two commits; empty: they have none.
func (g Repository) MergeBase(ctx context.Context, a, b string) (string, error) {
	out, _, err := g.exec(ctx, "", []string{"merge-base", a, b})
	if exitCode(err) == 1 {
		return "", nil
	}
	if err != nil {
		out, err = g.Run(ctx, "merge-base", a, b)
	}
	return strings.TrimSpace(out), err
}

// Commits returns the commits that lead from one (empty: from the beginning) to another,
// oldest first.
func (g Repository) Commits(ctx context.Context, from, to string) ([]string, error) {
	args := []string{"rev-list", "--reverse", "--topo-order", to}
	if from != "" {
		args = append(args, "^"+from)
	}
	out, err := g.Run(ctx, append(args, "--")...)
	return strings.Fields(out), err
}

// Subjects returns hash and subject of each commit that leads from one (empty: from the
// beginning) to another, oldest first.
func (g Repository) Subjects(ctx context.Context, from, to string) ([][2]string, error) {
	args := []string{"log", "--reverse", "--topo-order", "-z", "--no-show-signature", "--no-notes", "--no-color", "--encoding=UTF-8", "--format=tformat:%H %s", to}
	if from != "" {
		args = append(args, "^"+from)
	}
	out, err := g.Run(ctx, append(args, "--")...)
	if err != nil {
		return nil, err
	}
	var all [][2]string
	for _, c := range fields0(out) {
		hash, subject, _ := strings.Cut(c, " ")
		all = append(all, [2]string{hash, subject})
	}
	return all, nil
}

// exitCode returns the exit code of git, 0 when it did not end by itself.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode()
	}
	return 0
}

// mergeTree merges two commits without a working tree and returns the tree.
func (g Repository) mergeTree(ctx context.Context, ours, theirs string) (string, error) {
	args := []string{"merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs}
	out, said, err := g.exec(ctx, "", args)
	names := strings.Split(strings.TrimRight(out, "\x00"), "\x00")
	switch {
	case err == nil:
		return names[0], nil
	case exitCode(err) == 1 && len(names) > 1:
		c := &Conflict{Commit: theirs, tree: names[0]}
		for _, name := range names[1:] {
			c.Files = append(c.Files, role.Clean(name))
		}
		return "", c
	case exitCode(err) == 129, strings.Contains(said, "usage:"):
		return "", role.Fail(role.Environment, errors.New("this git cannot merge without a working tree"), "git 2.38 or newer can")
	}
	_, err = g.Run(ctx, args...)
	return "", err
}

// Merge returns a new commit that merges another into ours.
func (g Repository) Merge(ctx context.Context, ours, theirs, message string) (string, error) {
	tree, err := g.mergeTree(ctx, ours, theirs)
	if err != nil {
		return "", err
	}
	return g.commitTree(ctx, tree, message, nil, ours, theirs)
}

// Squash returns a new commit on ours with all that theirs has since their merge base;
// ours itself if it has all of it already.
func (g Repository) Squash(ctx context.Context, ours, theirs, message string) (string, error) {
	tree, err := g.mergeTree(ctx, ours, theirs)
	if err != nil {
		return "", err
	}
	before, err := g.Run(ctx, "rev-parse", "--verify", ours+"^{tree}")
	if err != nil || strings.TrimSpace(before) == tree {
		return ours, err
	}
	return g.commitTree(ctx, tree, message, nil, ours)
}

// Rebase applies commits one after another to ours, each by its author, and returns the
// last, and those that were applied, as they were. Merges are left out, as are commits that ours has in another form, and those that
// change nothing any more.
func (g Repository) Rebase(ctx context.Context, ours, theirs string) (last string, picked []string, err error) {
	s, err := Compare(ctx, g, ours, theirs, true)
	if err != nil {
		return "", nil, err
	}
	return Pick(ctx, g, ours, s)
}

// Pick is Rebase of sides that were compared.
func Pick(ctx context.Context, g Repository, ours string, s Sides) (last string, picked []string, err error) {
	if len(s.Picks) == 0 {
		return ours, nil, nil
	}
	all, err := readAll(ctx, g, append([]string{ours}, s.Picks...))
	if err != nil {
		return "", nil, err
	}
	has := all[0].tree
	for i, c := range all[1:] {
		merge := g.pick
		if i == 0 && s.base[c.parent] { // the commit's parent is their merge base
			merge = func(ctx context.Context, ours, commit string, _ readCommit) (string, error) {
				return g.mergeTree(ctx, ours, commit)
			}
		}
		tree, err := merge(ctx, ours, s.Picks[i], c)
		if err != nil {
			return "", nil, err
		}
		if tree == has {
			continue
		}
		if ours, err = g.commitTree(ctx, tree, c.message, c.author, ours); err != nil {
			return "", nil, err
		}
		has, picked = tree, append(picked, s.Picks[i])
	}
	return ours, picked, nil
}

// pick applies one commit and returns the tree. The three-way merge needs the commit's parent as its
// base, so it is made with a stand-in for ours: its tree on that parent. (Only git 2.40 and later
// can be told the base.)
func (g Repository) pick(ctx context.Context, ours, commit string, c readCommit) (string, error) {
	parent := c.parent
	if parent == "" { // the history begins here
		nothing, err := g.EmptyTree(ctx)
		if err != nil {
			return "", err
		}
		if parent, err = g.commitTree(ctx, nothing, "nothing", nil); err != nil {
			return "", err
		}
	}
	theirs, err := g.commitTree(ctx, c.tree, "stand-in", nil, parent)
	if err != nil {
		return "", err
	}
	standIn, err := g.commitTree(ctx, ours+"^{tree}", "stand-in", nil, parent)
	if err != nil {
		return "", err
	}
	tree, err := g.mergeTree(ctx, standIn, theirs)
	var conflict *Conflict
	if errors.As(err, &conflict) {
		conflict.Commit = commit
	}
	return tree, err
}

// read reads a commit in UTF-8, without its tree.
func (g Repository) read(ctx context.Context, commit string) (readCommit, error) {
	out, err := g.Run(ctx, "show", "-s", "--no-show-signature", "--no-notes", "--no-color", "--encoding=UTF-8", "--date=raw",
		"--format=tformat:%P%x00%an%x00%ae%x00%ad%x00%B", commit, "--")
	if err != nil {
		return readCommit{}, err
	}
	f := strings.SplitN(out, "\x00", 5)
	if len(f) < 5 {
		return readCommit{}, role.Fail(role.Environment, fmt.Errorf("read commit %s: git show says %q", commit, role.Clean(out)), "")
	}
	c := readCommit{message: strings.TrimRight(f[4], "\n") + "\n", author: []string{"GIT_AUTHOR_NAME=" + authorName(f[1], f[2]), "GIT_AUTHOR_EMAIL=" + f[2], "GIT_AUTHOR_DATE=" + f[3]}}
	if parents := strings.Fields(f[0]); len(parents) > 0 {
		c.parent = parents[0]
	}
	return c, nil
}

// authorName is a name under which git makes a commit: it reads commits without one, as other systems
// export them, and makes none.
func authorName(name, address string) string {
	for _, s := range []string{name, address} {
		if !nameless(s) {
			return s
		}
	}
	return "unknown"
}

// nameless says whether git takes a name for empty: it strips these characters from both ends (strbuf_addstr_without_crud).
func nameless(name string) bool {
	return strings.TrimFunc(name, func(r rune) bool { return r <= ' ' || strings.ContainsRune(".,:;<>\"\\'", r) }) == ""
}

// commitTree makes a commit of a tree. The committer is the user, as the author is unless
// one is given.
func (g Repository) commitTree(ctx context.Context, tree, message string, author []string, parents ...string) (string, error) {
	args := []string{"commit-tree", "--no-gpg-sign", "-F", "-"}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	g.Environ = append(append([]string{}, g.Environ...), author...)
	out, err := g.Feed(ctx, message, append(args, tree)...)
	return strings.TrimSpace(out), err
}

// Identity returns the user's name and address for commits.
func (g Repository) Identity(ctx context.Context) (string, error) {
	out, err := g.Run(ctx, "var", "GIT_COMMITTER_IDENT")
	if err != nil {
		return "", role.Fail(role.Environment, errors.New("git does not know the name and address for the commit"),
			`git config --global user.name "…" && git config --global user.email "…"`)
	}
	name, _, _ := strings.Cut(out, ">")
	return role.Clean(name + ">"), nil
}

// Signs says whether the user's settings have git sign each commit.
func Signs(ctx context.Context, g Repository) bool {
	out, err := g.Run(ctx, "config", "--type=bool", "--get", "commit.gpgSign")
	return err == nil && strings.TrimSpace(out) == "true"
}

// EmptyTree returns the hash of the tree without files.
func (g Repository) EmptyTree(ctx context.Context) (string, error) {
	out, err := g.Run(ctx, "hash-object", "-t", "tree", "-w", "--stdin")
	return strings.TrimSpace(out), err
}
