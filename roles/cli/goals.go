package cli

import (
	"cmp"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/blackboard/redis"
)

type goalsCmd struct {
	Status string `enum:",active,achieved,failed,stalled" default:"" placeholder:"STATUS" help:"Only goals of this status: active, achieved, failed or stalled."`
	Limit  int    `default:"20" placeholder:"N" help:"The newest so many; 0 for all (default 20)."`
	outputs
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

// goalRow is a goal as `goals -o json` prints it.
type goalRow struct {
	blackboard.Workflow
	Text       string `json:"text"`
	AgeSeconds int64  `json:"age_seconds"`
}

// Run lists goals.
func (c *goalsCmd) Run(a *app) error {
	b, in, done, err := a.board(a.ctx)
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
		a.sayf("sett: the newest %d, there are more (--limit)\n", c.Limit)
	}
	err = a.emit(c.outputs, shown{
		whole: struct {
			Goals []goalRow `json:"goals"`
			More  bool      `json:"more"`
		}{rows, more},
		lines: rows,
		table: func() error {
			switch {
			case len(rows) > 0 || len(broken) > 0:
				return a.goalTable(rows)
			case c.Status != "":
				a.sayf("sett: no goal is %s\n", c.Status)
			default:
				a.sayf("sett: no goals yet; %s posts one\n", a.commandLine(in, `forage --goal "…"`))
			}
			return nil
		},
	})
	return cmp.Or(err, broken.failure())
}

// goalPage is how many goals are looked at in one round trip.
const goalPage = 500

// newest returns so many of the newest goals that are meant, 0 for all, newest last.
// One that cannot be read is among them, as nobody knows its status.
func (c *goalsCmd) newest(a *app, b *redis.Board, most int) ([]string, error) {
	if c.Status == "" {
		return b.Goals(a.ctx, most)
	}
	all, err := b.Goals(a.ctx, 0)
	if c.Status == string(blackboard.WorkflowActive) {
		all, err = b.ActiveWorkflows(a.ctx)
	}
	if err != nil {
		return nil, err
	}
	var found []string // newest first
	for left := all; len(left) > 0 && (most == 0 || len(found) < most); {
		page := left[max(0, len(left)-goalPage):]
		left = left[:len(left)-len(page)]
		workflows, each, err := b.TryWorkflows(a.ctx, page)
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
func (c *goalsCmd) rows(a *app, b *redis.Board, ids []string) ([]goalRow, leftOut, error) {
	var broken leftOut
	workflows, each, err := b.TryWorkflows(a.ctx, ids)
	if err != nil {
		return nil, nil, err
	}
	texts, noText, err := a.goalTexts(b, ids, c.forPeople())
	if err != nil {
		return nil, nil, err
	}
	now, err := b.ServerTime(a.ctx)
	if err != nil {
		return nil, nil, err
	}
	rows := make([]goalRow, 0, len(ids))
	for i, w := range workflows {
		if err := cmp.Or(each[i], noText[i]); err != nil {
			broken.add(err)
			continue
		}
		rows = append(rows, goalRow{w, texts[i], ageSeconds(now, w.CreatedAt)})
	}
	return rows, broken, nil
}

// goalTexts reads what goals say, with an error for each that cannot be read; for
// people, who get one line of it, only where that is not very long.
func (a *app) goalTexts(b *redis.Board, ids []string, forPeople bool) ([]string, []error, error) {
	texts := make([]string, len(ids))
	if !forPeople {
		goals, each, err := b.TryArtefacts(a.ctx, ids)
		for i, g := range goals {
			texts[i] = g.Payload
		}
		return texts, each, err
	}
	goals, each, err := b.OutlinesWithTexts(a.ctx, ids, maxShown)
	for i, g := range goals {
		if texts[i] = g.Payload; g.Payload == "" {
			texts[i] = gistOf(&goals[i])
		}
	}
	return texts, each, err
}

func (a *app) goalTable(rows []goalRow) error {
	t := a.table("ID", "STATUS", "AGE", "OUTSTANDING", "GOAL")
	for _, r := range rows {
		t.row(short(r.ID), cell{goalStatus(r.Workflow), workflowStyle(r.Status)}, ageOf(r.AgeSeconds), r.Outstanding,
			shorten(quote(r.Text), 60))
	}
	return t.write(a.Stdout)
}

// goalStatus is a workflow's status, with what waits for people.
func goalStatus(w blackboard.Workflow) string {
	parts := []string{string(w.Status)}
	if w.Questions > 0 {
		parts = append(parts, count(w.Questions, "question"))
	}
	if w.Gates > 0 {
		parts = append(parts, count(w.Gates, "approval"))
	}
	return strings.Join(parts, ", ")
}

func workflowStyle(s blackboard.WorkflowStatus) style {
	switch s {
	case blackboard.WorkflowAchieved:
		return good
	case blackboard.WorkflowFailed:
		return bad
	case blackboard.WorkflowStalled:
		return warn
	}
	return plain
}

// limitPlusOne asks for one more than is shown, to know whether there are more.
func limitPlusOne(limit int) int {
	if limit <= 0 {
		return 0
	}
	return limit + 1
}
