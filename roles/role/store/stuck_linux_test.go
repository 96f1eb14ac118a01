package store

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// asStranger makes a directory of an ordinary user.
func asStranger(t *testing.T) (dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can have files of two users\nhint: sudo env PATH=\"$PATH\" make test")
	}
	dir, err := os.MkdirTemp("/tmp", "sett-stuck-") // the directories above TMPDIR may let nobody through
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chown(dir, stranger, stranger); err != nil {
		t.Fatal(err)
	}
	return dir
}

// as runs f on a thread that has a user's rights to files. Programs that f starts are root's.
func as(uid int, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread ends with the goroutine
		_ = unix.Setfsuid(uid)
		f()
	}()
	<-done
}

// mounted mounts a file system of its own in a directory, which nobody can remove then.
func mounted(t *testing.T, dir string) {
	t.Helper()
	if err := unix.Mount("sett-test", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("this machine lets the test mount nothing: %v", err)
	}
	t.Cleanup(func() { unmount(filepath.Dir(filepath.Dir(dir))) })
}

// unmount unmounts all below the place that a directory is in.
func unmount(below string) {
	for _, at := range mountsBelow(below) {
		_ = unix.Unmount(at, 0)
	}
}

// TestStuckFiles: files that cannot be removed are set aside with the directory that has them, wherever the tool left
// them; the next grant finds a clean tree, and they go once they can.
func TestStuckFiles(t *testing.T) {
	for what, tc := range map[string]struct {
		dir  string
		plan Plan
		then func(*Tree) error
	}{
		"tree":                             {"tree/target/sub", Plan{}, nil},
		"its repository":                   {"tree/.git/objects/x", Plan{}, nil},
		"the git of one that is read-only": {"git/objects/x", Plan{ReadOnly: true}, nil},
		"beside it":                        {"beside/x", Plan{}, raze},
		"tidied":                           {"tree/target/sub", Plan{}, func(tree *Tree) error { return tree.Tidy(context.Background(), "") }},
		"emptied":                          {"tree/target/sub", Plan{}, (*Tree).Empty},
	} {
		t.Run(what, func(t *testing.T) {
			p := newPerson(t)
			commit := p.commit("file", "1\n")
			s := p.store()
			tree := prepared(t, s, commit)
			tc.plan.Commit, tc.plan.Branch = commit, "main"
			prepare(t, tree, tc.plan)
			at := filepath.Join(tree.Place(), tc.dir)
			write(t, filepath.Join(at, "f"), "x")
			mounted(t, at)
			t.Cleanup(func() { unmount(tree.Place()) })
			write(t, filepath.Join(at, "theirs"), "somebody's")
			write(t, filepath.Join(tree.Dir(), "new"), "x")
			if tc.then != nil {
				if err := tc.then(tree); err != nil {
					t.Fatal(err)
				}
			}
			prepare(t, tree, tc.plan)
			if got := run(t, tree.Dir(), "git", "status", "--porcelain"); got != "" {
				t.Errorf("the next grant finds %q", got)
			}
			set, lie := SetAside(tree), StuckIn(tree.Place())
			if len(set) != 1 || len(lie) != 1 || set[0].Path != lie[0] || set[0].Err == nil {
				t.Fatalf("set aside: %+v; there are %v", set, lie)
			}
			if got := Remedy(lie[0]); !strings.HasPrefix(got, "umount "+lie[0]+"/") || !strings.HasSuffix(got, " && rm -rf "+lie[0]) {
				t.Errorf("the remedy is %q", got)
			}
			if got := RemoveStuck(tree.Place()); len(got) != 0 {
				t.Errorf("removed %v", got)
			}
			if got := run(t, tree.Place(), "find", ".", "-name", "theirs"); got == "" {
				t.Error("a file of the mount is gone")
			}
			unmount(tree.Place())
			if got := RemoveStuck(tree.Place()); len(got) != 1 || len(StuckIn(tree.Place())) != 0 {
				t.Errorf("removed %v of %v", got, lie)
			}
		})
	}
}

// TestMountsAreKeptOut: a directory of somebody else's that a tool mounted in its tree stays as it is when the tree's
// changes are kept.
func TestMountsAreKeptOut(t *testing.T) {
	p := newPerson(t)
	commit := p.commit("file", "1\n")
	tree := prepared(t, p.store(), commit)
	other := t.TempDir()
	run(t, other, "git", "init", "-q")
	write(t, filepath.Join(other, "theirs"), "somebody's")
	at := filepath.Join(tree.Dir(), "target")
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(other, at, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("this machine lets the test mount nothing: %v", err)
	}
	t.Cleanup(func() { unmount(tree.Place()) })
	write(t, filepath.Join(tree.Dir(), "new"), "x")
	kept, err := tree.Keep(t.Context(), Changes{Start: commit, Message: "left"}, Leftover("c", "writer", 1))
	if err != nil || kept.Commit == "" {
		t.Fatalf("%+v: %v", kept, err)
	}
	if got := run(t, other, "git", "status", "--porcelain"); got != "?? theirs" {
		t.Errorf("the other repository: %q", got)
	}
}

// TestStuckFilesAreBounded: what cannot be removed does not fill the disk without end, and the reason names the remedy.
func TestStuckFilesAreBounded(t *testing.T) {
	p := newPerson(t)
	commit := p.commit("file", "1\n")
	tree := prepared(t, p.store(), commit)
	for n := range mostStuck + 1 {
		at := filepath.Join(tree.Dir(), "target", "sub")
		write(t, filepath.Join(at, "f"), "x")
		mounted(t, at)
		t.Cleanup(func() { unmount(tree.Place()) })
		err := tree.Prepare(t.Context(), Plan{Commit: commit, Branch: "main"})
		if last := n == mostStuck; last != (err != nil) || last && !strings.Contains(err.Error(), "umount ") {
			t.Fatalf("%d: %v", n, err)
		}
	}
	unmount(tree.Place())
	mounted(t, filepath.Join(tree.Dir(), "target", "sub"))
	prepare(t, tree, Plan{Commit: commit, Branch: "main"})
	if all := StuckIn(tree.Place()); len(all) != 1 {
		t.Errorf("there are still %v", all)
	}
}

// TestFilesOfAnotherUser: an ordinary user sets a tree aside in which root has written, or that root has taken.
func TestFilesOfAnotherUser(t *testing.T) {
	for what, script := range map[string]string{"a directory below": `mkdir -p target/sub; echo x >target/sub/out.o`, "the tree": `echo x >file; chown -R 0:0 .`} {
		t.Run(what, func(t *testing.T) {
			top := asStranger(t)
			p := newPerson(t)
			p.commit("file", "1\n")
			s, err := Create(t.Context(), filepath.Join(top, "store"), "sha1", []string{p.objects()})
			if err != nil {
				t.Fatal(err)
			}
			tree := s.Tree(filepath.Join(top, "trees"), "writer", Seen{})
			if err := tree.Make(); err != nil {
				t.Fatal(err)
			}
			run(t, top, "chown", "-R", "4321:4321", ".")
			run(t, tree.Dir(), "sh", "-c", script)
			var full, aside error
			as(stranger, func() {
				full = empty(tree.Dir())
				_, aside = Aside(tree.Dir(), full)
			})
			if _, still := os.Lstat(tree.Dir()); full == nil || aside != nil || !gone(still) || len(StuckIn(tree.Place())) != 1 {
				t.Errorf("emptied: %v, set aside: %v, the tree: %v", full, aside, still)
			}
		})
	}
}
