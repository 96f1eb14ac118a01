package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program that a tool has planted in the configuration gets no more network
// from git than the tool had.
func TestWithoutNetwork(t *testing.T) {
	r := newCommitted(t)
	seen := filepath.Join(t.TempDir(), "seen")
	r.git("config", "filter.spy.clean", "grep -E '^Seccomp:|^NoNewPrivs:' /proc/self/status >"+seen+"; cat")
	r.write(".gitattributes", "* filter=spy\n")
	r.write("a", "change a\n") // as long as before, or git knows without looking inside
	look := func(tree *Tree) string {
		t.Helper()
		if _, err := tree.Dirty(t.Context()); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(seen)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(string(b)), " ")
	}
	tree := r.tree()
	if got, want := look(tree.WithoutNetwork()), "NoNewPrivs: 1 Seccomp: 2"; got != want {
		t.Errorf("without network: %s, want %s", got, want)
	}
	own, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	if got := look(tree); got != "NoNewPrivs: 0 Seccomp: 0" && strings.Contains(string(own), "Seccomp:\t0") {
		t.Errorf("with network: %s", got)
	}
}
