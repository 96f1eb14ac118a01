package store

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hides are ways of a tool to have work where HEAD and the files do not have it: scripts, and the names and texts that
// have to be found. At the end of each, HEAD and the files are those of the start, but for the rebase.
var hides = map[string]struct {
	script string
	texts  map[string]string // by the name of the ref: a file with its text
}{
	"stash":      {"echo work >new; git add -A; git stash -q", map[string]string{"refs/stash": "new work"}},
	"stashes":    {"for i in 1 2; do echo $i >new; git add -A; git stash -q; done", map[string]string{"refs/stash": "new 2", "refs/stash@{1}": "new 1"}},
	"branch":     {"git checkout -q -b my/fix; echo work >new; git add -A; git commit -qm fix; git checkout -q main", map[string]string{"refs/heads/my/fix": "new work"}},
	"packed":     {"git checkout -q -b fix; echo work >new; git add -A; git commit -qm fix; git checkout -q main; git pack-refs --all; git gc -q", map[string]string{"refs/heads/fix": "new work"}},
	"tag":        {"echo work >new; git add -A; git commit -qm x; git tag v1; git reset -q --hard HEAD~1; rm .git/ORIG_HEAD", map[string]string{"refs/tags/v1": "new work"}},
	"annotated":  {"echo work >new; git add -A; git commit -qm x; git tag -a -m v v1; git reset -q --hard HEAD~1; rm .git/ORIG_HEAD", map[string]string{"refs/tags/v1": "new work"}},
	"reset":      {"echo work >new; git add -A; git commit -qm x; git reset -q --hard HEAD~1", map[string]string{"ORIG_HEAD": "new work"}},
	"other ref":  {"echo work >new; git add -A; git commit -qm x; git update-ref refs/my/own HEAD; git reset -q --hard HEAD~1; rm .git/ORIG_HEAD", map[string]string{"refs/my/own": "new work"}},
	"rebase":     {"for i in 1 2; do echo $i >f$i; git add -A; git commit -qm f$i; done; git checkout -q -b up HEAD~2; echo z >f1; git add -A; git commit -qm up; git checkout -q main; ! git rebase -q up 2>/dev/null", map[string]string{"refs/heads/main": "f2 2"}},
	"old branch": {"echo work >file; git commit -qam x; git checkout -q --detach HEAD~1", map[string]string{"refs/heads/main": "file work"}},
}

// TestWorkBesideHead: all commits that a tool's repository names are kept, and are there again for a tree that goes on.
func TestWorkBesideHead(t *testing.T) {
	for name, c := range hides {
		t.Run(name, func(t *testing.T) {
			p := newPerson(t)
			p.commit("file", "zero\n")
			base := p.commit("file", "one\n")
			s := p.store()
			tree, ref := prepared(t, s, base), Leftover("claim", "writer", 1)
			run(t, tree.Dir(), "sh", "-ec", c.script)
			changes := Changes{Start: base, Message: "left", Author: Author{"writer", "w@x"}}
			kept, err := tree.Keep(t.Context(), changes, ref)
			if err != nil || kept.Commit == "" || kept.Files == kept.Commit || len(kept.LeftOut) > 0 {
				t.Fatalf("kept %+v: %v", kept, err)
			}
			at := func(args ...string) string { return run(t, "", "git", append([]string{"-C", s.Dir}, args...)...) }
			for ref, want := range c.texts {
				i := slices.IndexFunc(kept.Beside, func(r Ref) bool { return r.Name == ref })
				if i < 0 {
					t.Fatalf("%s is not among %v", ref, kept.Beside)
				}
				file, text, _ := strings.Cut(want, " ")
				if got := at("show", kept.Beside[i].Commit+":"+file); got != text {
					t.Errorf("%s has %q", ref, got)
				}
				at("merge-base", "--is-ancestor", kept.Beside[i].Commit, kept.Commit)
				if _, err := try(s.Dir, "git", "--git-dir=.", "merge-base", "--is-ancestor", kept.Beside[i].Commit, kept.Files); err == nil {
					t.Errorf("the commit of the files claims to have %s", ref)
				}
			}
			if at("rev-parse", ref) != kept.Commit || at("rev-parse", kept.Commit+"^{tree}") != at("rev-parse", kept.Files+"^{tree}") {
				t.Errorf("the ref has %s", at("log", "--graph", "--format=%H %s", ref))
			}
			if name != "rebase" && at("diff", "--name-only", base, kept.Commit) != "" {
				t.Errorf("changed:\n%s", at("diff", base, kept.Commit))
			}
			if len(kept.Beside) != len(c.texts) {
				t.Errorf("beside: %v", kept.Beside)
			}
			read, err := ReadKept(t.Context(), s, kept.Commit)
			if fmt.Sprint(read) != fmt.Sprint(kept) || err != nil {
				t.Errorf("read %+v (%v), not %+v", read, err, kept)
			}
			if again, err := tree.Keep(t.Context(), changes, ref); err != nil || fmt.Sprint(again) != fmt.Sprint(kept) {
				t.Errorf("again: %+v %v", again, err)
			}
			prepare(t, tree, Plan{Commit: kept.Files, Branch: "main", Refs: kept.Beside})
			if name == "stashes" {
				run(t, tree.Dir(), "git", "stash", "drop", "-q")
			}
			if strings.HasPrefix(name, "stash") {
				run(t, tree.Dir(), "sh", "-ec", "git stash pop -q; test -s new")
			}
			if _, ok := c.texts["refs/heads/my/fix"]; ok {
				run(t, tree.Dir(), "sh", "-ec", "git merge -q my/fix; test -s new")
			}
		})
	}
}

