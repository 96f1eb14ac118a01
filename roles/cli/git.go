package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"

	"sett/roles/role"
)

// repository is a git repository, by its root or any directory in it. It runs git as
// the user would there, whatever repository the environment names: in a hook, for
// example, GIT_DIR is that of another.
type repository struct {
	dir     string
	environ []string
}

// elsewhere are the variables that point git at another repository than the
// directory's.
var elsewhere = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_CEILING_DIRECTORIES",
}

func (a *app) repository(dir string) repository {
	var environ []string
	for _, v := range a.Environ() {
		name, _, _ := strings.Cut(v, "=")
		other := false
		for _, e := range elsewhere {
			other = other || name == e
		}
		if !other {
			environ = append(environ, v)
		}
	}
	return repository{dir, append(environ, "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")}
}

// harmless keeps git from running, when it is only asked, what an agent that may
// write the repository has put into its configuration. Filters of attributes are
// left: a repository may not be clean without them.
var harmless = []string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.sshCommand=false"}

// errNoGit is what run fails with where there is no git.
var errNoGit = errors.New("git is not on the PATH")

// run returns what git prints. The error says what git said; it is the
// environment's.
func (g repository) run(ctx context.Context, args ...string) (string, error) {
	options := []string{"-C", g.dir}
	if args[0] != "commit" { // that is the user's own, with the user's hooks
		options = append(options, harmless...)
	}
	cmd := exec.CommandContext(ctx, "git", append(options, args...)...)
	cmd.Env = g.environ
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	switch {
	case err == nil:
		return string(out), nil
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", role.Fail(role.Environment, errNoGit, "install git")
	case ctx.Err() != nil:
		return "", ctx.Err()
	}
	said := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(stderr.String()), "fatal: "))
	if said == "" {
		said = err.Error()
	}
	return "", role.Fail(role.Environment, fmt.Errorf("git %s: %s", args[0], cleanText(said)), "")
}

// inside says whether the directory belongs to the working tree of a repository.
func (g repository) inside(ctx context.Context) (bool, error) {
	out, err := g.run(ctx, "rev-parse", "--is-inside-work-tree")
	if err != nil {
		if errors.Is(err, errNoGit) || ctx.Err() != nil {
			return false, err
		}
		if strings.Contains(err.Error(), "dubious ownership") {
			return false, role.Fail(role.Environment, err, "git config --global --add safe.directory %s", g.dir)
		}
	}
	return err == nil && strings.TrimSpace(out) == "true", nil
}

// head returns the commit that is checked out, or the empty string when there is
// none yet.
func (g repository) head(ctx context.Context) string { return g.commit(ctx, "HEAD") }

// commit returns the full hash of a commit, or the empty string when there is no
// such commit.
func (g repository) commit(ctx context.Context, name string) string {
	out, err := g.run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}

// dirt is a file that keeps the working tree from being clean.
type dirt struct {
	state string // as git's short status has it: "??" untracked, " M" changed
	path  string
}

// what says in what way the file is dirty.
func (d dirt) what() string {
	if d.state == "??" {
		return "untracked"
	}
	return "uncommitted"
}

// dirt returns the files of the whole working tree that are not committed, and
// not ignored.
func (g repository) dirt(ctx context.Context) ([]dirt, error) {
	out, err := g.run(ctx, "status", "--porcelain=v1", "-z", "--untracked-files=all")
	if err != nil {
		return nil, err
	}
	var all []dirt
	entries := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i := 0; i < len(entries); i++ {
		e := entries[i]
		if len(e) < 4 {
			continue
		}
		all = append(all, dirt{e[:2], e[3:]})
		if e[0] == 'R' || e[0] == 'C' {
			i++ // where it was moved or copied from
		}
	}
	return all, nil
}
