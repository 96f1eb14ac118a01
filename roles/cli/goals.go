package cli

import (
	"cmp"
	"sett/roles/cli/instance"
	"slices"

	"sett/blackboard"
	"sett/roles/cli/status"
	"sett/roles/cli/term"
	"sett/roles/role/words"
	"sett/roles/view"
)

type goalsCmd struct {
	Status string `enum:",active,achieved,failed,stalled" default:"" placeholder:"STATUS" help:"Only goals of this status: active, achieved, failed or stalled."`
	Limit  int    `default:"20" placeholder:"N" help:"The newest so many; 0 for all (default 20)."`
	term.Form
}

// Help is shown by `sett goals --help`.
func (goalsCmd) Help() string {
	return `Lists goals, newest last. OUTSTANDING is the work left: claims that are open, artefacts
whose claim has yet to be opened, and artefacts that wait for approval.

Status: active; achieved (a Terminal, and nothing failed); failed (a claim failed or was
cancelled and was not tried again, or the goal itself was cancelled or met a limit);
stalled (it ended without a Terminal).

Examples:
  sett goals --limit 5 -o json
  sett goals --status failed`
}

// Run lists goals.
func (c *goalsCmd) Run(a *app) error {
	b, in, done, err := a.at.Board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	ids, err := c.newest(a, b, limitPlusOne(c.Limit))
	if err != nil {
		return err
	}
	more := c.Limit > 0 && len(ids) > c.Limit
	if more {
		ids = ids[1:]
	}
	rows, broken, err := c.rows(a, b, ids)
	if err != nil {
		return err
	}
	if more {
		a.Sayf("sett: the newest %d, there are more (--limit)\n", c.Limit)
	}
	err = a.Emit(c.Form, term.Shown{
		Whole: struct {
			Goals []view.Goal `json:"goals"`
			More  bool        `json:"more"`
		}{rows, more},
		Lines: rows,
		Table: func() error {
			switch {
			case len(rows) > 0 || len(broken) > 0:
				return printGoals(&a.Terminal, rows)
			case c.Status != "":
				a.Sayf("sett: no goal is %s\n", c.Status)
			default:
				a.Sayf("sett: no goals yet; %s posts one\n", a.at.CommandLine(in, `forage --goal "…"`))
			}
			return nil
		},
	})
	return cmp.Or(err, broken.Failure())
}

// goalPage is how many goals are looked at in one round trip.
const goalPage = 500

// newest returns so many of the newest goals that match the flags, 0 for all, newest
// last. Goals that cannot be read are among them: their status is unknown.
func (c *goalsCmd) newest(a *app, b *instance.Board, most int) ([]string, error) {
	if c.Status == "" {
		return b.Index.Goals(a.ctx, most)
	}
	all, err := b.Index.Goals(a.ctx, 0)
	if c.Status == string(blackboard.WorkflowActive) {
		all, err = b.Index.ActiveWorkflows(a.ctx)
	}
	if err != nil {
		return nil, err
	}
	var found []string // newest first
	for left := all; len(left) > 0 && (most == 0 || len(found) < most); {
		page := left[max(0, len(left)-goalPage):]
		left = left[:len(left)-len(page)]
		workflows, each, err := b.Records.TryWorkflows(a.ctx, page)
		if err != nil {
			return nil, err
		}
		for i, id := range slices.Backward(page) {
			if each[i] != nil || string(workflows[i].Status) == c.Status {
				found = append(found, id)
			}
		}
	}
	if most > 0 {
		found = found[:min(len(found), most)]
	}
	slices.Reverse(found)
	return found, nil
}

// rows reads the goals that can be read.
func (c *goalsCmd) rows(a *app, b *instance.Board, ids []string) ([]view.Goal, term.LeftOut, error) {
	var broken term.LeftOut
	workflows, each, err := b.Records.TryWorkflows(a.ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	texts, noText, err := view.Reader{Board: status.BoardOf(b)}.GoalTexts(a.ctx, ids, c.ForPeople())
	if err != nil {
		return nil, nil, err
	}
	now, err := b.ServerTime(a.ctx)
	if err != nil {
		return nil, nil, err
	}
	rows := make([]view.Goal, 0, len(ids))
	for i, w := range workflows {
		if err := cmp.Or(each[i], noText[i]); err != nil {
			broken.Add(err)
			continue
		}
		rows = append(rows, view.Goal{Workflow: w, Text: texts[i], AgeSeconds: view.AgeSeconds(now, w.CreatedAt)})
	}
	return rows, broken, nil
}

func printGoals(t *term.Terminal, rows []view.Goal) error {
	table := t.Table("ID", "STATUS", "AGE", "OUTSTANDING", "GOAL")
	for _, r := range rows {
		table.Row(words.Short(r.ID), term.Cell{Text: view.GoalStatus(r.Workflow), As: term.Of(view.WorkflowTone(r.Status))}, view.AgeOf(r.AgeSeconds), r.Outstanding,
			words.Shorten(words.Quote(r.Text), 60))
	}
	return table.Write(t.Stdout)
}

// limitPlusOne asks for one more than is shown, to know whether there are more.
func limitPlusOne(limit int) int {
	if limit <= 0 {
		return 0
	}
	return limit + 1
}
