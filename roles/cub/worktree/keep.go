package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sett/runtime/repofile"
)

// keep stores the whole tree under the ref, unless all of it is in commits that stay,
// and records the ref's commit in s. It returns the tree.
func (r *restoration) keep(ctx context.Context, s *state) (found string, err error) {
	if err := r.disarm(ctx); err != nil {
		return "", err
	}
	scratch, err := r.newScratch(ctx, s.head)
	if err != nil {
		return "", err
	}
	defer scratch.remove()
	staged, err := scratch.writeStaged(ctx)
	if err != nil {
		return "", err
	}
	if err := scratch.addAll(ctx); err != nil {
		return "", err
	}
	if found, err = scratch.writeTree(ctx); err != nil {
		return "", err
	}
	parents, err := r.lostTips(ctx, s)
	if err != nil {
		return "", err
	}
	if staged != "" && staged != found {
		known, err := r.knownTree(ctx, staged, s)
		if err != nil {
			return "", err
		}
		if !known {
			index, err := r.commitTree(ctx, staged, "what was staged\n", s.head)
			if err != nil {
				return "", err
			}
			parents = append(parents, index)
		}
	}
	if len(parents) == 0 {
		known, err := r.mixture(ctx, found, s)
		if err != nil || known {
			return found, err
		}
	}
	return found, r.record(ctx, found, s, parents)
}

// record commits a tree and points the ref at it. HEAD is the first parent, so that
// the commit shows the changes; then come commits that would be lost; then the last
// kept commit.
func (r *restoration) record(ctx context.Context, tree string, s *state, parents []string) error {
	message := strings.ReplaceAll(r.message, "\x00", " ")
	if strings.TrimSpace(message) == "" {
		message = "leftovers"
	}
	commit, err := r.commitTree(ctx, tree, message, slices.Concat([]string{s.head}, parents, []string{s.old})...)
	if err != nil {
		return err
	}
	expected := s.old
	if expected == "" {
		expected = strings.Repeat("0", len(commit))
	}
	if _, err := r.git(ctx, "update-ref", "-m", "sett: keep", r.ref, commit, expected); err != nil {
		return err
	}
	s.old = commit
	return nil
}

// commitTree makes a commit; parents that are empty or repeated do not count.
func (r *restoration) commitTree(ctx context.Context, tree, message string, parents ...string) (string, error) {
	args := []string{"commit-tree", "--no-gpg-sign", "-F", "-"}
	for i, p := range parents {
		if p != "" && !slices.Contains(parents[:i], p) {
			args = append(args, "-p", p)
		}
	}
	out, err := r.Tree.run(ctx, command{args: append(args, tree), stdin: message})
	return line(out), err
}

// lostTips returns the commits of HEAD, the branch and an operation in progress that
// neither the commit to go back to nor the ref contains.
func (r *restoration) lostTips(ctx context.Context, s *state) ([]string, error) {
	var stay []string
	for _, c := range []string{r.commit, s.old} {
		if c != "" {
			stay = append(stay, c)
		}
	}
	var lost []string
	for _, c := range append([]string{s.head, s.tip}, operationTips(r.gitDir)...) {
		if c == "" {
			continue
		}
		full, err := r.Resolve(ctx, c)
		if errors.Is(err, ErrNoCommit) {
			continue // a file with something else in it
		}
		if err != nil {
			return nil, err
		}
		args := append([]string{"rev-list", "--max-count=1", full, "--not"}, stay...)
		out, err := r.git(ctx, args...)
		if err != nil {
			return nil, err
		}
		if out != "" && !slices.Contains(lost, full) {
			lost = append(lost, full)
		}
	}
	return lost, nil
}

// knownTree says whether a commit that stays has this tree.
func (r *restoration) knownTree(ctx context.Context, tree string, s *state) (bool, error) {
	if tree == r.tree {
		return true, nil
	}
	var args []string
	for _, c := range []string{s.head, s.old} {
		if c != "" {
			args = append(args, c)
		}
	}
	if len(args) == 0 {
		return false, nil
	}
	// HEAD's own tree counts even when HEAD is where it shall be.
	out, err := r.git(ctx, append([]string{"log", "--no-walk", "--format=%T"}, args...)...)
	if err == nil && r.commit != "" {
		var older string
		older, err = r.git(ctx, append(append([]string{"log", "--format=%T"}, args...), "--not", r.commit)...)
		out += older
	}
	return slices.Contains(strings.Fields(out), tree), err
}

