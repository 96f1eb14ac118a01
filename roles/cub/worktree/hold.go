package worktree

import (
	"context"
	"errors"
	"strings"

	"sett/roles/role/git"
)

// Hold has a ref name the commit of an instance's artefact, so that git never prunes it,
// and returns its whole hash. Hash is as Resolve takes it; of its errors ErrNoCommit stands. In a repository
// that cannot be written to, nothing is: no tool has made the commit there.
func (t *Tree) Hold(ctx context.Context, hash, instance, artefact string) (commit string, err error) {
	commit, err = t.Resolve(ctx, hash)
	if err != nil {
		return "", err
	}
	_, err = t.git(ctx, "update-ref", "-m", "sett: hold", git.HeldRef(instance, artefact), commit)
	var failed *gitError
	if errors.As(err, &failed) && (strings.Contains(failed.said, "Read-only file system") || strings.Contains(failed.said, "Permission denied")) {
		err = nil
	}
	return commit, err
}
