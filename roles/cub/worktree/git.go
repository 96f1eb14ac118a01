package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sett/roles/cub/toolrun"
	"sett/roles/role/git"
)

// settings override the configuration for every run of git.
var settings = append(git.Harmless,
	"core.untrackedCache=false",
	"core.splitIndex=false",
	"core.safecrlf=false", // a warning about line ends is no reason to keep nothing
	"core.fsync=committed,index,reference",
	"gc.auto=0",
	"maintenance.auto=false",
	"submodule.recurse=false",
	"log.showSignature=false",
	"i18n.commitEncoding=UTF-8",
	"i18n.logOutputEncoding=UTF-8",
)

// inherited are the variables git gets from our environment.
var inherited = []string{
	"PATH", "HOME", "TMPDIR", "XDG_CONFIG_HOME",
	"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
}

// identity signs the commits of Restore.
const (
	identityName  = "sett"
	identityEmail = "sett@localhost"
)

// command is one run of git.
type command struct {
	args  []string
	env   []string // in addition to the usual
	stdin string
}

// git runs git with arguments and returns its output.
func (t *Tree) git(ctx context.Context, args ...string) (string, error) {
	return t.run(ctx, command{args: args})
}

// run runs git in the root of the tree. The error has git's message.
func (t *Tree) run(ctx context.Context, c command) (string, error) {
	root, err := t.find()
	if err != nil {
		return "", err
	}
	var args []string
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append(args, c.args...)...)
	cmd.Dir = root
	cmd.Env = append(t.environment(root), c.env...)
	cmd.Stdin = strings.NewReader(c.stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	start := toolrun.Start
	if t.noNetwork {
		start = toolrun.StartWithoutNetwork
	}
	spared, err := start(cmd)
	if err == nil {
		err = cmd.Wait()
		spared()
	}
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return "", &gitError{command: c.args[0], said: stderr.String(), cause: err}
	}
	return stdout.String(), nil
}

// environment is the whole environment of git.
func (t *Tree) environment(root string) []string {
	env := []string{
		"LC_ALL=C",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_WORK_TREE=" + root,
		"GIT_CEILING_DIRECTORIES=" + filepath.Dir(root),
		"GIT_AUTHOR_NAME=" + identityName, "GIT_AUTHOR_EMAIL=" + identityEmail,
		"GIT_COMMITTER_NAME=" + identityName, "GIT_COMMITTER_EMAIL=" + identityEmail,
	}
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	if t.foreign(root) {
		env = append(env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0="+root)
	}
	return env
}

// gitError is a failed run of git.
type gitError struct {
	command string
	said    string // stderr
	cause   error
}

// Error names the command and git's last complaint.
func (e *gitError) Error() string {
	if errors.Is(e, ErrNoGit) {
		return "run git: it is not on the PATH"
	}
	said := ""
	for line := range strings.Lines(e.said) {
		line = strings.TrimSpace(line)
		if said == "" || strings.HasPrefix(line, "fatal: ") || strings.HasPrefix(line, "error: ") {
			said = line
		}
	}
	if said == "" {
		return fmt.Sprintf("git %s: %v", e.command, e.cause)
	}
	return fmt.Sprintf("git %s: %s", e.command, printable(said))
}

// Unwrap returns the cause of the run's end.
func (e *gitError) Unwrap() error { return e.cause }

// Is says whether it is ErrNoGit.
func (e *gitError) Is(target error) bool {
	return target == ErrNoGit && errors.Is(e.cause, exec.ErrNotFound)
}

// exitCode returns git's exit code, 0 when git did not end by itself or never
// started.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode()
	}
	return 0
}

// printable replaces characters that move a terminal's cursor or hide text.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// fields0 splits the output of -z.
func fields0(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\x00"), "\x00")
}

// line strips the end of a single line of output.
func line(s string) string { return strings.TrimRight(s, "\n") }
