package board

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/roles/cli/live"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
	"sett/roles/view/report"
)

// clean makes a text safe and as wide as it is shown.
func clean(s string) string { return role.Clean(term.Untab(s)) }

// oneGoalRows are those of a goal: its state, and the part that is chosen.
func (s sheet) oneGoalRows(v *goalValues) []row {
	w := v.Shown.Workflow
	var rows []row
	for i, part := range term.Wrap(clean(words.Quote(v.Shown.Text)), max(s.m.columns-len(margin), 1)) {
		if i < 2 {
			rows = append(rows, heading(part))
		}
	}
	state := live.Styled{{Text: view.GoalStatus(w), As: term.Of(view.WorkflowTone(w.Status))}, {Text: "  since " + term.Seconds(s.m.clock(w.CreatedAt)), As: term.Dim}}
	if w.EndedAt.IsZero() {
		state = append(state, live.Piece{Text: fmt.Sprintf(", %d outstanding", w.Outstanding), As: term.Dim})
	} else {
		state = append(state, live.Piece{Text: ", ended after " + words.Span(w.EndedAt.Sub(w.CreatedAt)), As: term.Dim})
	}
	for _, g := range v.Spending.Goals {
		if g.Calls > 0 {
			state = append(state, live.Piece{Text: "  " + spent(g), As: term.Dim})
		}
	}
	rows = append(rows, row{line: state})
	if v.Shown.Outcome != "" {
		rows = append(rows, say(words.Quote(v.Shown.Outcome), term.Of(view.WorkflowTone(w.Status))))
	}
	rows = append(rows, s.matterRows(s.m.about(s.p))...)
	rows = append(rows, s.waitRows(v.Shown.Waits, v.Shown.More)...)
	rows = append(rows, blank)
	if v.part != parts[s.p.part] {
		return append(rows, say("is read…", term.Dim))
	}
	switch parts[s.p.part] {
	case partTimeline:
		rows = append(rows, s.timelineRows(v.Report.Timeline, w)...)
	case partResult:
		rows = append(rows, s.resultRows(v)...)
	case partLedger:
		rows = append(rows, s.ledgerRows(v.Report.Ledger)...)
	default:
		rows = append(rows, s.textRows(v.Text)...)
	}
	return rows
}

// The marks of a lane, by the kind of stretch; the later ones cover the others.
var laneMarks = []struct {
	kind, mark, says string
	as               term.Style
}{
	{report.WaitsForBids, "·", "waits for bids", term.Dim}, {report.Queued, "-", "queued", term.Dim}, {report.WaitsForGate, "!", "waits for approval", term.Warn},
	{report.WaitsForAnswer, "?", "waits for an answer", term.Warn}, {report.Runs, "#", "runs", term.Good},
}

// timelineRows are a lane for each agent, and below the stretches, newest first.
func (s sheet) timelineRows(all []report.Stretch, w blackboard.Workflow) []row {
	if len(all) == 0 {
		return []row{say("nothing has happened yet", term.Dim)}
	}
	end := w.EndedAt
	if end.IsZero() {
		end = s.m.now
	}
	for _, t := range all {
		if t.To.After(end) {
			end = t.To
		}
	}
	var lanes []string
	for _, t := range all {
		if !slices.Contains(lanes, t.Lane) {
			lanes = append(lanes, t.Lane)
		}
	}
	const name = 16
	wide := max(s.m.columns-name-len(margin)-1, 8)
	var rows []row
	for _, lane := range lanes {
		rows = append(rows, row{line: append(live.Styled{{Text: term.Pad(term.Cut(clean(lane), name-1), name)}}, bar(all, lane, w.CreatedAt, end, wide)...)})
	}
	legend := live.Styled{{Text: strings.Repeat(" ", name)}}
	for _, k := range laneMarks {
		legend = append(legend, live.Piece{Text: k.mark + " " + k.says + "  ", As: term.Dim})
	}
	rows = append(rows, row{line: legend}, blank)
	for i := len(all) - 1; i >= 0; i-- {
		t := all[i]
		r := row{line: live.Styled{{Text: term.Seconds(s.m.clock(t.From)) + "  ", As: term.Dim}, {Text: term.Pad(term.Cut(clean(t.Lane), name-1), name)},
			{Text: term.Pad(words.Span(t.To.Sub(t.From)), 8), As: term.Dim}, {Text: t.Says, As: term.Of(t.Tone)}}}
		if t.Gist != "" {
			r.line = append(r.line, live.Piece{Text: " " + words.Quote(t.Gist), As: term.Dim})
		}
		if t.Kind == report.Runs {
			r.agent = t.Lane
		}
		if id := t.ID; id != "" || t.ClaimID != "" {
			if id == "" {
				id = t.ClaimID
			}
			r.key, r.to = fmt.Sprintf("stretch %d", i), &place{kind: paneThing, id: id}
		}
		rows = append(rows, r)
	}
	return rows
}

