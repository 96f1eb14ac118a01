package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"sett/roles/role"
)

// Repository is a git repository, by its root or any directory in it. It runs git as
// the user would there, even where the environment names another repository: in a
// hook, for example, GIT_DIR does.
type Repository struct {
	Dir     string
	Environ []string
}

// elsewhere are the variables that point git at another repository than the
// directory's, or parts of one.
var elsewhere = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_CEILING_DIRECTORIES", "GIT_IMPLICIT_WORK_TREE", "GIT_CONFIG", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE",
	"GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS", // these change git's output
}

// At returns the repository that a directory belongs to. Git runs with this environment.
func At(environment []string, dir string) Repository {
	var environ []string
	for _, v := range environment {
		name, _, _ := strings.Cut(v, "=")
		other := false
		for _, e := range elsewhere {
			other = other || name == e
		}
		if !other {
			environ = append(environ, v)
		}
	}
	return Repository{dir, append(environ, "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")}
}

// Harmless are the settings that keep git from running programs that an agent may have
// put into the repository's configuration. Filters of attributes stay: a repository may
// not be clean without them.
var Harmless = []string{"core.hooksPath=/dev/null", "core.fsmonitor=false"}

// Plain are the settings that keep git's output in the form that Sett reads, and its work
// the same, with any configuration of the user or the repository. Options of a command
// line still count.
var Plain = []string{
	"color.ui=false", "color.diff=false", "color.status=false",
	"diff.orderFile=/dev/null", // a missing one ends git diff; this one is empty
	"diff.noprefix=false", "diff.mnemonicPrefix=false", "diff.relative=false", "diff.submodule=short",
	"diff.context=3", "diff.interHunkContext=0", "diff.suppressBlankEmpty=false",
	"log.showSignature=false", // before the text of each commit
	"trailer.separators=:",
	"i18n.commitEncoding=UTF-8", "i18n.logOutputEncoding=UTF-8", // of all that Sett writes and reads
	"merge.conflictStyle=merge",
	"submodule.recurse=false", "fetch.recurseSubmodules=false",
	"clone.rejectShallow=false",
}

// toCopy lets git copy from the user's own repository on this machine.
const toCopy = "protocol.file.allow=always"

// local keeps git from fetching an object that it lacks from the remote that the
// repository names for such objects: which program answers there is for that remote's
// settings to say.
var local = []string{"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none"}

// ErrMissing is the error of Run without git.
var ErrMissing = errors.New("git is not on the PATH")

// Run returns git's output. Its error has git's message and the code Environment.
func (g Repository) Run(ctx context.Context, args ...string) (string, error) {
	return g.Feed(ctx, "", args...)
}

// Feed is Run with text on git's stdin.
func (g Repository) Feed(ctx context.Context, stdin string, args ...string) (string, error) {
	out, said, err := g.exec(ctx, stdin, args)
	switch {
	case err == nil:
		return out, nil
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", role.Fail(role.Environment, ErrMissing, "install git")
	case ctx.Err() != nil:
		return "", ctx.Err()
	}
	said = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(said), "fatal: "))
	if said == "" {
		said = err.Error()
	}
	if dubious(said) != "" {
		said, _, _ = strings.Cut(said, "\n") // the rest of it is the hint
	}
	err = fmt.Errorf("git %s: %s", args[0], role.CleanText(said))
	return "", role.Fail(role.Environment, err, "%s", cmp.Or(Remedy(err), mended(err.Error())))
}

// commandOf is a run of git in the repository.
func commandOf(ctx context.Context, g Repository, args []string) *exec.Cmd {
	options := []string{"-C", g.Dir}
	if args[0] != "commit" { // a commit is the user's own, with the user's hooks
		settings := slices.Concat(Harmless, Plain, []string{"core.sshCommand=false"})
		if args[0] == "clone" || args[0] == "fetch" {
			settings = append(settings, toCopy)
		}
		for _, s := range settings {
			options = append(options, "-c", s)
		}
	}
	cmd := exec.CommandContext(ctx, "git", append(options, args...)...)
	cmd.Env = g.Environ
	if args[0] != "commit" {
		// An interrupt on the terminal is for sett, which knows at which points it may stop.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	}
	if args[0] != "commit" && args[0] != "clone" && args[0] != "fetch" {
		cmd.Env = append(slices.Clip(cmd.Env), local...)
	}
	return cmd
}

// exec runs git and returns all that it printed.
func (g Repository) exec(ctx context.Context, stdin string, args []string) (stdout, stderr string, err error) {
	cmd := commandOf(ctx, g, args)
	if stdin != "" {
		cmd.Stdin = strings.NewReader(stdin)
	}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	return out.String(), said.String(), err
}

// Inside says whether the directory belongs to the working tree of a repository.
func (g Repository) Inside(ctx context.Context) (bool, error) {
	out, err := g.Run(ctx, "rev-parse", "--is-inside-work-tree")
	if err != nil {
		if errors.Is(err, ErrMissing) || ctx.Err() != nil {
			return false, err
		}
		if hint := dubious(err.Error()); hint != "" {
			return false, role.Fail(role.Environment, err, "%s", hint)
		}
	}
	return err == nil && strings.TrimSpace(out) == "true", nil
}

// Head returns the checked-out commit, or the empty string when there is none yet.
func (g Repository) Head(ctx context.Context) string { return g.commit(ctx, "HEAD") }

// Named returns the commit that any of git's names for one means, and the branch if the
// name is that of a branch, or HEAD on one; empty: there is none.
func (g Repository) Named(ctx context.Context, name string) (commit, branch string) {
	if strings.HasPrefix(name, "-") {
		return "", ""
	}
	if commit = g.commit(ctx, name); commit == "" {
		return "", ""
	}
	if out, err := g.Run(ctx, "rev-parse", "--symbolic-full-name", name); err == nil {
		branch, _ = strings.CutPrefix(strings.TrimSpace(out), BranchRef(""))
		if BranchRef(branch) != strings.TrimSpace(out) {
			branch = ""
		}
	}
	return commit, branch
}

// commit returns the full hash of a commit, or the empty string when there is no
// such commit.
func (g Repository) commit(ctx context.Context, name string) string {
	out, err := g.Run(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}

// Dirt is an uncommitted or untracked file of the working tree.
type Dirt struct {
	state string // as git's short status has it: "??" untracked, " M" changed
	Path  string
}

// Kind returns untracked, unmerged or uncommitted.
func (d Dirt) Kind() string {
	switch {
	case d.state == "??":
		return "untracked"
	case d.Unmerged():
		return "unmerged"
	}
	return "uncommitted"
}

// Unmerged says whether the file has a conflict that nobody has settled.
func (d Dirt) Unmerged() bool {
	return strings.Contains(d.state, "U") || d.state == "AA" || d.state == "DD"
}

// Dirt returns the files of the whole working tree that are not committed, and
// not ignored.
func (g Repository) Dirt(ctx context.Context) ([]Dirt, error) {
	out, err := g.Run(ctx, "status", "--porcelain=v1", "-z", "--untracked-files=all")
	if err != nil {
		return nil, err
	}
	var all []Dirt
	entries := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i := 0; i < len(entries); i++ {
		e := entries[i]
		if len(e) < 4 {
			continue
		}
		all = append(all, Dirt{e[:2], e[3:]})
		if e[0] == 'R' || e[0] == 'C' {
			i++ // where it was moved or copied from
		}
	}
	return all, nil
}
