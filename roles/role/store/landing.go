package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sett/roles/role/git"
)

// The ways of a commit to a branch.
const (
	Already     = "already there"
	FastForward = "fast-forward"
	Rebase      = "rebase"
	Merge       = "merge"
	Squash      = "squash"
)

// Landing asks how a commit of the store gets to a branch of the user's repository.
type Landing struct {
	Name    string // of the refs that hold its commits; a later plan of that name takes their place
	Commit  string
	Branch  string
	How     string // where the branch has moved on; FastForward: not at all
	Subject string // of a merge or a squash
	Trailer string // the last lines of its message
}

// LandingPlan is the answer. It changes nothing in the user's repository.
type LandingPlan struct {
	Tip  string // of the branch; empty: there is none
	To   string // the commit that the branch shall have; held
	How  string // that it is made in
	Bars string // why the branch cannot be moved, until a person acts; empty: it can be

	// The commit and the branch contradict each other.
	Conflict *git.Conflict
	Hunks    []git.Hunk
}

const landingRefs = "refs/sett/landings/"

// plannedRef is the last commit that was planned for a branch. Most often it is the tip of the next plan.
const plannedRef = "refs/sett/planned"

// landingRef is a ref that holds a commit for a landing: of (the result), tip or to.
func landingRef(name, part string) string { return landingRefs + name + "/" + part }

// Lander brings commits of a store to branches of the user's repository.
type Lander struct {
	Store *Store
	User  *User
}

// Plan finds the commit that a branch shall have, without a working tree. A
// landing that a branch does not allow is no error: see LandingPlan. Merges are made in the store: no
// hook, driver or filter of the user's repository is run.
func (x Lander) Plan(ctx context.Context, l Landing) (LandingPlan, error) {
	p, err := x.plan(ctx, l)
	if err == nil && (p.To == "" || p.How == Already) || IsTrouble(err) || ctx.Err() != nil {
		return p, err
	}
	why := x.User.ails()
	if why == "" && errors.Is(err, ErrIncomplete) {
		why = fmt.Sprintf("%s of commit %.10s: git fsck names them", LacksObjects, p.Tip)
	}
	if why != "" {
		return LandingPlan{Tip: p.Tip, Bars: why}, nil
	}
	return p, err
}

func (x Lander) plan(ctx context.Context, l Landing) (p LandingPlan, err error) {
	if p.Tip, err = x.User.tip(ctx, l.Branch); err != nil {
		return p, err
	}
	if p.Tip == "" {
		p.Bars = cmp.Or(x.User.unread(l.Branch), "there is no branch "+l.Branch)
		return p, nil
	}
	if x.Store.loose(plannedRef) != p.Tip { // else it is there
		if err := x.Store.Fetch(ctx, x.User.store.Objects(), p.Tip, landingRef(l.Name, "tip")); err != nil {
			return p, fmt.Errorf("bring branch %s into the store: %w", l.Branch, err)
		}
		if err := x.fetchContent(ctx, p.Tip, l.Commit); err != nil {
			return p, err
		}
	}
	if err := x.planOn(ctx, &p, l); err != nil || p.How == Already {
		return p, err
	}
	used, err := x.User.inUse(ctx, l.Branch)
	if err != nil || used == "" {
		return p, err
	}
	return LandingPlan{Tip: p.Tip, Bars: used}, nil
}

// planOn makes the plan on a tip that the store has.
func (x Lander) planOn(ctx context.Context, p *LandingPlan, l Landing) error {
	repo := own(x.Store)
	sides, err := git.Compare(ctx, repo, p.Tip, l.Commit, false)
	switch {
	case err != nil:
		return err
	case len(sides.Ahead) == 0:
		p.How, p.To = Already, p.Tip
		return nil
	case !sides.Joined:
		p.Bars = fmt.Sprintf("the branch and commit %.10s have no history in common", l.Commit)
		return nil
	case sides.Behind == 0 && (l.How != Squash || len(sides.Ahead) == 1):
		p.How, p.To = FastForward, l.Commit
		return x.holds(ctx, p, l)
	case l.How == FastForward:
		p.Bars = fmt.Sprintf("it cannot be fast-forwarded: the branch has commits that %.10s lacks", l.Commit)
		return nil
	}
	p.How = way(l.How, sides)
	l.How = p.How
	p.To, err = join(ctx, repo, p.Tip, l, sides)
	switch {
	case errors.As(err, &p.Conflict):
		p.To = ""
		p.Hunks, err = git.Hunks(ctx, repo, p.Conflict)
		return err
	case err != nil:
		return fmt.Errorf("%s onto %s: %w", l.How, l.Branch, err)
	case p.To == p.Tip:
		p.How = Already
		return nil
	}
	return x.holds(ctx, p, l)
}

