package instance

import (
	"context"
	"slices"

	"sett/roles/role/git"
	"sett/roles/role/store"
)

// Leftover is a commit of a tool's changes, with the place that holds it.
type Leftover struct {
	git.Leftover
	old bool // in the user's repository, where an older Sett kept it
}

// Leftovers returns the changes that tools left which failed or were stopped, oldest
// first. Those of an older Sett are in the user's repository, for all its instances.
func Leftovers(ctx context.Context, l *Locator, in *Instance) ([]Leftover, error) {
	users, err := Repository(l, in).Leftovers(ctx)
	if err != nil && Exists(in.Workspace) {
		return nil, err
	}
	var all []Leftover
	for _, kept := range users {
		all = append(all, Leftover{kept, true})
	}
	if s := store.Open(in.StoreDir()); s.Exists() {
		kept, err := Store(ctx, l, in).Leftovers(ctx)
		if err != nil {
			return nil, err
		}
		for _, k := range kept {
			all = append(all, Leftover{k, false})
		}
	}
	slices.SortStableFunc(all, func(x, y Leftover) int { return x.At.Compare(y.At) })
	return all, nil
}

// DropLeftovers removes the refs of leftovers.
func DropLeftovers(ctx context.Context, l *Locator, in *Instance, all []Leftover) error {
	var users []git.Leftover
	var own []string
	for _, k := range all {
		if k.old {
			users = append(users, k.Leftover)
		} else {
			own = append(own, k.Ref())
		}
	}
	if len(users) > 0 {
		if err := Repository(l, in).DropLeftovers(ctx, users); err != nil {
			return err
		}
	}
	return store.Open(in.StoreDir()).LetGo(ctx, own...)
}
