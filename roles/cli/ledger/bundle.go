package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/lfs"
	"sett/roles/role/store"
	"sett/roles/role/words"
)

// BundleSuffix ends the name of the bundle beside an export.
const BundleSuffix = ".bundle"

// commits are those that the ledger names: hashes, by the refs that have to hold them.
type commits map[string]string

// commitsOf reads the commits that the ledger of a goal, or (empty) of all, names.
func commitsOf(ctx context.Context, b *instance.Board, goal string) (commits, error) {
	goals := []string{goal}
	if goal == "" {
		var err error
		if goals, err = b.Index.Goals(ctx, 0); err != nil {
			return nil, err
		}
	}
	all := commits{}
	for _, id := range goals {
		if err := all.add(ctx, b, id); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// add adds those of one goal. A lost or corrupt record is the export's to name.
func (c commits) add(ctx context.Context, b *instance.Board, goal string) error {
	ids, err := b.Index.WorkflowArtefacts(ctx, goal)
	if err != nil {
		return err
	}
	outlines, each, err := b.Records.Outlines(ctx, ids)
	if err != nil {
		return err
	}
	for i, o := range outlines {
		if each[i] != nil || o.Type != blackboard.TypeGoalDefined && !o.NamesCommit() {
			continue
		}
		a, err := b.Records.Artefact(ctx, o.ID)
		switch {
		case errors.Is(err, blackboard.ErrCorrupt), errors.Is(err, blackboard.ErrNotFound):
			continue
		case err != nil:
			return err
		}
		if base := a.Base().Commit; base != "" {
			c[store.Goal(a.ID)] = base
		} else if a.NamesCommit() {
			c[store.Artefact(a.ID)] = a.CommitHash()
		}
	}
	return nil
}

// compare tells the refs that hold their commit from those that do not.
func (c commits) compare(ctx context.Context, s *store.Store) (held, missing []string, err error) {
	refs := make([]string, 0, len(c))
	for ref := range c {
		refs = append(refs, ref)
	}
	slices.Sort(refs)
	found, err := s.Commits(ctx, refs)
	if err != nil {
		return nil, nil, err
	}
	for i, ref := range refs {
		if found[i] != "" && strings.HasPrefix(found[i], strings.ToLower(c[ref])) {
			held = append(held, ref)
		} else {
			missing = append(missing, ref)
		}
	}
	return held, missing, nil
}

// bring takes the commits of these refs into the store that an older Sett left in the user's repository. It says whether
// there was one. A commit that cannot be brought stays missing.
func (c commits) bring(ctx context.Context, at *instance.Locator, in *instance.Instance, refs []string) (brought bool) {
	users := instance.Repository(at, in)
	for _, ref := range refs {
		commit, _ := users.Named(ctx, c[ref])
		if commit != "" && strings.HasPrefix(commit, strings.ToLower(c[ref])) && instance.Bring(ctx, at, in, commit, ref) == nil {
			brought = true
		}
	}
	return brought
}

// incomplete is the error about commits that the ledger names and the store lacks.
func (c commits) incomplete(missing []string) error {
	if len(missing) == 0 {
		return nil
	}
	const most = 5
	var named []string
	for _, ref := range missing[:min(len(missing), most)] {
		named = append(named, fmt.Sprintf("%.12s of %s", role.Clean(c[ref]), words.Short(ref[strings.LastIndexByte(ref, '/')+1:])))
	}
	return role.Fail(role.Failed, fmt.Errorf("%s not in the bundle: %s", words.Count(len(missing), "commit that the ledger names is", "commits that the ledger names are"), strings.Join(named, ", ")),
		"sett doctor says which the store lacks")
}

// leftoversOf returns the refs of the leftovers in the store of a goal, or (empty) of all.
func leftoversOf(ctx context.Context, at *instance.Locator, b *instance.Board, in *instance.Instance, goal string) ([]string, error) {
	all, err := instance.OwnLeftovers(ctx, at, in)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	var refs, claims []string
	for _, l := range all {
		if store.InBundles(l.Ref()) {
			refs, claims = append(refs, l.Ref()), append(claims, l.Claim)
		}
	}
	if goal == "" || len(refs) == 0 {
		return refs, nil
	}
	found, each, err := b.Records.TryClaims(ctx, claims)
	if err != nil {
		return nil, err
	}
	var own []string
	for i, ref := range refs {
		if each[i] == nil && found[i].WorkflowID == goal {
			own = append(own, ref)
		}
	}
	return own, nil
}

// amountOf says how many commits and leftovers there are.
func amountOf(commits, leftovers int) string {
	if leftovers == 0 {
		return words.Count(commits, "commit")
	}
	return words.Count(commits, "commit") + " and " + words.Count(leftovers, "leftover")
}

// ExportBundle writes the commits that the ledger names into a bundle, with the leftovers in the store, and says which of
// those commits the store lacks.
func ExportBundle(ctx context.Context, at *instance.Locator, b *instance.Board, in *instance.Instance, goal, path string, force bool) (lacks, err error) {
	all, err := commitsOf(ctx, b, goal)
	if err != nil {
		return nil, err
	}
	s := store.Open(in.StoreDir())
	held, missing, err := all.compare(ctx, s)
	if err != nil {
		return nil, err
	}
	if all.bring(ctx, at, in, missing) {
		if held, missing, err = all.compare(ctx, s); err != nil {
			return nil, err
		}
	}
	left, err := leftoversOf(ctx, at, b, in, goal)
	if err != nil {
		return nil, err
	}
	refs := slices.Concat(held, left)
	if len(refs) == 0 {
		at.Sayf("sett: note: the ledger names no commit that the store has: there is no bundle\n")
		return all.incomplete(missing), nil
	}
	err = WriteWhole(path, force, func(w io.Writer) error { return store.Bundle(ctx, s, w, refs) })
	switch {
	case errors.Is(err, store.ErrIncomplete):
		return nil, role.Fail(role.Environment, err, "git fetch --unshallow in the repository; goals after that have their whole history")
	case err != nil:
		return nil, err
	}
	at.Sayf("sett: bundled %s to %s\n", amountOf(len(held), len(left)), role.Clean(path))
	if files, err := store.LFSFiles(ctx, s, refs); err == nil && len(files) > 0 { // else nothing is wrong with the bundle
		at.Sayf("sett: note: a bundle has no content of git LFS, of which its commits have %s: take %s along\n",
			instance.SomeFiles(files), role.Clean(string(store.Content(s.Objects()))))
	}
	return all.incomplete(missing), nil
}

// NoteUnbundled says that an export without a bundle lacks commits and leftovers that are nowhere but in the store.
func NoteUnbundled(ctx context.Context, at *instance.Locator, b *instance.Board, in *instance.Instance, goal string) error {
	alone := instance.Unlanded(ctx, at, in)
	if len(alone) > 0 && goal != "" {
		all, err := commitsOf(ctx, b, goal)
		if err != nil {
			return err
		}
		named := slices.Collect(maps.Values(all))
		alone = slices.DeleteFunc(alone, func(hash string) bool { return !slices.Contains(named, hash) })
	}
	if len(alone) > 0 {
		at.Sayf("sett: warning: it lacks %s of results, which the repository does not have in this form, either; --bundle writes them, too\n", words.Count(len(alone), "commit"))
	}
	left, err := leftoversOf(ctx, at, b, in, goal)
	if err != nil {
		return nil //nolint:nilerr // without git none can be shown, and the export is whole
	}
	if len(left) > 0 {
		at.Sayf("sett: warning: it lacks %s of tools (sett leftovers); --bundle writes them, too\n", words.Count(len(left), "leftover"))
	}
	return nil
}

// NoteMissing says that an import without a bundle names commits that are nowhere here.
func NoteMissing(ctx context.Context, at *instance.Locator, b *instance.Board, in *instance.Instance) error {
	all, err := commitsOf(ctx, b, "")
	if err != nil {
		return err
	}
	missing, err := instance.Store(ctx, at, in).Missing(ctx, slices.Compact(slices.Sorted(maps.Values(all))))
	if err != nil {
		return nil //nolint:nilerr // without git nothing can land, and the import is whole
	}
	if len(missing) > 0 {
		at.Sayf("sett: warning: the ledger names %s that %s lacks, so that such results cannot land; "+
			"imported with what sett ledger export --bundle wrote, an empty instance has them\n", words.Count(len(missing), "commit"), role.Clean(at.Tilde(in.Workspace)))
	}
	return nil
}

// ImportBundle brings a bundle into the store of an instance: the one that is named, else that beside
// the export, if there is one. It says whether there was a bundle.
func ImportBundle(ctx context.Context, at *instance.Locator, in *instance.Instance, named, export string) (bool, error) {
	path := named
	if path == "" {
		if export == "" || export == "-" {
			return false, nil
		}
		path = export + BundleSuffix
	}
	path, err := at.Path(path)
	if err != nil {
		return false, err
	}
	f, err := os.Open(path)
	switch {
	case errors.Is(err, os.ErrNotExist) && named == "":
		return false, nil
	case err != nil:
		return false, role.Fail(role.Usage, fmt.Errorf("read %s: %w", role.Clean(path), role.Cause(err)), "")
	}
	defer func() { _ = f.Close() }()
	s := store.Open(in.StoreDir())
	if !s.Exists() {
		return false, role.Fail(role.Environment, errors.New("the instance has no store for commits"), "give an agent a workspace, and sett up makes it")
	}
	refs, skipped, err := store.Unbundle(ctx, s, f)
	switch {
	case errors.Is(err, store.ErrBundle), errors.Is(err, store.ErrIncomplete), errors.Is(err, store.ErrFormat):
		return false, role.Fail(role.Failed, fmt.Errorf("%s: %w", role.Clean(path), err), "nothing was imported; --bundle takes the file that sett ledger export --bundle wrote")
	case err != nil:
		return false, role.Fail(role.Environment, err, "")
	}
	if len(skipped) > 0 {
		at.Sayf("sett: warning: %s has %s of a kind that this sett does not know, such as %s; the commits of these are not brought, all others are\n",
			role.Clean(path), words.Count(len(skipped), "ref"), role.Clean(skipped[0]))
		at.Sayf("sett: hint: an import with the sett that wrote the bundle, or a newer one, brings them too\n")
	}
	left := 0
	for _, ref := range refs {
		if store.IsLeftover(ref) {
			left++
		}
	}
	at.Sayf("sett: brought %s from %s\n", amountOf(len(refs)-left, left), role.Clean(path))
	noteFormat(ctx, at, in, s)
	return true, nil
}

// noteFormat warns of commits of another hash algorithm than the repository's. They can be looked at.
func noteFormat(ctx context.Context, at *instance.Locator, in *instance.Instance, s *store.Store) {
	has, err := s.Format(ctx)
	want, failed := git.Format(ctx, instance.Repository(at, in))
	if err == nil && failed == nil && has != want {
		at.Sayf("sett: warning: the repository %s has another object format: %s, and these commits are of %s; no result of them can land here, and no goal can start\n",
			role.Clean(at.Tilde(in.Workspace)), want, has)
		at.Sayf("sett: hint: to go on with them, import in a clone of the repository that they came from\n")
	}
}

// CompareCommits fails if the store lacks a commit that the ledger names. It names the files of git LFS whose content
// is not at hand.
func CompareCommits(ctx context.Context, at *instance.Locator, b *instance.Board, in *instance.Instance, goal string) error {
	all, err := commitsOf(ctx, b, goal)
	if err != nil {
		return err
	}
	s := store.Open(in.StoreDir())
	held, missing, err := all.compare(ctx, s)
	if err != nil {
		return err
	}
	if err := all.incomplete(missing); err != nil {
		return err
	}
	at.Sayf("sett: the store holds all %s that the ledger names\n", words.Count(len(held), "commit"))
	var users lfs.Objects
	if _, objects, err := instance.Repository(at, in).Own(ctx); err == nil {
		users = store.Content(objects)
	}
	if files, err := store.FillContent(ctx, s, held, users); err != nil {
		at.Sayf("sett: warning: content of git LFS: %s\n", words.FirstLine(err))
	} else if len(files) > 0 {
		at.Sayf("sett: warning: the store lacks the content of git LFS of %s, which agents see as pointers: bring it to %s\n",
			instance.SomeFiles(files), role.Clean(string(store.Content(s.Objects()))))
	}
	return nil
}
