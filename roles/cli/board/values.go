package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"sett/blackboard"
	"sett/roles/cli/act"
	"sett/roles/cli/status"
	"sett/roles/view"
	"sett/roles/view/report"
)

// present is the pane Now.
type present struct {
	Instance status.Row
	Failed   []view.Goal // newest last
	Models   view.Models
	Said     map[string]string // the last line of a running tool, by agent
}

// goalList is the pane Goals.
type goalList struct {
	Goals []view.Goal `json:"goals"` // newest last
	More  bool        `json:"more"`
}

// goalValues is the pane of a goal. Its part says which fields of Report, or the Text, are read.
type goalValues struct {
	Shown struct {
		Workflow blackboard.Workflow `json:"workflow"`
		Text     string              `json:"text"`
		Waits    []view.Wait         `json:"waits"`
		More     int                 `json:"waits_more"`
		Outcome  string              `json:"outcome"`
	}
	Spending view.Models
	Report   struct {
		Outcome  *report.Artefact `json:"outcome"`
		Timeline []report.Stretch `json:"timeline"`
		Commits  []report.Commit  `json:"commits"`
		People   []report.Deed    `json:"people"`
		Ledger   []report.Entry   `json:"ledger"`
		Lacks    []string         `json:"lacks"`
	}
	Text string
	part string // that was read
}

// thing is the pane of an artefact or a claim.
type thing struct {
	Text string
}

// Bounds of reading.
const (
	mostGoals  = "200"
	mostFailed = "5"
	mostSaid   = "20"      // lines of a log, of which the last one of the tool is shown
	mostBusy   = 12        // agents with a last line
	mostText   = 256 << 10 // bytes of a text that is shown
	mostShown  = 64 << 10  // bytes of a payload that is shown without being asked for
)

// read reads the values of a pane, and the matters that wait for a person.
func read(ctx context.Context, run act.Command, instance string, p place) (values any, matters []view.Matter, err error) {
	var asked struct {
		Questions []view.Matter `json:"questions"`
	}
	err = all(
		func() error { return run.Read(ctx, &asked, "questions") },
		func() (err error) {
			switch p.kind {
			case paneNow:
				values, err = readPresent(ctx, run, instance)
			case paneGoals:
				values, err = readGoals(ctx, run, p.status)
			case paneGoal:
				values, err = readGoal(ctx, run, p)
			case paneThing:
				values, err = readThing(ctx, run, p.id)
			}
			return err
		},
	)
	return values, asked.Questions, err
}

func readGoals(ctx context.Context, run act.Command, status string) (*goalList, error) {
	v := &goalList{}
	args := []string{"goals", "--limit=" + mostGoals}
	if status != "" {
		args = append(args, "--status="+status)
	}
	return v, run.Read(ctx, v, args...)
}

// all runs reads beside each other, and returns the first error; LeftOut last.
func all(reads ...func() error) error {
	var group sync.WaitGroup
	failed := make([]error, len(reads))
	for i, read := range reads {
		group.Go(func() { failed[i] = guarded(read) })
	}
	group.Wait()
	var partly error
	for _, err := range failed {
		if errors.As(err, new(act.LeftOut)) {
			partly = err
		} else if err != nil {
			return err
		}
	}
	return partly
}

// whole says whether a read has values.
func whole(err error) bool { return err == nil || errors.As(err, new(act.LeftOut)) }

func readPresent(ctx context.Context, run act.Command, instance string) (*present, error) {
	v := &present{Said: map[string]string{}}
	var rows struct {
		Instances []status.Row `json:"instances"`
	}
	var failed goalList
	err := all(
		func() error { return run.Read(ctx, &rows, "list", "--verbose", "--", instance) },
		func() error { return run.Read(ctx, &failed, "goals", "--status=failed", "--limit="+mostFailed) },
		func() error { return run.Read(ctx, &v.Models, "models", "show", "--limit=20") },
	)
	if len(rows.Instances) > 0 {
		v.Instance = rows.Instances[0]
	}
	v.Failed = failed.Goals
	if !whole(err) {
		return v, err
	}
	for _, a := range v.Instance.Details {
		if len(a.Works) == 0 || len(v.Said) >= mostBusy {
			continue
		}
		var last struct {
			Lines []struct {
				Attributes struct{ Source, Line string } `json:"attributes"`
			} `json:"lines"`
		}
		if !whole(run.Read(ctx, &last, "logs", "--lines="+mostSaid, "--claim="+a.Works[0].ClaimID, "--", a.Name)) {
			continue
		}
		for _, l := range last.Lines {
			if l.Attributes.Source == "tool" && strings.TrimSpace(l.Attributes.Line) != "" {
				v.Said[a.Name] = l.Attributes.Line
			}
		}
	}
	return v, err
}

func readGoal(ctx context.Context, run act.Command, p place) (*goalValues, error) {
	v := &goalValues{part: parts[p.part]}
	err := all(
		func() error { return run.Read(ctx, &v.Shown, "show", "--no-claims", "--", p.id) },
		func() error { return run.Read(ctx, &v.Spending, "models", "show", "--", p.id) },
		func() (err error) {
			switch part := parts[p.part]; part {
			case partStory:
				v.Text, err = run.Text(ctx, "why", "--", p.id)
			case partGraph:
				v.Text, err = run.Text(ctx, "graph", "--", p.id)
			case partChanges:
				if v.Text, err = run.Text(ctx, "diff", "--", p.id); err != nil {
					v.Text, err = act.ProblemOf(err).Error, nil // it has no commit yet
				}
			case partResult:
				err = run.Read(ctx, &v.Report, "report", "--only=outcome,people,commits,lacks", "--", p.id)
			case partTimeline:
				err = run.Read(ctx, &v.Report, "report", "--no-patches", "--only=timeline", "--", p.id)
			default:
				err = run.Read(ctx, &v.Report, "report", "--no-patches", "--only=ledger", "--", p.id)
			}
			return err
		},
	)
	v.Text = shortened(v.Text)
	return v, err
}

func readThing(ctx context.Context, run act.Command, id string) (*thing, error) {
	v := &thing{}
	var shown struct {
		Kind     string    `json:"kind"`
		Artefact view.Meta `json:"artefact"`
	}
	text := ""
	err := all(
		func() error { return run.Read(ctx, &shown, "show", "--", id) },
		func() (err error) { text, err = run.Text(ctx, "show", "--", id); return err },
	)
	if !whole(err) {
		return v, err
	}
	if shown.Kind == "artefact" {
		args := []string{"unearth", "--", id}
		if shown.Artefact.Commit != "" {
			args = []string{"unearth", "--diff", "--", id}
		}
		payload := "it has more bytes than are shown here: sett " + strings.Join(args, " ")
		if shown.Artefact.PayloadSize <= mostShown {
			var failed error
			if payload, failed = run.Text(ctx, args...); failed != nil {
				payload = act.ProblemOf(failed).Error
			}
		}
		text += "\npayload\n\n" + payload
	}
	v.Text = shortened(text)
	return v, err
}

func shortened(text string) string {
	if len(text) <= mostText {
		return text
	}
	return text[:mostText] + "\n… it is longer"
}

func decode(line []byte, into any) error {
	if err := json.Unmarshal(line, into); err != nil {
		return fmt.Errorf("read line: %w", err)
	}
	return nil
}
