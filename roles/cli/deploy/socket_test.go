package deploy

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAllowedImages reads the list of images that may get the engine's socket: by digest
// alone, and never from a file that somebody else could have written.
func TestAllowedImages(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	id, other := "sha256:"+strings.Repeat("ab", 32), "sha256:"+strings.Repeat("cd", 32)
	write := func(path, text string, mode os.FileMode) string {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	list := write(filepath.Join(home, "list"), "# mine\n\n"+id+" registry/brain:1\n# "+other+"\n", 0o600)
	inside := write(filepath.Join(work, "list"), id+"\n", 0o600)
	link, fifo := filepath.Join(home, "link"), filepath.Join(home, "fifo")
	if err := os.Symlink(inside, link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path, id, says string
		want                 bool
	}{
		{name: "allowed", path: list, id: id, want: true},
		{name: "another", path: list, id: "sha256:" + strings.Repeat("0", 64)},
		{name: "part of one", path: list, id: id[:20]},
		{name: "in a comment", path: list, id: other},
		{name: "no list", path: filepath.Join(home, "none"), id: id},
		{name: "no home", id: id},
		{name: "in the repository", path: inside, id: id, says: "lies in the repository"},
		{name: "a link into the repository", path: link, id: id, says: "lies in the repository"},
		{name: "others can write", path: write(filepath.Join(home, "open"), id, 0o622), id: id, says: "written by other users"},
		{name: "no file", path: fifo, id: id, says: "no regular file"},
	} {
		got, err := isAllowed(c.path, c.id, work)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if got != c.want || !strings.Contains(said, c.says) || (c.says == "") != (err == nil) {
			t.Errorf("%s: %v, %v; want %v, %q", c.name, got, err, c.want, c.says)
		}
	}
	for _, c := range []struct{ config, home, want string }{
		{"/c", "/h", "/c/sett/orchestrator-images"}, {"", "/h", "/h/.config/sett/orchestrator-images"}, {"rel", "/h", "/h/.config/sett/orchestrator-images"}, {},
	} {
		vars := map[string]string{"XDG_CONFIG_HOME": c.config, "HOME": c.home}
		if got := allowedPath(func(name string) string { return vars[name] }); got != c.want {
			t.Errorf("with %v the list is %q, want %q", vars, got, c.want)
		}
	}
}
