package landing

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sett/blackboard"
	"sett/roles/cli/commit"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/git"
	"sett/roles/role/words"
	"sett/roles/view"
)

// Result is an artefact that names a commit.
type Result struct {
	Artefact blackboard.Artefact
	Goal     blackboard.Workflow
	Commit   string // whole
}

// Finder finds results and the commits that they began from.
type Finder struct {
	Board *instance.Board
	Repo  commit.Repository // that holds the commits
}

// Awaits says whether a goal cannot land by itself until a person acts.
func Awaits(goal blackboard.Workflow) bool {
	return goal.Status == blackboard.WorkflowActive && goal.Landing != nil && goal.Landing.People
}

// goalPage is how many goals are read at once.
const goalPage = 50

// Newest returns the result of the newest achieved goal that has a commit.
func (f Finder) Newest(ctx context.Context) (Result, error) {
	goals, err := f.Board.Index.Goals(ctx, 0)
	if err != nil {
		return Result{}, err
	}
	for len(goals) > 0 {
		page := goals[max(0, len(goals)-goalPage):]
		goals = goals[:len(goals)-len(page)]
		all, each, err := f.Board.Records.TryWorkflows(ctx, page)
		if err != nil {
			return Result{}, err
		}
		for i, w := range slices.Backward(all) {
			if each[i] != nil || w.Status != blackboard.WorkflowAchieved && !Awaits(w) {
				continue
			}
			if r, err := f.ofGoal(ctx, w); err != nil || r.Commit != "" {
				return r, err
			}
		}
	}
	return Result{}, role.Fail(role.NotFound, errors.New("no achieved goal has a commit"), "%s", f.Repo.Hint("goals"))
}

// Of returns the result that an id means: an artefact's own commit, the last one that was
// made under a claim, or that of a goal.
func (f Finder) Of(ctx context.Context, id string, kind blackboard.Kind) (Result, error) {
	var r Result
	var err error
	what := "claim " + words.Short(id)
	if kind == blackboard.KindClaim {
		var c blackboard.Snapshot
		if c, err = f.Board.Records.Snapshot(ctx, id); err == nil {
			r, err = f.last(ctx, c.Claim.WorkflowID, func(o blackboard.Artefact) bool { return o.ClaimID == id })
		}
	} else {
		var a blackboard.Artefact
		if a, err = f.Board.Records.Artefact(ctx, id); err != nil {
			return r, err
		}
		what = view.Named(a)
		if a.Type == blackboard.TypeGoalDefined {
			var w blackboard.Workflow
			if w, err = f.Board.Records.Workflow(ctx, a.WorkflowID); err == nil {
				what = "goal " + words.Short(id)
				r, err = f.ofGoal(ctx, w)
			}
		} else if a.NamesCommit() {
			r, err = f.result(ctx, a)
		}
	}
	if err == nil && r.Commit == "" {
		err = role.Fail(role.NotFound, fmt.Errorf("%s has no commit", what), "%s", f.Repo.Hint("show "+words.Short(id)))
	}
	return r, err
}

// ofGoal returns the commit of a goal's Terminal, else the last of its artefacts that
// has one; an empty Result: none has.
func (f Finder) ofGoal(ctx context.Context, w blackboard.Workflow) (Result, error) {
	if w.TerminalID != "" {
		a, err := f.Board.Records.Artefact(ctx, w.TerminalID)
		if err == nil && a.NamesCommit() {
			return f.result(ctx, a)
		}
	}
	return f.last(ctx, w.ID, func(blackboard.Artefact) bool { return true })
}

// last returns the newest artefact of a goal that names a commit and is wanted.
func (f Finder) last(ctx context.Context, goal string, want func(blackboard.Artefact) bool) (Result, error) {
	all, err := f.committed(ctx, goal)
	for _, a := range slices.Backward(all) {
		if want(a) {
			return f.result(ctx, a)
		}
	}
	return Result{}, err
}

