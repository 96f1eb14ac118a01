package worktree

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// wrapper is a git that dies at its nth run that writes: before it does anything,
// or in the middle, with its lock left behind and some of its files written.
const wrapper = `#!/bin/sh
case " $* " in
*" add "* | *" write-tree "* | *" commit-tree "* | *" update-ref "* | *" symbolic-ref -m "* | *" read-tree "* | *" clean "*) ;;
*) exec '%[3]s' "$@" ;;
esac
read n <'%[1]s/runs'
echo $((n + 1)) >'%[1]s/runs'
[ "$n" -eq %[2]d ] || exec '%[3]s' "$@"
if [ %[4]s = half ]; then
	case " $* " in
	*" read-tree --reset -u "*) echo 'second a' >a; rm -f dir/b; echo half >.git/index.lock ;;
	*" clean "*) rm -f new/1 ;;
	*" symbolic-ref "*) echo half >.git/HEAD.lock ;;
	*" update-ref "*) echo half >.git/refs/heads/main.lock ;;
	*) echo half >.git/sett-index.lock ;;
	esac
fi
kill -9 $$
`

// TestRestoreKilledHalfway kills the restoration at every run of git that writes
// and calls it again: it ends as if nothing had happened, and nothing is lost.
func TestRestoreKilledHalfway(t *testing.T) {
	messy := newCommitted(t)
	commit, branch := messy.head()
	want := messy.shape()
	messUp(messy)
	moved, _ := messy.head()
	for _, how := range []string{"before", "half"} {
		t.Run(how, func(t *testing.T) {
			for n := 1; ; n++ {
				r := repo{t, filepath.Join(t.TempDir(), "copy")}
				if err := os.CopyFS(r.dir, os.DirFS(messy.dir)); err != nil {
					t.Fatal(err)
				}
				runs, died := r.restoreKilled(commit, branch, n, how)
				kept, err := r.tree().Restore(t.Context(), commit, branch, "claim/agent-1", "left by a tool")
				if err != nil || kept != keptRef {
					t.Fatalf("killed at %d: %q, %v", n, kept, err)
				}
				if got := r.shape(); got != want {
					t.Fatalf("killed at %d: the tree is\n%s\nwant\n%s", n, got, want)
				}
				for name, text := range map[string]string{"a": "changed\n", "new/1": "1\n", "new/2": "2\n", "c": "c\n", "hidden": "h\n"} {
					if !r.isKept("ancestor:"+name, text) {
						t.Errorf("killed at %d: %s is lost", n, name)
					}
				}
				r.git("merge-base", "--is-ancestor", moved, keptRef)
				if runs >= n && died == nil {
					t.Errorf("killed at %d: no error", n)
				}
				if runs < n {
					if n < 10 {
						t.Errorf("only %d runs of git that write", runs)
					}
					return
				}
			}
		})
	}
}

// restoreKilled restores with a git that dies at its nth run that writes. It
// returns how many of those there were.
func (r repo) restoreKilled(commit, branch string, n int, how string) (runs int, err error) {
	r.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		r.Fatal(err)
	}
	bin, path := r.TempDir(), os.Getenv("PATH")
	for name, text := range map[string]string{"git": fmt.Sprintf(wrapper, bin, n, git, how), "runs": "1\n"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			r.Fatal(err)
		}
	}
	r.Setenv("PATH", bin+":"+path)
	defer r.Setenv("PATH", path)
	_, died := r.tree().Restore(r.Context(), commit, branch, "claim/agent-1", "left by a tool")
	text, err := os.ReadFile(filepath.Join(bin, "runs"))
	if err == nil {
		runs, err = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	if err != nil {
		r.Fatal(err)
	}
	return runs - 1, died
}

// messUp does a bit of everything.
func messUp(r repo) {
	r.git("checkout", "-q", "other")
	r.write("c", "c\n")
	r.commit("c")
	r.write("a", "changed\n")
	r.remove("dir/b")
	r.write("new/1", "1\n")
	r.write("new/2", "2\n")
	r.write(".gitignore", "hidden\n*.log\n")
	r.write("hidden", "h\n")
}

// TestRestoreKeepsNothingTwice: a second call after the files were put back by
// half makes no second commit.
func TestRestoreKeepsNothingTwice(t *testing.T) {
	r := newCommitted(t)
	commit, branch := r.head()
	messUp(r)
	if _, err := r.tree().Restore(t.Context(), commit, branch, "k", "m"); err != nil {
		t.Fatal(err)
	}
	first := r.git("rev-parse", Keep+"k")
	// As after a kill: some files are as they were kept, some are put back, one is gone.
	r.git("symbolic-ref", "HEAD", "refs/heads/other")
	r.write("a", "changed\n")
	r.write("new/2", "2\n")
	r.remove("run.sh")
	if _, err := r.tree().Restore(t.Context(), commit, branch, "k", "m"); err != nil {
		t.Fatal(err)
	}
	if got := r.git("rev-parse", Keep+"k"); got != first {
		t.Errorf("kept again:\n%s", r.git("log", "--graph", "--stat", "-2", Keep+"k"))
	}
	r.write("a", "more\n")
	if _, err := r.tree().Restore(t.Context(), commit, branch, "k", "m"); err != nil {
		t.Fatal(err)
	}
	r.git("merge-base", "--is-ancestor", first, Keep+"k")
	if got := r.git("show", Keep+"k:a"); got != "more" {
		t.Errorf("kept %q", got)
	}
}

// TestRestoreThatCannotKeep leaves everything as it is.
func TestRestoreThatCannotKeep(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for _, fails := range []string{"add", "write-tree", "commit-tree", "update-ref"} {
		t.Run(fails, func(t *testing.T) {
			r := newCommitted(t)
			commit, branch := r.head()
			messUp(r)
			want, path := r.shape(), os.Getenv("PATH")
			bin := t.TempDir()
			script := fmt.Sprintf("#!/bin/sh\ncase \" $* \" in *' %s '*) echo 'fatal: No space left on device' >&2; exit 128;; esac\nexec '%s' \"$@\"\n", fails, git)
			if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", bin+":"+path)
			_, err := r.tree().Restore(t.Context(), commit, branch, "k", "m")
			t.Setenv("PATH", path)
			if err == nil || !strings.Contains(err.Error(), "keep leftovers: ") || !strings.Contains(err.Error(), "No space left") {
				t.Errorf("got %v", err)
			}
			if got := r.shape(); got != want {
				t.Errorf("the tree is\n%s\nwant\n%s", got, want)
			}
		})
	}
}
