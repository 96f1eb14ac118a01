package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"sett/roles/role"
	"sett/roles/role/git"
)

// ErrNoGit is the error when there is no git program on the PATH.
var ErrNoGit = errors.New("git is not on the PATH")

// commandTimeout bounds one run of git. A checkout of a very large tree takes minutes;
// anything longer hangs, for example on a pipe in place of a file.
const commandTimeout = 10 * time.Minute

// settings override everything that a configuration could say, with those of git.Plain.
var settings = []string{
	"core.hooksPath=/dev/null",
	"core.fsmonitor=false",
	"core.untrackedCache=false",
	"core.splitIndex=false",
	"core.attributesFile=/dev/null",
	"core.excludesFile=/dev/null",
	"core.safecrlf=false",
	"core.symlinks=true",
	"core.logAllRefUpdates=false",
	"core.fsync=committed,reference",
	"core.precomposeUnicode=false",
	"checkout.workers=0",
	"gc.auto=0",
	"maintenance.auto=false",
	"diff.ignoreSubmodules=all",
	"advice.detachedHead=false",
	"commit.gpgSign=false",
	"pack.writeReverseIndex=false",
	"repack.writeBitmaps=false", // git believes one also after the history became deeper
}

// environ is git's whole environment, but for a command's own variables. It reads no
// configuration of a user or the system, asks nobody, and speaks to no other machine.
func environ() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"TMPDIR=" + os.TempDir(),
		"HOME=/nonexistent",
		"LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=none",
		"GIT_LITERAL_PATHSPECS=1",
		"GIT_AUTHOR_NAME=sett", "GIT_AUTHOR_EMAIL=sett@localhost",
		"GIT_COMMITTER_NAME=sett", "GIT_COMMITTER_EMAIL=sett@localhost",
	}
}

// command is one run of git in the store.
type command struct {
	args  []string
	env   []string // in addition to environ
	stdin string
	dir   string // working directory; empty: the store, for which git runs as its owner

	gitDir string   // with dir; empty: the store
	config []string // further settings
}

// git runs git in the store and returns its output.
func (s *Store) git(ctx context.Context, args ...string) (string, error) {
	return s.run(ctx, command{args: args})
}

// run runs git in the store and returns its output, also after a failure. The error has
// git's message. It waits for the locks of others, and removes those of the dead from a store.
func (s *Store) run(ctx context.Context, c command) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	for {
		out, err := s.runOnce(ctx, c)
		if err == nil || !s.unlocked(ctx, err) {
			return out, err
		}
	}
}

var lockFile = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`Unable to create '([^']+\.lock)': File exists`)
})

const (
	lockPause = 50 * time.Millisecond
	lockLife  = 30 * time.Second // git holds a lock for a moment; one that is older was left by a killed git
)

// unlocked says whether a run that found a file of the store locked is worth another try.
func (s *Store) unlocked(ctx context.Context, err error) bool {
	var failed *gitError
	if !errors.As(err, &failed) {
		return false
	}
	found := lockFile().FindStringSubmatch(failed.said)
	if found == nil {
		return false
	}
	lock := filepath.Clean(found[1])
	if rel, err := filepath.Rel(s.Dir, lock); err != nil || !filepath.IsLocal(rel) {
		return false
	}
	info, err := os.Lstat(lock)
	switch {
	case gone(err):
		return true
	case err != nil:
		return false
	case time.Since(info.ModTime()) > lockLife:
		return !s.persons && os.Remove(lock) == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(lockPause):
		return true
	}
}

func (s *Store) runOnce(ctx context.Context, c command) (string, error) {
	p := s.process(ctx, c)
	var stdout bytes.Buffer
	p.cmd.Stdout = &stdout
	if err := p.cmd.Start(); err != nil {
		return "", p.failure(ctx, err)
	}
	if err := p.cmd.Wait(); err != nil {
		return stdout.String(), p.failure(ctx, err)
	}
	return stdout.String(), nil
}

// process is a run of git that is being prepared.
type process struct {
	cmd    *exec.Cmd
	name   string // of git's command
	stderr bytes.Buffer
}

func (s *Store) process(ctx context.Context, c command) *process {
	// Git enters the directory by itself: the right that become gives counts only from git's
	// start on. It opens the store as the directory where it is, since access(2) disregards that right.
	args := []string{"-C", s.Dir, "--git-dir=."}
	if c.dir != "" {
		args = []string{"-C", c.dir, "--git-dir=" + cmp.Or(c.gitDir, s.Dir)}
	}
	for _, v := range slices.Concat(git.Plain, settings, c.config) {
		args = append(args, "-c", v)
	}
	p := &process{cmd: exec.CommandContext(ctx, "git", append(args, c.args...)...), name: c.args[0]}
	if strings.HasPrefix(p.name, "--") && len(c.args) > 1 {
		p.name = c.args[1]
	}
	p.cmd.Env = append(environ(), c.env...)
	p.cmd.Stdin = strings.NewReader(c.stdin)
	p.cmd.Stderr = &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if owner := ownerOf(s.Dir); owner != nil && c.dir == "" { // the role, which is the owner, must be able to change the files that git writes
		become(p.cmd.SysProcAttr, owner)
	}
	p.cmd.Cancel = func() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM) } // so that git removes its locks
	p.cmd.WaitDelay = time.Second
	return p
}

// failure makes the error of a run that failed.
func (p *process) failure(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return ErrNoGit
	case ctx.Err() != nil:
		err = ctx.Err()
	}
	return &gitError{command: p.name, said: p.stderr.String(), cause: err}
}

// gitError is a failed run of git.
type gitError struct {
	command string
	said    string // on stderr
	cause   error
}

// Error names the command, and git's first and last complaint: the last one may tell no cause.
func (e *gitError) Error() string {
	said, cause := "", ""
	for line := range strings.Lines(e.said) {
		line = strings.TrimSpace(line)
		if said == "" || strings.HasPrefix(line, "fatal: ") || strings.HasPrefix(line, "error: ") {
			said = line
		}
		if cause == "" && strings.HasPrefix(line, "error: ") {
			cause = line
		}
	}
	if cause != "" && cause != said {
		said = cause + "; " + said
	}
	if said == "" {
		return fmt.Sprintf("git %s: %v", e.command, e.cause)
	}
	return fmt.Sprintf("git %s: %s", e.command, role.CleanText(said))
}

// Unwrap returns the cause of the run's end, and the troubles of the machine that git's message names.
func (e *gitError) Unwrap() []error {
	all := []error{e.cause}
	for _, t := range git.Troubles(e.said) {
		all = append(all, t)
	}
	return all
}

// exitCode returns git's exit code, 0 when git did not end by itself or never started.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode()
	}
	return 0
}

// line strips the end of a single line of output.
func line(s string) string { return strings.TrimRight(s, "\n") }

// gone says whether an error is about a file that is not there.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