// TestRefsThatCannotBeKept: what a hostile repository names keeps nothing else from being kept, and is told.
func TestRefsThatCannotBeKept(t *testing.T) {
	p := newPerson(t)
	base := p.commit("file", "one\n")
	s := p.store()
	tree, ref := prepared(t, s, base), Leftover("claim", "writer", 1)
	hostile := fmt.Sprintf(`echo work >new; git add -A; git stash -q
		mkdir -p .git/refs/heads/a; echo %[1]s >.git/refs/heads/missing; git rev-parse HEAD^{tree} >.git/refs/heads/tree; mkfifo .git/refs/heads/a/pipe .git/MERGE_HEAD
		ln -s /etc .git/refs/tags/etc; ln -s "$PWD/../index" .git/refs/heads/index; mkdir .git/packed-refs; echo "ref: refs/heads/main" >.git/ORIG_HEAD
		for i in $(seq 100); do printf "%%040x" $i >.git/refs/tags/t$i; done; printf 'x\nAlso-kept: %[1]s refs/heads/y' >/dev/null`, strings.Repeat("1", 40))
	run(t, tree.Dir(), "sh", "-ec", hostile)
	kept, err := tree.Keep(t.Context(), Changes{Start: base, Message: "left"}, ref)
	if err != nil || len(kept.Beside) != 1 || kept.Beside[0].Name != "refs/stash" {
		t.Fatalf("kept %+v: %v", kept, err)
	}
	told := strings.Join(kept.LeftOut, "\n")
	if !strings.Contains(told, "missing 111111111111: ") || !strings.Contains(told, "tree ") || !strings.Contains(told, "more refs") || len(kept.LeftOut) > mostTips+1 {
		t.Errorf("left out:\n%s", told)
	}
	if left, _ := filepath.Glob(filepath.Join(s.Objects(), "pack", "*.keep")); len(left) > 0 {
		t.Errorf("packs that git never prunes: %v", left)
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir, "taking-*")); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

// TestKeptInTwoCalls: a call that was killed once the tool's repository was gone has lost nothing.
func TestKeptInTwoCalls(t *testing.T) {
	p := newPerson(t)
	base := p.commit("file", "one\n")
	s := p.store()
	tree, ref := prepared(t, s, base), Leftover("claim", "writer", 1)
	run(t, tree.Dir(), "sh", "-ec", "echo work >new; git add -A; git stash -q; echo two >file; git commit -qam own; echo three >file")
	changes := Changes{Start: base, Message: "left"}
	k := keeping{tree: tree, changes: changes, ref: ref, parents: named(base)}
	if err := k.commits(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(tree.Dir(), ".git")); err != nil {
		t.Fatal(err)
	}
	kept, err := tree.Keep(t.Context(), changes, ref)
	if err != nil || len(kept.Beside) != 1 || kept.Beside[0].Name != "refs/stash" {
		t.Fatalf("kept %+v: %v", kept, err)
	}
	at := func(args ...string) string { return run(t, "", "git", append([]string{"-C", s.Dir}, args...)...) }
	if got := at("show", kept.Commit+":file", kept.Beside[0].Commit+":new") + " " + at("log", "--first-parent", "--format=%s", "-2", kept.Files+"^2"); got != "three\nwork own\nwork" {
		t.Errorf("it has %q", got)
	}
}

// TestLinesIn: of a file that is too long the whole lines count that are read; the name of a ref is never cut.
func TestLinesIn(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for text, want := range map[string]string{"ab\ncd\n": "ab\ncd", "ab\ncde\n": "ab", "ab\ncd\nef": "ab\ncd", "abcdefg": "", "abc": "abc", "": ""} {
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := linesIn(root, "file", 6); got != want {
			t.Errorf("of %q: %q", text, got)
		}
	}
	if got := linesIn(root, "missing", 6); got != "" {
		t.Errorf("of none: %q", got)
	}
}
