package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sett/roles/role"
)

// Unborn is nil where HEAD, or a branch, has no commit since none was made on it yet. Otherwise it is git's reason
// against the commit that is there: to Head and Tip a damaged repository looks the same as a new one.
func Unborn(ctx context.Context, g Repository, name string) error {
	shown := role.Clean(strings.TrimPrefix(name, BranchRef("")))
	out, said, err := g.exec(ctx, "", []string{"rev-parse", "--verify", "--quiet", "--end-of-options", name})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		commit := strings.TrimSpace(out)
		why, mend := Lacks(ctx, g)
		if _, said, err = g.exec(ctx, "", []string{"cat-file", "commit", commit}); err == nil {
			return nil // it has come meanwhile
		}
		if why == "" {
			why = lastLine(said)
		}
		return role.Fail(role.Environment, fmt.Errorf("commit %.10s of %s cannot be read: %s", commit, shown, why), "%s", mend)
	}
	if err := written(ctx, g, name); err != nil {
		return err
	}
	if said = lastLine(said); said != "" {
		return role.Fail(role.Environment, fmt.Errorf("%s cannot be read: %s", shown, said), "git fsck")
	}
	return nil
}

// written refuses a name for which there is a file, though git finds no commit by it, as after a crash of the
// machine.
func written(ctx context.Context, g Repository, name string) error {
	at, err := directoriesOf(ctx, g)
	if err != nil {
		return err
	}
	ref := name
	if name == "HEAD" {
		text, err := os.ReadFile(filepath.Join(at.own, "HEAD"))
		if err != nil {
			return role.Fail(role.Environment, err, "git fsck")
		}
		ref, _ = strings.CutPrefix(strings.TrimSpace(string(text)), "ref: ")
	}
	if !filepath.IsLocal(filepath.FromSlash(ref)) {
		return nil
	}
	file := filepath.Join(at.common, filepath.FromSlash(ref))
	info, err := os.Lstat(file)
	if err != nil || info.IsDir() { // git leaves directories of branches that are gone
		return nil //nolint:nilerr // there is none
	}
	why := errors.New("it names no commit")
	if info.Size() == 0 {
		why = errors.New("it is empty, as a crash of the machine leaves it")
	}
	err = fmt.Errorf("branch %s cannot be read: %s: %w", role.Clean(strings.TrimPrefix(ref, BranchRef(""))), role.Clean(file), why)
	logged := filepath.Join(at.common, "logs", filepath.FromSlash(ref))
	if _, none := os.Stat(logged); none != nil {
		return role.Fail(role.Environment, err, "git fsck")
	}
	return role.Fail(role.Environment, err, "git fsck; the last line of %s has the branch's last commit", role.Clean(logged))
}

// lastLine is git's last complaint: an earlier one may be a warning.
func lastLine(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return role.CleanText(strings.TrimPrefix(lines[len(lines)-1], "fatal: "))
}
