package toolrun

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sett/roles/role/confine"
)

// confinedWorld is a person's home directory with a repository, the state of two instances
// and a private tree.
func confinedWorld(t *testing.T) (home string, rules *confine.Rules) {
	t.Helper()
	if confine.Level() == 0 {
		t.Skip("this kernel has no Landlock")
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"file": "mine\n", "repo/.git/config": "mine\n", "cache/file": "mine\n", ".local/state/other/file": "mine\n",
		".local/state/sett/one/instance.json": secret + "\n", ".local/state/sett/one/store/objects/pack": "object\n",
		".local/state/sett/one/trees/me/tree/own": "own\n", ".local/state/sett/one/trees/me/tree/dir/own": "own\n", ".local/state/sett/one/trees/me/tmp/x": "\n",
		".local/state/sett/one/trees/you/tree/file": secret + "\n", ".local/state/sett/two/instance.json": secret + "\n",
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	state := filepath.Join(home, ".local/state/sett")
	me := filepath.Join(state, "one/trees/me")
	return home, &confine.Rules{
		Write: []string{filepath.Join(me, "tree"), filepath.Join(me, "tmp"), filepath.Join(home, "cache"), "/dev/null", filepath.Join(home, "missing")},
		Hide:  state, Read: []string{filepath.Join(state, "one/store/objects"), filepath.Join(state, "one/missing")},
	}
}

// confinedRun runs a script in the tree of the world; nil rules confine nothing.
func confinedRun(t *testing.T, home string, rules *confine.Rules, body string, changes ...func(*Command)) Result {
	t.Helper()
	c := sh(body)
	c.Dir, c.Confine, c.Timeout = filepath.Join(home, ".local/state/sett/one/trees/me/tree"), rules, 15*time.Second
	c.Env = append(c.Env, "HOME="+home, "STATE="+filepath.Join(home, ".local/state/sett"), "TMPDIR="+filepath.Join(home, ".local/state/sett/one/trees/me/tmp"),
		"CUB="+strconv.Itoa(os.Getpid()))
	for _, change := range changes {
		change(&c)
	}
	return runTool(t, c)
}

// Each act of a hostile tool is refused, and works for a tool without walls.
func TestConfinedHostileTool(t *testing.T) {
	for name, body := range map[string]string{
		"write a file of the person's":         `echo x >"$HOME/file"`,
		"append to it":                         `echo x >>"$HOME/file"`,
		"empty it while it is opened to read":  `dd if=/dev/null of="$HOME/file" count=0 2>/dev/null`,
		"truncate it":                          `truncate -s 0 "$HOME/file"`,
		"remove it":                            `rm "$HOME/file"`,
		"replace it":                           `mv own "$HOME/file"`,
		"take it":                              `mv "$HOME/file" taken && test ! -e "$HOME/file"`,
		"link it and write it":                 `ln "$HOME/file" linked && echo x >linked`,
		"write it through a link":              `ln -s "$HOME/file" soft && echo x >soft`,
		"link one's own beside it":             `ln own "$HOME/new"`,
		"make a file":                          `: >"$HOME/new"`,
		"make a directory":                     `mkdir "$HOME/new"`,
		"make a pipe":                          `mkfifo "$HOME/new"`,
		"make a link":                          `ln -s own "$HOME/new"`,
		"remove a directory":                   `rm -r "$HOME/repo"`,
		"write the repository":                 `echo x >"$HOME/repo/.git/config"`,
		"hooks in the repository":              `mkdir "$HOME/repo/.git/hooks"`,
		"write /tmp":                           `f=/tmp/sett-confined-$$; : >$f && rm $f`,
		"write the store":                      `echo x >"$STATE/one/store/objects/pack"`,
		"write another's tree":                 `echo x >"$STATE/one/trees/you/tree/file"`,
		"write beside one's own tree":          `echo x >../beside`,
		"replace one's own tree":               `cd / && mv "$STATE/one/trees/me/tree" "$STATE/one/trees/me/other"`,
		"read the password":                    `cat "$STATE/one/instance.json"`,
		"read it through a link":               `ln -s "$STATE/one/instance.json" way && cat way`,
		"read it with a hard link":             `ln "$STATE/one/instance.json" way && cat way`,
		"read it as a copy of its directory":   `mv "$STATE/one/instance.json" way && cat way`,
		"read it through /proc":                `cat "/proc/self/root$STATE/one/instance.json"`,
		"read another instance's":              `cat "$STATE/two/instance.json"`,
		"read another's tree":                  `cat "$STATE/one/trees/you/tree/file"`,
		"with another environment":             `exec env -i sh -c 'echo x >"$0"' "$HOME/file"`,
		"by an orphan in a session of its own": `(setsid sh -c 'echo x >"$HOME/file"; echo done >"$TMPDIR/done"' &) ; until test -s "$TMPDIR/done"; do sleep 0.01; done; grep -q x "$HOME/file"`,
		"the environment of its cub":           `cat /proc/$CUB/environ`,
		"the files that its cub has open":      `ls -l /proc/$CUB/fd/0`,
		"the memory of its cub":                `cat /proc/$CUB/maps`,
		"the directories of its cub":           `cat "/proc/$CUB/root$HOME/file"`,
		"signal its cub":                       `kill -0 $CUB`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home, rules := confinedWorld(t)
			res := confinedRun(t, home, rules, body)
			if res.ExitCode == 0 || strings.Contains(string(res.Stdout), secret) {
				t.Errorf("a confined tool can: %s %s", res.Stdout, res.Stderr)
			}
			if mine, err := os.ReadFile(filepath.Join(home, "file")); err != nil || string(mine) != "mine\n" {
				t.Errorf("the person's file: %q %v", mine, err)
			}
			free, _ := confinedWorld(t)
			if res := confinedRun(t, free, nil, body); res.ExitCode != 0 {
				t.Errorf("the attempt should succeed without walls: %+v %s", res, res.Stderr)
			}
		})
	}
}

