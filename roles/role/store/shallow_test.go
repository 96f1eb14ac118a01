package store

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shallowClone is a clone of a repository with a part of its history.
func shallowClone(t *testing.T, p *person, depth int) *person {
	t.Helper()
	c := &person{t, filepath.Join(t.TempDir(), "clone of ü")}
	run(t, "", "git", "clone", "-q", fmt.Sprintf("--depth=%d", depth), "file://"+p.dir, c.dir)
	return c
}

// commits makes a history of that many commits.
func (p *person) commits(n int) (all []string) {
	p.t.Helper()
	for i := range n {
		all = append(all, p.commit("a", fmt.Sprintf("%d\n", len(all)+i), fmt.Sprintf("dir/%d", i), "x\n"))
	}
	return all
}

// ends checks the commits at which the store's history ends, and that it is whole up to there.
func ends(t *testing.T, s *Store, held string, want ...string) {
	t.Helper()
	got, err := Boundary(s.Dir)
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("history ends at %v, want %v: %v", got, want, err)
	}
	holds(t, s, held)
}

func TestFetchShallow(t *testing.T) {
	p := newPerson(t)
	all := p.commits(6)
	c := shallowClone(t, p, 1)
	s := c.store()
	fetch(t, s, c, all[5])
	ends(t, s, all[5], all[5])

	mine := c.commit("b", "b\n")
	fetch(t, s, c, mine)
	ends(t, s, mine, all[5])

	c.git("fetch", "-q", "--depth=4", "origin", "main")
	fetch(t, s, c, mine)
	ends(t, s, mine, all[2])
	older := all[3]
	fetch(t, s, c, older)
	ends(t, s, older, all[2])

	c.git("fetch", "-q", "--unshallow")
	fetch(t, s, c, mine)
	ends(t, s, mine)
	fetch(t, s, c, all[0])
	ends(t, s, all[0])
}

// TestFetchLessThanBefore: the repository was cloned anew with less history than the store has.
func TestFetchLessThanBefore(t *testing.T) {
	p := newPerson(t)
	all := p.commits(4)
	s := p.store()
	fetch(t, s, p, all[3])
	all = append(all, p.commits(2)...)[1:]
	c := shallowClone(t, p, 1)
	fetch(t, s, c, all[4])
	ends(t, s, all[4], all[4])
	if held, err := s.git(t.Context(), "rev-list", "--count", Goal(all[2])); err != nil || line(held) != "4" {
		t.Errorf("the store lost history: %s, %v", held, err)
	}
	next := c.commit("b", "b\n")
	fetch(t, s, c, next)
	ends(t, s, next, all[4])
}

// TestFetchMovedBoundary: the boundary moves on, and the store never lacks objects of a side branch
// that begins between the two.
func TestFetchMovedBoundary(t *testing.T) {
	p := newPerson(t)
	all := p.commits(4)
	c := shallowClone(t, p, 1)
	s := c.store()
	fetch(t, s, c, all[3])
	p.git("switch", "-q", "-c", "side", all[1])
	side := p.commit("side", "s\n")
	p.git("switch", "-q", "main")
	p.git("merge", "-q", "--no-ff", "-m", "merge", "side")
	merge := p.git("rev-parse", "HEAD")
	c.git("fetch", "-q", "--depth=3", "origin", "main")
	c.git("reset", "-q", "--hard", "origin/main")
	fetch(t, s, c, merge)
	holds(t, s, merge)
	for _, commit := range []string{side, all[2]} {
		if _, err := s.git(t.Context(), "cat-file", "-e", commit+"^{tree}"); err != nil {
			t.Errorf("%s: %v", commit, err)
		}
	}
	c.git("fetch", "-q", "--depth=1", "origin", "main")
	next := c.commit("b", "b\n")
	fetch(t, s, c, next)
	holds(t, s, next)
	c.git("gc", "-q", "--prune=now")
	last := c.commit("b", "c\n")
	fetch(t, s, c, last)
	holds(t, s, last)
}

// TestShallowCrash: a fetch that is killed at any point leaves a store that the next one completes.
func TestShallowCrash(t *testing.T) {
	p := newPerson(t)
	all := p.commits(3)
	c := shallowClone(t, p, 1)
	s := c.store()
	// The objects came by hard links; the fetch died before it wrote the boundary, or after.
	for _, wrote := range []bool{false, true} {
		if err := s.bound(nil); err != nil {
			t.Fatal(err)
		}
		if wrote {
			if err := s.bound([]string{all[2]}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.LetGo(t.Context(), Goal(all[2]), fetchedRef); err != nil {
			t.Fatal(err)
		}
		fetch(t, s, c, all[2])
		ends(t, s, all[2], all[2])
	}
}

// TestShallowTree: a tool works in a tree of a shallow store, and its commit goes back.
func TestShallowTree(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		t.Run(fmt.Sprint(readOnly), func(t *testing.T) {
			p := newPerson(t)
			all := p.commits(3)
			c := shallowClone(t, p, 1)
			s := c.store()
			fetch(t, s, c, all[2])
			tree := s.Tree(filepath.Join(t.TempDir(), "trees"), "writer", Seen{})
			prepare(t, tree, Plan{Commit: all[2], Branch: "main", ReadOnly: readOnly})
			if got := run(t, tree.Dir(), "git", "log", "--format=%H"); got != all[2] {
				t.Errorf("log in the tree: %s", got)
			}
			if readOnly {
				return
			}
			made := toolCommits(t, tree, "new", "n\n")
			if _, err := s.Take(t.Context(), tree.Offer(made, []string{all[2]}), Artefact("a")); err != nil {
				t.Fatal(err)
			}
			send(t, s, c, made)
			if got := c.git("rev-list", "--count", made); got != "2" {
				t.Errorf("the clone has %s commits", got)
			}
		})
	}
}

func send(t *testing.T, s *Store, c *person, commit string) {
	t.Helper()
	release, err := s.Send(t.Context(), commit, filepath.Join(c.dir, ".git"))
	if err != nil {
		t.Fatal(err)
	}
	c.git("update-ref", "refs/heads/result", commit)
	release()
	c.git("gc", "-q", "--prune=now")
	if out := c.git("fsck", "--strict", "--full"); strings.Contains(out, "missing") || strings.Contains(out, "broken") {
		t.Error(out)
	}
	if out := c.git("rev-list", "--objects", commit); !strings.Contains(out, commit) {
		t.Error(out)
	}
}

// TestSendBeyond: a shallow store sends a commit into a clone that has another part of the history: that
// clone learns where the commit's history ends.
func TestSendBeyond(t *testing.T) {
	p := newPerson(t)
	all := p.commits(4)
	c := shallowClone(t, p, 1)
	s := c.store()
	fetch(t, s, c, all[3])
	tree := prepared(t, s, all[3])
	made := toolCommits(t, tree, "new", "n\n")
	if _, err := s.Take(t.Context(), tree.Offer(made, []string{all[3]}), Artefact("a")); err != nil {
		t.Fatal(err)
	}
	p.commits(3)
	other := shallowClone(t, p, 2)
	send(t, s, other, made)
	send(t, s, p, made) // a whole repository stays whole
	if _, err := os.Stat(filepath.Join(p.dir, ".git", "shallow")); err == nil {
		t.Error("a whole repository became shallow")
	}
}
