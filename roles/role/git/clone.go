package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sett/roles/role"
)

// Clone makes a clone of the repository in a new directory, with a commit checked out and
// HEAD on no branch. The clone has its own objects and none of the repository's hooks and
// settings. Bring brings the commit into a git directory, if it has it. A clone that fails leaves nothing.
func (g Repository) Clone(ctx context.Context, dir, commit string, bring func(gitDir string) error) (err error) {
	if err := os.Mkdir(dir, 0o777); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return role.Fail(role.Usage, fmt.Errorf("there is something at %s already", role.Clean(dir)), "name another directory")
		}
		return role.Fail(role.Environment, fmt.Errorf("make %s: %w", role.Clean(filepath.Base(dir)), role.Cause(err)), "name a directory that can be made")
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
		}
	}()
	if _, err := g.Run(ctx, "clone", "--quiet", "--no-checkout", "--", g.Dir, dir); err != nil {
		return err
	}
	if err := bring(filepath.Join(dir, ".git")); err != nil {
		return err
	}
	clone := Repository{dir, g.Environ}
	if clone.commit(ctx, commit) == "" { // of a shallow repository git takes no more than its branches have
		if _, err := clone.Run(ctx, "fetch", "--quiet", "--no-tags", g.Dir, commit); err != nil {
			return err
		}
	}
	_, err = clone.Run(ctx, "checkout", "--quiet", "--detach", commit)
	return err
}
