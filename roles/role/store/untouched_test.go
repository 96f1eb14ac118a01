package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

// The repository of a read-only tree is exactly as before, whatever its tool did there; what nobody
// touched is not written again.
func TestRepositoryOfAReader(t *testing.T) {
	p := newPerson(t)
	s, elsewhere := p.store(), filepath.Join(t.TempDir(), "elsewhere")
	base := p.commit("file", "one")
	if err := s.Fetch(t.Context(), filepath.Join(p.dir, ".git", "objects"), base, Goal("g")); err != nil {
		t.Fatal(err)
	}
	tree := s.Tree(filepath.Join(t.TempDir(), "trees"), "reader", Seen{Git: "/elsewhere"})
	plan := Plan{Commit: base, Branch: "main", ReadOnly: true}
	contents := func() string {
		return run(t, tree.GitDir(), "sh", "-ec", `find . -printf '%P %y %m %n\n' | sort; sha256sum index HEAD config refs/heads/main objects/info/alternates`)
	}
	inodes := func() string { return run(t, tree.GitDir(), "sh", "-ec", `find . -printf '%P %i %T@\n' | sort`) }
	prepare(t, tree, plan)
	want, first := contents(), inodes()
	prepare(t, tree, plan)
	if again := inodes(); again != first {
		t.Errorf("written again: %s, was %s", again, first)
	}
	for _, does := range []string{
		"echo >>config", "printf x | dd of=HEAD conv=notrunc status=none", "rm index", "ln index hooks/post-checkout", "rm config; mkfifo config",
		"ln config ../tool-has-it", "chmod 644 HEAD", "chmod 755 hooks", "rm -r info; ln -s /etc info", "rm HEAD; ln -s config HEAD", "mkdir -p worktrees/x; echo /tmp >commondir",
		"rm index; mkdir index; chmod 0 index", "chmod 0 objects", "echo x >refs/heads/other; echo x >packed-refs", "rm -r refs",
		"mv HEAD " + elsewhere + "; ln -s " + elsewhere + " HEAD", "echo one >objects/info/http-alternates", "chmod 4600 config", "touch index",
	} {
		run(t, tree.GitDir(), "sh", "-ec", does)
		prepare(t, tree, plan)
		if got := contents(); got != want {
			t.Errorf("after %q:\n%s\nwant\n%s", does, got, want)
		}
		if index, err := os.Stat(tree.index()); err != nil {
			t.Error(err)
		} else if copied, err := os.Stat(filepath.Join(tree.GitDir(), "index")); err != nil || !copied.ModTime().Equal(index.ModTime()) {
			t.Errorf("after %q: the index is of another time: %v", does, err)
		}
	}
	if err := tree.Tidy(t.Context(), base); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(tree.GitDir()); err != nil || len(left) > 0 || !tree.marked(base) {
		t.Errorf("at rest the repository has %v %v", left, err)
	}
	prepare(t, tree, plan)
	if got := contents(); got != want {
		t.Errorf("after a rest:\n%s", got)
	}
}

// A tree that nobody changed is lent again without a run of git, also where a tool could have
// written it; a change of any kind has git make it anew.
func TestCurrentTree(t *testing.T) {
	p := newPerson(t)
	base := p.commit("file", "one", "dir/other", "two", "dir/third", "three")
	other := p.commit("file", "six")
	tree := p.store().Tree(filepath.Join(t.TempDir(), "trees"), "local", Seen{})
	path := os.Getenv("PATH")
	lend := func(commit string, git bool) error {
		t.Setenv("PATH", map[bool]string{true: path}[git])
		defer t.Setenv("PATH", path)
		return tree.Prepare(t.Context(), Plan{Commit: commit, Branch: "main", ReadOnly: true})
	}
	settled := func() { // files are older than the index that names them
		t.Helper()
		for range 10 {
			if err := lend(base, true); err != nil {
				t.Fatal(err)
			}
			if unchanged(tree, base) {
				return
			}
			time.Sleep(10 * time.Millisecond) // a tick of the file system's clock
		}
		t.Fatal("git has always to look")
	}
	settled()
	for range 2 {
		if err := lend(base, false); err != nil {
			t.Errorf("unchanged: %v", err)
		}
	}
	for _, does := range []string{
		"printf eno >file", "touch -r file ../was; printf eno >file; touch -r ../was file", "touch file", "chmod 600 file; chmod 755 file", "rm file", "rm file; ln -s dir/other file",
		"rm -r dir", "cp file new; mv new file", "rm file; mkdir file", "mv dir/other dir/x; mv dir/third dir/other; mv dir/x dir/third", "cp ../index ../new; mv ../new ../index", "rm ../checked",
	} {
		run(t, tree.Dir(), "sh", "-ec", does)
		if err := lend(base, false); !errors.Is(err, ErrNoGit) {
			t.Errorf("after %q git is not asked: %v", does, err)
		}
		settled()
		if got := run(t, tree.Dir(), "sh", "-ec", "cat file dir/other dir/third; find . -type f | sort"); got != "onetwothree./dir/other\n./dir/third\n./file" {
			t.Errorf("after %q the tree has %q", does, got)
		}
	}
	run(t, tree.Dir(), "sh", "-ec", "echo x >new; mkdir -p dir/deep; echo y >dir/deep/new") // other files are removed without git
	if err := lend(base, false); err != nil {
		t.Errorf("with other files: %v", err)
	}
	if got := run(t, tree.Dir(), "sh", "-ec", "find . -type f | sort"); got != "./.git\n./dir/other\n./dir/third\n./file" {
		t.Errorf("other files are left: %q", got)
	}
	if err := lend(other, false); !errors.Is(err, ErrNoGit) {
		t.Errorf("another commit without git: %v", err)
	}
}
