package doctor

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/words"
)

// leastGit is the version from which git does all that Sett asks of it (rev-parse
// --path-format).
const leastGit = "2.31"

// git looks at the program.
func (x *exam) git(ctx context.Context) []Finding {
	out, err := git.At(x.at.Environ(), os.TempDir()).Run(ctx, "version")
	if errors.Is(err, git.ErrMissing) {
		return []Finding{problem("", "install git", "git is not on the PATH")}
	}
	if err != nil {
		return []Finding{wrong("", err)}
	}
	out = strings.TrimSpace(out)
	if old(out) {
		return []Finding{warning("", "install a newer one", "%s is older than %s: working trees of git worktree will not work in containers", out, leastGit)}
	}
	return []Finding{fine("", "%s", out)}
}

var gitVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\d+)\.(\d+)`) })

// old reports whether git's own version is before leastGit.
func old(says string) bool {
	number := func(s string) int {
		m := gitVersion().FindStringSubmatch(s)
		if m == nil {
			return 1 << 30 // one that does not say
		}
		major, _ := strconv.Atoi(m[1])
		minor, _ := strconv.Atoi(m[2])
		return major<<16 + minor
	}
	return number(says) < number(leastGit)
}

// repository looks at the workspace as git sees it.
func (x *exam) repository(ctx context.Context) []Finding {
	if x.root == "" {
		return []Finding{skipped("no workspace here")}
	}
	g := git.At(x.at.Environ(), x.root)
	inside, err := g.Inside(ctx)
	switch {
	case errors.Is(err, git.ErrMissing):
		return []Finding{skipped("git is missing")}
	case err != nil:
		return []Finding{wrong("", err)}
	case !inside:
		return []Finding{warning("", "git init", "%s is no git repository, which sett forage wants", x.root)}
	}
	out := append(x.commits(ctx, g), identity(ctx, g)...)
	return append(append(out, history(ctx, g)...), pointers(ctx, g)...)
}

// pointers names paths of HEAD that agents see without their content.
func pointers(ctx context.Context, g git.Repository) []Finding {
	head := g.Head(ctx)
	if head == "" {
		return nil
	}
	p, err := git.FindPointers(ctx, g, head)
	if err != nil {
		return nil // which history says
	}
	var out []Finding
	for _, line := range instance.PointerLines(instance.WithoutThose(ctx, g, head, p)) {
		out = append(out, warning("pointers", "git lfs fetch, or git submodule update --init, and sett up: agents have the content that the repository has", "%s", line))
	}
	return out
}

// history looks at a clone that may lack a part of its history.
func history(ctx context.Context, g git.Repository) []Finding {
	why, mend := git.Lacks(ctx, g)
	if why == "" || g.Head(ctx) == "" {
		return nil
	}
	err := git.Complete(ctx, g, "HEAD")
	switch {
	case ctx.Err() != nil:
		return nil // it is a large one
	case err != nil:
		return []Finding{problem("history", mend, "%s: sett forage refuses a commit of which objects are missing", why)}
	case len(git.BorrowedBy(ctx, g).Lost) > 0:
		return []Finding{warning("history", mend+", or remove that line", "%s, but HEAD has all that it needs", why)}
	}
	return []Finding{fine("history", "%s: agents see as much of it as you, and HEAD has all that it needs", why)}
}

// commits checks for a first commit and for uncommitted files.
func (x *exam) commits(ctx context.Context, g git.Repository) []Finding {
	head := g.Head(ctx)
	if head == "" {
		if err := git.Unborn(ctx, g, "HEAD"); err != nil {
			return []Finding{wrong("", err)}
		}
		return []Finding{warning("", "git add -A && git commit", "%s has no commit yet, and agents work on what is committed", x.root)}
	}
	dirty, err := g.Dirt(ctx)
	if err != nil {
		return []Finding{wrong("", err)}
	}
	if cut := git.CutOff(ctx, g, x.root); cut != nil && len(dirty) > 0 && cut.Left(ctx, g, dirty) {
		return []Finding{warning("", "sett "+words.Land(cut.Name, ""), "a landing of %s on %s was cut off in %s; it has left files that are not committed", cut.Name, role.Clean(cut.Branch), x.root)}
	}
	if len(dirty) > 0 {
		return []Finding{warning("", "git status", "%s, %s among them: sett forage wants a clean tree", words.Count(len(dirty), "uncommitted file"), dirty[0].Path)}
	}
	return []Finding{fine("", "%s, clean at %s", x.root, head[:12])}
}

// identity checks that git knows an author for commits.
func identity(ctx context.Context, g git.Repository) []Finding {
	const ask = "user.useConfigOnly=true" // rather than a guess by the host's name
	if _, err := g.Run(ctx, "-c", ask, "var", "GIT_AUTHOR_IDENT"); err != nil {
		return []Finding{warning("identity", `git config --global user.name "…" && git config --global user.email "…"`,
			"git does not know who you are: tools in local mode cannot commit, and in containers do so as agents")}
	}
	return nil
}
