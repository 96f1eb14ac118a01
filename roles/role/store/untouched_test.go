package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A read-only tree behind a wall is lent again at the same commit without a run of git; at
// another commit, after another use or another start of the machine, it is made anew.
func TestUntouchedTree(t *testing.T) {
	p := newPerson(t)
	commits := []string{p.commit("file", "one"), p.commit("file", "two")}
	s, dir := p.store(), t.TempDir()
	tree := s.Tree(filepath.Join(dir, "trees"), "reader", Seen{Git: "/elsewhere"})
	path := os.Getenv("PATH")
	lend := func(commit string, readOnly, git bool) error {
		t.Helper()
		t.Setenv("PATH", map[bool]string{true: path}[git])
		defer t.Setenv("PATH", path)
		return tree.Prepare(t.Context(), Plan{Commit: commit, Branch: "main", ReadOnly: readOnly})
	}
	has := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(filepath.Join(tree.Dir(), "file")); err != nil || string(got) != want {
			t.Errorf("the tree has %q, %v, want %q", got, err, want)
		}
		if head, err := os.ReadFile(filepath.Join(tree.GitDir(), "refs", "heads", "main")); err == nil && !strings.HasPrefix(string(head), commits[map[string]int{"one": 0, "two": 1}[want]]) {
			t.Errorf("the tool's repository is at %s", head)
		}
	}
	spoil := func() {
		t.Helper()
		if err := errors.Join(os.WriteFile(filepath.Join(tree.Dir(), "file"), []byte("spoilt"), 0o644), os.WriteFile(filepath.Join(tree.GitDir(), "config"), []byte("spoilt"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(lend(commits[0], true, true))
	has("one")
	must(os.WriteFile(filepath.Join(tree.GitDir(), "config"), []byte("spoilt"), 0o644)) // that much a tool can write
	must(lend(commits[0], true, false))
	has("one")
	if config, _ := os.ReadFile(filepath.Join(tree.GitDir(), "config")); string(config) == "spoilt" {
		t.Error("the tool's repository is that of the tool before")
	}
	if err := lend(commits[1], true, false); !errors.Is(err, ErrNoGit) {
		t.Errorf("another commit without git: %v", err)
	}
	must(lend(commits[1], true, true))
	has("two")
	must(lend(commits[1], false, true))
	spoil()
	must(lend(commits[1], true, true))
	has("two")
	must(os.WriteFile(tree.markFile(), []byte(commits[1]+" another-start"), 0o600))
	spoil()
	must(lend(commits[1], true, true))
	has("two")

	tree = s.Tree(filepath.Join(dir, "trees"), "local", Seen{})
	must(lend(commits[0], true, true))
	spoil()
	must(lend(commits[0], true, true))
	has("one")
}
