package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRestoreUnborn(t *testing.T) {
	tests := []struct {
		name string
		tool func(r repo)
		kept map[string]string
	}{
		{"nothing", func(r repo) {}, nil},
		{"files", func(r repo) { r.write("f", "f\n"); r.write("g", "g\n"); r.git("add", "g") }, map[string]string{"f": "f\n", "g": "g\n"}},
		{"commits", func(r repo) { r.write("f", "f\n"); r.commit("f"); r.write("f", "later\n") }, map[string]string{"f": "later\n", "parent 1:f": "f\n"}},
		{"another branch", func(r repo) { r.git("checkout", "-q", "-b", "b"); r.write("f", "f\n"); r.commit("f") }, map[string]string{"f": "f\n"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRepo(t)
			want := r.shape()
			test.tool(r)
			kept, err := r.tree().Restore(t.Context(), "", "main", "claim/agent-1", "m")
			if err != nil || (kept == "") != (test.kept == nil) {
				t.Fatalf("got %q, %v", kept, err)
			}
			if got := r.shape(); got != want {
				t.Errorf("the tree is\n%s\nwant\n%s", got, want)
			}
			for name, text := range test.kept {
				if !r.isKept(name, text) {
					t.Errorf("%s is not kept", name)
				}
			}
		})
	}
}

func TestRestoreRefuses(t *testing.T) {
	r := newCommitted(t)
	head, _ := r.head()
	r.write("a", "changed")
	want := r.shape()
	tests := []struct{ commit, branch, ref, why string }{
		{"", "", "k", "neither commit nor branch"},
		{"HEAD", "main", "k", "not a commit hash"},
		{strings.Repeat("1", 40), "main", "k", "no object"},
		{head, "a..b", "k", "not a name for a ref"},
		{head, "main", "", "not a name for a ref"},
		{head, "main", "../heads/main", "not a name for a ref"},
		{head, "main", "a b", "not a name for a ref"},
	}
	for _, test := range tests {
		_, err := r.tree().Restore(t.Context(), test.commit, test.branch, test.ref, "m")
		if err == nil || !strings.Contains(err.Error(), test.why) {
			t.Errorf("%v: got %v", test, err)
		}
	}
	if _, err := New(filepath.Join(r.dir, "dir")).Restore(t.Context(), head, "main", "k", "m"); err == nil {
		t.Error("restored from below the root")
	}
	if got := r.shape(); got != want {
		t.Errorf("the tree is\n%s\nwant\n%s", got, want)
	}
	r.git("checkout", "-q", "--detach")
	r.git("branch", "-q", "-D", "main")
	r.git("branch", "main/sub")
	if _, err := r.tree().Restore(t.Context(), head, "main", "k", "m"); err == nil || !strings.Contains(err.Error(), "main/sub") {
		t.Errorf("a branch in the way: got %v", err)
	}
	if r.git("show", Keep+"k:a") != "changed" {
		t.Error("the change is lost")
	}
	r.remove(".git")
	if _, err := r.tree().Restore(t.Context(), head, "main", "k", "m"); !errors.Is(err, ErrNoRepository) {
		t.Errorf("without .git: got %v", err)
	}
}

// TestRestoreLinkedWorktree: the tree need not be the main one.
func TestRestoreLinkedWorktree(t *testing.T) {
	main := newCommitted(t)
	r := repo{t, filepath.Join(t.TempDir(), "linked")}
	main.git("worktree", "add", "-q", "-b", "feature", r.dir)
	commit, branch := r.head()
	want, wantMain := r.shape(), main.shape()
	r.write("a", "changed\n")
	r.commit("changed")
	r.write("x", "x\n")
	main.write(".git/worktrees/linked/index.lock", "")
	main.write(".git/packed-refs.lock", "")
	kept, err := r.tree().Restore(t.Context(), commit, branch, "k", "m")
	if err != nil || kept != Keep+"k" {
		t.Fatalf("got %q, %v", kept, err)
	}
	if got := r.shape(); got != want {
		t.Errorf("the tree is\n%s\nwant\n%s", got, want)
	}
	if got := main.shape(); got != wantMain {
		t.Errorf("the main tree is\n%s\nwant\n%s", got, wantMain)
	}
}

// TestRestoreSubmodules: they are neither entered nor moved, in whatever state.
func TestRestoreSubmodules(t *testing.T) {
	library := newCommitted(t)
	r := newCommitted(t)
	r.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.dir, "lib")
	r.commit("library")
	commit, branch := r.head()
	lib := repo{t, filepath.Join(r.dir, "lib")}
	lib.write("in", "in\n")
	lib.commit("in the submodule")
	lib.write("more", "more\n")
	want := lib.shape()
	if kept, err := r.tree().Restore(t.Context(), commit, branch, "k", "m"); err != nil || kept != "" {
		t.Errorf("a submodule counts: %q, %v", kept, err)
	}
	r.write("a", "changed\n")
	if _, err := r.tree().Restore(t.Context(), commit, branch, "k", "m"); err != nil {
		t.Error(err)
	}
	if got := lib.shape(); got != want {
		t.Errorf("the submodule is\n%s\nwant\n%s", got, want)
	}
	lib.git("checkout", "-q", "--orphan", "nothing") // which git add would refuse
	r.write("a", "changed\n")
	if _, err := r.tree().Restore(t.Context(), commit, branch, "k", "m"); err != nil {
		t.Error(err)
	}
}

