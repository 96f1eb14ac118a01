package pin

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sett/runtime/repofile"
)

// tree makes files below a directory: "name" executable, "name=text", "name->target",
// "name|" a named pipe, "name/" a directory.
func tree(t *testing.T, files ...string) Source {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		put(t, root, f)
	}
	return Source{Root: root}
}

func put(t *testing.T, root, f string) {
	t.Helper()
	name, text, _ := strings.Cut(f, "=")
	name, link, isLink := strings.Cut(name, "->")
	at := filepath.Join(root, strings.TrimSuffix(name, "|"))
	if err := os.MkdirAll(filepath.Dir(at), 0o750); err != nil {
		t.Fatal(err)
	}
	mode := fs.FileMode(0o600)
	if text == "" {
		text, mode = name, 0o700
	}
	var err error
	switch {
	case isLink:
		err = os.Symlink(strings.ReplaceAll(link, "ROOT", root), at)
	case strings.HasSuffix(name, "|"):
		err = syscall.Mkfifo(at, 0o600)
	case strings.HasSuffix(name, "/"):
		err = os.MkdirAll(at, 0o750)
	default:
		if err = os.RemoveAll(at); err == nil {
			err = os.WriteFile(at, []byte(text), mode)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// wants reads "+path" as a program and "path" as an entry of pin.
func wants(paths ...string) []Want {
	var all []Want
	for _, p := range paths {
		name, program := strings.CutPrefix(p, "+")
		all = append(all, Want{Path: name, Program: program, By: "command"})
	}
	return all
}

// shown is a set as text: executables with *, links with their target.
func shown(s Set) string {
	var all []string
	for _, f := range s {
		switch {
		case f.Link != "":
			all = append(all, f.Path+"->"+f.Link)
		case f.Executable:
			all = append(all, f.Path+"*")
		default:
			all = append(all, f.Path)
		}
	}
	return strings.Join(all, " ")
}

func TestTake(t *testing.T) {
	for _, c := range []struct{ name, files, wants, want, missing, skipped string }{
		{"a program with its folder", "agents/review.sh agents/lib.sh=x agents/data/a=1 src/a=1 top=1", "+agents/review.sh",
			"agents/data/a agents/lib.sh agents/review.sh*", "", ""},
		{"at the root only the file", "run other", "+run", "run*", "", ""},
		{"an entry of pin", "lib/a=1 lib/b/c=1 Makefile=1 x=1", "lib Makefile", "Makefile lib/a lib/b/c", "", ""},
		{"a file of pin without its folder", "lib/a=1 lib/b=1", "lib/a", "lib/a", "", ""},
		{"neither git nor compiled Python", "a/run a/.git/config=x a/__pycache__/x.pyc=x a/b/.git=x", "+a/run", "a/run*", "", ""},
		{"a program in git's folder", ".git/tool .git/config=x a->.git .git/b/c a2/run a2/l->../.git", "+.git/tool +a/b/c +a2/run",
			".git/b/c* .git/tool* a->.git a2/run*", "", "a2/l: a link to git's own files"},
		{"a program that is not there", "a/other", "+a/run +b/run +a/other/x", "", "a/run b/run a/other/x", ""},
		{"a program by a link", "bin/x->../clan/x.sh bin/lib=1 clan/x.sh clan/lib=1", "+bin/x",
			"bin/lib bin/x->../clan/x.sh clan/lib clan/x.sh*", "", ""},
		{"a folder by a link", "agents->clan clan/x.sh clan/lib=1", "+agents/x.sh", "agents->clan clan/lib clan/x.sh*", "", ""},
		{"an absolute link within", "a/x->ROOT/b/y b/y b/z=1", "+a/x", "a/x->../b/y b/y* b/z", "", ""},
		{"links to links", "a/x->y a/y->../b/z b/z", "+a/x", "a/x->y a/y->../b/z b/z*", "", ""},
		{"neighbours that cannot be pinned", "a/run a/out->/etc/passwd a/up->../.. a/pipe| a/gone->nowhere a/self->self a/all->.. a/me->../a", "+a/run", "a/run*", "",
			"a/all: a link to a folder that it lies in|a/gone: no such file or directory|a/me: a link to a folder that it lies in|a/out: a link leads out of its repository|" +
				"a/pipe: not a regular file but a named pipe|a/self: too many levels of symbolic links|a/up: a link leads out of its repository"},
		{"a linked folder beside", "a/run a/lib->../lib lib/x=1 lib/y/z=1", "+a/run", "a/lib->../lib a/run* lib/x lib/y/z", "", ""},
		{"names with spaces and umlauts", "a/über mich.sh=1", "+a/über", "", "a/über", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := strings.Fields(c.files)
			if strings.Contains(c.files, "über") {
				files = []string{c.files}
			}
			s := tree(t, files...)
			got, err := s.Take(wants(strings.Fields(c.wants)...), "")
			if err != nil {
				t.Fatal(err)
			}
			store := Store{filepath.Join(t.TempDir(), "pins")}
			t.Cleanup(func() { _ = store.Keep() })
			if put, err := store.Put(s, wants(strings.Fields(c.wants)...)); err != nil || !slices.Equal(store.Set(put.Set.Digest()), got.Set) {
				t.Errorf("%v; the store has %s", err, shown(store.Set(put.Set.Digest())))
			}
			var missing []string
			for _, w := range got.Missing {
				missing = append(missing, w.Path)
			}
			if shown(got.Set) != c.want || strings.Join(missing, " ") != c.missing || strings.Join(got.Skipped, "|") != c.skipped {
				t.Errorf("got  %s; missing %s; skipped %s\nwant %s; missing %s; skipped %s", shown(got.Set), strings.Join(missing, " "),
					strings.Join(got.Skipped, "|"), c.want, c.missing, c.skipped)
			}
		})
	}
}

// TestTakeRefuses: a named file that cannot be pinned is an error that names the key.
func TestTakeRefuses(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ files, want, err string }{
		{"a/x->/etc/shadow", "+a/x", "a link leads out of its repository"},
		{"a/x->" + outside, "a/x", "a link leads out of its repository"},
		{"a->/etc", "+a/shadow", "a link leads out of its repository"},
		{"a->..", "+a/x", "a link leads out of its repository"},
		{"a/x|", "+a/x", "not a regular file but a named pipe"},
		{"a/x->/dev/zero", "+a/x", "a link leads out of its repository"},
		{"a/x->x", "+a/x", "too many levels of symbolic links"},
		{".git/hooks/x", ".git/hooks", "a folder of git's own cannot be pinned"},
		{"a->.git/hooks .git/hooks/x", "a", "a folder of git's own cannot be pinned"},
		{"a->.", "a", "it leads to the whole repository"},
		{"a/b", "c", "no such file or directory"},
	} {
		s := tree(t, strings.Fields(c.files)...)
		got, err := s.Take(wants(c.want), "")
		if err == nil || !strings.HasSuffix(err.Error(), c.err) || !strings.HasPrefix(err.Error(), "command: pin "+strings.TrimPrefix(c.want, "+")) {
			t.Errorf("%s: %v, %s; want %s", c.files, err, shown(got.Set), c.err)
		}
		if errors.Is(err, repofile.ErrOutside) != (Hint(err) != "") {
			t.Errorf("%s: hint %q", c.files, Hint(err))
		}
	}
}

// TestTakeTooMuch: the error names the largest files.
func TestTakeTooMuch(t *testing.T) {
	s := tree(t, "a/run", "a/small=1")
	for name, size := range map[string]int64{"a/big": MostBytes, "a/second": 3 << 20} {
		put(t, s.Root, name+"=x")
		if err := os.Truncate(filepath.Join(s.Root, name), size); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Take(wants("+a/run"), "")
	if err == nil || !strings.Contains(err.Error(), "are 67 MiB, and at most 64 MiB are pinned; the largest: a/big (64 MiB), a/second (3 MiB), a/") || Hint(err) == "" {
		t.Errorf("%v, hint %q", err, Hint(err))
	}
	_ = os.Remove(filepath.Join(s.Root, "a/big"))
	if _, err := s.Take(wants("+a/run"), ""); err != nil {
		t.Error(err)
	}
}

func TestStore(t *testing.T) {
	s := tree(t, "a/run=#!/bin/sh\n", "a/lib=1", "a/link->lib")
	put(t, s.Root, "a/run")
	store := Store{filepath.Join(t.TempDir(), "pins")}
	t.Cleanup(func() { _ = store.Keep() })
	take := func() Taken {
		t.Helper()
		got, err := store.Put(s, wants("+a/run"))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := take()
	dir := store.Path(first.Set.Digest())
	for name, mode := range map[string]fs.FileMode{".": 0o555, "a": 0o555, "a/run": 0o555, "a/lib": 0o444} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a/link")); err != nil || string(text) != "1" {
		t.Errorf("%q %v", text, err)
	}
	if looked, err := s.Take(wants("+a/run"), ""); err != nil || looked.Set.Digest() != first.Set.Digest() {
		t.Errorf("a look finds another set: %v", err)
	}

	// The tree changes, and the set does not.
	put(t, s.Root, "a/lib=2")
	put(t, s.Root, "a/new=1")
	_ = os.Remove(filepath.Join(s.Root, "a/link"))
	second := take()
	want := []Change{{"a/lib", Changed}, {"a/link", Removed}, {"a/new", Added}}
	if got := Changes(first.Set, second.Set); !slices.Equal(got, want) {
		t.Errorf("changes %v", got)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "a/lib")); string(text) != "1" {
		t.Errorf("the first set has %q", text)
	}
	if entries, _ := os.ReadDir(store.Dir); len(entries) != 2 {
		t.Errorf("the store has %v", entries)
	}

	if got := store.Set(first.Set.Digest()); !slices.Equal(got, first.Set) || store.Set("5a") != nil {
		t.Errorf("the store reads %v", got)
	}

	// A set that somebody has changed is replaced; one that is whole stays.
	now := store.Path(second.Set.Digest())
	before, err := os.Stat(now)
	if err != nil {
		t.Fatal(err)
	}
	if take(); !sameFile(t, before, now) {
		t.Error("a whole set was replaced")
	}
	if err := os.Chmod(filepath.Join(now, "a/run"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(now, "a/run"), []byte("bad"), 0o600); err != nil {
		t.Fatal(err)
	}
	if take(); sameFile(t, before, now) {
		t.Error("a changed set stays")
	}
	if text, _ := os.ReadFile(filepath.Join(now, "a/run")); string(text) != "a/run" {
		t.Errorf("the set has %q", text)
	}

	before, _ = os.Stat(now)
	if err := os.MkdirAll(filepath.Join(now, "a/__pycache__"), 0o700); err != nil && os.Getuid() == 0 {
		t.Fatal(err)
	}
	_ = os.WriteFile(filepath.Join(now, "a/__pycache__/x.pyc"), []byte("bad"), 0o600)
	if take(); os.Getuid() == 0 && sameFile(t, before, now) {
		t.Error("a set with a planted file stays")
	}

	if err := store.Keep(second.Set.Digest()); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(store.Dir); len(entries) != 1 || entries[0].Name() != second.Set.Digest()[:20] {
		t.Errorf("the store has %v", entries)
	}
}

func sameFile(t *testing.T, before fs.FileInfo, name string) bool {
	t.Helper()
	now, err := os.Stat(name)
	return err == nil && os.SameFile(before, now)
}

// TestStoreFails: a set that cannot be taken leaves nothing behind, and none at all is no
// set.
func TestStoreFails(t *testing.T) {
	s := tree(t, "a/run", "b/run->/etc/passwd")
	store := Store{filepath.Join(t.TempDir(), "pins")}
	if _, err := store.Put(s, wants("+a/run", "+b/run")); err == nil {
		t.Error("a link out of the repository is pinned")
	}
	if got, err := store.Put(s, nil); err != nil || got.Set.Digest() != "" {
		t.Errorf("%v %v", got, err)
	}
	if entries, _ := os.ReadDir(store.Dir); len(entries) != 0 {
		t.Errorf("the store has %v", entries)
	}
}

// TestDigest: every part of a file counts, and a set has one digest.
func TestDigest(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range []Set{{}, {{Path: "a", SHA256: "1"}}, {{Path: "b", SHA256: "1"}}, {{Path: "a", SHA256: "2"}}, {{Path: "a", SHA256: "1", Executable: true}},
		{{Path: "a", Link: "1"}}, {{Path: "a", SHA256: "1"}, {Path: "b", SHA256: "1"}}} {
		if seen[s.Digest()] {
			t.Errorf("%v has the digest of another set", s)
		}
		seen[s.Digest()] = true
	}
	if len(Set{{Path: "a"}}.Digest()) != 64 {
		t.Error("no SHA-256")
	}
}

// TestReads: commands that run files of the tree without naming them as their program.
func TestReads(t *testing.T) {
	s := tree(t, "agents/review.sh", "agents/lib.sh=x", "tool")
	for _, c := range []struct {
		want    string
		command []string
	}{
		{"make", []string{"make", "test"}}, {"npm", []string{"/usr/bin/npm", "run", "x"}}, {"make", []string{"env", "A=b", "make"}},
		{"python -m", []string{"python3", "-m", "pytest"}}, {"make", []string{"sh", "-c", "cd x && make test"}},
		{"agents/review.sh", []string{"timeout", "60", "agents/review.sh"}}, {"agents/review.sh", []string{"sh", "-c", "exec './agents/review.sh' x"}},
		{"agents/lib.sh", []string{"sh", "-c", ". agents/lib.sh"}}, {"agents/review.sh", []string{"sh", "-c", "exec /workspace/agents/review.sh"}},
		{"", []string{"agents/review.sh", "make", "agents/review.sh"}}, {"", []string{"sh", "agents/review.sh", "make"}}, {"", []string{"cat", "agents/lib.sh"}}, {"", []string{"sh", "-n", "agents/review.sh"}},
		{"", []string{"sh", "-c", `. "$SETT_PIN/agents/review.sh"`}}, {"", []string{"/app/run"}},
		{"", []string{"shellcheck", "agents/review.sh"}}, {"", []string{"env", "A=b", "grep", "-c", "hi", "agents/review.sh"}}, {"agents/review.sh", []string{"xargs", "agents/review.sh"}}, {"", []string{"git", "commit", "-m", "make"}}, {"", nil},
	} {
		if got := s.Reads(c.command, "/workspace"); got != c.want {
			t.Errorf("%q: %q, want %q", c.command, got, c.want)
		}
	}
}
