package cli

import (
	"strings"
	"time"

	"sett/blackboard"
)

type goalsCmd struct {
	Limit int `default:"20" placeholder:"N" help:"The newest so many; 0 for all (default 20)."`
	textOrJSON
}

// Help is shown by `sett goals --help`.
func (goalsCmd) Help() string {
	return `Lists goals, newest last. OUTSTANDING is the work left: claims that are open, and
artefacts whose claim has yet to be opened.

Status: active; achieved (a Terminal, and nothing failed); failed; stalled (it ended
without a Terminal).`
}

// goalRow is a goal as `goals -o json` prints it.
type goalRow struct {
	blackboard.Workflow
	Text       string `json:"text"`
	AgeSeconds int64  `json:"age_seconds"`
}

// Run lists goals.
func (c *goalsCmd) Run(a *app) error {
	b, _, done, err := a.board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	ids, err := b.Goals(a.ctx, limitPlusOne(c.Limit))
	if err != nil {
		return err
	}
	more := c.Limit > 0 && len(ids) > c.Limit
	if more {
		ids = ids[1:]
	}
	workflows, err := b.Workflows(a.ctx, ids)
	if err != nil {
		return err
	}
	goals, err := b.Artefacts(a.ctx, ids)
	if err != nil {
		return err
	}
	rows := make([]goalRow, len(ids))
	for i, w := range workflows {
		rows[i] = goalRow{w, goals[i].Payload, int64(a.Now().Sub(w.CreatedAt) / time.Second)}
	}
	if c.json() {
		return a.printJSON(struct {
			Goals []goalRow `json:"goals"`
			More  bool      `json:"more"`
		}{rows, more})
	}
	return c.print(a, rows, more)
}

func (c *goalsCmd) print(a *app, rows []goalRow, more bool) error {
	if len(rows) == 0 {
		a.sayf("sett: no goals yet; sett forage --goal \"…\" posts one\n")
		return nil
	}
	if more {
		a.sayf("sett: the newest %d, there are more (--limit)\n", c.Limit)
	}
	t := a.table("ID", "STATUS", "AGE", "OUTSTANDING", "GOAL")
	for _, r := range rows {
		t.row(short(r.ID), cell{goalStatus(r.Workflow), workflowStyle(r.Status)}, age(a.Now().Sub(r.CreatedAt)), r.Outstanding,
			shorten(quote(r.Text), 60))
	}
	return t.write(a.Stdout)
}

// goalStatus is a workflow's status, with the questions that are open.
func goalStatus(w blackboard.Workflow) string {
	if w.Questions > 0 {
		return strings.Join([]string{string(w.Status), count(w.Questions, "question")}, ", ")
	}
	return string(w.Status)
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
