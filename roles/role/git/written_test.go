package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Files that are written already stay as they are, in the index too, where the others cannot be written.
func TestAdvanceKeepsWhatWasWritten(t *testing.T) {
	t.Parallel()
	g, run := repository(t)
	write := func(text string, names ...string) {
		t.Helper()
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(g.Dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("old\n", "changed", "other", "removed")
	run("add", "-A")
	run("commit", "-qm", "before")
	from := run("rev-parse", "HEAD")
	write("new\n", "changed", "other", "added")
	run("rm", "-qf", "removed")
	run("add", "-A")
	blob := run("rev-parse", ":changed")
	run("update-index", "--add", "--cacheinfo", "100644,"+blob+",z/"+strings.Repeat("z", 300))
	to := run("commit-tree", "-p", from, "-m", "after", run("write-tree"))
	run("reset", "-q", "--hard", from)
	write("new\n", "changed", "added")
	if err := os.Remove(filepath.Join(g.Dir, "removed")); err != nil {
		t.Fatal(err)
	}
	if files, err := g.InTheWay(t.Context(), g.Dir, from, to); err != nil || len(files) > 0 {
		t.Errorf("in the way: %q, %v", files, err)
	}
	index := run("ls-files", "--stage")
	err := g.Advance(t.Context(), "main", g.Dir, from, to, "test")
	if err == nil || !strings.Contains(err.Error(), "nothing is changed: what was written is put back") {
		t.Errorf("%v", err)
	}
	if run("rev-parse", "main") != from || run("ls-files", "--stage") != index || run("status", "--porcelain") != "M changed\n D removed\n?? added" {
		t.Errorf("changed:\n%s\n%s", run("ls-files", "--stage"), run("status", "--porcelain"))
	}
	for name, want := range map[string]string{"changed": "new\n", "added": "new\n", "other": "old\n"} {
		if got, err := os.ReadFile(filepath.Join(g.Dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
