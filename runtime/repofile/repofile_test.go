package repofile

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// world makes a repository with everything that may lie in one, beside a secret.
func world(t *testing.T) string {
	t.Helper()
	top := t.TempDir()
	root := filepath.Join(top, "repo")
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(os.MkdirAll(filepath.Join(root, "sub"), 0o755))
	do(os.WriteFile(filepath.Join(root, "file"), []byte("text"), 0o600))
	do(os.WriteFile(filepath.Join(root, "long"), []byte(strings.Repeat("x", 1025)), 0o600))
	do(os.WriteFile(filepath.Join(top, "secret"), []byte("root:x:0"), 0o600))
	for name, to := range map[string]string{
		"inside": "file", "deep": "sub/../inside", "whole": filepath.Join(root, "file"), "sub/up": "../file",
		"outside": "../secret", "absolute": filepath.Join(top, "secret"), "by": "outside", "out": "..",
		"loop": "loop", "round": "about", "about": "round", "dangling": "nothing", "zero": "/dev/zero",
	} {
		do(os.Symlink(to, filepath.Join(root, name)))
	}
	do(unix.Mkfifo(filepath.Join(root, "pipe"), 0o600))
	l, err := net.Listen("unix", filepath.Join(root, "socket"))
	do(err)
	t.Cleanup(func() { _ = l.Close() })
	sparse, err := os.Create(filepath.Join(root, "sparse"))
	do(err)
	do(sparse.Truncate(1 << 30))
	do(sparse.Close())
	return root
}

// Each name is read, or refused with its reason, and the reason never quotes a file.
func TestRead(t *testing.T) {
	root := world(t)
	for _, tt := range []struct{ name, want string }{
		{"file", "text"}, {"inside", "text"}, {"deep", "text"}, {"whole", "text"}, {"sub/up", "text"},
		{"outside", "error: a link leads out of its repository"}, {"absolute", "error: a link leads out of its repository"},
		{"by", "error: a link leads out of its repository"}, {"out/secret", "error: a link leads out of its repository"},
		{"zero", "error: a link leads out of its repository"},
		{"loop", "error: too many levels of symbolic links"}, {"round", "error: too many levels of symbolic links"},
		{"pipe", "error: not a regular file but a named pipe"}, {"socket", "error: not a regular file but a socket"},
		{"sub", "error: not a regular file but a directory"}, {"long", "error: larger than 1 KiB"}, {"sparse", "error: larger than 1 KiB"},
		{"dangling", "error: no such file or directory"}, {"none", "error: no such file or directory"},
	} {
		text, err := Read(root, filepath.Join(root, tt.name), 1024)
		got := string(text)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	for _, name := range []string{"dangling", "none"} {
		if _, err := Read(root, filepath.Join(root, name), 1024); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read(root, filepath.Join(root, "../secret"), 1024); err == nil {
		t.Error("a path out of its root is read")
	}
}

// Without a root, links lead anywhere, and everything else holds.
func TestReadAnywhere(t *testing.T) {
	root := world(t)
	for name, want := range map[string]string{
		"outside": "root:x:0", "zero": "error: not a regular file but a device", "pipe": "error: not a regular file but a named pipe",
		"sparse": "error: larger than 1 KiB",
	} {
		text, err := Read("", filepath.Join(root, name), 1024)
		got := string(text)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// A repository may itself be reached by a link.
func TestLinkedRoot(t *testing.T) {
	root := world(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"inside", "whole"} {
		if text, err := Read(link, filepath.Join(link, name), 1024); err != nil || string(text) != "text" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// A place may be missing, but no link on the way to it leads out or nowhere.
func TestPlace(t *testing.T) {
	root := world(t)
	for name, want := range map[string]string{
		"sub": "sub", "sub/up": "file", "new/deep": "new/deep", "whole": "file", "inside": "file", "": "",
		"out": "a link leads out of its repository", "out/new": "a link leads out of its repository", "absolute": "a link leads out of its repository",
		"dangling": "a link leads nowhere", "dangling/new": "a link leads nowhere", "loop": "too many levels of symbolic links",
	} {
		got, err := Place(root, filepath.Join(root, name))
		switch {
		case err != nil:
			got = err.Error()
		default:
			want = filepath.Join(root, want)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
