package git

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"sett/roles/role"
)

// Own returns the directory that all working trees of the repository share, and that of
// its objects.
func (g Repository) Own(ctx context.Context) (dir, objects string, err error) {
	p, err := directoriesOf(ctx, g)
	return p.common, filepath.Join(p.common, "objects"), err
}

// Format is the hash algorithm of the repository's objects: sha1 or sha256.
func Format(ctx context.Context, g Repository) (string, error) {
	out, err := g.Run(ctx, "rev-parse", "--show-object-format")
	return strings.TrimSpace(out), err
}

// FormatOf is the hash algorithm of a commit's whole hash.
func FormatOf(hash string) string {
	if len(hash) == 64 {
		return "sha256"
	}
	return "sha1"
}

// Shallow says whether a repository is a shallow clone.
func Shallow(ctx context.Context, g Repository) bool {
	out, err := g.Run(ctx, "rev-parse", "--is-shallow-repository")
	return err == nil && strings.TrimSpace(out) == "true"
}

// Lacks says why a repository may lack objects of its own history; empty: it has all. A
// shallow clone has all down to the commits at which its history ends, unless it is damaged.
func Lacks(ctx context.Context, g Repository) (why, mend string) {
	if b := BorrowedBy(ctx, g); len(b.Lost) > 0 {
		return b.Why(), b.Mend()
	}
	if out, err := g.Run(ctx, "config", "--get-regexp", `^(extensions\.partialclone|remote\..*\.promisor)$`); err == nil && out != "" {
		return "it is a partial clone, which leaves objects on its remote", "git fetch --refetch --no-filter"
	}
	if Shallow(ctx, g) {
		return "it is a shallow clone, without its older history", "git fetch --unshallow"
	}
	return "", "git fsck"
}

// BorrowedBy is Borrowed of a repository; nothing where git does not tell.
func BorrowedBy(ctx context.Context, g Repository) Borrowing {
	_, objects, err := g.Own(ctx)
	if err != nil {
		return Borrowing{}
	}
	b, err := Borrowed(objects)
	if err != nil {
		return Borrowing{}
	}
	return b
}

// Complete refuses a clone that lacks objects which a commit needs, as a partial one may, or one that borrows from a
// repository which is gone. Of any other repository all is believed to be there, without a look.
func Complete(ctx context.Context, g Repository, commit string) error {
	why, mend, err := lacking(ctx, g, commit)
	if err == nil && why != "" {
		err = role.Fail(role.Usage, fmt.Errorf("agents' trees need objects that the repository lacks: %s", why), "%s", mend)
	}
	return err
}

// Lent refuses a repository that borrows objects of a commit from a place that is gone.
func Lent(ctx context.Context, g Repository, commit string) error {
	if len(BorrowedBy(ctx, g).Lost) == 0 {
		return nil
	}
	why, mend, err := lacking(ctx, g, commit)
	if err == nil && why != "" {
		err = role.Fail(role.Environment, fmt.Errorf("the repository lacks objects of commit %.10s: %s", commit, why), "%s", mend)
	}
	return err
}

// lacking is Lacks of a commit that does need objects which are not there.
func lacking(ctx context.Context, g Repository, commit string) (why, mend string, err error) {
	why, mend = Lacks(ctx, g)
	if why == "" || g.commit(ctx, commit) == "" {
		return "", "", nil
	}
	if _, err := g.Run(ctx, "rev-list", "--objects", "--quiet", "--end-of-options", commit); err != nil {
		return why, mend, ctx.Err()
	}
	return "", "", nil
}
