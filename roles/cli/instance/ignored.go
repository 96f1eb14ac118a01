package instance

import (
	"context"

	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/store"
	"sett/roles/role/words"
)

// BringIgnored has git ignore in the agents' trees the files that it ignores in the user's repository. Say warns of lists
// that Sett does not read.
func BringIgnored(ctx context.Context, g git.Repository, s *store.Store, say func(format string, args ...any)) error {
	list, unread, err := git.Ignored(ctx, g)
	if err != nil {
		return err
	}
	for _, line := range unread {
		say("sett: warning: %s\n", line)
	}
	if err := store.SetIgnored(s, list); err != nil {
		return role.Fail(role.Environment, err, "%s", git.Remedy(err))
	}
	return nil
}

// TellIgnored is BringIgnored before a goal is posted. A list that cannot be brought is a warning: the agents have the one before.
func TellIgnored(ctx context.Context, l *Locator, in *Instance) {
	s := store.Open(in.StoreDir())
	if !s.Exists() {
		return
	}
	if err := BringIgnored(ctx, Repository(l, in), s, l.Sayf); err != nil && ctx.Err() == nil {
		l.Sayf("sett: warning: %s\n", words.FirstLine(err))
	}
}
