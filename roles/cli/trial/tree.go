package trial

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/contract/tool"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/store"
	"sett/roles/role/words"
)

// place is where the tool runs: a private tree as in a running instance, in a store of
// its own that borrows the objects of others.
type place struct {
	top      string // with all that was made for the trial
	ground   ground // that is top
	dir      string // the tool's working directory
	store    *store.Store
	tree     *store.Tree     // nil: the agent has none
	start    *tool.Workspace // as its tool reads it
	borrowed []string        // directories of objects that the store reads, too
	known    []string        // commits that the tool may build on
	refs     []store.Ref     // of the tool that asked, beside the start
	made     string          // the commit of its changes; empty: none
}

// settle makes the place.
func (t *Trial) settle(ctx context.Context) (err error) {
	t.place.ground, err = newGround(t.Below, "sett-try-", t.Keep)
	t.place.top = t.place.ground.dir
	if err == nil && t.Agent.Workspace.Mode == blackboard.NoWorkspace {
		t.place.dir = filepath.Join(t.place.top, "tree")
		err = os.Mkdir(t.place.dir, 0o700)
	}
	if err != nil {
		return noGround(t, fmt.Errorf("make a place for the tool: %w", err))
	}
	if t.place.dir != "" {
		return nil
	}
	return t.grow(ctx)
}

// leave removes the place, or says where it is kept.
func (t *Trial) leave() {
	switch {
	case t.place.top == "":
	case t.Keep:
		t.place.ground.unlock()
		t.Sayf("sett: the tree is kept in %s\n", role.Clean(t.place.dir))
	default:
		_ = store.RemoveAll(t.place.top)
		t.place.ground.release()
	}
}

// grow makes the agent's tree, from the commits that the repository's role would take.
func (t *Trial) grow(ctx context.Context) error {
	g := git.At(t.Environ(), t.Root)
	head, branch := g.Named(ctx, "HEAD")
	if head == "" {
		return role.Fail(role.Usage, fmt.Errorf("agent %s works in a private tree, which starts from a commit, and %s has no commit", t.Agent.Name, t.Root),
			`git init && git add -A && git commit -m "first commit", or workspace: {mode: none}`)
	}
	_, objects, err := g.Own(ctx)
	if err != nil {
		return err
	}
	format := "sha1"
	if len(head) == 64 {
		format = "sha256"
	}
	s, err := store.Create(ctx, filepath.Join(t.place.top, "store"), format, nil)
	if err == nil {
		t.place.borrowed = slices.DeleteFunc([]string{t.Lender, objects}, func(dir string) bool { return dir == "" })
		err = s.Borrow(t.place.borrowed...)
	}
	if err != nil {
		return role.Fail(role.Environment, err, "")
	}
	t.place.store = s
	if err := instance.BringIgnored(ctx, g, s, func(format string, args ...any) {
		t.say("note", strings.TrimPrefix(strings.TrimSpace(fmt.Sprintf(format, args...)), "sett: warning: "))
	}); err != nil {
		return err
	}
	base := t.Goal.Base()
	if base.Commit == "" {
		base = blackboard.Base{Commit: head, Branch: branch}
	}
	if err := t.from(ctx, base); err != nil {
		return err
	}
	empty, err := fetchModules(ctx, t, g)
	if err != nil {
		return role.Fail(role.Environment, err, "")
	}
	tree := s.Tree(filepath.Join(t.place.top, "trees"), t.Agent.Name, seen(t))
	if err := tree.Prepare(ctx, treePlan(t)); err != nil {
		return role.Fail(role.Environment, err, "")
	}
	t.place.tree, t.place.dir = tree, tree.Dir()
	t.place.start.Pointers = store.Lacking(tree)
	for _, line := range instance.PointerLines(git.Pointers{Submodules: empty, LFS: t.place.start.Pointers}) {
		t.say("note", line)
	}
	if t.Goal.Base().Commit == "" {
		t.noteDirt(ctx, g)
	}
	return nil
}

// fetchModules brings the commits of submodules into the trial's store, as sett forage does into the instance's, and returns
// the paths of those that are not at hand. The store knows of git LFS then, whose content it borrows.
func fetchModules(ctx context.Context, t *Trial, g git.Repository) (empty []string, err error) {
	g.Environ = append(slices.Clip(g.Environ), store.Borrowed(t.place.store.Objects())) // the start may be a result
	p, err := git.FindPointers(ctx, g, t.place.start.Commit)
	if err != nil {
		return nil, err
	}
	modules := git.Modules(ctx, g, t.place.start.Commit, p)
	for _, m := range modules {
		if err := store.FetchModule(ctx, t.place.store, m.Objects, m.Commit); err != nil {
			return nil, err
		}
	}
	for _, path := range p.Without(modules, nil).Submodules { // the instance may have it from an earlier goal
		if t.Lender == "" || store.FetchModule(ctx, t.place.store, t.Lender, p.SubmoduleCommit(path)) != nil {
			empty = append(empty, path)
		}
	}
	if p.HasLFS {
		err = store.FetchContent(ctx, t.place.store, "", nil)
	}
	return empty, err
}

