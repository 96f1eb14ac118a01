package git

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sett/roles/role"
)

// A working tree whose files cannot all be written is as before: here one has a name that is
// too long for a file system.
func TestAdvancePutsBack(t *testing.T) {
	t.Parallel()
	g, run := repository(t)
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(g.Dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(g.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	blob := func(text string) string {
		t.Helper()
		cmd := exec.Command("git", "hash-object", "-w", "--stdin")
		cmd.Dir, cmd.Stdin = g.Dir, strings.NewReader(text)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	write("changed", "old\n")
	write("removed", "here\n")
	write("untouched", "mine\n")
	run("add", "-A")
	run("commit", "-qm", "before")
	from := run("rev-parse", "HEAD")
	write("untouched", "mine, and not committed\n")
	write("not tracked", "mine too\n")

	run("read-tree", "--index-output="+filepath.Join(g.Dir, ".git", "other"), "HEAD")
	index := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = g.Dir
		cmd.Env = append(os.Environ(), "GIT_INDEX_FILE="+filepath.Join(g.Dir, ".git", "other"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	put := func(name, text string) {
		t.Helper()
		index("update-index", "--add", "--cacheinfo", "100644,"+blob(text)+","+name)
	}
	put("changed", "new\n")
	put("added/below/file", "new\n")
	index("update-index", "--force-remove", "removed")
	put("z/"+strings.Repeat("z", 300), "no file system has it\n")
	to := run("commit-tree", "-p", from, "-m", "after", index("write-tree"))

	err := g.Advance(t.Context(), "main", g.Dir, from, to, "test")
	if err == nil || !strings.Contains(err.Error(), "nothing is changed: what was written is put back") {
		t.Fatalf("%v", err)
	}
	if at := run("rev-parse", "main"); at != from {
		t.Errorf("the branch is at %s", at)
	}
	if got := run("status", "--porcelain"); got != "M untouched\n?? \"not tracked\"" {
		t.Errorf("status:\n%s", got)
	}
	for name, want := range map[string]string{"changed": "old\n", "removed": "here\n", "untouched": "mine, and not committed\n", "not tracked": "mine too\n"} {
		if got, err := os.ReadFile(filepath.Join(g.Dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"added", "z"} {
		if _, err := os.Lstat(filepath.Join(g.Dir, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}

// Two that move a branch at once: one does, the other changes nothing, and so does one that began from another
// commit. What the first has written stays.
func TestAdvanceAtOnce(t *testing.T) {
	t.Parallel()
	g, run := repository(t)
	run("commit", "-q", "--allow-empty", "-m", "first")
	from := run("rev-parse", "HEAD")
	for i := range 200 {
		if err := os.WriteFile(filepath.Join(g.Dir, fmt.Sprint("file", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run("add", "-A")
	run("commit", "-qm", "second")
	to := run("rev-parse", "HEAD")
	for range 5 {
		run("reset", "-q", "--hard", from)
		errs := make(chan error)
		for range 3 {
			go func() { errs <- g.Advance(context.Background(), "main", g.Dir, from, to, "test") }()
		}
		moved := 0
		for range 3 {
			if err := <-errs; err == nil {
				moved++
			} else if role.CodeOf(err) != role.Failed || !strings.HasSuffix(err.Error(), "nothing is changed") {
				t.Error(err)
			}
		}
		if at := run("rev-parse", "main"); moved != 1 || at != to || run("status", "--porcelain") != "" {
			t.Fatalf("%d moved it, the branch is at %s, status:\n%s", moved, at, run("status", "--porcelain"))
		}
	}
	held, err := holdBranch(t.Context(), g, "main", to, from, "test")
	if err != nil {
		t.Fatal(err)
	}
	meanwhile := exec.Command("git", "-C", g.Dir, "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "--allow-empty", "-m", "meanwhile")
	if said, err := meanwhile.CombinedOutput(); err == nil || !strings.Contains(string(said), "cannot lock ref") {
		t.Errorf("a commit meanwhile: %v %s", err, said)
	}
	held.abort()
	if at := run("rev-parse", "main"); at != to {
		t.Errorf("the branch is at %s", at)
	}
	run("commit", "-q", "--allow-empty", "-m", "later")
}
