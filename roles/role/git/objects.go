package git

import (
	"context"
	"path/filepath"
	"strings"
)

// Own returns the directory that all working trees of the repository share, and that of
// its objects.
func (g Repository) Own(ctx context.Context) (dir, objects string, err error) {
	out, err := g.Run(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	dir = strings.TrimSuffix(out, "\n")
	return dir, filepath.Join(dir, "objects"), err // no variable names another place: see At
}

// Lacks says why a repository may lack objects of its own history; empty: it has all.
func Lacks(ctx context.Context, g Repository) (why, mend string) {
	if out, err := g.Run(ctx, "rev-parse", "--is-shallow-repository"); err == nil && strings.TrimSpace(out) == "true" {
		return "it is a shallow clone, without its older history", "git fetch --unshallow"
	}
	if out, err := g.Run(ctx, "config", "--get-regexp", `^(extensions\.partialclone|remote\..*\.promisor)$`); err == nil && out != "" {
		return "it is a partial clone, which leaves objects on its remote", "git fetch --refetch --no-filter"
	}
	return "", "git fsck"
}
