package toolrun

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Each look at a program gives the digest of what it holds now; what is no readable
// regular file has none.
func TestProgramDigest(t *testing.T) {
	dir := t.TempDir()
	bin, pipe := filepath.Join(dir, "tool"), filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o700); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + dir}
	byName, relative := Program{Command: Command{Args: []string{"tool"}, Env: env}}, Program{Command: Command{Args: []string{"./tool"}, Dir: dir}}
	if d := byName.Digest() + relative.Digest(); d != "" {
		t.Errorf("without a file: %s", d)
	}
	for i, text := range []string{"first", "other", "third one"} {
		if err := os.WriteFile(bin, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(bin, old, old); err != nil { // the time of its change cannot be set
			t.Fatal(err)
		}
		want := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text)))
		if a, b := byName.Digest(), relative.Digest(); a != want || b != want {
			t.Errorf("change %d: %s, %s; want %s", i, a, b, want)
		}
	}
	for _, path := range []string{pipe, dir, "/dev/zero"} {
		none := Program{Command: Command{Args: []string{path}}}
		if d := none.Digest(); d != "" {
			t.Errorf("%s: %s", path, d)
		}
	}
}

// A program of a directory that is another one for each run has no digest, by whatever
// path and link it is found there.
func TestProgramOfAChangingDirectory(t *testing.T) {
	dir := t.TempDir()
	tree, outside, link := filepath.Join(dir, "tree"), filepath.Join(dir, "outside"), filepath.Join(dir, "link")
	if err := os.MkdirAll(filepath.Join(tree, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join(tree, "bin", "tool"), outside} {
		if err := os.WriteFile(file, []byte("x"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, to := range map[string]string{link: tree, filepath.Join(dir, "tool"): filepath.Join(tree, "bin", "tool"), filepath.Join(tree, "out"): outside} {
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
	}
	for path, known := range map[string]bool{
		"bin/tool": false, filepath.Join(tree, "bin/tool"): false, filepath.Join(link, "bin/tool"): false, filepath.Join(dir, "tool"): false,
		filepath.Join(tree, "out"): false, outside: true, filepath.Join(tree, "../outside"): true,
	} {
		for _, changing := range []string{tree, link, ""} {
			p := Program{Command: Command{Args: []string{path}, Dir: tree}, Changing: changing}
			if got := p.Digest() != ""; got != (known || changing == "") {
				t.Errorf("%s with %q changing: known %t", path, changing, got)
			}
		}
	}
}

// A program that stays the same is read once.
func TestProgramIsReadOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("make test runs it") // it waits until the file is a second old
	}
	bin := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(bin, []byte("x"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := Program{Command: Command{Args: []string{bin}}}
	for late := time.Now().Add(5 * time.Minute); p.stat == nil; time.Sleep(10 * time.Millisecond) {
		if p.Digest() == "" || time.Now().After(late) {
			t.Fatal("its digest is not kept")
		}
	}
	p.digest = "kept"
	if d := p.Digest(); d != "kept" {
		t.Errorf("read again: %s", d)
	}
}
