package cli

import (
	"cmp"
	"errors"

	"sett/blackboard"
	"sett/roles/cli/commit"
	"sett/roles/cli/instance"
	"sett/roles/cli/landing"
	"sett/roles/cli/ledger"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
)

type landCmd struct {
	ID     string `arg:"" optional:"" name:"id" help:"A goal, an artefact or a claim: any part of its id's beginning or end that is unique (default: the newest achieved goal with a commit)."`
	Onto   string `placeholder:"BRANCH" help:"Land on BRANCH instead of the current branch."`
	FF     bool   `name:"ff" xor:"way" help:"Only move the branch forward (default)."`
	Rebase bool   `xor:"way" help:"Where the branch has moved on: apply the commits anew on top of it."`
	Merge  bool   `xor:"way" help:"Where the branch has moved on: make a merge commit."`
	Squash bool   `xor:"way" help:"Make one commit of all."`
	DryRun bool   `help:"Say what would be done, and change nothing."`
	term.Form
}

// Help is shown by `sett land --help`.
func (landCmd) Help() string {
	return `Brings the commit of a result to your current branch, and prints what the branch gets and
the command that undoes it. Of a goal that is its Terminal's commit, else its last one.

Where the branch has commits that the result lacks, --rebase, --merge or --squash says how
to join them; new commits have your name, and no signature: where commit.gpgSign is set, a
note has the command that signs them. A conflict changes nothing: it names the files.
Files that are not committed are never overwritten, ignored ones neither. A branch that is
checked out in another working tree is landed on there, with its files; one that is checked
out nowhere just gets the commit. A working tree that git itself does not know, as after
git init --separate-git-dir, is found if you type the command in it; else its branch is
refused. No hook is run, and no filter or merge driver that only the repository's own
configuration names, since an agent may have written it.

The ledger records who landed it while the instance is up. One that it lacks is recorded by
the next sett land of that result, which finds it there.

It ends with 0 when the branch has the commit already, and with 1 when it refuses.

Examples:
  sett land
  sett land 7XK2ABCD --rebase
  sett land @last --onto release --merge --dry-run`
}

// Run lands the result.
func (c *landCmd) Run(a *app) error {
	r, f, in, done, err := resultOf(a, c.ID)
	if err != nil {
		return err
	}
	defer done()
	if r.Goal.ID != "" && r.Goal.Status != blackboard.WorkflowAchieved {
		a.Sayf("sett: note: goal %s is %s; this is its %s\n", words.Short(r.Goal.ID), r.Goal.Status, r.Name())
	}
	p, err := f.Look(a.ctx, a.at, in, r, c.Onto, c.way())
	if err != nil {
		return err
	}
	if !c.DryRun {
		a.Hold.On() // what has begun to change is changed or put back
		if err := p.Do(a.ctx); err != nil {
			return err
		}
	}
	var shown error
	if c.ForPeople() {
		shown = p.Write(&a.Terminal)
	}
	p.Done(&a.Terminal)
	if p.Landed || p.How == landing.Already && p.Artefact != "" && !c.DryRun {
		noteLanded(a, in, p, r)
	}
	if g := r.Goal; landing.Awaits(g) && g.Landing.Branch != p.Branch {
		a.Sayf("sett: note: goal %s still waits to land on %s: %s\n", words.Short(g.ID), role.Clean(g.Landing.Branch),
			a.at.CommandLine(in, words.Land(words.Short(g.ID), g.Landing.Branch)))
	}
	return cmp.Or(shown, a.Emit(c.Form, term.Shown{Whole: p, Table: func() error { return nil }}))
}

// noteLanded has the ledger know of the landing, which counts in any case. One that was made before is recorded if the
// ledger lacks it: that sett land was killed, or the instance was down. Where the goal awaits it, that is seen soon.
func noteLanded(a *app, in *instance.Instance, p *landing.Plan, r landing.Result) {
	b, _, done, err := a.at.Board(a.ctx)
	if err == nil {
		defer done()
		err = record(a, b, p, r)
	}
	switch {
	case errors.Is(err, role.ErrNotRunning) && p.Landed:
		a.Sayf("sett: note: %s is not up: its ledger has no entry of this landing; %s records it once it is up\n", in.Name,
			a.at.CommandLine(in, words.Land(r.Short(), p.Branch)))
	case errors.Is(err, role.ErrNotRunning):
	case err != nil:
		a.Sayf("sett: note: its ledger has no entry of this landing: %v\n", err)
	case p.Landed && landing.Awaits(r.Goal) && r.Goal.Landing.Branch == p.Branch:
		_, _ = awaitGoal(a, b, p.Goal, func(w blackboard.Workflow) bool { return !landing.Awaits(w) }) // sett wait says nothing then that is over
	}
}

func record(a *app, b *instance.Board, p *landing.Plan, r landing.Result) error {
	l := blackboard.LandedByHand{Word: a.NewID(), Workflow: p.Goal, Artefact: p.Artefact, Branch: p.Branch, Before: p.From, Commit: p.To, How: p.How}
	if !p.Landed {
		if known, err := landing.Recorded(a.ctx, b.Ledger, r.Artefact, p.Branch); known || err != nil {
			return err
		}
		l = p.Found(a.ctx)
	}
	err := b.People.NoteLanded(a.ctx, l, a.Who())
	if err == nil && !p.Landed {
		a.Sayf("sett: the ledger had no entry of this landing, and has one now\n")
	}
	return err
}

