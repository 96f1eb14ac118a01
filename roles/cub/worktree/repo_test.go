package worktree

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// repo is a real repository for a test.
type repo struct {
	*testing.T
	dir string
}

// isolate keeps the machine's git configuration out of a test.
func isolate(t *testing.T) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+who+"_NAME", "a tool")
		t.Setenv("GIT_"+who+"_EMAIL", "tool@example.org")
	}
}

// newRepo makes a repository without a commit, on branch main.
func newRepo(t *testing.T) repo {
	t.Helper()
	isolate(t)
	r := repo{t, t.TempDir()}
	r.git("init", "-q", "-b", "main", "--template=")
	return r
}

// newCommitted makes one with a commit, an ignored file and another branch.
func newCommitted(t *testing.T) repo {
	t.Helper()
	r := newRepo(t)
	r.write(".gitignore", "*.log\nbuild/\n")
	r.write("a", "first a\n")
	r.write("dir/b", "first b\n")
	r.write("run.sh", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(r.dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.commit("first")
	r.write("a", "second a\n")
	r.commit("second")
	r.git("branch", "other", "HEAD~1")
	r.git("tag", "v1", "HEAD~1")
	r.write("user.log", "the user's own, ignored\n")
	return r
}

// git runs git as a tool would and returns its output.
func (r repo) git(args ...string) string {
	r.Helper()
	out, err := r.try(args...)
	if err != nil {
		r.Fatalf("git %v: %v: %s", args, err, out)
	}
	return out
}

func (r repo) try(args ...string) (string, error) {
	quiet := []string{"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"}
	cmd := exec.Command("git", append(quiet, args...)...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_EDITOR=true", "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (r repo) write(name, text string) {
	r.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.Fatal(err)
	}
}

func (r repo) remove(name string) {
	r.Helper()
	if err := os.RemoveAll(filepath.Join(r.dir, name)); err != nil {
		r.Fatal(err)
	}
}

func (r repo) commit(message string) string {
	r.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "-m", message)
	return r.git("rev-parse", "HEAD")
}

// tree returns the repository's Tree, less patient than in earnest.
func (r repo) tree() *Tree {
	t := New(r.dir)
	t.patience = 20 * time.Millisecond
	t.lockDeadline = 2 * time.Second
	return t
}

// head is Head without an error.
func (r repo) head() (commit, branch string) {
	r.Helper()
	commit, branch, err := r.tree().Head(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	return commit, branch
}

// shape describes HEAD, its branch, the index and every file, so that two
// states can be compared.
func (r repo) shape() string {
	r.Helper()
	head, _ := r.try("symbolic-ref", "HEAD")
	commit, _ := r.try("rev-parse", "-q", "--verify", "HEAD")
	out := "HEAD " + head + " " + commit + "\nindex " + r.git("ls-files", "--stage") + "\nstatus " + r.git("status", "--porcelain") + "\n"
	err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() != ".git" {
			return err
		}
		if d.Name() == ".git" {
			if filepath.Dir(path) != r.dir {
				out += path + " repository\n"
			}
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		text := []byte("link")
		info, err := d.Info()
		if err == nil && d.Type().IsRegular() {
			text, err = os.ReadFile(path)
		}
		out += strings.TrimPrefix(path, r.dir) + " " + info.Mode().String() + " " + string(text) + "\n"
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return out
}

// otherRefs lists all refs but those that Restore may write.
func (r repo) otherRefs(branch string) string {
	r.Helper()
	out := ""
	for line := range strings.Lines(r.git("for-each-ref", "--format=%(refname) %(objectname)") + "\n") {
		if !strings.HasPrefix(line, "refs/heads/"+branch+" ") && !strings.HasPrefix(line, Keep) {
			out += line
		}
	}
	return out
}
