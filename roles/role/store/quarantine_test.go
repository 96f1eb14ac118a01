package store

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A repository without room for a pack is left as it was, without git's temporary files.
func TestSendWithoutRoom(t *testing.T) {
	p := newPerson(t)
	base := p.commit("a", "1\n")
	s := p.store()
	fetch(t, s, p, base)
	tree := prepared(t, s, base)
	made := toolCommits(t, tree, "new", noise(200_000))
	if _, err := s.Take(t.Context(), tree.Offer(made, []string{base}), Artefact("a")); err != nil {
		t.Fatal(err)
	}
	objects := func() (all []string) {
		t.Helper()
		if err := filepath.WalkDir(p.objects(), func(path string, _ fs.DirEntry, err error) error {
			all = append(all, path)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return all
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	small, path := t.TempDir(), os.Getenv("PATH")
	// The system refuses a write beyond the limit, as it does on a full disk.
	wrapper := fmt.Sprintf("#!/bin/sh\ntrap '' XFSZ\ncase \" $* \" in *' index-pack '*) ulimit -f 64;; esac\nexec %s \"$@\"\n", git)
	if err := os.WriteFile(filepath.Join(small, "git"), []byte(wrapper), 0o755); err != nil {
		t.Fatal(err)
	}
	before := objects()
	t.Setenv("PATH", small+string(filepath.ListSeparator)+path)
	release, err := s.Send(t.Context(), made, filepath.Join(p.dir, ".git"))
	if release(); err == nil || !strings.Contains(err.Error(), "index-pack") {
		t.Fatalf("sent without room: %v", err)
	}
	t.Setenv("PATH", path)
	if after := objects(); strings.Join(after, " ") != strings.Join(before, " ") {
		t.Errorf("left behind: %v, before %v", after, before)
	}
	if release, err = s.Send(t.Context(), made, filepath.Join(p.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	p.git("update-ref", "refs/heads/result", made)
	release()
	p.git("fsck", "--strict", "--full")
	for _, path := range objects() {
		if name := filepath.Base(path); strings.HasPrefix(name, "tmp_") || strings.HasSuffix(name, ".keep") {
			t.Errorf("left behind: %s", path)
		}
	}
}

// New objects of a git that fails are not in the repository, nor are its temporary files; those of
// one that succeeds are.
func TestMaking(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.commit("a", "1\n")
	gitDir := filepath.Join(p.dir, ".git")
	put := func(limit, text string) (hash string, err error) {
		err = Making(gitDir, func(environ []string) error {
			cmd := exec.Command("sh", "-ec", "trap '' XFSZ; ulimit -f "+limit+"; git cat-file -e HEAD; git hash-object -w --stdin")
			cmd.Dir, cmd.Env, cmd.Stdin = p.dir, append(os.Environ(), environ...), strings.NewReader(text)
			out, err := cmd.Output()
			hash = line(string(out))
			return err
		})
		return hash, err
	}
	before := p.git("count-objects", "-v")
	if _, err := put("64", noise(200_000)); err == nil {
		t.Fatal("made without room")
	}
	if left, err := filepath.Glob(filepath.Join(p.objects(), "tmp_*")); err != nil || len(left) > 0 || p.git("count-objects", "-v") != before {
		t.Errorf("left behind: %v, %v\n%s\nbefore %s", left, err, p.git("count-objects", "-v"), before)
	}
	for range 2 { // one that is there already is no error
		hash, err := put("unlimited", "text\n")
		if err != nil || p.git("cat-file", "-p", hash) != "text" {
			t.Errorf("%q: %v", hash, err)
		}
	}
	p.git("fsck", "--strict", "--full")
}

// noise is text that git cannot make smaller than half.
func noise(size int) string {
	var b strings.Builder
	for n := uint64(1); b.Len() < size; n = n*6364136223846793005 + 1442695040888963407 {
		fmt.Fprintf(&b, "%016x\n", n)
	}
	return b.String()
}
