package worktree

import (
	"os"
	"path/filepath"
)

const keptRef = Keep + "claim/agent-1"

// restoreCase is what a tool did to the repository of newCommitted, and what of
// it must be found under the ref.
type restoreCase struct {
	name     string
	before   func(r repo) // what the user had done before
	tool     func(r repo)
	kept     map[string]string // file to content, anywhere in what is kept
	none     bool              // nothing to keep
	tips     bool              // the commit HEAD stood at is kept
	headOnly bool              // compare HEAD and status only: files remain that git does not see
}

var restoreCases = []restoreCase{
	{name: "nothing", tool: func(r repo) {}, none: true},
	{name: "only ignored files", tool: func(r repo) { r.write("build/x", "x") }, none: true, headOnly: true},
	{
		name: "uncommitted changes",
		tool: func(r repo) { r.write("a", "changed\n"); r.remove("dir"); r.write("new/deep/f", "new\n") },
		kept: map[string]string{"a": "changed\n", "new/deep/f": "new\n"},
	},
	{name: "removed file", tool: func(r repo) { r.remove("run.sh") }, kept: map[string]string{"a": "second a\n"}},
	{name: "mode", tool: func(r repo) { os.Chmod(filepath.Join(r.dir, "run.sh"), 0o644) }, kept: map[string]string{"run.sh": "#!/bin/sh\n"}},
	{
		name: "staged and then changed again",
		tool: func(r repo) { r.write("a", "staged\n"); r.git("add", "a"); r.write("a", "later\n") },
		kept: map[string]string{"a": "later\n", "parent 2:a": "staged\n"},
	},
	{
		name: "ignored file added by force",
		tool: func(r repo) { r.write("x.log", "forced\n"); r.git("add", "-f", "x.log") },
		kept: map[string]string{"x.log": "forced\n"}, headOnly: true,
	},
	{
		name: "the user's ignored file committed", tips: true,
		tool: func(r repo) { r.git("add", "-f", "user.log"); r.commit("all of it") },
		kept: map[string]string{"user.log": "the user's own, ignored\n"},
	},
	{
		name: "commits on the branch", tips: true,
		tool: func(r repo) { r.write("c", "c\n"); r.commit("c"); r.write("d", "d\n") },
		kept: map[string]string{"c": "c\n", "d": "d\n"},
	},
	{name: "amended", tips: true, tool: func(r repo) { r.git("commit", "-q", "--amend", "-m", "other words") }},
	{name: "branch moved back", tool: func(r repo) { r.git("reset", "-q", "--hard", "HEAD~1") }, none: true},
	{
		name: "branch moved back under its files",
		tool: func(r repo) { r.git("reset", "-q", "--soft", "HEAD~1") }, none: true,
	},
	{name: "another branch, clean", tool: func(r repo) { r.git("checkout", "-q", "other") }, none: true},
	{
		name: "commit on the user's other branch", tips: true,
		tool: func(r repo) { r.git("checkout", "-q", "other"); r.write("o", "o\n"); r.commit("o") },
		kept: map[string]string{"o": "o\n"},
	},
	{
		name: "detached with a commit and changes", tips: true,
		tool: func(r repo) {
			r.git("checkout", "-q", "--detach")
			r.write("x", "x\n")
			r.commit("x")
			r.write("y", "y\n")
		},
		kept: map[string]string{"x": "x\n", "y": "y\n"},
	},
	{
		name: "branch deleted", tips: true,
		tool: func(r repo) {
			r.git("checkout", "-q", "-b", "mine")
			r.git("branch", "-q", "-D", "main")
			r.write("m", "m\n")
			r.commit("m")
		},
		kept: map[string]string{"m": "m\n"},
	},
	{
		name: "branch moved while HEAD is elsewhere",
		tool: func(r repo) {
			r.write("moved", "moved\n")
			r.commit("moved")
			r.git("checkout", "-q", "other")
		},
		kept: map[string]string{"parent 2:moved": "moved\n"},
	},
	{
		name: "branch renamed, new history", tips: true,
		tool: func(r repo) {
			r.git("checkout", "-q", "--orphan", "fresh")
			r.git("rm", "-q", "-r", "-f", ".")
			r.write("only", "only\n")
			r.commit("orphan")
		},
		kept: map[string]string{"only": "only\n"},
	},
	{name: "orphan branch without a commit", tool: func(r repo) { r.git("checkout", "-q", "--orphan", "fresh") }, none: true},
	{
		name:   "detached before",
		before: func(r repo) { r.git("checkout", "-q", "--detach", "HEAD~1") },
		tool:   func(r repo) { r.git("checkout", "-q", "-b", "own"); r.write("x", "x\n"); r.commit("x") },
		kept:   map[string]string{"x": "x\n"}, tips: true,
	},
	{
		name:   "detached before, commits",
		before: func(r repo) { r.git("checkout", "-q", "--detach") },
		tool:   func(r repo) { r.write("x", "x\n"); r.commit("x") },
		kept:   map[string]string{"x": "x\n"}, tips: true,
	},
	{
		name: "merge with conflicts",
		tool: func(r repo) {
			r.git("checkout", "-q", "-b", "side", "other")
			r.write("a", "side a\n")
			r.commit("side")
			r.git("checkout", "-q", "main")
			r.try("merge", "side")
			r.write("a", "half resolved\n")
		},
		kept: map[string]string{"a": "half resolved\n", "parent 2:a": "side a\n"},
	},
	{
		name: "merge not committed, of a commit no branch has",
		tool: func(r repo) {
			r.git("checkout", "-q", "--detach", "other")
			r.write("away", "away\n")
			away := r.commit("away")
			r.git("checkout", "-q", "main")
			r.git("merge", "-q", "--no-commit", "--no-ff", away)
		},
		kept: map[string]string{"away": "away\n", "a": "second a\n"},
	},
	{
		name: "merge that changes no file", tool: func(r repo) { r.git("merge", "-q", "--no-commit", "-s", "ours", r.otherCommit()) },
		kept: map[string]string{"a": "second a\n"},
	},
	{
		name: "rebase with conflicts and changes put aside",
		tool: func(r repo) {
			r.git("checkout", "-q", "-b", "side", "other")
			r.write("a", "side a\n")
			r.commit("side")
			r.write("run.sh", "put aside\n")
			r.try("rebase", "--autostash", "main")
		},
		kept: map[string]string{"ancestor:run.sh": "put aside\n", "ancestor:a": "side a\n"},
	},
	{
		name: "cherry-pick with conflicts, of two",
		tool: func(r repo) {
			r.git("checkout", "-q", "-b", "side", "other")
			r.write("a", "one\n")
			r.commit("one")
			r.write("a", "two\n")
			r.commit("two")
			r.git("checkout", "-q", "main")
			r.try("cherry-pick", "side~1", "side")
		},
		kept: map[string]string{"ancestor:a": "one\n"},
	},
	{name: "revert in progress", tool: func(r repo) { r.git("revert", "--no-commit", "HEAD") }, kept: map[string]string{"a": "first a\n"}},
	{
		name: "locks of a killed git",
		tool: func(r repo) {
			r.write("a", "changed\n")
			for _, lock := range []string{"index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "refs/heads/main.lock"} {
				r.write(".git/"+lock, "half")
			}
		},
		kept: map[string]string{"a": "changed\n"},
	},
	{name: "lock only", tool: func(r repo) { r.write(".git/index.lock", "") }, none: true},
	{name: "index gone", tool: func(r repo) { r.remove(".git/index") }, none: true},
	{name: "index broken", tool: func(r repo) { r.write(".git/index", "broken"); r.write("n", "n\n") }, kept: map[string]string{"n": "n\n"}},
	{
		name: "a file where a directory was, and the other way round",
		tool: func(r repo) { r.remove("dir"); r.write("dir", "file\n"); r.remove("a"); r.write("a/x", "x\n") },
		kept: map[string]string{"dir": "file\n", "a/x": "x\n"},
	},
	{
		name: "ignored files in the way of what comes back",
		tool: func(r repo) {
			r.git("rm", "-q", "-r", "a", "dir")
			r.write(".gitignore", "*.log\nbuild/\na\ndir\n")
			r.commit("ignore them")
			r.write("a", "ignored, in the way\n")
			r.write("dir", "file in the way\n")
		},
		kept: map[string]string{"a": "ignored, in the way\n", "dir": "file in the way\n"}, tips: true,
	},
	{
		name: "files hidden by the tool's own ignore rules",
		tool: func(r repo) { r.write(".gitignore", "*\n"); r.write("hidden", "hidden\n"); r.write("a", "seen\n") },
		kept: map[string]string{"hidden": "hidden\n", "a": "seen\n"},
	},
	{
		name: "ignore rules removed",
		tool: func(r repo) { r.remove(".gitignore"); r.write("build/out", "out\n") },
		kept: map[string]string{"a": "second a\n"}, headOnly: true,
	},
	{
		name: "strange names",
		tool: func(r repo) {
			r.write("-n", "dash\n")
			r.write(":(top)x", "colon\n")
			r.write("new\nline *", "line\n")
			r.write("\xff", "bytes\n")
		},
		kept: map[string]string{"-n": "dash\n", ":(top)x": "colon\n", "new\nline *": "line\n", "\xff": "bytes\n"},
	},
	{
		name: "links that lead away",
		tool: func(r repo) {
			r.remove("dir")
			os.Symlink("/tmp", filepath.Join(r.dir, "dir"))
			os.Symlink("/etc/passwd", filepath.Join(r.dir, "link"))
		},
		kept: map[string]string{"link": "/etc/passwd", "dir": "/tmp"},
	},
	{
		name: "repositories inside",
		tool: func(r repo) {
			r.write("sub/f", "f\n")
			r.git("init", "-q", "sub")
			r.git("init", "-q", "deep/er")
			r.write("deep/er/g", "g\n")
			r.git("-C", "deep/er", "add", "g")
			r.git("-C", "deep/er", "commit", "-q", "-m", "g")
			r.git("init", "-q", "deep/er/est")
			r.write("deep/er/est/h", "h\n")
		},
		kept: map[string]string{"sub/f": "f\n", "deep/er/g": "g\n", "deep/er/est/h": "h\n"},
	},
	{
		name: "hooks", tips: true,
		tool: func(r repo) {
			r.write("x", "x\n")
			r.commit("x")
			for _, hook := range []string{"reference-transaction", "post-checkout", "post-index-change", "pre-commit", "fsmonitor"} {
				r.write(".git/hooks/"+hook, "#!/bin/sh\ntouch '"+r.hookMark()+"'\n")
				os.Chmod(filepath.Join(r.dir, ".git/hooks", hook), 0o755)
			}
			r.git("config", "core.fsmonitor", ".git/hooks/fsmonitor")
		},
		kept: map[string]string{"x": "x\n"},
	},
}

func (r repo) otherCommit() string {
	r.git("checkout", "-q", "-b", "merged", "other")
	r.write("z", "z\n")
	r.commit("z")
	r.git("checkout", "-q", "main")
	return "merged"
}

// hookMark is the file that a hook makes when it runs.
func (r repo) hookMark() string { return filepath.Join(filepath.Dir(r.dir), "a-hook-ran") }
