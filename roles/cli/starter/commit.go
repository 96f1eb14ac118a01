package starter

import (
	"context"
	"fmt"
	"strings"

	"sett/roles/role"
	"sett/roles/role/git"
)

// Uncommitted says whether one of these files of a repository is there and not as HEAD has it.
func Uncommitted(ctx context.Context, g git.Repository, paths ...string) (bool, error) {
	out, err := g.Run(ctx, append([]string{"status", "--porcelain", "--untracked-files=all", "--"}, paths...)...)
	return out != "", err
}

// Committed returns the text of a file in HEAD; nil: it has none.
func Committed(ctx context.Context, g git.Repository, path string) []byte {
	out, err := g.Run(ctx, "cat-file", "blob", "HEAD:"+path)
	if err != nil {
		return nil
	}
	return []byte(out)
}

// Commit commits these files and nothing else, and returns the commit for people; empty: HEAD has them as they are.
// Where git refuses, they stay, and the hint is the line that commits them then. Before is what that line begins with.
func Commit(ctx context.Context, g git.Repository, message, before string, paths []string) (made string, err error) {
	those := append([]string{"--"}, paths...)
	line := fmt.Sprintf("git commit -m %q -- %s", message, strings.Join(paths, " "))
	if _, err := g.Run(ctx, append([]string{"add"}, those...)...); err != nil {
		if ignored, looked := g.Run(ctx, append([]string{"check-ignore"}, those...)...); looked == nil {
			err = fmt.Errorf("git ignores %s", strings.Join(strings.Fields(ignored), ", "))
			before += "git add -f " + strings.Join(paths, " ") + " && "
			return "", role.Fail(role.Environment, err, "the files are written; to commit them all the same: %s", before+line)
		}
		return "", goOn(err, before+"git add "+strings.Join(paths, " ")+" && "+line)
	}
	if _, err := g.Run(ctx, append([]string{"diff", "--cached", "--quiet", "--no-ext-diff"}, those...)...); err == nil {
		return "", nil
	}
	if _, err := g.Run(ctx, append([]string{"commit", "--quiet", "-m", message}, those...)...); err != nil {
		return "", goOn(err, before+line)
	}
	return g.Run(ctx, "log", "-1", "--format=%h %s")
}

func goOn(err error, line string) error {
	return role.Fail(role.Environment, err, "the files are written; once git takes commits: %s", line)
}