// bar is a lane, as wide as there is room.
func bar(all []report.Stretch, lane string, from, to time.Time, wide int) live.Styled {
	cells := make([]int, wide) // 1 more than an index in laneMarks
	span := max(to.Sub(from), time.Millisecond)
	cell := func(t time.Time) int {
		return min(max(int(int64(t.Sub(from))/max(int64(span)/int64(wide), 1)), 0), wide-1)
	}
	for _, s := range all {
		if s.Lane != lane {
			continue
		}
		for k, mark := range laneMarks {
			if mark.kind != s.Kind {
				continue
			}
			for c := cell(s.From); c <= cell(s.To); c++ {
				cells[c] = max(cells[c], k+1)
			}
		}
	}
	var line live.Styled
	for at := 0; at < wide; {
		next := at
		for next < wide && cells[next] == cells[at] {
			next++
		}
		piece := live.Piece{Text: strings.Repeat(" ", next-at)}
		if k := cells[at]; k > 0 {
			piece = live.Piece{Text: strings.Repeat(laneMarks[k-1].mark, next-at), As: laneMarks[k-1].as}
		}
		line, at = append(line, piece), next
	}
	return line
}

// resultRows are the outcome, the commits, and the words of people.
func (s sheet) resultRows(v *goalValues) []row {
	var rows []row
	o := v.Report.Outcome
	if o == nil {
		rows = append(rows, say("no final result yet", term.Dim))
	} else {
		rows = append(rows, row{key: "outcome", to: &place{kind: paneThing, id: o.ID}, line: live.Styled{{Text: o.Type + " " + words.Short(o.ID), As: term.Bold}, {Text: " of " + o.ProducedByAgent, As: term.Dim}}})
		for line := range strings.SplitSeq(strings.TrimRight(o.Excerpt, "\n"), "\n") {
			for _, part := range term.Wrap(clean(line), max(s.m.columns-4, 1)) {
				rows = append(rows, say(margin+part, term.Plain))
			}
		}
		if o.Commit != "" && o.StructuralType != blackboard.Failure {
			text, command := view.ToLand(v.Shown.Workflow)
			rows = append(rows, say(text+command, term.Bold))
		}
	}
	if len(v.Report.Commits) > 0 {
		rows = append(rows, blank, heading("Commits"))
	}
	for i, c := range v.Report.Commits {
		rows = append(rows, row{key: fmt.Sprintf("commit %d", i), to: &place{kind: paneThing, id: c.ArtefactID}, line: live.Styled{{Text: words.Commit(c.Hash) + "  ", As: term.Accent}, {Text: c.Subject}, {Text: " for " + words.Short(c.ArtefactID), As: term.Dim}}})
	}
	if len(v.Report.People) > 0 {
		rows = append(rows, blank, heading("People"))
	}
	for _, d := range v.Report.People {
		rows = append(rows, row{line: live.Styled{{Text: term.Seconds(s.m.clock(d.Time)) + "  ", As: term.Dim}, {Text: d.By + " " + string(d.Kind) + "  "}, {Text: words.Quote(d.Says), As: term.Dim}}})
	}
	for _, lack := range v.Report.Lacks {
		rows = append(rows, say("could not be read: "+lack, term.Warn))
	}
	return rows
}

// ledgerRows are the entries about a goal, newest first.
func (s sheet) ledgerRows(all []report.Entry) []row {
	var rows []row
	for i := len(all) - 1; i >= 0; i-- {
		e := all[i]
		rows = append(rows, row{line: live.Styled{{Text: term.Seconds(s.m.clock(e.Time)) + "  ", As: term.Dim}, {Text: term.Pad(string(e.Kind), 10), As: term.Accent},
			{Text: term.Pad(term.Cut(clean(e.By), 15), 16)}, {Text: e.Says, As: term.Of(e.Tone)}}})
	}
	if len(rows) == 0 {
		return []row{say("no entries", term.Dim)}
	}
	return rows
}
