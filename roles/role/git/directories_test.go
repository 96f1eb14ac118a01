package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The directories that are found without a process of git are those that git names, and what git does not take for a plain
// repository is left to git.
func TestDirectories(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		known bool
		make  func(t *testing.T, dir string, run func(args ...string) string) (tree string)
	}{
		"plain": {true, func(_ *testing.T, dir string, _ func(...string) string) string { return dir }},
		"detached": {true, func(_ *testing.T, dir string, run func(...string) string) string {
			run("checkout", "-q", "--detach")
			return dir
		}},
		"by a link": {true, func(t *testing.T, dir string, _ func(...string) string) string {
			to := filepath.Join(t.TempDir(), "link")
			link(t, dir, to)
			return to
		}},
		"no commit": {true, func(_ *testing.T, dir string, run func(...string) string) string {
			run("init", "-q", dir+"-new")
			return dir + "-new"
		}},
		"linked": {false, func(_ *testing.T, dir string, run func(...string) string) string {
			run("worktree", "add", "-q", "-b", "side", dir+"-side")
			return dir + "-side"
		}},
		"below": {false, func(t *testing.T, dir string, _ func(...string) string) string {
			put(t, filepath.Join(dir, "sub", "file"), "x")
			return filepath.Join(dir, "sub")
		}},
		"bare": {false, func(_ *testing.T, dir string, run func(...string) string) string {
			run("clone", "-q", "--bare", dir, dir+".git")
			return dir + ".git"
		}},
		"elsewhere": {false, func(_ *testing.T, dir string, run func(...string) string) string {
			run("init", "-q", "--separate-git-dir", dir+".apart", dir)
			return dir
		}},
		"below a damaged one": {false, func(t *testing.T, dir string, run func(...string) string) string {
			inner := filepath.Join(dir, "inner")
			run("init", "-q", inner)
			put(t, filepath.Join(inner, ".git", "HEAD"), "nothing\n")
			return inner
		}},
		"objects by a link": {false, func(t *testing.T, dir string, _ func(...string) string) string {
			objects := filepath.Join(dir, ".git", "objects")
			if err := os.Rename(objects, dir+"-objects"); err != nil {
				t.Fatal(err)
			}
			link(t, dir+"-objects", objects)
			return dir
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, run := repository(t)
			tree := tc.make(t, g.Dir, run)
			if known := plain(tree) != ""; known != tc.known {
				t.Errorf("known without git: %v", known)
			}
			at := Repository{tree, g.Environ}
			got, err := directoriesOf(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			want := directories{said(t, at, "--absolute-git-dir"), said(t, at, "--git-common-dir")}
			if got != want {
				t.Errorf("%+v, git says %+v", got, want)
			}
			if lock := said(t, at, "--git-path", "index.lock"); filepath.Join(got.own, "index.lock") != lock {
				t.Errorf("the index is beside %s, git says %s", got.own, lock)
			}
		})
	}
}

// A variable that names the repository counts more than the directory.
func TestDirectoriesByVariable(t *testing.T) {
	t.Parallel()
	g, run := repository(t)
	run("init", "-q", g.Dir+"-other")
	g.Environ = append(g.Environ, "GIT_DIR="+g.Dir+"-other/.git")
	if got, err := directoriesOf(t.Context(), g); err != nil || got.own != said(t, g, "--absolute-git-dir") || !strings.HasSuffix(got.own, "-other/.git") {
		t.Errorf("%+v, %v", got, err)
	}
}

// said is what git says of a repository's directories.
func said(t *testing.T, g Repository, args ...string) string {
	t.Helper()
	out, err := g.Run(t.Context(), append([]string{"rev-parse", "--path-format=absolute"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(out, "\n")
}
