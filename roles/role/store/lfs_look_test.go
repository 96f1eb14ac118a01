package store

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// countGit counts the runs of git from then on.
func countGit(t *testing.T) (runs func() int) {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log := filepath.Join(dir, "runs")
	write(t, filepath.Join(dir, "git"), "#!/bin/sh\necho >>'"+log+"'\nexec "+program+" \"$@\"\n")
	if err := os.Chmod(filepath.Join(dir, "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return func() int {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "\n")
	}
}

// A look at a tree runs no git for each changed file: with content or without, it takes as many runs.
func TestLookAtManyFiles(t *testing.T) {
	p := lfsPerson(t)
	at := p.pointer(large)
	var files []string
	for i := range 300 {
		files = append(files, fmt.Sprintf("f%d.bin", i), at)
	}
	commit := p.commit(files...)
	s := p.lfsStore(at)
	tree := prepared(t, s, commit)
	now := time.Now()
	for i := range 300 {
		name := filepath.Join(tree.Dir(), fmt.Sprintf("f%d.bin", i))
		if i < 10 {
			write(t, name, "changed")
		} else if err := os.Chtimes(name, now, now); err != nil { // git reads it
			t.Fatal(err)
		}
	}
	runs := countGit(t)
	left, err := tree.Look(t.Context(), commit, Artefact("looked"))
	if n := runs(); n < 2 || n > 10 {
		t.Errorf("it ran git %d times", n)
	}
	if err != nil || len(left.Files) != 10 {
		t.Errorf("a look finds %d files, %v", len(left.Files), err)
	}
}
