package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Conflicts have a commit of both sides that a tool can begin with, the same one each time; a
// commit with marks left does not settle them.
func TestClash(t *testing.T) {
	p := newPerson(t)
	base := p.commit("a", "1\n2\n3\n", ":odd *ä", "1\n", "title", "Title\n=======\ntext\n")
	s := p.store()
	change := func(script string) string {
		tree := prepared(t, s, base)
		made := run(t, tree.Dir(), "sh", "-ec", script+"\ngit add -A; git commit -qm change; git rev-parse HEAD")
		if _, err := s.Take(t.Context(), tree.Offer(made, []string{base}), Artefact(made)); err != nil {
			t.Fatal(err)
		}
		return made
	}
	for name, c := range map[string]struct{ ours, theirs, file, settle, left string }{ // of the kinds that git marks in the file
		"lines":       {"echo ours >a", "echo theirs >a", "a", "echo both >a", "a:1 still has a mark"},
		"both add":    {"echo ours >n", "echo theirs >n", "n", "echo both >n", "n:1 still has a mark"},
		"an odd name": {"echo ours >':odd *ä'", "echo theirs >':odd *ä'", ":odd *ä", "echo both >':odd *ä'", ":odd *ä:1 still has a mark"},
		"usual marks": {"sed -i s/text/ours/ title", "sed -i s/text/theirs/ title", "title", `printf 'Title\n=======\nboth\n' >title`, "title:3 still has a mark"},
	} {
		t.Run(name, func(t *testing.T) {
			beside, ours, theirs := change("echo x >beside"), change(c.ours), change(c.theirs)
			k, found, err := FindClash(t.Context(), s, []string{beside, ours, theirs})
			if err != nil || !found || k.Theirs != 2 || !slices.Equal(k.Of, []int{0, 1}) || k.Base != base || !strings.HasPrefix(strings.Join(k.Files, " "), c.file) {
				t.Fatalf("%+v %t %v", k, found, err)
			}
			if again, _, err := FindClash(t.Context(), s, []string{beside, ours, theirs}); err != nil || again.Commit != k.Commit {
				t.Errorf("another commit: %s %v", again.Commit, err)
			}
			if parents, err := Parents(t.Context(), s, k.Commit); err != nil || !slices.Equal(parents, []string{k.Ours, theirs}) {
				t.Errorf("parents %v %v", parents, err)
			}
			if err := s.Hold(t.Context(), Artefact("k"), k.Commit); err != nil {
				t.Fatal(err)
			}
			if why, err := Settles(t.Context(), s, ours, k.Commit); err != nil || !strings.Contains(why, "does not build on") {
				t.Errorf("one side: %q %v", why, err)
			}
			if why, err := Settles(t.Context(), s, k.Commit, k.Commit); err != nil || !strings.HasPrefix(why, c.left) || (why == "") != (c.left == "") {
				t.Errorf("as it is: %q %v, want %q", why, err, c.left)
			}
			tree := prepared(t, s, k.Commit)
			run(t, tree.Dir(), "sh", "-ec", c.settle)
			made, err := tree.Commit(t.Context(), Changes{Start: k.Commit, Message: "both", Author: Author{"m", "m@x"}, Parents: []string{k.Ours, theirs}}, []string{k.Commit}, Artefact(k.Commit[:10]))
			if err != nil || made.Commit == "" {
				t.Fatalf("%+v %v", made, err)
			}
			if why, err := Settles(t.Context(), s, made.Commit, k.Commit); err != nil || why != "" {
				t.Errorf("settled: %q %v", why, err)
			}
			if parents, err := Parents(t.Context(), s, made.Commit); err != nil || !slices.Equal(parents, []string{k.Ours, theirs}) {
				t.Errorf("its parents: %v %v", parents, err)
			}
			again, err := s.Merge(t.Context(), []string{made.Commit, beside, ours, theirs})
			if err != nil || again.Commit != made.Commit || len(again.Unmerged) > 0 {
				t.Errorf("it does not take the place of both: %+v %v", again, err)
			}
		})
	}
	if _, found, err := FindClash(t.Context(), s, []string{change("echo x >x"), change("echo y >y")}); found || err != nil {
		t.Errorf("without a conflict: %t %v", found, err)
	}
}

// Random edits by several writers, whose conflicts are settled one after another with the lines of both
// sides: the commit of each is in the merge, and so is each line that one wrote.
func TestClashLosesNothing(t *testing.T) {
	p := newPerson(t)
	base := p.commit("a", strings.Repeat("-\n", 8), "b", strings.Repeat("-\n", 8))
	s := p.store()
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 14)) //nolint:gosec // a test's own chance
		var starts, lines []string
		for writer := range 2 + r.IntN(4) {
			tree, script := prepared(t, s, base), ""
			for n := range 1 + r.IntN(3) {
				line := fmt.Sprintf("line %d of writer %d", n, writer)
				lines = append(lines, line)
				script += fmt.Sprintf("sed -i '%ds/.*/&\\n%s/' %s\n", 1+r.IntN(8), line, []string{"a", "b"}[r.IntN(2)])
			}
			made := run(t, tree.Dir(), "sh", "-ec", script+"git commit -qam change; git rev-parse HEAD")
			if _, err := s.Take(t.Context(), tree.Offer(made, []string{base}), Artefact(made)); err != nil {
				t.Fatal(err)
			}
			starts = append(starts, made)
		}
		writers := slices.Clone(starts)
		for {
			k, found, err := FindClash(t.Context(), s, starts)
			if err != nil {
				t.Fatal(err)
			}
			if !found {
				break
			}
			if len(starts) > 2*len(writers) {
				t.Fatalf("seed %d: conflicts never end", seed)
			}
			tree := prepared(t, s, k.Commit)
			run(t, tree.Dir(), "sed", "-i", "-e", "/^<<<<<<< /d", "-e", "/^=======$/d", "-e", "/^>>>>>>> /d", "a", "b")
			changes := Changes{Start: k.Commit, Message: "both", Author: Author{"m", "m@x"}, Parents: []string{k.Ours, starts[k.Theirs]}}
			made, err := tree.Commit(t.Context(), changes, []string{k.Commit}, Artefact(k.Commit))
			if err != nil {
				t.Fatal(err)
			}
			if why, err := Settles(t.Context(), s, made.Commit, k.Commit); err != nil || why != "" {
				t.Fatalf("seed %d: %q %v", seed, why, err)
			}
			starts = append([]string{made.Commit}, starts...)
		}
		m, err := s.Merge(t.Context(), starts)
		if err != nil || len(m.Unmerged) > 0 {
			t.Fatalf("seed %d: %+v %v", seed, m, err)
		}
		text := run(t, "", "git", "-C", s.Dir, "show", m.Commit+":a", m.Commit+":b")
		for _, line := range lines {
			if !strings.Contains(text, line) {
				t.Errorf("seed %d: %q is lost", seed, line)
			}
		}
		for _, w := range writers {
			run(t, "", "git", "-C", s.Dir, "merge-base", "--is-ancestor", w, m.Commit)
		}
	}
}
