package store

import (
	"strings"
	"testing"
)

// TestIgnoredByThePerson: the files that git ignores in the person's repository by a list of that repository or of the person
// are ignored in each tree, for Sett and for the tool's own git. A .gitignore outranks them, and a tracked file counts.
func TestIgnoredByThePerson(t *testing.T) {
	for name, care := range map[string]Care{"": {}, "sparse": {Sparse: []string{"d"}}, "kept": {Keep: []string{"cache"}}} {
		t.Run(name, func(t *testing.T) {
			p := newPerson(t)
			base := p.commit("file", "one\n", "old.swp", "o\n", "d/.gitignore", "!*.swp\n")
			s := p.store()
			if err := SetIgnored(s, "*.swp\n__pycache__/\n.env\n!/cache\n"); err != nil {
				t.Fatal(err)
			}
			const tool = `echo two > file; echo x > old.swp; echo x > new.swp; echo x > d/new.swp; echo S > .env; mkdir -p cache a/__pycache__; echo x > cache/x; echo x > a/__pycache__/x
				echo f > forced.swp; git add -f forced.swp`
			want := "A\td/new.swp\nM\tfile\nA\tforced.swp\nM\told.swp"
			tree := CaredFor(s.Tree(t.TempDir(), "t", Seen{}), care)
			start := func() {
				t.Helper()
				if err := tree.Prepare(t.Context(), Plan{Commit: base, Branch: "main"}); err != nil {
					t.Fatal(err)
				}
				run(t, tree.Dir(), "sh", "-ec", tool)
			}
			start()
			status := run(t, tree.Dir(), "git", "status", "--short", "--ignored", "--untracked-files=all")
			for _, line := range []string{"!! .env", "!! new.swp", "!! a/__pycache__/x", "?? d/new.swp"} {
				if !strings.Contains(status, line) {
					t.Errorf("the tool's git status lacks %q:\n%s", line, status)
				}
			}
			if own := strings.Contains(status, "!! cache/x"); own != (name == "kept") {
				t.Errorf("git status of the kept path:\n%s", status)
			}
			changes := Changes{Start: base, Message: "m", Own: tree.Own()}
			if name != "kept" {
				want = "A\tcache/x\n" + want
			}
			look := func(commit string) {
				t.Helper()
				if got := run(t, "", "git", "-C", s.Dir, "diff-tree", "-r", "--name-status", base, commit); got != want {
					t.Errorf("the commit has\n%s\nwant\n%s", got, want)
				}
			}
			made, err := tree.Commit(t.Context(), changes, []string{base}, Artefact("a"))
			if err != nil {
				t.Fatal(err)
			}
			look(made.Commit)
			start()
			kept, err := tree.Keep(t.Context(), changes, Leftover("c", "t", 1))
			if err != nil {
				t.Fatal(err)
			}
			look(kept.Commit)
			if err := SetIgnored(s, ""); err != nil { // nothing is ignored any more
				t.Fatal(err)
			}
			start()
			if made, err = tree.Commit(t.Context(), changes, []string{base}, Artefact("b")); err != nil {
				t.Fatal(err)
			}
			if got := run(t, "", "git", "-C", s.Dir, "ls-tree", "--name-only", made.Commit, ".env"); got != ".env" {
				t.Error("the list of before still counts")
			}
		})
	}
}
