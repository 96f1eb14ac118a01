package worktree

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRoot(t *testing.T) {
	r := newCommitted(t)
	root, err := filepath.EvalSymlinks(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{r.dir, filepath.Join(r.dir, "dir")} {
		if got, err := New(dir).Root(t.Context()); err != nil || got != root {
			t.Errorf("%s: got %s, %v, want %s", dir, got, err, root)
		}
	}
	empty, broken, bare := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(broken, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	(repo{t, bare}).git("init", "-q", "--bare")
	for _, dir := range []string{empty, broken, bare} {
		if _, err := New(dir).Root(t.Context()); !errors.Is(err, ErrNoRepository) {
			t.Errorf("%s: got %v, want %v", dir, err, ErrNoRepository)
		}
	}
	if _, err := New(filepath.Join(empty, "absent")).Root(t.Context()); err == nil {
		t.Error("a directory that does not exist has a root")
	}
}

// TestRootStaysBelow: a repository further up is never taken for one whose .git
// is broken, nor is the tree that the configuration names.
func TestRootStaysBelow(t *testing.T) {
	outer := newCommitted(t)
	inner := repo{t, filepath.Join(outer.dir, "inner")}
	outer.write("inner/.git/HEAD", "nonsense")
	if _, err := New(inner.dir).Root(t.Context()); !errors.Is(err, ErrNoRepository) {
		t.Errorf("got %v, want %v", err, ErrNoRepository)
	}
	outer.remove("inner")
	elsewhere := t.TempDir()
	outer.git("config", "core.worktree", elsewhere)
	if dirty, err := outer.tree().Dirty(t.Context()); err != nil || len(dirty) > 0 {
		t.Errorf("core.worktree was followed: %v, %v", dirty, err)
	}
}

func TestHead(t *testing.T) {
	r := newRepo(t)
	if commit, branch := r.head(); commit != "" || branch != "main" {
		t.Errorf("unborn: got %q on %q", commit, branch)
	}
	r.write("f", "x")
	first := r.commit("first")
	if commit, branch := r.head(); commit != first || branch != "main" {
		t.Errorf("got %q on %q", commit, branch)
	}
	r.git("checkout", "-q", "-b", "feature/x")
	if _, branch := r.head(); branch != "feature/x" {
		t.Errorf("got branch %q", branch)
	}
	r.git("checkout", "-q", "--detach")
	if commit, branch := r.head(); commit != first || branch != "" {
		t.Errorf("detached: got %q on %q", commit, branch)
	}
	if _, _, err := New(t.TempDir()).Head(t.Context()); !errors.Is(err, ErrNoRepository) {
		t.Errorf("got %v", err)
	}
}

func TestDirty(t *testing.T) {
	r := newCommitted(t)
	check := func(want ...string) {
		t.Helper()
		got, err := r.tree().Dirty(t.Context())
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	check()
	r.git("config", "status.showUntrackedFiles", "no")
	r.git("config", "status.relativePaths", "true")
	r.write("a", "changed")
	r.remove("run.sh")
	r.write("new file\nwith ä", "x")
	r.write("fresh/deep/x", "x")
	r.write("x.log", "ignored")
	r.write("staged", "x")
	r.git("add", "staged")
	r.git("mv", "dir/b", "dir/c")
	check(" M a", "D  dir/b", "A  dir/c", " D run.sh", "A  staged", "?? fresh/", "?? new file\nwith ä")
}

func TestHasCommit(t *testing.T) {
	r := newCommitted(t)
	head, _ := r.head()
	blob := r.git("rev-parse", "HEAD:a")
	r.git("tag", "-a", "-m", "x", "annotated", "HEAD")
	tag := r.git("rev-parse", "annotated")
	r.git("branch", "deadbeef")
	r.git("branch", strings.Repeat("ab", 20))
	for _, good := range []string{head, head[:7], head[:12], strings.ToUpper(head), strings.ToUpper(head[:9])} {
		if _, err := r.tree().Resolve(t.Context(), good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	bad := []struct{ hash, why string }{
		{"", "not a commit hash"}, {"HEAD", "not a commit hash"}, {head[:6], "not a commit hash"},
		{head + "^", "not a commit hash"}, {head + "\n", "not a commit hash"}, {"--batch-all-objects", "not a commit hash"},
		{":/first", "not a commit hash"}, {head[:10] + "~1", "not a commit hash"}, {strings.Repeat("a", 65), "not a commit hash"},
		{blob, "is a blob"}, {blob[:10], "is a blob"}, {tag, "is a tag"}, {strings.Repeat("0", 40), "no object"}, {"0123456", "no object"},
		{strings.Repeat("a", 64), "no object"}, {head + "a", "no object"}, {"deadbeef", "no object"}, {strings.Repeat("ab", 20), "no object"},
	}
	for _, b := range bad {
		_, err := r.tree().Resolve(t.Context(), b.hash)
		if !errors.Is(err, ErrNoCommit) || !strings.Contains(err.Error(), b.why) {
			t.Errorf("%q: got %v, want %q", b.hash, err, b.why)
		}
	}
}

// TestForeignOwner: a directory that was named is worked with whoever owns it;
// one that was only found above it is left to git's own judgement. Only root can
// give a directory away; anybody else sees that nothing is vouched for.
func TestForeignOwner(t *testing.T) {
	r := newCommitted(t)
	want := os.Geteuid() == 0
	if want {
		for _, name := range []string{"", ".git"} {
			if err := os.Chown(filepath.Join(r.dir, name), 12345, 12345); err != nil {
				t.Fatal(err)
			}
		}
	}
	root, err := r.tree().find()
	if err != nil {
		t.Fatal(err)
	}
	if got := r.tree().foreign(root); got != want {
		t.Errorf("foreign: got %t, want %t", got, want)
	}
	if _, _, err := r.tree().Head(t.Context()); err != nil {
		t.Error(err)
	}
	if New(filepath.Join(r.dir, "dir")).foreign(root) {
		t.Error("a directory found above is vouched for")
	}
}

func TestNoGit(t *testing.T) {
	r := newCommitted(t)
	t.Setenv("PATH", t.TempDir())
	_, _, err := r.tree().Head(t.Context())
	if !errors.Is(err, ErrNoGit) || !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "not on the PATH") {
		t.Errorf("got %v", err)
	}
	if _, err := r.tree().Root(t.Context()); !errors.Is(err, ErrNoGit) {
		t.Errorf("a repository without git: %v", err)
	}
	if _, err := r.tree().Resolve(t.Context(), strings.Repeat("a", 40)); !errors.Is(err, ErrNoGit) || errors.Is(err, ErrNoCommit) {
		t.Errorf("a commit without git: %v", err)
	}
}
