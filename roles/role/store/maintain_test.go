package store

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// A store that takes many commits has few packs, loses nothing, and trees go on borrowing
// from it.
func TestMaintain(t *testing.T) {
	p := newPerson(t)
	base := p.commit("file", "one\n")
	s := p.store()
	reader, writer := prepared(t, s, base), prepared(t, s, base)
	dangling := run(t, s.Dir, "git", "--git-dir=.", "hash-object", "-w", filepath.Join(writer.Dir(), "file"))
	var all []string
	last := base
	for i := range mostPacks + 10 {
		made := toolCommits(t, writer, "file", fmt.Sprint(i))
		took, err := s.Take(t.Context(), writer.Offer(made, []string{last}), Artefact(fmt.Sprint("a", i)))
		if err != nil {
			t.Fatal(err)
		}
		last, all = took, append(all, took)
		if err := s.Maintain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	packs, err := count(filepath.Join(s.Objects(), "pack"), ".pack")
	if err != nil || packs > mostPacks {
		t.Errorf("%d packs: %v", packs, err)
	}
	for i, c := range all {
		if got, err := s.Commit(t.Context(), Artefact(fmt.Sprint("a", i))); err != nil || got != c {
			t.Errorf("artefact %d: %q %v", i, got, err)
		}
	}
	run(t, s.Dir, "git", "--git-dir=.", "fsck", "--strict", "--full")
	run(t, s.Dir, "git", "--git-dir=.", "cat-file", "-e", dangling)
	for _, tree := range []*Tree{reader, writer} {
		if got := run(t, tree.Dir(), "git", "status", "--porcelain"); got != "" {
			t.Errorf("a tree: %q", got)
		}
	}
}

// Many refs are one file.
func TestMaintainRefs(t *testing.T) {
	p := newPerson(t)
	base := p.commit("file", "one\n")
	s := p.store()
	var b strings.Builder
	for i := range mostRefs + 1 {
		fmt.Fprintf(&b, "create %s %s\n", Artefact(fmt.Sprint("a", i)), base)
	}
	if _, err := s.run(t.Context(), command{args: []string{"update-ref", "--stdin"}, stdin: b.String()}); err != nil {
		t.Fatal(err)
	}
	if err := s.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if files, err := count(filepath.Join(s.Dir, filepath.FromSlash(artefactRefs)), ""); err != nil || files > 0 {
		t.Errorf("%d files: %v", files, err)
	}
	if got, err := s.Commit(t.Context(), Artefact("a7")); err != nil || got != base {
		t.Errorf("%q %v", got, err)
	}
}
