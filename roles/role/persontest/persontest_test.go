package persontest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Each thing that could be done to a repository is seen, in a linked working tree, too.
func TestChanges(t *testing.T) {
	top := t.TempDir()
	run := func(dir, script string) {
		t.Helper()
		cmd := exec.Command("sh", "-ec", script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=p", "GIT_AUTHOR_EMAIL=p@x", "GIT_COMMITTER_NAME=p", "GIT_COMMITTER_EMAIL=p@x")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
	}
	for _, dir := range []string{"here/sub", "linked/deep"} {
		for _, does := range []string{
			"git branch other", "git stash -q", "git config user.name x", "git tag t", "echo 2 >file", "chmod 700 file", "ln -sfn / ../link", "git commit -q --allow-empty -m 2",
			"git update-index --assume-unchanged file", "git hash-object -w --stdin </dev/null", "touch new", "rm file", "git checkout -q --detach", "touch $(git rev-parse --git-common-dir)/hooks/x",
		} {
			top := t.TempDir()
			run(top, "git init -q -b main here; cd here; mkdir sub; echo 1 >sub/file; ln -s sub link; git add -A; git commit -qm 1; git worktree add -q ../linked; mkdir ../linked/deep")
			in := filepath.Join(top, filepath.FromSlash(dir))
			if dir == "linked/deep" {
				does = strings.ReplaceAll(does, "file", "../sub/file")
			}
			if does == "git stash -q" {
				run(in, "echo 3 >$(git rev-parse --show-toplevel)/sub/file")
			}
			r, err := Around(in)
			if err != nil {
				t.Fatal(err)
			}
			if same, err := r.Changes(func(string) bool { return false }); err != nil || len(same) > 0 {
				t.Errorf("in %s, of nothing: %q %v", dir, same, err)
			}
			run(in, does)
			if changes, err := r.Changes(func(string) bool { return false }); err != nil || len(changes) == 0 {
				t.Errorf("in %s: %s is not seen: %v", dir, does, err)
			}
			if own, err := r.Changes(func(string) bool { return true }); err != nil || len(own) > 0 {
				t.Errorf("in %s, of the test's own: %q %v", dir, own, err)
			}
		}
	}
	if r, err := Around(top); err != nil || r.dirs != nil {
		t.Errorf("where no repository is: %v %v", r.dirs, err)
	}
}
