package git

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestIgnored: the person's two lists are one, in the order of their rank; and the repository's own configuration names no
// file of another place.
func TestIgnored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		does   func(home, dir string, git func(args ...string))
		list   string // without comments
		unread string // in the warnings; empty: there is none
	}{
		"none":         {func(string, string, func(...string)) {}, "", ""},
		"the default":  {func(home, _ string, _ func(...string)) { put(t, home+"/.config/git/ignore", "*.swp") }, "*.swp", ""},
		"info/exclude": {func(_, dir string, _ func(...string)) { put(t, dir+"/.git/info/exclude", ".env\n") }, ".env", ""},
		"named, and both": {func(home, dir string, git func(...string)) {
			put(t, home+"/mine", "\ufeff*.swp\n")
			put(t, dir+"/.git/info/exclude", "!a.swp\n")
			git("config", "--global", "core.excludesFile", "~/mine")
			put(t, home+"/.config/git/ignore", "no\n")
		}, "*.swp !a.swp", ""},
		"named, and empty": {func(home, _ string, git func(...string)) {
			put(t, home+"/.config/git/ignore", "no\n")
			git("config", "--global", "core.excludesFile", "")
		}, "", ""},
		"of the repository": {func(_, dir string, git func(...string)) {
			put(t, dir+"/list", "*.o\n")
			git("config", "core.excludesFile", "list")
		}, "*.o", ""},
		"in its .git": {func(_, dir string, git func(...string)) {
			put(t, dir+"/.git/list", "*.o\n")
			git("config", "core.excludesFile", dir+"/.git/list")
		}, "*.o", ""},
		"of elsewhere": {func(home, _ string, git func(...string)) {
			put(t, home+"/key", "secret\n")
			git("config", "core.excludesFile", "~/key")
		}, "", "/key (core.excludesFile of the repository's own configuration)"},
		"a link out": {func(home, dir string, _ func(...string)) {
			put(t, home+"/key", "secret\n")
			link(t, home+"/key", dir+"/.git/info/exclude")
		}, "", "a link leads out of its repository"},
		"a pipe": {func(home, _ string, git func(...string)) {
			pipe(t, home+"/mine")
			git("config", "--global", "core.excludesFile", "~/mine")
		}, "", "not a regular file but a named pipe"},
		"large": {func(home, _ string, git func(...string)) {
			put(t, home+"/mine", strings.Repeat("x\n", 1<<20))
			git("config", "--global", "core.excludesFile", "~/mine")
		}, "", "larger than 1024 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home, dir := t.TempDir(), t.TempDir()
			g := At([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1", "XDG_CONFIG_HOME="}, dir)
			git := func(args ...string) {
				t.Helper()
				if _, err := g.Run(t.Context(), args...); err != nil {
					t.Fatal(err)
				}
			}
			git("init", "-q", "--template=")
			c.does(home, dir, git)
			list, unread, err := Ignored(t.Context(), g)
			if err != nil {
				t.Fatal(err)
			}
			if list = strings.Join(strings.Fields(list), " "); list != c.list {
				t.Errorf("the list is %q, want %q", list, c.list)
			}
			if all := strings.Join(unread, "\n"); c.unread == "" && all != "" || !strings.Contains(all, c.unread) {
				t.Errorf("it warns: %q, want %q", all, c.unread)
			}
		})
	}
}

// TestIgnoredOfLinkedTree: the list of a working tree is that of its repository.
func TestIgnoredOfLinkedTree(t *testing.T) {
	t.Parallel()
	g, run := repository(t)
	put(t, g.Dir+"/.git/info/exclude", ".env\n")
	run("worktree", "add", "-q", "--detach", g.Dir+"/linked")
	g.Dir += "/linked"
	if list, _, err := Ignored(t.Context(), g); err != nil || !strings.Contains(list, ".env\n") {
		t.Errorf("the list is %q, %v", list, err)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

func pipe(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}
