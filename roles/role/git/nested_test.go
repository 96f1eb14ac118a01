package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Files that come in the place of a submodule are refused while it is checked out, whoever has looked before. Where they
// cannot all be written, the index has the submodule again.
func TestAdvanceOverASubmodule(t *testing.T) {
	t.Parallel()
	g, run := repository(t)
	sub := filepath.Join(g.Dir, "lib")
	run("init", "-q", sub)
	run("-C", sub, "commit", "-q", "--allow-empty", "-m", "theirs")
	if err := os.WriteFile(filepath.Join(g.Dir, "file"), []byte("new\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run("add", "lib", "file")
	run("commit", "-qm", "a submodule")
	from := run("rev-parse", "HEAD")
	blob := run("rev-parse", from+":file")
	run("rm", "-q", "--cached", "lib")
	run("update-index", "--add", "--cacheinfo", "100644,"+blob+",lib")
	file := run("commit-tree", "-p", from, "-m", "a file", run("write-tree"))
	run("rm", "-q", "--cached", "lib")
	run("update-index", "--add", "--cacheinfo", "100644,"+blob+",lib/a", "--cacheinfo", "100644,"+blob+",z/"+strings.Repeat("z", 300))
	folder := run("commit-tree", "-p", from, "-m", "a folder", run("write-tree"))
	run("read-tree", from)
	index := run("ls-files", "--stage")
	for _, to := range []string{file, folder} {
		if err := g.Advance(t.Context(), "main", g.Dir, from, to, "test"); err == nil || !strings.Contains(err.Error(), "lib/ would be overwritten") {
			t.Errorf("%v", err)
		}
		if _, err := os.Stat(filepath.Join(sub, ".git")); err != nil || run("rev-parse", "main") != from || run("ls-files", "--stage") != index {
			t.Errorf("changed: %v", err)
		}
	}
	if err := os.RemoveAll(sub); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(sub, "a"), []byte("new\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := g.Advance(t.Context(), "main", g.Dir, from, folder, "test"); err == nil || !strings.Contains(err.Error(), "nothing is changed: what was written is put back") {
		t.Errorf("%v", err)
	}
	if run("rev-parse", "main") != from || run("ls-files", "--stage") != index {
		t.Errorf("changed:\n%s", run("ls-files", "--stage"))
	}
	if got, err := os.ReadFile(filepath.Join(sub, "a")); err != nil || string(got) != "new\n" {
		t.Errorf("%q, %v", got, err)
	}
}