// from decides where the tree starts: at the merge of the commits of the artefacts that
// count, else at the goal's base.
func (t *Trial) from(ctx context.Context, base blackboard.Base) error {
	var commits, ids []string
	add := func(hash, id string) error {
		commit, err := t.place.store.Resolve(ctx, hash)
		if err != nil {
			return role.Fail(role.Failed, fmt.Errorf("%s: %w", blackboard.TypeMissingCommit, err), "in a running instance this would be a Failure")
		}
		commits, ids = append(commits, commit), append(ids, id)
		return nil
	}
	for _, a := range t.Starts {
		if err := add(a.CommitHash(), a.ID); err != nil {
			return err
		}
	}
	if len(commits) == 0 {
		if err := add(base.Commit, ""); err != nil {
			return err
		}
	}
	merged, err := t.place.store.Merge(ctx, commits)
	if err != nil {
		return role.Fail(role.Environment, err, "")
	}
	t.place.start = &tool.Workspace{Commit: merged.Commit, Base: base.Commit, Branch: base.Branch}
	for i, c := range commits {
		if slices.Contains(merged.Unmerged, c) {
			t.place.start.Unmerged = append(t.place.start.Unmerged, tool.Unmerged{ArtefactID: ids[i], Commit: c})
		}
	}
	t.place.known = append([]string{merged.Commit}, commits...)
	return nil
}

// noteDirt names the files that the tree does not have, since they are not committed.
func (t *Trial) noteDirt(ctx context.Context, g git.Repository) {
	if files, err := g.Dirt(ctx); err == nil && len(files) > 0 {
		t.say("note", fmt.Sprintf("%s not committed and so not in the tree: %s", words.Count(len(files), "file"), paths(files, 5)))
	}
}

// take checks a commit of the tool as the repository's role does, and returns its whole
// hash, and the submodules that the tool has changed beside it.
func (t *Trial) take(ctx context.Context, part, hash string, rebased bool) (commit string, modules []string, err error) {
	if t.place.tree == nil {
		return "", nil, &tool.ViolationError{Reason: part + ": an agent with workspace: {mode: none} has no commits"}
	}
	offer := t.place.tree.Offer(hash, t.place.known)
	offer.Any, offer.ReadOnly = rebased, treePlan(t).ReadOnly
	offer.Size = cmp.Or(t.Agent.Workspace.MaxSize, store.MaxSize)
	if commit, err = t.place.store.Take(ctx, offer, store.Artefact("try")); err != nil {
		return "", nil, &tool.ViolationError{Reason: part + ": " + err.Error()}
	}
	modules, err = store.ChangedModules(ctx, t.place.tree)
	return commit, modules, err
}

// noteModules names the submodules with changes that no commit has.
func (t *Trial) noteModules(modules []string) {
	if len(modules) > 0 {
		t.say("note", fmt.Sprintf("the tool has changed submodules; what it changed in them is not committed: %s", strings.Join(modules, ", ")))
	}
}

// commit commits the changes that the tool left in its tree, as the repository's role does.
func (t *Trial) commit(ctx context.Context, out tool.Output) (tool.Output, error) {
	if treePlan(t).ReadOnly {
		return out, &tool.ViolationError{Reason: "commit: " + store.ReadOnly}
	}
	c := store.Changes{
		Start: t.place.start.Commit, Before: t.place.start.Before, Message: tool.CommitMessage(t.Agent.Role, out.Summary, t.Claim),
		Author: t.author(), Size: cmp.Or(t.Agent.Workspace.MaxSize, store.MaxSize),
	}
	made, err := t.place.tree.Commit(ctx, c, t.place.known, store.Artefact("try"))
	if len(made.Refused) > 0 {
		t.say("note", fmt.Sprintf("git takes such names for its own, and they are not committed: %s", strings.Join(made.Refused, ", ")))
	}
	switch {
	case store.ToolsFault(err):
		return out, &tool.ViolationError{Reason: "adapter: commit: " + err.Error()}
	case err != nil:
		return out, err
	case made.Commit == "":
		return out, tool.UnchangedError{Modules: strings.Join(made.Modules, ", ")}
	}
	if len(made.Embedded) > 0 {
		t.say("note", fmt.Sprintf("the tool has made repositories within its tree; their files are committed, their history is not: %s", strings.Join(made.Embedded, ", ")))
	}
	t.noteModules(made.Modules)
	t.place.made = made.Commit
	return out.Committed(made.Commit, made.Embedded, made.Refused, made.Modules)
}

// author is the name that commits of the agent carry.
func (t *Trial) author() store.Author {
	return store.Author{Name: t.Agent.Name, Email: t.Agent.Name + "@sett.invalid"}
}