// TestRestorePutsRepositoriesAside: their history is not lost either.
func TestRestorePutsRepositoriesAside(t *testing.T) {
	r := newCommitted(t)
	commit, branch := r.head()
	for range 2 {
		r.git("init", "-q", "sub")
		r.write("sub/f", "f\n")
		if _, err := r.tree().Restore(t.Context(), commit, branch, "k", "m"); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"git.1", "git.2"} {
		if _, err := os.Stat(filepath.Join(r.dir, ".git/sett/k/sub", name, "HEAD")); err != nil {
			t.Error(err)
		}
	}
}

// TestLockOfLivingProcess: it is waited for, and never taken away.
func TestLockOfLivingProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Log("no /proc here: holders of files cannot be seen, locks are judged by their age alone")
		return
	}
	r := newCommitted(t)
	commit, branch := r.head()
	r.write("a", "changed\n")
	lock := filepath.Join(r.dir, ".git", "index.lock")
	f, err := os.Create(lock)
	if err != nil {
		t.Fatal(err)
	}
	tree := r.tree()
	tree.lockDeadline = 200 * time.Millisecond
	if _, err := tree.Restore(t.Context(), commit, branch, "k", "m"); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "process") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(lock); err != nil {
		t.Fatalf("the lock was taken away: %v", err)
	}
	tree.lockDeadline = time.Minute
	done := make(chan error)
	go func() {
		_, err := tree.Restore(context.Background(), commit, branch, "k", "m")
		done <- err
	}()
	f.Close()
	if err := <-done; err != nil {
		t.Errorf("after it was let go: %v", err)
	}
}

// TestLockThatChanges: a lock that is worked on stays.
func TestLockThatChanges(t *testing.T) {
	r := newCommitted(t)
	lock := filepath.Join(r.dir, ".git", "index.lock")
	r.write(".git/index.lock", "x")
	tree := r.tree()
	tree.patience, tree.lockDeadline = 200*time.Millisecond, 500*time.Millisecond
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				os.Chtimes(lock, now, now)
			case <-stop:
				return
			}
		}
	}()
	commit, branch := r.head()
	_, err := tree.Restore(t.Context(), commit, branch, "k", "m")
	close(stop)
	<-stopped
	if _, gone := os.Stat(lock); !errors.Is(err, context.DeadlineExceeded) || gone != nil {
		t.Errorf("got %v, %v", err, gone)
	}
}

// TestUnlockFiles: what the owner cannot read is made readable, but for what is
// ignored.
func TestUnlockFiles(t *testing.T) {
	r := newCommitted(t)
	commit, branch := r.head()
	r.write("closed/f", "f\n")
	r.write("build/secret", "s\n")
	r.write("b.log", "s\n")
	modes := map[string]fs.FileMode{"closed/f": 0o200, "closed": 0o100, "build/secret": 0, "b.log": 0}
	for _, name := range []string{"closed/f", "closed", "build/secret", "b.log"} {
		if err := os.Chmod(filepath.Join(r.dir, name), modes[name]); err != nil {
			t.Fatal(err)
		}
	}
	x, err := r.tree().newRestoration(t.Context(), commit, branch, "k", "m")
	if err != nil {
		t.Fatal(err)
	}
	if !x.unlockFiles(t.Context()) || x.unlockFiles(t.Context()) {
		t.Error("something is to be changed the first time, and nothing the second")
	}
	for name, want := range map[string]fs.FileMode{"closed": 0o700, "closed/f": 0o600, "build/secret": 0, "b.log": 0} {
		info, err := os.Lstat(filepath.Join(r.dir, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
	if kept, err := r.tree().Restore(t.Context(), commit, branch, "k", "m"); err != nil || r.git("show", kept+":closed/f") != "f" {
		t.Errorf("got %q, %v", kept, err)
	}
}

// TestCommandIsCancelled: a git that hangs is killed with its children.
func TestCommandIsCancelled(t *testing.T) {
	r := newCommitted(t)
	bin := t.TempDir()
	started := filepath.Join(bin, "started")
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\nsleep 600 &\n: >'"+started+"'\nwait\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := r.tree().Dirty(ctx)
		done <- err
	}()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if _, err := os.Stat(started); err == nil {
			break
		}
	}
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("still waiting")
	}
}
