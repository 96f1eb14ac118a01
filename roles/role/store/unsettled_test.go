package store

import (
	"errors"
	"strings"
	"testing"
)

// TestUnsettled: a tool that ends in the middle of a merge has made no commit, unless it has settled the conflict. All
// is kept then.
func TestUnsettled(t *testing.T) {
	const sides = `git checkout -q -b a; echo a >file; git commit -qam a; git checkout -q main; echo b >file; git commit -qam b; `
	for name, c := range map[string]struct {
		script string
		middle string // empty: it is a commit
	}{
		"merge":            {sides + "! git merge a", "a merge"},
		"added":            {sides + "! git merge a; git add -A", "a merge"},
		"rebase":           {sides + "! git rebase a", "a rebase"},
		"cherry-pick":      {sides + "! git cherry-pick a", "a cherry-pick"},
		"stash":            {"echo a >file; git stash -q; echo b >file; git commit -qam b; ! git stash pop", "a merge"},
		"resolved":         {sides + "! git merge a; echo both >file", ""},
		"clean":            {"git checkout -q -b a; echo a >other; git add -A; git commit -qm a; git checkout -q main; echo b >file; git commit -qam b; git merge -q --no-commit a", ""},
		"marks of its own": {"printf '<<<<<<< x\\na\\n=======\\nb\\n>>>>>>> y\\n' >howto", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPerson(t)
			base := p.commit("file", "one\n")
			s := p.store()
			tree := prepared(t, s, base)
			run(t, tree.Dir(), "sh", "-ec", c.script)
			changes := Changes{Start: base, Message: "m", Author: Author{"writer", "w@x"}}
			made, err := tree.Commit(t.Context(), changes, nil, Artefact("a"))
			if c.middle == "" {
				if err != nil || made.Commit == "" {
					t.Errorf("made %+v: %v", made, err)
				}
				return
			}
			if !errors.Is(err, ErrUnsettled) || !ToolsFault(err) || !strings.Contains(err.Error(), "in the middle of "+c.middle+", and file has git's marks") {
				t.Errorf("made %+v: %v", made, err)
			}
			kept, err := tree.Keep(t.Context(), changes, Leftover("c", "writer", 1))
			if err != nil || !strings.Contains(run(t, s.Dir, "git", "--git-dir=.", "show", kept.Commit+":file"), ">>>>>>>") || len(kept.Beside) == 0 {
				t.Errorf("kept %+v: %v", kept, err)
			}
		})
	}
}
