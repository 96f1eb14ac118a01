package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Merged is the outcome of a merge.
type Merged struct {
	Commit   string   // the merge; the first commit when there is nothing to merge
	Unmerged []string // the commits that it does not have, because of a conflict
	Files    []string // of the first conflict
}

// Merge merges commits of the store, in their order, without a working tree. A commit
// that does not merge without a conflict is left out and named. The same commits give the
// same merge at any time. Git before 2.38 merges only commits of one line of history.
func (s *Store) Merge(ctx context.Context, commits []string) (Merged, error) {
	if len(commits) == 0 {
		return Merged{}, nil
	}
	m := Merged{Commit: commits[0]}
	for _, c := range commits[1:] {
		next, files, err := s.mergeTwo(ctx, m.Commit, c)
		switch {
		case err != nil:
			return Merged{}, fmt.Errorf("merge %s with %s: %w", m.Commit, c, err)
		case next == "":
			m.Unmerged = append(m.Unmerged, c)
			if m.Files == nil {
				m.Files = files
			}
		default:
			m.Commit = next
		}
	}
	return m, nil
}

// mergeTwo returns no commit after a conflict.
func (s *Store) mergeTwo(ctx context.Context, ours, theirs string) (commit string, files []string, err error) {
	if ours == theirs {
		return ours, nil, nil
	}
	out, err := s.git(ctx, "merge-base", ours, theirs)
	if err != nil && exitCode(err) != 1 {
		return "", nil, err
	}
	switch line(out) {
	case theirs:
		return ours, nil, nil
	case ours:
		return theirs, nil, nil
	}
	out, err = s.git(ctx, mergeTree(ours, theirs)...)
	parts := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	if exitCode(err) == 1 {
		return "", slices.Compact(slices.Sorted(slices.Values(parts[1:]))), nil
	}
	if err != nil {
		return "", nil, err
	}
	commit, err = joined(ctx, s, parts[0], fmt.Sprintf("Merge %.12s and %.12s\n", ours, theirs), ours, theirs)
	return commit, nil, err
}

// mergeTree is the command that merges two commits without a working tree.
func mergeTree(ours, theirs string) []string {
	return []string{"merge-tree", "--write-tree", "--name-only", "-z", "--no-messages", "--allow-unrelated-histories", ours, theirs}
}

// joined makes a merge with the files of a tree. It is as old as the younger of its parents, so
// that it is the same one at any time.
func joined(ctx context.Context, s *Store, tree, message, ours, theirs string) (string, error) {
	when, err := s.git(ctx, "log", "--no-walk", "--format=%ct", ours, theirs)
	if err != nil {
		return "", err
	}
	date := "@" + slices.Max(strings.Fields(when)) + " +0000"
	made, err := s.run(ctx, command{
		args:  []string{"commit-tree", "--no-gpg-sign", "-p", ours, "-p", theirs, "-F", "-", tree},
		env:   []string{"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date},
		stdin: message,
	})
	return line(made), err
}
