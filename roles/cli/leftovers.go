package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sett/roles/cli/commit"
	"sett/roles/cli/instance"
	"sett/roles/cli/status"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/store"
	"sett/roles/role/words"
	"sett/roles/view"
)

type leftoversCmd struct {
	List    leftoversListCmd    `cmd:"" default:"withargs" help:"List them (default)."`
	Show    leftoversShowCmd    `cmd:"" help:"Show the change of one."`
	Restore leftoversRestoreCmd `cmd:"" help:"Make a directory with the files of one."`
	Drop    leftoversDropCmd    `cmd:"" help:"Forget some."`
}

// Help is shown by `sett leftovers --help`.
func (leftoversCmd) Help() string {
	return `When a tool that may write fails or is stopped, Sett keeps all that it left in its private
tree, committed or not, as a commit of its own: a leftover. So are its other branches, tags and
stashes, and the commits of a rebase in the middle. Ignored files are not kept.

Examples:
  sett leftovers
  sett leftovers drop --older 30d --yes`
}

type leftoversListCmd struct {
	Older string `placeholder:"TIME" help:"Only those kept before: 30d, 12h, or a date."`
	term.Form
}

// Help is shown by `sett leftovers list --help`.
func (leftoversListCmd) Help() string {
	return `Lists what failed or stopped tools left, oldest first: with its age, the agent and its
attempt, the files that it changes, and the goal, as far as this instance knows the claim.
A name with + is a branch, a tag or a stash.

Examples:
  sett leftovers
  sett leftovers list --older 7d -o json`
}

// leftover is a leftover as programs read it.
type leftover struct {
	ID         string        `json:"id"` // CLAIM/AGENT-ATTEMPT
	ClaimID    string        `json:"claim_id"`
	Agent      string        `json:"agent"`
	Attempt    int           `json:"attempt"`
	Workflow   string        `json:"workflow_id,omitempty"` // absent: the instance does not know the claim
	Goal       string        `json:"goal,omitempty"`        // the beginning of its text
	KeptAt     time.Time     `json:"kept_at"`
	AgeSeconds int64         `json:"age_seconds"`
	Commit     string        `json:"commit"`
	Base       string        `json:"base"` // the last commit that it has in common with HEAD; empty: none
	Files      []commit.File `json:"files"`
	Beside     []store.Ref   `json:"beside,omitempty"`   // commits that the tool's HEAD did not reach; the leftover does
	LeftOut    []string      `json:"left_out,omitempty"` // changes that are not kept, each with the reason

	kept instance.Leftover
	has  store.Kept
}

// short is the id as people type it.
func (l leftover) short() string {
	return words.Short(l.ClaimID) + "/" + role.Clean(l.Agent) + "-" + strconv.Itoa(l.Attempt)
}

// shelf is the leftovers of an instance's repository.
type shelf struct {
	*app
	in   *instance.Instance
	repo commit.Repository
	all  []leftover // oldest first
}

// shelfOf reads the leftovers that were kept before a time (empty: all).
func shelfOf(a *app, older string) (*shelf, error) {
	before, err := a.When("--older", older)
	if err != nil {
		return nil, err
	}
	in, err := a.at.Find()
	if err != nil {
		return nil, err
	}
	s := &shelf{app: a, in: in, repo: commit.In(a.ctx, a.at, in), all: []leftover{}}
	kept, err := instance.Leftovers(a.ctx, a.at, in)
	if err != nil {
		return nil, err
	}
	for _, k := range kept {
		if older == "" || k.At.Before(before) {
			s.all = append(s.all, leftover{ID: fmt.Sprintf("%s/%s-%d", k.Claim, k.Agent, k.Attempt), ClaimID: k.Claim, Agent: k.Agent, Attempt: k.Attempt,
				KeptAt: k.At, AgeSeconds: view.AgeSeconds(a.Now(), k.At), Commit: k.Commit, Files: []commit.File{}, kept: k})
		}
	}
	return s, nil
}

