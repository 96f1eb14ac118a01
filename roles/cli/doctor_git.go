package cli

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// leastGit is the version from which git does all that Sett asks of it (rev-parse
// --path-format).
const leastGit = "2.31"

// git looks at the program.
func (x *exam) git(ctx context.Context) []finding {
	out, err := x.a.repository(os.TempDir()).run(ctx, "version")
	if errors.Is(err, errNoGit) {
		return []finding{problem("", "install git", "git is not on the PATH")}
	}
	if err != nil {
		return []finding{wrong("", err)}
	}
	out = strings.TrimSpace(out)
	if old(out) {
		return []finding{warning("", "install a newer one", "%s is older than %s: working trees of git worktree will not work in containers", out, leastGit)}
	}
	return []finding{fine("", "%s", out)}
}

var gitVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\d+)\.(\d+)`) })

// old says whether what git says of itself is before leastGit.
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
func (x *exam) repository(ctx context.Context) []finding {
	if x.root == "" {
		return []finding{skipped("no workspace here")}
	}
	g := x.a.repository(x.root)
	inside, err := g.inside(ctx)
	switch {
	case errors.Is(err, errNoGit):
		return []finding{skipped("git is missing")}
	case err != nil:
		return []finding{wrong("", err)}
	case !inside:
		return []finding{warning("", "git init", "%s is no git repository, which sett forage wants", x.root)}
	}
	return append(x.commits(ctx, g), who(ctx, g)...)
}

// commits looks at what is committed, and what is not.
func (x *exam) commits(ctx context.Context, g repository) []finding {
	head := g.head(ctx)
	if head == "" {
		return []finding{warning("", "git add -A && git commit", "%s has no commit yet, and agents work on what is committed", x.root)}
	}
	dirty, err := g.dirt(ctx)
	if err != nil {
		return []finding{wrong("", err)}
	}
	if len(dirty) > 0 {
		return []finding{warning("", "git status", "%s, %s among them: sett forage wants a clean tree", count(len(dirty), "uncommitted file"), dirty[0].path)}
	}
	return []finding{fine("", "%s, clean at %s", x.root, head[:12])}
}

// who looks whether commits have an author.
func who(ctx context.Context, g repository) []finding {
	const ask = "user.useConfigOnly=true" // rather than a guess by the host's name
	if _, err := g.run(ctx, "-c", ask, "var", "GIT_AUTHOR_IDENT"); err != nil {
		return []finding{warning("identity", `git config --global user.name "…" && git config --global user.email "…"`,
			"git does not know who you are: tools in local mode cannot commit, and in containers do so as agents")}
	}
	return nil
}