// way is the way that the flags want; empty: to move the branch forward or nothing.
func (c *landCmd) way() string {
	switch {
	case c.Rebase:
		return landing.Rebase
	case c.Merge:
		return landing.Merge
	case c.Squash:
		return landing.Squash
	}
	return ""
}

// resultOf returns the result that a typed id means, or without one that of the newest
// achieved goal that has a commit. It fails if the result is not as the ledger recorded it. Of an instance that does not run it reads the blackboard's files,
// else its store alone: then the Finder has no board.
func resultOf(a *app, part string) (r landing.Result, f landing.Finder, in *instance.Instance, done func(), err error) {
	b, in, done, err := instance.StoredBoard(a.ctx, a.at)
	if in != nil {
		f = landing.Finder{Board: b, Repo: commit.In(a.ctx, a.at, in)}
	}
	if errors.Is(err, role.ErrNotRunning) && in != nil {
		r, err = landing.Stored(a.ctx, a.at, in, part)
		return r, f, in, func() {}, err
	}
	if err != nil {
		return r, f, in, nil, err
	}
	if part == "" {
		r, err = f.Newest(a.ctx)
	} else {
		var id string
		var kind blackboard.Kind
		if id, kind, err = a.resolve(a.ctx, b, part, blackboard.KindArtefact, blackboard.KindClaim); err == nil {
			r, err = f.Of(a.ctx, id, kind)
		}
	}
	if err == nil {
		err = ledger.Trust(a.ctx, b, r.Artefact)
	}
	if err != nil {
		done()
	}
	return r, f, in, done, err
}

// trustGoal fails if the artefact of a result's goal, which names the commit that it began from, is not as the ledger recorded it.
func trustGoal(a *app, f landing.Finder, r landing.Result) error {
	if f.Board == nil || r.Goal.ID == "" {
		return nil
	}
	goal, err := f.Board.Records.Artefact(a.ctx, r.Goal.ID)
	if errors.Is(err, blackboard.ErrNotFound) || errors.Is(err, blackboard.ErrCorrupt) {
		return nil // the base is found without it
	}
	if err != nil {
		return err
	}
	return ledger.Trust(a.ctx, f.Board, goal)
}

type diffCmd struct {
	ID       string `arg:"" optional:"" name:"id" help:"A goal, an artefact or a claim: any part of its id's beginning or end that is unique (default: the newest achieved goal with a commit)."`
	Stat     bool   `xor:"part" help:"Only how much of each file is changed."`
	NameOnly bool   `xor:"part" help:"Only the names of the files."`
	term.Form
}

// Help is shown by `sett diff --help`.
func (diffCmd) Help() string {
	return `Prints all that a goal changed up to a result, as a patch: from the commit that the goal
started from to the result's commit. Where the ledger of an older Sett does not tell the
first one, it is the last commit that the result and your branch have in common, or, when
the branch has the result, the parent of the goal's first commit.
(sett unearth ID --diff is the change of the one commit.)

With -o the commit, the base and the files are printed; with jsonl each file is a line.

Examples:
  sett diff
  sett diff 7XK2ABCD --stat
  sett diff @last | git apply --check`
}

// diffed is a result's change as programs read it.
type diffed struct {
	Artefact string        `json:"artefact_id"`
	Goal     string        `json:"workflow_id"`
	Commit   string        `json:"commit"`
	Base     string        `json:"base"` // that the change begins from; empty: from nothing
	Files    []commit.File `json:"files"`
}

// Run prints the change.
func (c *diffCmd) Run(a *app) error {
	if !c.ForPeople() && (c.Stat || c.NameOnly) {
		return role.Fail(role.Usage, errors.New("-o has the files and their lines"), "without --stat and --name-only")
	}
	r, f, _, done, err := resultOf(a, c.ID)
	if err != nil {
		return err
	}
	defer done()
	if err := trustGoal(a, f, r); err != nil {
		return err
	}
	base, err := f.Base(a.ctx, r)
	if err != nil {
		return err
	}
	d := diffed{Artefact: r.Artefact.ID, Goal: r.Goal.ID, Commit: r.Commit, Base: base}
	if d.Files, err = f.Change(a.ctx, base, r.Commit); err != nil {
		return err
	}
	return a.Emit(c.Form, term.Shown{Whole: d, Lines: d.Files, Table: func() error {
		switch {
		case c.NameOnly:
			for _, file := range d.Files {
				a.Printf("%s\n", role.Clean(file.Path))
			}
			return nil
		case c.Stat:
			return commit.WriteStat(&a.Terminal, d.Files)
		}
		from, err := f.From(a.ctx, base)
		if err != nil {
			return err
		}
		patch, err := f.Repo.Patch(a.ctx, from, r.Commit)
		if err != nil {
			return err
		}
		return (&commit.Commit{Patch: patch}).WritePatch(&a.Terminal)
	}})
}