// holds has refs hold the commits of a plan.
func (x Lander) holds(ctx context.Context, p *LandingPlan, l Landing) error {
	var updates strings.Builder
	for ref, commit := range map[string]string{landingRef(l.Name, "of"): l.Commit, landingRef(l.Name, "tip"): p.Tip, landingRef(l.Name, "to"): p.To, plannedRef: p.To} {
		fmt.Fprintf(&updates, "update %s %s\n", ref, commit)
	}
	_, err := x.Store.run(ctx, command{args: []string{"update-ref", "--stdin"}, stdin: updates.String()})
	return err
}

// Forms returns the commits of results that were planned for a branch, each with the commit
// that the branch should get for it.
func Forms(ctx context.Context, s *Store) (map[string]string, error) {
	all, err := Refs(ctx, s, landingRefs)
	forms := map[string]string{}
	for ref, commit := range all {
		if name, ok := strings.CutSuffix(ref, "/of"); ok {
			forms[commit] = all[name+"/to"]
		}
	}
	return forms, err
}

// way is the way of a landing where the branch has moved on. A rebase would leave out the
// merges of the result, and with them the conflicts that an agent settled there: such
// a result is merged. A single commit keeps its message and author.
func way(how string, s git.Sides) string {
	switch {
	case how == Rebase && s.Merges:
		return Merge
	case how == Squash && len(s.Ahead) == 1 && !s.Merges:
		return Rebase
	}
	return how
}

// join makes the commits of a landing.
func join(ctx context.Context, repo git.Repository, tip string, l Landing, s git.Sides) (string, error) {
	message := l.Subject + "\n\n" + l.Trailer
	switch l.How {
	case Rebase:
		return rebase(ctx, repo, tip, l.Commit, s)
	case Merge:
		return repo.Merge(ctx, tip, l.Commit, "Merge "+message)
	case Squash:
		return repo.Squash(ctx, tip, l.Commit, message)
	}
	return "", fmt.Errorf("unknown way %q", l.How)
}

// rebase is git.Repository.Rebase. To find the commits that the branch has in another form takes
// longer, the further it has moved on: for one commit git looks only if it contradicts the branch.
func rebase(ctx context.Context, repo git.Repository, tip, commit string, s git.Sides) (string, error) {
	if len(s.Ahead) == 1 {
		s.Picks = s.Ahead
		made, _, err := git.Pick(ctx, repo, tip, s)
		if conflict := (*git.Conflict)(nil); !errors.As(err, &conflict) {
			return made, err
		}
	}
	made, _, err := repo.Rebase(ctx, tip, commit)
	return made, err
}

// own is the store for commands that merge.
func own(s *Store) git.Repository {
	env := append(environ(), "GIT_DIR="+s.Dir, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings)))
	for i, setting := range settings {
		key, value, _ := strings.Cut(setting, "=")
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, value))
	}
	return git.Repository{Dir: s.Dir, Environ: env}
}

// Moved is the outcome of an attempt to move a branch.
type Moved struct {
	Done bool
	Tip  string // of the branch, where it is neither
	Bars string // as in LandingPlan

	Lacking []string // files of git LFS whose content is neither in the store nor with the user: their pointers came
}

// Land moves a branch from a commit to one that Plan made, once all objects of it are in
// the user's repository. It may be repeated: a branch that has the commit is left alone. A branch
// that is at another commit is not moved. From a commit to itself moves nothing: it says whether the branch has it.
func (x Lander) Land(ctx context.Context, branch, from, to string) (Moved, error) {
	m, err := x.land(ctx, branch, from, to)
	if err == nil || from == to || IsTrouble(err) || ctx.Err() != nil {
		return m, err
	}
	if why := x.User.ails(); why != "" {
		m.Bars, err = why, nil
	}
	return m, err
}

func (x Lander) land(ctx context.Context, branch, from, to string) (m Moved, err error) {
	if m.Tip, err = x.User.tip(ctx, branch); err != nil {
		return m, err
	}
	if m.Tip != from || from == to {
		m.Done, err = x.User.has(ctx, m.Tip, to)
		return m, err
	}
	if m.Lacking, err = SendContent(ctx, x.Store, to, x.User.store.Dir); err != nil {
		return m, err
	}
	named, err := x.User.named(ctx)
	if err != nil {
		return m, err
	}
	release := func() {}
	if !slices.Contains(named, to) {
		release, err = x.Store.sendBeyond(ctx, to, x.User.store, named)
	}
	defer release()
	if err != nil {
		return m, fmt.Errorf("bring the commits into the repository: %w", err)
	}
	if m.Bars, err = x.User.inUse(ctx, branch); err != nil || m.Bars != "" {
		return m, err
	}
	_, err = x.User.store.git(ctx, "update-ref", "--no-deref", git.BranchRef(branch), to, from)
	if err == nil {
		m.Done, m.Tip = true, to
		return m, nil
	}
	tip, again := x.User.tip(ctx, branch)
	if again != nil || tip == from {
		return m, errors.Join(fmt.Errorf("move branch %s: %w", branch, err), again)
	}
	m.Tip = tip
	m.Done, err = x.User.has(ctx, tip, to)
	return m, err
}