// committed returns a goal's artefacts that name commits, oldest first.
func (f Finder) committed(ctx context.Context, goal string) ([]blackboard.Artefact, error) {
	ids, err := f.Board.Index.WorkflowArtefacts(ctx, goal)
	if err != nil {
		return nil, err
	}
	all, each, err := f.Board.Records.Outlines(ctx, ids)
	if err != nil {
		return nil, err
	}
	var found []string
	for i := range all {
		if each[i] == nil && all[i].HoldsResult() {
			found = append(found, all[i].ID)
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	return f.Board.Records.Artefacts(ctx, found)
}

func (f Finder) result(ctx context.Context, a blackboard.Artefact) (Result, error) {
	r := Result{Artefact: a}
	var err error
	if r.Goal, err = f.Board.Records.Workflow(ctx, a.WorkflowID); err != nil {
		return r, err
	}
	r.Commit, err = f.Repo.HashOf(ctx, a)
	return r, err
}

// Base returns the commit that a result's goal began from; empty: the result's history
// begins with it. It is the goal's own, as far as it is an ancestor of the result. In the
// ledger of an older Sett it is the one that the goal's first writer found; else the last
// commit that the result has in common with HEAD, and when HEAD has the result, the
// parent of the goal's first commit.
func (f Finder) Base(ctx context.Context, r Result) (string, error) {
	if f.Board == nil {
		return f.guess(ctx, r)
	}
	if goal, err := f.Board.Records.Artefact(ctx, r.Goal.ID); err == nil && git.IsHash(goal.Base().Commit) {
		if ok, err := f.Repo.IsAncestor(ctx, goal.Base().Commit, r.Commit); err == nil && ok {
			return goal.Base().Commit, nil
		}
	}
	claims, err := f.Board.Index.WorkflowClaims(ctx, r.Goal.ID)
	if err != nil {
		return "", err
	}
	all, each, err := f.Board.Records.Snapshots(ctx, claims)
	if err != nil {
		return "", err
	}
	var grants []blackboard.Grant
	for i := range all {
		if each[i] == nil {
			grants = append(grants, all[i].Grants...)
		}
	}
	slices.SortStableFunc(grants, func(x, y blackboard.Grant) int { return x.StartedAt.Compare(y.StartedAt) })
	for _, g := range grants {
		if g.Base == "" {
			continue
		}
		if ok, err := f.Repo.IsAncestor(ctx, g.Base, r.Commit); err == nil && ok {
			return g.Base, nil
		}
	}
	return f.guess(ctx, r)
}

// guess is Base without a word of it in the ledger.
func (f Finder) guess(ctx context.Context, r Result) (string, error) {
	if head := f.Repo.User.Head(ctx); head != "" {
		base, err := f.Repo.MergeBase(ctx, head, r.Commit)
		if err != nil || base != "" && base != r.Commit {
			return base, err
		}
	}
	first := r.Commit
	var all []blackboard.Artefact
	if f.Board != nil {
		var err error
		if all, err = f.committed(ctx, r.Goal.ID); err != nil {
			return "", err
		}
	}
	for _, a := range all {
		if hash, err := f.Repo.HashOf(ctx, a); err == nil {
			if ok, err := f.Repo.IsAncestor(ctx, hash, r.Commit); err == nil && ok {
				first = hash
				break
			}
		}
	}
	c, err := f.Repo.Commit(ctx, first)
	if err != nil {
		return "", err
	}
	return c.Base(), nil
}

// Name names the result for people: its artefact and its maker.
func (r Result) Name() string {
	return fmt.Sprintf("%s of %s", view.Named(r.Artefact), view.Maker(r.Artefact))
}

// Outcome is the change that came of a goal.
type Outcome struct {
	Artefact string `json:"artefact_id"`
	Commit   string `json:"commit"`
	Base     string `json:"base"`  // that the goal began from; empty: from nothing
	Files    int    `json:"files"` // that are changed
	Added    int    `json:"added"` // lines
	Deleted  int    `json:"deleted"`
	Landed   bool   `json:"landed"`                // HEAD has the commit
	Onto     string `json:"landed_onto,omitempty"` // the branch that it reached by itself
}

// Outcome returns the change that came of a goal; nil: it has no commit.
func (f Finder) Outcome(ctx context.Context, goal blackboard.Workflow) (*Outcome, error) {
	r, err := f.ofGoal(ctx, goal)
	if err != nil || r.Commit == "" {
		return nil, err
	}
	o := &Outcome{Artefact: r.Artefact.ID, Commit: r.Commit}
	if l := goal.Landing; l != nil && l.State == blackboard.LandingLanded {
		o.Onto = l.Branch
	}
	if o.Base, err = f.Base(ctx, r); err != nil {
		return nil, err
	}
	files, err := f.Change(ctx, o.Base, o.Commit)
	if err != nil {
		return nil, err
	}
	o.Files = len(files)
	for _, file := range files {
		o.Added, o.Deleted = o.Added+file.Added, o.Deleted+file.Deleted
	}
	if head := f.Repo.User.Head(ctx); head != "" {
		o.Landed, err = f.Repo.IsAncestor(ctx, o.Commit, head)
	}
	return o, err
}

// Change returns the files in which a commit differs from its base (empty: nothing).
func (f Finder) Change(ctx context.Context, base, to string) ([]commit.File, error) {
	from, err := f.From(ctx, base)
	if err != nil {
		return nil, err
	}
	return f.Repo.Files(ctx, from, to)
}

// From returns a base for git: the empty tree, if it is nothing.
func (f Finder) From(ctx context.Context, base string) (string, error) {
	if base != "" {
		return base, nil
	}
	return f.Repo.EmptyTree(ctx)
}
