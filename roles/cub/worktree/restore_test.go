package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRestore(t *testing.T) {
	for _, c := range restoreCases {
		t.Run(c.name, func(t *testing.T) { c.run(newCommitted(t)) })
	}
}

// TestRestoreWithHostileConfiguration: nothing of what a user may have set gets
// in the way.
func TestRestoreWithHostileConfiguration(t *testing.T) {
	for i, c := range restoreCases {
		if i%4 != 2 { // a quarter of them goes through every command
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			r := newCommitted(t)
			config := filepath.Join(t.TempDir(), "gitconfig")
			text := `
[commit]
	gpgsign = true
[gpg]
	program = /bin/false
[user]
	useConfigOnly = true
[core]
	hooksPath = /nonexistent
	quotePath = true
	pager = false
	editor = false
	safecrlf = true
[status]
	showUntrackedFiles = no
	submoduleSummary = true
[submodule]
	recurse = true
[clean]
	requireForce = true
[color]
	ui = always
[diff]
	external = false
	noprefix = true
[log]
	showSignature = true
[merge]
	autoStash = true
`
			if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			c.prepare(r)
			t.Setenv("GIT_DIR", "/nonexistent")
			t.Setenv("GIT_INDEX_FILE", "/nonexistent")
			c.restore(r, func(restore func()) {
				for _, name := range []string{"GIT_DIR", "GIT_INDEX_FILE"} {
					os.Unsetenv(name)
				}
				t.Setenv("GIT_CONFIG_GLOBAL", config)
				restore()
				t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
			})
		})
	}
}

func (c restoreCase) run(r repo) {
	r.Helper()
	c.prepare(r)
	c.restore(r, func(restore func()) { restore() })
}

func (c restoreCase) prepare(r repo) {
	if c.before != nil {
		c.before(r)
	}
}

// restore lets the tool work, restores within around, and checks everything.
func (c restoreCase) restore(r repo, around func(func())) {
	r.Helper()
	for _, name := range []string{"GIT_DIR", "GIT_INDEX_FILE"} {
		os.Unsetenv(name)
	}
	commit, branch := r.head()
	want := r.shape()
	c.tool(r)
	moved, _, err := r.tree().Head(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	refs := r.otherRefs(branch)
	var kept string
	around(func() {
		kept, err = r.tree().Restore(r.Context(), commit, branch, "claim/agent-1", "left by a tool\n\nClaim: x")
	})
	if err != nil {
		r.Fatal(err)
	}
	c.check(r, want, moved, kept)
	if got := r.otherRefs(branch); got != refs {
		r.Errorf("other refs are\n%s\nwant\n%s", got, refs)
	}
	again, err := r.tree().Restore(r.Context(), commit, branch, "claim/agent-1", "left by a tool")
	if err != nil || again != kept {
		r.Errorf("again: got %q, %v, want %q", again, err, kept)
	}
}

// check compares the repository with what it was and looks for what was kept.
func (c restoreCase) check(r repo, want, moved, kept string) {
	r.Helper()
	got := r.shape()
	if c.headOnly {
		head := func(s string) string { s, _, _ = strings.Cut(s, "\n/"); return s }
		got, want = head(got), head(want)
	}
	if got != want {
		r.Errorf("the tree is\n%s\nwant\n%s", got, want)
	}
	if text, err := os.ReadFile(filepath.Join(r.dir, "user.log")); err != nil || string(text) != "the user's own, ignored\n" {
		r.Errorf("the user's ignored file: %q, %v", text, err)
	}
	for _, name := range []string{"sett-index", "sett-index.lock", "index.lock", "MERGE_HEAD", "rebase-merge", "CHERRY_PICK_HEAD", "sequencer"} {
		if _, err := os.Lstat(filepath.Join(r.dir, ".git", name)); err == nil {
			r.Errorf("%s is there", name)
		}
	}
	if _, err := os.Lstat(r.hookMark()); err == nil {
		r.Error("a hook ran")
	}
	if c.none {
		if out, err := r.try("rev-parse", "--verify", keptRef); kept != "" || err == nil {
			r.Errorf("kept %q %s, want nothing", kept, out)
		}
		return
	}
	if kept != keptRef {
		r.Fatalf("kept %q, want %q", kept, keptRef)
	}
	if who := r.git("log", "-1", "--format=%an %ae %cn %ce %s", keptRef); who != "sett sett@localhost sett sett@localhost left by a tool" {
		r.Errorf("kept by %q", who)
	}
	for name, text := range c.kept {
		if !r.isKept(name, text) {
			r.Errorf("%q with %q is not kept:\n%s", name, text, r.git("log", "--graph", "--stat", "-3", keptRef))
		}
	}
	if c.tips {
		r.git("merge-base", "--is-ancestor", moved, keptRef)
	}
}

// isKept says whether a file is in what is kept: in its tree, with "parent N:"
// in that parent's, with "ancestor:" in any commit's.
func (r repo) isKept(name, text string) bool {
	r.Helper()
	where, path, special := strings.Cut(name, ":")
	commits := []string{keptRef}
	if special && strings.HasPrefix(where, "parent ") {
		commits = []string{keptRef + "^" + where[len("parent "):]}
	} else if special && where == "ancestor" {
		commits = strings.Fields(r.git("rev-list", keptRef))
	} else {
		path = name
	}
	for _, c := range commits {
		if out, err := r.try("show", c+":"+path); err == nil && out == strings.TrimSpace(text) {
			return true
		}
	}
	return false
}
