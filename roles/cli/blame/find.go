package blame

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/roles/role/git"
	"sett/roles/role/store"
	"sett/roles/view"
)

// The ways in which a commit is known to be an artefact's.
const (
	ByCommit  = "commit"  // the artefact names it
	ByHistory = "history" // the artefact names a later commit of the same goal, which builds on it
	ByMessage = "message" // its last lines name the artefact, as those of landings do
	ByPatch   = "patch"   // it makes the same change as a commit of the artefact: it was rebased
)

// mostPatches bounds the commits that are compared with an unknown one.
const mostPatches = 2000

// finder finds the artefacts of commits.
type finder struct {
	store   *store.Store
	commits git.Repository // those of the store and of the user
	user    git.Repository
	records view.Artefacts

	held  map[string]string // artefacts' commits, by artefact
	first map[string]string // a commit's oldest artefact
	same  map[string]string // an artefact's commit, by the id of its patch; nil: not read yet
}

// newFinder reads the commits that artefacts name.
func newFinder(ctx context.Context, s *store.Store, commits, user git.Repository, records view.Artefacts) (*finder, error) {
	f := &finder{store: s, commits: commits, user: user, records: records, held: map[string]string{}, first: map[string]string{}}
	if !s.Exists() {
		return f, nil
	}
	held, err := store.Refs(ctx, s, store.Artefact(""))
	if err != nil {
		return nil, err
	}
	f.held = held
	for _, id := range slices.Sorted(maps.Keys(held)) { // ids are in order of time
		if f.first[held[id]] == "" {
			f.first[held[id]] = id
		}
	}
	return f, nil
}

// find returns the artefact that brought a commit, and how that is known; empty: none did.
func (f *finder) find(ctx context.Context, hash, path string) (artefact, by string, err error) {
	if id := f.first[hash]; id != "" {
		return id, ByCommit, nil
	}
	if id, err := f.byHistory(ctx, hash); id != "" || err != nil {
		return id, ByHistory, err
	}
	if id, err := f.byMessage(ctx, hash); id != "" || err != nil {
		return id, ByMessage, err
	}
	id, err := f.byPatch(ctx, hash, path)
	return id, ByPatch, err
}

// byHistory finds the oldest artefact with a commit that builds on this one, which its goal did not
// begin with.
func (f *finder) byHistory(ctx context.Context, hash string) (string, error) {
	if len(f.held) == 0 {
		return "", nil
	}
	if _, err := f.commits.Run(ctx, "cat-file", "-e", hash+"^{commit}"); err != nil {
		return "", ctx.Err() // the store does not know it
	}
	out, err := f.commits.Run(ctx, "for-each-ref", "--contains="+hash, "--format=%(refname)", "--sort=refname", "--count=1", store.Artefact(""))
	if err != nil {
		return "", err
	}
	id := strings.TrimPrefix(strings.TrimSpace(out), store.Artefact(""))
	if id == "" {
		return "", nil
	}
	a, err := f.records.Artefact(ctx, id)
	if errors.Is(err, blackboard.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	base, err := f.store.Commit(ctx, store.Goal(a.WorkflowID))
	if err != nil || base == "" {
		return id, err
	}
	before, err := f.commits.IsAncestor(ctx, hash, base)
	if err != nil || before {
		return "", err
	}
	return id, nil
}

// byMessage reads the artefact from the last lines of a commit's message.
func (f *finder) byMessage(ctx context.Context, hash string) (string, error) {
	out, err := f.user.Run(ctx, "show", "-s", "--no-show-signature", "--no-notes", "--no-color", "--format=%(trailers:key=Artefact,valueonly)", hash, "--")
	if err != nil {
		return "", err
	}
	id, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	if !blackboard.ValidID(id) || f.held[id] == "" {
		return "", nil
	}
	return id, nil
}

// byPatch compares a commit's change with those of artefacts' commits that touch the file.
func (f *finder) byPatch(ctx context.Context, hash, path string) (string, error) {
	if len(f.held) == 0 {
		return "", nil
	}
	if f.same == nil {
		if err := f.patches(ctx, path); err != nil {
			return "", err
		}
	}
	if len(f.same) == 0 {
		return "", nil
	}
	ids, err := patchIDs(ctx, f.user, hash+"\n")
	if err != nil {
		return "", err
	}
	own := f.same[ids[hash]]
	if own == "" {
		return "", nil
	}
	if id := f.first[own]; id != "" {
		return id, nil
	}
	return f.byHistory(ctx, own)
}

// patches reads the changes of artefacts' commits to a file. A path is only the reader's
// place in the user's repository; a file that was renamed since is not found so.
func (f *finder) patches(ctx context.Context, path string) error {
	f.same = map[string]string{}
	out, err := f.commits.Run(ctx, "rev-list", "--no-merges", fmt.Sprintf("--max-count=%d", mostPatches), "--glob="+store.Artefact("")+"*", "--not", "--glob="+store.Goal("")+"*", "--", path)
	if err != nil || strings.TrimSpace(out) == "" {
		return err
	}
	ids, err := patchIDs(ctx, f.commits, out)
	for commit, id := range ids {
		if id != "" {
			f.same[id] = commit
		}
	}
	return err
}

// patchIDs returns the ids of the changes of commits, which are listed one a line.
func patchIDs(ctx context.Context, g git.Repository, commits string) (map[string]string, error) {
	patches, err := g.Feed(ctx, commits, "diff-tree", "--stdin", "-p", "--root", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index")
	if err != nil {
		return nil, err
	}
	out, err := g.Feed(ctx, patches, "patch-id", "--stable")
	if err != nil {
		return nil, err
	}
	ids := map[string]string{}
	for row := range strings.Lines(out) {
		if id, commit, ok := strings.Cut(strings.TrimSpace(row), " "); ok {
			ids[commit] = id
		}
	}
	return ids, nil
}
