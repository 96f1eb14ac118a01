package instance

import (
	"context"
	"slices"

	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/store"
	"sett/roles/role/words"
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
	own, err := OwnLeftovers(ctx, l, in)
	if err != nil {
		return nil, err
	}
	for _, kept := range own {
		all = append(all, Leftover{kept, false})
	}
	slices.SortStableFunc(all, func(x, y Leftover) int { return x.At.Compare(y.At) })
	return all, nil
}

// OwnLeftovers returns the leftovers in the store of an instance, oldest first: they go with it.
func OwnLeftovers(ctx context.Context, l *Locator, in *Instance) ([]git.Leftover, error) {
	if !store.Open(in.StoreDir()).Exists() {
		return nil, nil
	}
	return Store(ctx, l, in).Leftovers(ctx)
}

// ReadLeftover reads a leftover with all beside its files. An older Sett kept the files alone.
func ReadLeftover(ctx context.Context, in *Instance, l Leftover) (store.Kept, error) {
	if l.old {
		return store.Kept{Commit: l.Commit, Files: l.Commit}, nil
	}
	return store.ReadKept(ctx, store.Open(in.StoreDir()), l.Commit)
}

// TellKept names the commits beside the files of a leftover, and the changes that are not in it.
func TellKept(say func(format string, args ...any), kept store.Kept) {
	for _, r := range kept.Beside {
		say("sett: note: also kept: %s, commit %s\n", role.Clean(r.Name), words.Commit(r.Commit))
	}
	for _, what := range kept.LeftOut {
		say("sett: note: not kept: %s\n", role.Clean(what))
	}
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
