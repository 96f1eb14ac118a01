package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sett/roles/role"
)

// objectsIn makes directories of objects, some of which borrow from others.
func objectsIn(t *testing.T, alternates map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for dir, text := range alternates {
		file := filepath.Join(root, dir, "objects", "info", "alternates")
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(strings.ReplaceAll(text, "ROOT", root)), 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// A repository borrows as git reads its files: from several, by relative and quoted paths, and from those that borrow in turn.
func TestBorrowed(t *testing.T) {
	t.Parallel()
	root := objectsIn(t, map[string]string{
		"own": "# comment\n\n../../a/objects\n\"ROOT/b b/objects\"\nROOT/gone/objects\n", "a": "ROOT/c/objects\nROOT/own/objects\n", "b b": "", "c": "",
	})
	b, err := Borrowed(filepath.Join(root, "own", "objects"))
	var want []string
	for _, dir := range []string{"own", "a", "b b", "c"} {
		want = append(want, filepath.Join(root, dir, "objects"))
	}
	if err != nil || !slices.Equal(b.Objects, want) {
		t.Errorf("%q, %v, want %q", b.Objects, err, want)
	}
	lost := Lost{filepath.Join(root, "gone", "objects"), filepath.Join(root, "own", "objects", "info", "alternates")}
	if !slices.Equal(b.Lost, []Lost{lost}) || b.Mend() != "restore "+lost.Dir || !strings.Contains(b.Why(), lost.Dir) {
		t.Errorf("lost %+v, %s, %s", b.Lost, b.Why(), b.Mend())
	}
}

// Of a repository whose objects are a link, the target is a part; one with more parts elsewhere is refused.
func TestPartsOutside(t *testing.T) {
	t.Parallel()
	root := objectsIn(t, map[string]string{"real": "ROOT/lent/objects\n", "lent": "", "git/modules/m": ""})
	dir, objects := filepath.Join(root, "git"), filepath.Join(root, "real", "objects")
	if err := os.Symlink("../real/objects", filepath.Join(dir, "objects")); err != nil {
		t.Fatal(err)
	}
	o, err := PartsOutside(dir)
	if lent := []string{filepath.Join(root, "lent", "objects")}; err != nil || o.Objects != objects || !slices.Equal(o.Lent, lent) {
		t.Errorf("%+v, %v", o, err)
	}
	if err := os.Symlink("../real", filepath.Join(dir, "refs")); err != nil {
		t.Fatal(err)
	}
	if _, err := PartsOutside(dir); err == nil || !strings.Contains(err.Error(), "git/refs is a link to "+root+"/real") {
		t.Errorf("with refs elsewhere: %v", err)
	}
}

// A branch has no commit yet where none was made. Where one cannot be read, the reason is named.
func TestUnborn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do         func(t *testing.T, g Repository, run func(...string) string)
		want, hint string
	}{
		"new":     {func(_ *testing.T, _ Repository, run func(...string) string) { run("switch", "-q", "--orphan", "new") }, "", ""},
		"folder":  {func(t *testing.T, g Repository, _ func(...string) string) { toRef(t, g, "main/x", "") }, "", ""},
		"emptied": {func(t *testing.T, g Repository, _ func(...string) string) { toRef(t, g, "main", "") }, "refs/heads/main: it is empty", "git fsck; the last line of "},
		"no hash": {func(t *testing.T, g Repository, _ func(...string) string) { toRef(t, g, "main", "x\n") }, "main", "git fsck"},
		"no commit": {func(t *testing.T, g Repository, _ func(...string) string) {
			toRef(t, g, "main", strings.Repeat("12", 20)+"\n")
		}, "commit 1212121212 of HEAD cannot be read", "git fsck"},
		"lent": {func(t *testing.T, g Repository, run func(...string) string) {
			run("repack", "-adq")
			run("prune-packed")
			if err := os.Rename(filepath.Join(g.Dir, ".git", "objects", "pack"), filepath.Join(t.TempDir(), "pack")); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(g.Dir, ".git", "objects", "info", "alternates"), []byte("/nowhere/objects\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "borrows objects from /nowhere/objects", "restore /nowhere/objects"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, run := repository(t)
			if name == "folder" {
				run("switch", "-q", "--orphan", "other")
				run("branch", "-D", "main")
				run("symbolic-ref", "HEAD", "refs/heads/main")
			}
			c.do(t, g, run)
			if head := g.Head(t.Context()); head != "" {
				t.Fatalf("HEAD is %s", head)
			}
			err := Unborn(t.Context(), g, "HEAD")
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var e *role.Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(e.Hint, c.hint) {
				t.Errorf("%v, hint %+v", err, e)
			}
		})
	}
}

// toRef writes the file of a branch.
func toRef(t *testing.T, g Repository, branch, text string) {
	t.Helper()
	file := filepath.Join(g.Dir, ".git", filepath.FromSlash(BranchRef(branch)))
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// An error of git's that comes of a damage has the way to mend it.
func TestDamageHasHint(t *testing.T) {
	t.Parallel()
	g, _ := repository(t)
	if err := os.WriteFile(filepath.Join(g.Dir, ".git", "index"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := g.Dirt(t.Context())
	var e *role.Error
	if !errors.As(err, &e) || !strings.HasPrefix(e.Hint, "rm .git/index && git reset") {
		t.Errorf("%v, hint %+v", err, e)
	}
	for said, want := range map[string]string{
		"git status: git-lfs filter-process: 1: git-lfs: not found\nfatal: the remote end hung up unexpectedly": "install git-lfs, then git lfs install",
		"git status: fatal: x.bin: clean filter 'lfs' failed":                                                   "install git-lfs, then git lfs install",
		"git ls-tree: not a tree object":                                                                        "git fsck: it names the objects that the repository lacks",
		"git ls-files: index file corrupt":                                                                      `rm "$(git rev-parse --git-path index)" && git reset: the index is damaged; files stay as they are`,
		"git status: not a git repository: 'git-lfs'":                                                           "",
	} {
		if got := mended(said); got != want {
			t.Errorf("%s\nhas the hint %q, want %q", said, got, want)
		}
	}
}