// A confined tool works in its tree, its own directory for temporary files, and the places
// that sett.yml names.
func TestConfinedToolWorks(t *testing.T) {
	home, rules := confinedWorld(t)
	for name, body := range map[string]string{
		"its tree":               `echo x >own && mkdir new && mv own new/ && mv dir/own own && ln own again && rm -r new && truncate -s 9 own && mkfifo pipe && ln -s own soft`,
		"temporary files":        `f=$(mktemp) && echo x >"$f" && mv "$f" kept`,
		"a named place":          `echo x >"$HOME/cache/file" && mkdir -p "$HOME/cache/a/b" && mv "$HOME/cache/file" "$HOME/cache/a/b/"`,
		"between places":         `echo x >moved && mv moved "$HOME/cache/"`,
		"reading":                `cat "$HOME/file" "$HOME/repo/.git/config" "$HOME/.local/state/other/file" /etc/passwd "$STATE/one/store/objects/pack" >/dev/null && ls "$HOME" >/dev/null`,
		"programs":               `sleep 60 & kill $! && echo "#!/bin/sh" >prog && chmod +x prog && ./prog`,
		"its own processes":      `cat /proc/self/environ /proc/$$/maps >/dev/null`,
		"descriptors and a pipe": `echo x | cat >/dev/null; echo out >/dev/stdout; echo err >/dev/stderr`,
	} {
		t.Run(name, func(t *testing.T) {
			if res := confinedRun(t, home, rules, body); res.ExitCode != 0 {
				t.Errorf("%+v\n%s", res, res.Stderr)
			}
		})
	}
}

// The thread that started a tool lives as long as the tool: its end would kill it. And
// this process keeps its rights.
func TestConfinedThread(t *testing.T) {
	home, rules := confinedWorld(t)
	for range 8 {
		if res := confinedRun(t, home, rules, "sleep 0.05; echo end"); string(res.Stdout) != "end\n" || res.ExitCode != 0 {
			t.Fatalf("%+v", res)
		}
	}
	if err := os.WriteFile(filepath.Join(home, "file"), []byte("changed\n"), 0o600); err != nil {
		t.Errorf("this process lost a right of its own: %v", err)
	}
	res := confinedRun(t, home, rules, "trap '' TERM; sleep 60", func(c *Command) { c.Timeout, c.Grace = 50*time.Millisecond, 50*time.Millisecond })
	if !res.TimedOut || res.Signal != "SIGKILL" {
		t.Errorf("a tool that does not end: %+v", res)
	}
	if res := confinedRun(t, home, rules, "exec 3<>/dev/tcp/127.0.0.1/1", func(c *Command) { c.NoNetwork, c.Args[0] = true, "bash" }); res.ExitCode == 0 || !strings.Contains(string(res.Stderr), "ermission denied") {
		t.Errorf("network: none beside it: %+v %s", res, res.Stderr)
	}
	if _, err := New().Run(t.Context(), Command{Args: []string{"/nonexistent"}, Confine: rules}); err == nil || !strings.Contains(err.Error(), syscall.ENOENT.Error()) {
		t.Errorf("a program that is not there: %v", err)
	}
}

// A thread that cannot be confined starts no tool.
func TestUnconfinedToolDoesNotStart(t *testing.T) {
	_, rules := confinedWorld(t)
	rules.Hide = "relative"
	_, err := New().Run(t.Context(), Command{Args: []string{"true"}, Env: sh("").Env, Confine: rules})
	if err == nil || !strings.Contains(err.Error(), "confine it: hide relative: not an absolute path") {
		t.Errorf("%v", err)
	}
	if status, err := wait(-1, unix.WNOHANG); err == nil {
		t.Errorf("something runs: %v", status)
	}
}
