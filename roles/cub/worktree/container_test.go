package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A workspace whose repository lies elsewhere says so where that is not to be
// seen, as in a container, and works where it is.
func TestRepositoryElsewhere(t *testing.T) {
	r := newCommitted(t)
	beside := filepath.Join(t.TempDir(), "beside")
	r.git("worktree", "add", "-q", beside)
	linked := filepath.Join(t.TempDir(), "linked")
	if err := os.Rename(filepath.Join(r.dir, ".git"), linked); err != nil {
		t.Fatal(err)
	}
	submodule := filepath.Join(t.TempDir(), "sub")
	if err := os.MkdirAll(submodule, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(submodule, ".git"), []byte("gitdir: ../../.git/modules/sub\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(linked, filepath.Join(r.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := New(r.dir).Head(t.Context()); err != nil {
		t.Errorf("a link that leads there: %v", err)
	}
	if err := os.Rename(linked, linked+".away"); err != nil {
		t.Fatal(err)
	}
	for dir, target := range map[string]string{
		r.dir:     linked,
		beside:    filepath.Join(r.dir, ".git/worktrees/beside"),
		submodule: "/.git/modules/sub",
	} {
		_, err := New(dir).Root(t.Context())
		if !errors.Is(err, ErrNoRepository) || !strings.Contains(err.Error(), filepath.Join(dir, ".git")+" only points to ") ||
			!strings.Contains(err.Error(), target) || !strings.Contains(err.Error(), "container") {
			t.Errorf("%s: %v", dir, err)
		}
		if _, err := New(dir).Resolve(t.Context(), strings.Repeat("a", 40)); !errors.Is(err, ErrNoRepository) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// Facts are read without a trace, so that they can be read where nothing may be
// written: not even an index that is out of date is refreshed.
func TestFactsWriteNothing(t *testing.T) {
	r := newCommitted(t)
	head, _ := r.head()
	r.write("a", "changed\n")
	r.write("dir/b", "first b\n") // same content, other time
	before := traces(t, r.dir)
	tree := r.tree()
	if _, err := tree.Root(t.Context()); err != nil {
		t.Error(err)
	}
	if _, _, err := tree.Head(t.Context()); err != nil {
		t.Error(err)
	}
	if dirty, err := tree.Dirty(t.Context()); err != nil || len(dirty) != 1 {
		t.Errorf("dirty %q, %v", dirty, err)
	}
	for _, hash := range []string{head, head[:9]} {
		if _, err := tree.Resolve(t.Context(), hash); err != nil {
			t.Error(err)
		}
	}
	if after := traces(t, r.dir); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	r.git("status") // as a person does
	if traces(t, r.dir) == before {
		t.Error("the index was not out of date: the test shows nothing")
	}
}

// traces describes every file and directory so that a write can be seen.
func traces(t *testing.T, dir string) string {
	t.Helper()
	out := ""
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			out += fmt.Sprintln(path, info.Mode(), info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
