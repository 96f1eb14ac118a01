package redis

import (
	"context"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// Owner returns the workspace to which the board belongs; the zero Owner: nobody.
func (b *Board) Owner(ctx context.Context) (blackboard.Owner, error) {
	fields, err := b.c.Hash(ctx, "read the owner", b.c.Keys.Instance())
	return blackboard.Owner{ID: fields["owner"], Workspace: fields["owner_workspace"], Host: fields["owner_host"], User: fields["owner_user"]}, err
}

// Own has the board belong to a workspace. From is the id of the owner that it is taken
// from; empty: nobody. A board that is taken over gets the mark, unless that is empty: what
// knows the mark of before is refused then. A *blackboard.OwnedError: it belongs to another
// workspace than these.
func (b *Board) Own(ctx context.Context, o blackboard.Owner, from, mark string) error {
	r, err := b.c.Do(ctx, "own", o.ID, o.Workspace, o.Host, o.User, from, mark)
	if err == nil && r.Status == "owned" {
		return &blackboard.OwnedError{Addr: b.Addr(), Instance: b.Instance(), Owner: blackboard.Owner{ID: r.Text(0), Workspace: r.Text(1), Host: r.Text(2), User: r.Text(3)}}
	}
	return store.Done(r, err, "own the blackboard of %s", b.Instance())
}