// mixture says whether every path of the tree is as in the tree to restore, or as in
// a tree that stays: HEAD's, or the last kept one. A restoration that was killed
// halfway looks like that. Git removes a file before it writes it anew, so after a
// first keep an absent file does not count.
func (r *restoration) mixture(ctx context.Context, tree string, s *state) (bool, error) {
	target, err := r.differing(ctx, tree, r.tree, "")
	if err != nil || len(target) == 0 {
		return err == nil, err
	}
	open := map[string]bool{}
	for _, path := range target {
		open[path] = true
	}
	for _, c := range []struct{ commit, filter string }{{s.head, ""}, {s.old, "a"}} {
		if c.commit == "" {
			continue
		}
		paths, err := r.differing(ctx, tree, c.commit+"^{tree}", c.filter)
		if err != nil {
			return false, err
		}
		if !slices.ContainsFunc(paths, func(p string) bool { return open[p] }) {
			return true, nil
		}
	}
	return false, nil
}

// differing returns the paths in which two trees differ.
func (r *restoration) differing(ctx context.Context, a, b, filter string) ([]string, error) {
	out, err := r.git(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter="+filter, a, b)
	return fields0(out), err
}

// sweep removes untracked files. It first keeps files that the tool's own ignore rules
// hid from keep.
func (r *restoration) sweep(ctx context.Context, s *state, found string) error {
	if err := r.disarm(ctx); err != nil {
		return err
	}
	others, err := r.untracked(ctx)
	if err != nil || len(others) == 0 {
		return err
	}
	scratch, err := r.emptyScratch()
	if err != nil {
		return err
	}
	defer scratch.remove()
	if _, err := scratch.git(ctx, "", "read-tree", found); err != nil {
		return err
	}
	if err := scratch.addPaths(ctx, others); err != nil {
		return fmt.Errorf("keep leftovers: %w", err)
	}
	all, err := scratch.writeTree(ctx)
	if err != nil {
		return err
	}
	if all != found {
		if err := r.record(ctx, all, s, nil); err != nil {
			return fmt.Errorf("keep leftovers: %w", err)
		}
	}
	_, err = r.git(ctx, "clean", "-f", "-d", "-q")
	return err
}

// untracked lists files that are not tracked and not ignored; a repository of
// its own is one entry that ends in a slash.
func (r *restoration) untracked(ctx context.Context) ([]string, error) {
	out, err := r.git(ctx, "ls-files", "--others", "--exclude-standard", "-z")
	return fields0(out), err
}

// disarm makes ordinary directories of the repositories inside the tree, which
// git would neither keep nor remove: their .git is moved into ours.
func (r *restoration) disarm(ctx context.Context) error {
	for {
		others, err := r.untracked(ctx)
		if err != nil {
			return err
		}
		others = slices.DeleteFunc(others, func(p string) bool { return !strings.HasSuffix(p, "/") })
		if len(others) == 0 {
			return nil
		}
		for _, path := range others {
			if err := r.aside(path); err != nil {
				return fmt.Errorf("put repository %s aside: %w", path, err)
			}
		}
	}
}

// aside moves the .git of a directory to the first free place for it.
func (r *restoration) aside(path string) error {
	to := filepath.Join(r.gitDir, "sett", strings.TrimPrefix(r.ref, Keep), path)
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	for n := 1; ; n++ {
		place := filepath.Join(to, fmt.Sprintf("git.%d", n))
		if _, err := os.Lstat(place); errors.Is(err, fs.ErrNotExist) {
			return os.Rename(filepath.Join(r.root, path, ".git"), place)
		}
	}
}

// copyFile copies a file with its time: git tells by an index' own time which
// of its entries it cannot trust.
func copyFile(to, from string) error {
	in, err := repofile.OpenIn("", from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}
