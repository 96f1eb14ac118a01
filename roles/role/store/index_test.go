package store

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An index is read as git reads it, in both formats; one of another form is made anew.
func TestIndex(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		p := newPerson(t, "--object-format="+format)
		deep := strings.Repeat(strings.Repeat("n", 200)+"/", 6)
		p.commit("a", "1", "ab", "1", "a b/ü\n\x01", "1", "d/e/f", "1", "d/g", "1", "exactly8", "1", deep+"x", "1")
		p.git("update-index", "--add", "--cacheinfo", "160000,"+p.git("rev-parse", "HEAD")+",module/one")
		p.git("commit", "-qm", "a submodule")
		s := p.store()
		tree := s.Tree(filepath.Join(t.TempDir(), "trees"), "writer", Seen{})
		plan := Plan{Commit: p.git("rev-parse", "HEAD"), Branch: "main"}
		prepare(t, tree, plan)
		has, err := tree.entries()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(strings.TrimSuffix(p.git("ls-files", "-z"), "\x00"), "\x00")
		if got := slices.Sorted(maps.Keys(has.files)); !slices.Equal(got, want) {
			t.Errorf("%s: files %q, want %q", format, got, want)
		}
		for name, module := range has.files {
			if module != (name == "module/one") {
				t.Errorf("%s: is %q a submodule? %v", format, name, module)
			}
		}
		if !has.folders["d/e"] || !has.folders["d"] || !has.folders["module"] || has.folders["module/one"] || has.folders["a"] || len(has.folders) != 10 {
			t.Errorf("%s: folders %q", format, slices.Sorted(maps.Keys(has.folders)))
		}
		for name, form := range map[string]func() error{
			"version 4": func() error { _, err := tree.git(t.Context(), nil, "update-index", "--index-version", "4"); return err },
			"cut off":   func() error { return os.Truncate(tree.index(), 200) },
			"empty":     func() error { return os.Truncate(tree.index(), 0) },
			"none":      func() error { return os.Remove(tree.index()) },
		} {
			if err := form(); err != nil {
				t.Fatal(err)
			}
			if _, err := tree.entries(); !errors.Is(err, errIndex) && !gone(err) {
				t.Errorf("%s: %v", name, err)
			}
			write(t, filepath.Join(tree.Dir(), "left"), "by a tool")
			write(t, filepath.Join(tree.Dir(), "module", "one", "left"), "by a tool")
			prepare(t, tree, plan)
			if got := run(t, tree.Dir(), "git", "status", "--porcelain", "--ignored"); got != "" {
				t.Errorf("%s: the next tree: %s", name, got)
			}
			if left, err := os.ReadDir(filepath.Join(tree.Dir(), "module", "one")); err != nil || len(left) > 0 {
				t.Errorf("%s: the submodule has %v %v", name, left, err)
			}
			if _, err := tree.entries(); err != nil {
				t.Errorf("%s, then: %v", name, err)
			}
		}
	}
}

// Where a tool put something of another kind in the place of a file or folder, the next tree is whole.
func TestSweep(t *testing.T) {
	p := newPerson(t)
	base := p.commit("a", "1", "b", "1", "d/e/f", "1", "d/g", "1", "x/y", "1")
	tree := prepared(t, p.store(), base)
	elsewhere := t.TempDir()
	write(t, filepath.Join(elsewhere, "f"), "not in the tree")
	run(t, tree.Dir(), "sh", "-ec", `
rm a; mkdir -p a/in; mkfifo a/in/pipe; rm b; mkfifo b
rm -r d/e; ln -s `+elsewhere+` d/e; rm -r x; echo 1 >x
mkdir -p new/deep/.git; echo '*' >new/.gitignore; echo 1 >new/deep/file; mkdir locked; echo 1 >locked/f; chmod 0 locked; chmod 0555 d .`)
	prepare(t, tree, Plan{Commit: base, Branch: "main"})
	if got := run(t, tree.Dir(), "sh", "-c", "find . -path ./.git -prune -o -print | sort | tr '\n' ' '; git status --porcelain"); got != ". ./a ./b ./d ./d/e ./d/e/f ./d/g ./x ./x/y" {
		t.Errorf("the next tree: %q", got)
	}
	if text, err := os.ReadFile(filepath.Join(elsewhere, "f")); err != nil || string(text) != "not in the tree" {
		t.Errorf("beside the tree: %q %v", text, err)
	}
}