// find returns the leftover that a typed id means: CLAIM/AGENT-ATTEMPT, or the claim alone
// if it has one, each by any part of the claim's beginning or end.
func (s *shelf) find(typed string) (leftover, error) {
	claim, run, _ := strings.Cut(typed, "/")
	claim = strings.ToUpper(claim)
	var found []leftover
	for _, l := range s.all {
		fits := claim != "" && (strings.HasPrefix(l.ClaimID, claim) || strings.HasSuffix(l.ClaimID, claim))
		if fits && (run == "" || run == fmt.Sprintf("%s-%d", l.Agent, l.Attempt)) {
			found = append(found, l)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	list := s.at.CommandLine(s.in, "leftovers")
	if len(found) == 0 {
		return leftover{}, role.Fail(role.NotFound, fmt.Errorf("no leftover has an id like %s", role.Clean(typed)), "%s lists them", list)
	}
	var ids []string
	for _, l := range found {
		ids = append(ids, l.short())
	}
	return leftover{}, role.Fail(role.NotFound, fmt.Errorf("id %s fits several: %s", role.Clean(typed), strings.Join(ids, ", ")), "type more of the one you mean")
}

// change reads the files that a leftover changes. It is compared with the last commit that it
// has in common with HEAD: so the commits that the tool made are in it, too.
func (s *shelf) change(l *leftover) (from string, err error) {
	if l.has, err = instance.ReadLeftover(s.ctx, s.in, l.kept); err != nil {
		return "", err
	}
	l.Beside, l.LeftOut = l.has.Beside, l.has.LeftOut
	if head := s.repo.User.Head(s.ctx); head != "" {
		if l.Base, err = s.repo.MergeBase(s.ctx, head, l.has.Files); err != nil {
			return "", err
		}
	}
	if from = l.Base; from == "" {
		if from, err = s.repo.EmptyTree(s.ctx); err != nil {
			return "", err
		}
	}
	l.Files, err = s.repo.Files(s.ctx, from, l.Commit)
	return from, err
}

// name adds the goals that the leftovers' claims belong to. Without a blackboard they stay
// unknown.
func (s *shelf) name() {
	b, _, done, err := s.at.Board(s.ctx)
	if err != nil {
		s.Sayf("sett: note: the goals are not known: %s\n", words.FirstLine(err))
		return
	}
	defer done()
	claims := make([]string, len(s.all))
	for i, l := range s.all {
		claims[i] = l.ClaimID
	}
	all, each, err := b.Records.TryClaims(s.ctx, claims)
	if err != nil {
		return
	}
	var goals []string
	for i := range all {
		if each[i] == nil {
			s.all[i].Workflow = all[i].WorkflowID
			goals = append(goals, all[i].WorkflowID)
		}
	}
	texts, none, err := view.Reader{Board: status.BoardOf(b)}.GoalTexts(s.ctx, goals, true)
	for i, goal := range goals {
		for j := range s.all {
			if err == nil && none[i] == nil && s.all[j].Workflow == goal {
				s.all[j].Goal = words.Quote(texts[i])
			}
		}
	}
}

// Run lists the leftovers.
func (c *leftoversListCmd) Run(a *app) error {
	s, err := shelfOf(a, c.Older)
	if err != nil {
		return err
	}
	for i := range s.all {
		if _, err := s.change(&s.all[i]); err != nil {
			return err
		}
	}
	if len(s.all) > 0 {
		s.name()
	}
	return a.Emit(c.Form, term.Shown{
		Whole: struct {
			Leftovers []leftover `json:"leftovers"`
		}{s.all},
		Lines: s.all,
		Table: func() error { return s.table() },
	})
}

func (s *shelf) table() error {
	if len(s.all) == 0 {
		s.Sayf("sett: no leftovers\n")
		return nil
	}
	t := s.Table("ID", "AGE", "FILES", "GOAL", "CHANGES")
	for _, l := range s.all {
		names := make([]string, 0, len(l.Files))
		for _, f := range l.Files {
			names = append(names, f.Path)
		}
		goal := "-"
		if l.Workflow != "" {
			goal = words.Short(l.Workflow) + " " + words.Shorten(l.Goal, 30)
		}
		for _, r := range l.Beside {
			names = append(names, "+"+strings.TrimPrefix(strings.TrimPrefix(r.Name, "refs/"), "heads/"))
		}
		t.Row(l.short(), view.AgeOf(l.AgeSeconds), len(l.Files), goal, words.Shorten(strings.Join(names, ", "), 50))
	}
	return t.Write(s.Stdout)
}

type leftoversShowCmd struct {
	ID   string `arg:"" name:"id" help:"A leftover, as sett leftovers names it; the claim alone does if it has one."`
	Stat bool   `help:"Only how much of each file is changed."`
}

// Help is shown by `sett leftovers show --help`.
func (leftoversShowCmd) Help() string {
	return `Prints a leftover as a patch against the last commit that it has in common with HEAD, with
all that the tool committed and all that it did not. Its other branches, tags and stashes go to
stderr, each with its commit: sett leftovers restore makes a repository that has them.

Examples:
  sett leftovers show 7XK2ABCD
  sett leftovers show 7XK2ABCD/writer-1 --stat`
}

// Run shows the leftover.
func (c *leftoversShowCmd) Run(a *app) error {
	s, err := shelfOf(a, "")
	if err != nil {
		return err
	}
	l, err := s.find(c.ID)
	if err != nil {
		return err
	}
	from, err := s.change(&l)
	if err != nil {
		return err
	}
	instance.TellKept(a.Sayf, l.has)
	if c.Stat {
		return commit.WriteStat(&a.Terminal, l.Files)
	}
	patch, err := s.repo.Patch(a.ctx, from, l.Commit)
	if err != nil {
		return err
	}
	return (&commit.Commit{Patch: patch}).WritePatch(&a.Terminal)
}

type leftoversRestoreCmd struct {
	ID  string `arg:"" name:"id" help:"A leftover, as sett leftovers names it; the claim alone does if it has one."`
	Dir string `arg:"" optional:"" help:"The directory to make (default: beside the repository, named after it and the claim)."`
}

// Help is shown by `sett leftovers restore --help`.
func (leftoversRestoreCmd) Help() string {
	return `Makes a directory with the files of a leftover, as sett checkout does of a result: a clone,
with the leftover as its last commit. The clone has the tool's other branches, tags and stashes,
too, by their commits: git merge, cherry-pick or stash apply takes them. Your working tree stays
as it is.

Examples:
  sett leftovers restore 7XK2ABCD
  sett leftovers restore 7XK2ABCD/writer-1 ../kept`
}

// Run makes the directory.
func (c *leftoversRestoreCmd) Run(a *app) error {
	s, err := shelfOf(a, "")
	if err != nil {
		return err
	}
	l, err := s.find(c.ID)
	if err != nil {
		return err
	}
	has, err := instance.ReadLeftover(a.ctx, s.in, l.kept)
	if err == nil {
		err = checkOut(a, s.in, c.Dir, words.Short(l.ClaimID), has.Files, has.Commit)
	}
	if err == nil {
		instance.TellKept(a.Sayf, has)
	}
	return err
}

type leftoversDropCmd struct {
	ID    []string `arg:"" optional:"" name:"id" help:"Leftovers, as sett leftovers names them; a claim alone does if it has one."`
	Older string   `placeholder:"TIME" help:"All that were kept before: 30d, 12h, or a date."`
	Yes   bool     `short:"y" help:"Do not ask."`
}

// Help is shown by `sett leftovers drop --help`.
func (leftoversDropCmd) Help() string {
	return `Forgets leftovers, after asking. Those that an older Sett kept are your repository's: with
--older, those of another instance in it go, too. Each one's commit goes to stdout.

Examples:
  sett leftovers drop 7XK2ABCD
  sett leftovers drop --older 30d --yes`
}

// Run drops leftovers.
func (c *leftoversDropCmd) Run(a *app) error {
	if (len(c.ID) == 0) == (c.Older == "") {
		return role.Fail(role.Usage, errors.New("name leftovers, or how old they are"), "sett leftovers drop --older 30d")
	}
	s, err := shelfOf(a, c.Older)
	if err != nil {
		return err
	}
	drop := s.all
	if c.Older == "" {
		drop = nil
		for _, id := range c.ID {
			l, err := s.find(id)
			if err != nil {
				return err
			}
			drop = append(drop, l)
		}
	}
	if len(drop) == 0 {
		a.Sayf("sett: no leftovers\n")
		return nil
	}
	return s.drop(drop, c.Yes)
}

// mostAsked is how many leftovers a question names.
const mostAsked = 5

// drop drops leftovers once it is confirmed.
func (s *shelf) drop(all []leftover, sure bool) error {
	if !sure {
		var names []string
		for _, l := range all[:min(len(all), mostAsked)] {
			names = append(names, l.short())
		}
		if more := len(all) - mostAsked; more > 0 {
			names = append(names, fmt.Sprintf("and %d more", more))
		}
		ok, err := s.Confirm(fmt.Sprintf("Forget %s: %s?", words.Count(len(all), "leftover"), strings.Join(names, ", ")), "--yes")
		if err == nil && !ok {
			err = role.Fail(role.Failed, errors.New("nothing was dropped"), "")
		}
		if err != nil {
			return err
		}
	}
	kept := make([]instance.Leftover, len(all))
	for i, l := range all {
		kept[i] = l.kept
	}
	if err := instance.DropLeftovers(s.ctx, s.at, s.in, kept); err != nil {
		return err
	}
	for _, l := range all {
		s.Printf("%s\n", l.Commit)
	}
	s.Sayf("sett: forgot %s\n", words.Count(len(all), "leftover"))
	return nil
}
