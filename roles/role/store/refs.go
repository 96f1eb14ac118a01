package store

// This file has the refs of a store, by which it holds commits.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sett/roles/role/git"
)

// loose is the commit of a ref that has a file of its own; empty: git has to be asked. All
// refs of a store name commits.
func (s *Store) loose(ref string) string {
	if !strings.HasPrefix(ref, "refs/sett/") || !filepath.IsLocal(ref) {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(s.Dir, filepath.FromSlash(ref)))
	if err != nil {
		return ""
	}
	return asHash(line(string(text)))
}

// Refs returns the commits of all refs with a prefix that ends with a slash, by the rest of their names.
func Refs(ctx context.Context, s *Store, prefix string) (map[string]string, error) {
	out, err := s.git(ctx, "for-each-ref", "--format=%(objectname) %(refname)", prefix)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for row := range strings.Lines(out) {
		hash, ref, _ := strings.Cut(line(row), " ")
		all[strings.TrimPrefix(ref, prefix)] = hash
	}
	return all, nil
}

// Adopt has a leftover's ref hold the commit of an artefact that is on no blackboard, unless that ref
// holds one already, and removes the artefact's. One of both names the commit at every moment.
func Adopt(ctx context.Context, s *Store, artefact, leftover string) error {
	commit, err := s.Commit(ctx, artefact)
	if err != nil || commit == "" {
		return err
	}
	held, err := s.Commit(ctx, leftover)
	if err != nil {
		return err
	}
	if held == "" {
		if err := s.Hold(ctx, leftover, commit); err != nil {
			return err
		}
	}
	return s.LetGo(ctx, artefact)
}

// Commit returns the commit of a ref, empty when there is none.
func (s *Store) Commit(ctx context.Context, ref string) (string, error) {
	if commit := s.loose(ref); commit != "" {
		return commit, nil
	}
	out, err := s.git(ctx, "rev-parse", "-q", "--verify", "--end-of-options", ref+"^{commit}")
	if exitCode(err) == 1 {
		return "", nil
	}
	return line(out), err
}

// Commits returns the commits of refs, each empty when there is none.
func (s *Store) Commits(ctx context.Context, refs []string) ([]string, error) {
	all := make([]string, len(refs))
	if len(refs) == 0 {
		return all, nil
	}
	out, err := s.run(ctx, command{args: []string{"cat-file", "--batch-check=%(objecttype) %(objectname)"}, stdin: strings.Join(refs, "\n") + "\n"})
	if err != nil {
		return nil, err
	}
	for i, row := range strings.Split(line(out), "\n") {
		if commit, ok := strings.CutPrefix(row, "commit "); ok && i < len(all) {
			all[i] = commit
		}
	}
	return all, nil
}

// Hold has a ref name a commit of the store, on disk when it returns.
func (s *Store) Hold(ctx context.Context, ref, commit string) error {
	_, err := s.git(ctx, "update-ref", ref, commit)
	return err
}

// LetGo removes refs; one that is not there is no error.
func (s *Store) LetGo(ctx context.Context, refs ...string) error {
	if len(refs) == 0 {
		return nil
	}
	var b strings.Builder
	for _, ref := range refs {
		fmt.Fprintf(&b, "delete %s\n", ref)
	}
	_, err := s.run(ctx, command{args: []string{"update-ref", "--stdin"}, stdin: b.String()})
	return err
}

// Resolve returns the whole hash of a commit of the store from its beginning, 7 to 64
// hexadecimal digits. Otherwise the error is ErrNoCommit with the reason. A ref's name
// never counts, even if it looks like a hash.
func (s *Store) Resolve(ctx context.Context, hash string) (string, error) {
	return s.resolve(ctx, hash, nil)
}

// resolve is Resolve with git's further variables.
func (s *Store) resolve(ctx context.Context, hash string, env []string) (string, error) {
	return git.Lookup(hash, func(stdin string, args ...string) (string, error) {
		return s.run(ctx, command{args: args, env: env, stdin: stdin})
	})
}
