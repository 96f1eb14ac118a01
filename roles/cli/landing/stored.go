package landing

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/store"
	"sett/roles/role/words"
)

// Stored returns the result that an id means to the store alone, of an instance whose blackboard cannot be
// read now: that of an artefact by its id, or any commit that the store holds by its hash. Its goal is unknown.
func Stored(ctx context.Context, at *instance.Locator, in *instance.Instance, id string) (Result, error) {
	s := store.Open(in.StoreDir())
	down := fmt.Errorf("instance %s is not running", in.Name)
	if !s.Exists() {
		return Result{}, role.Fail(role.NotFound, down, "%s", at.UpLine(in))
	}
	if id == "" || strings.HasPrefix(id, "@") {
		return Result{}, role.Fail(role.NotFound, fmt.Errorf("%w, and only its blackboard knows the newest result", down),
			"%s, or name an artefact or a commit: git --git-dir=%s for-each-ref %s", at.UpLine(in), role.ShellWord(s.Dir), store.Artefact(""))
	}
	held, err := store.Refs(ctx, s, store.Artefact(""))
	if err != nil {
		return Result{}, role.Fail(role.Environment, err, "")
	}
	part := strings.ToUpper(id)
	found := map[string]string{}
	for name, hash := range held {
		if strings.HasPrefix(name, part) || strings.HasSuffix(name, part) {
			found[name] = hash
		}
	}
	if len(found) > 1 {
		return Result{}, role.Fail(role.NotFound, fmt.Errorf("id %s fits %d artefacts", role.Clean(id), len(found)), "type more of it")
	}
	for name, hash := range found {
		return Result{Artefact: blackboard.Artefact{ID: name}, Commit: hash}, nil
	}
	if git.IsHash(id) {
		hash, err := s.Resolve(ctx, id)
		switch {
		case err == nil:
			return Result{Commit: hash}, nil
		case !errors.Is(err, store.ErrNoCommit):
			return Result{}, role.Fail(role.Environment, err, "")
		}
	}
	return Result{}, role.Fail(role.NotFound, fmt.Errorf("%w, and its store has no artefact or commit %s; only its blackboard knows what came of goals and claims", down, role.Clean(id)),
		"%s", at.UpLine(in))
}

// Short names the result in a few letters: by its artefact, else by its commit.
func (r Result) Short() string {
	if r.Artefact.ID == "" {
		return words.Commit(r.Commit)
	}
	return words.Short(r.Artefact.ID)
}
