package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"

	"sett/blackboard"
	"sett/roles/cli/blame"
	"sett/roles/cli/chart"
	"sett/roles/cli/commit"
	"sett/roles/cli/grammar"
	"sett/roles/cli/instance"
	"sett/roles/cli/ledger"
	"sett/roles/cli/status"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/store"
	"sett/roles/role/words"
	"sett/roles/view/lineage"
)

type whyCmd struct {
	ID string `arg:"" optional:"" help:"An artefact or claim: any part of its id's beginning or end that is unique (default: @last, the newest goal). Of a goal that has ended: its Terminal or Failure."`
	term.Form
}

// Help is shown by `sett why --help`.
func (whyCmd) Help() string {
	return `Says how something came to be: the chain of claims from the goal to an artefact, or to a
claim. At each step: why the claim was opened and on what; the bids in the order they came in;
who was granted what, how long it waited and ran, and what came of it; what Reviews said;
questions and who answered; what waited for approval and who gave it; what was retried or
cancelled, by whom and why. What a step's artefact was also made from is named beside it.

json and yaml are one object with "steps", oldest first; jsonl is one step per line.

Examples:
  sett why
  sett why 7XK2ABCD
  sett why 7XK2ABCD -o json`
}

// Run shows the chain.
func (c *whyCmd) Run(a *app) error {
	on, err := a.about(cmp.Or(c.ID, grammar.LastGoal))
	if err != nil {
		return err
	}
	defer on.done()
	if on.id, err = onlyOutcome(a, on); err != nil {
		return err
	}
	b, compared := ledger.Compare(on.b, status.BoardOf(on.b))
	v, err := lineage.ReadWhy(a.ctx, b, on.b.Ledger, on.id, on.kind)
	if err != nil {
		return err
	}
	err = a.Emit(c.Form, term.Shown{Whole: v, Lines: v.Steps, Table: func() error { return chart.Why(&a.Terminal, v) }})
	return cmp.Or(err, compared.Failure(a.Sayf), term.LeftOut(v.Broken).Failure())
}

// onlyOutcome returns the Terminal or Failure in place of a goal that has ended: the
// goal itself has no history. It returns every other id unchanged.
func onlyOutcome(a *app, on subject) (string, error) {
	id := on.id
	if on.kind == blackboard.KindClaim {
		return id, nil
	}
	w, err := on.b.Records.Workflow(a.ctx, id)
	if errors.Is(err, blackboard.ErrNotFound) {
		return id, nil // no goal
	}
	if err != nil {
		return "", err
	}
	last := w.TerminalID
	if w.Status == blackboard.WorkflowFailed {
		last = w.FailureID
	}
	if !w.Status.Ended() || last == "" {
		a.Sayf("sett: note: goal %s is %s; %s says how far it has come\n", words.Short(id), w.Status, a.at.CommandLine(on.in, "show "+words.Short(id)))
		return id, nil
	}
	a.Sayf("sett: note: how goal %s was %s\n", words.Short(id), w.Status)
	return last, nil
}

type blameCmd struct {
	File string `arg:"" help:"The file, with the lines that are meant: FILE, FILE:LINE or FILE:LINE-LINE."`
	At   string `placeholder:"COMMIT" help:"The file as a commit has it, by its hash of 7 digits or more, in the repository or the instance's store; FILE is then its path in the repository."`
	term.Form
}

// Help is shown by `sett blame --help`.
func (blameCmd) Help() string {
	return `Says who wrote the lines of a file as it lies in your working tree: the commit of each line
and, where an artefact brought that commit, the artefact with its agent, its reviewers, its
goal and what its calls of models cost. Lines of people's commits say so, and those that are
not committed yet.

An artefact is known by its commit, by a later commit of it that builds on the line's, by the
message of a merge or squash of sett land, or by the same change, where it was rebased.

For programs: lines (line, text, commit) and origins, one for each commit. It needs no
running instance where the ledger is in files of this machine.

Examples:
  sett blame sett.yml
  sett blame sett.yml:2-3 -o json
  sett blame sett.yml --at 5175d51a`
}

// lineRange is the end of an argument that names lines.
var lineRange = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.+?):([0-9]{1,9})(?:-([0-9]{1,9}))?$`)
})

// Run says who wrote the lines.
func (c *blameCmd) Run(a *app) error {
	name, first, last := c.File, 0, 0
	if m := lineRange().FindStringSubmatch(name); m != nil {
		name = m[1]
		first, _ = strconv.Atoi(m[2]) // digits
		last = first
		if m[3] != "" {
			last, _ = strconv.Atoi(m[3])
		}
		if first == 0 || last < first {
			return role.Fail(role.Usage, fmt.Errorf("%s names no lines", role.Clean(c.File)), "FILE:LINE-LINE, from 1")
		}
	}
	path := filepath.ToSlash(filepath.Clean(name))
	if c.At == "" {
		var err error
		if path, err = a.at.Path(name); err != nil {
			return err
		}
	}
	b, in, done, err := instance.StoredBoard(a.ctx, a.at)
	if err != nil {
		return err
	}
	defer done()
	repo := commit.In(a.ctx, a.at, in)
	whole := ""
	if c.At != "" {
		if whole, err = repo.Whole(a.ctx, c.At); err != nil {
			return err
		}
	}
	v, err := blame.Read(a.ctx, blame.Sources{
		At: whole, Reader: status.Reader(a.at, b, in), Store: store.Open(in.StoreDir()), Commits: repo.Repository, User: repo.User,
	}, path, first, last)
	if err != nil {
		return err
	}
	v.File = name
	return a.Emit(c.Form, term.Shown{Whole: v, Lines: v.Lines, Table: func() error { return v.Write(&a.Terminal) }})
}
