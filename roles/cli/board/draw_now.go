package board

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/roles/cli/live"
	"sett/roles/cli/status"
	"sett/roles/cli/term"
	"sett/roles/role/words"
	"sett/roles/view"
)

func isRunning(w view.Wait) bool { return w.What == blackboard.WaitResult }

// age is an age that was read a while ago.
func age(seconds int64, since time.Duration) string {
	return words.Age(time.Duration(seconds)*time.Second + since)
}

// presentRows are those of Now.
func (s sheet) presentRows(v *present) []row {
	var rows []row
	i := v.Instance
	for _, trouble := range []string{i.NoWrites, i.Unled, i.NoLedger} {
		if trouble == "" {
			continue
		}
		switch trouble {
		case i.NoWrites:
			trouble = "the blackboard refuses writes: " + trouble
		case i.NoLedger:
			trouble = "it is not the blackboard of before: " + trouble
		}
		rows = append(rows, say(trouble, term.Bad))
	}
	if i.Notifier != nil {
		rows = append(rows, say(i.Notifier.Text(), term.Bad))
	}
	rows = append(rows, heading("Needs you"))
	if len(s.m.matters) == 0 {
		rows = append(rows, say("nobody asks, and nothing waits for approval", term.Dim))
	}
	rows = append(rows, s.matterRows(s.m.matters)...)
	rows = append(rows, blank, heading("Agents"))
	if len(i.Details) == 0 {
		rows = append(rows, say("no agents", term.Dim))
	}
	for _, a := range i.Details {
		rows = append(rows, s.agentRow(a, v.Said[a.Name]))
	}
	rows = append(rows, s.waitRows(i.Waits, i.WaitsMore)...)
	rows = append(rows, modelRows(v.Models)...)
	if len(v.Failed) > 0 {
		rows = append(rows, blank, heading("Failed"))
		for j := len(v.Failed) - 1; j >= 0; j-- {
			rows = append(rows, s.goalRow(v.Failed[j], "failed "))
		}
	}
	return rows
}

// The most of a question in a list. The text is cut before it is broken: an agent may ask with
// megabytes, and each key draws anew.
const (
	mostAsked      = 4    // lines
	mostAskedBytes = 1000 // and bytes
)

// beginning is the part of a question that a list shows, and whether there is more.
func beginning(text string) (lines []string, more bool) {
	head := text
	if len(head) > mostAskedBytes {
		head, more = strings.ToValidUTF8(head[:mostAskedBytes], ""), true
	}
	lines = strings.Split(strings.TrimSpace(head), "\n")
	if len(lines) > mostAsked {
		return lines[:mostAsked], true
	}
	return lines, more
}

// matterRows are the matters that wait for a person.
func (s sheet) matterRows(all []view.Matter) []row {
	var rows []row
	for i := range all {
		x := &all[i]
		maker := x.Agent
		if maker == "" {
			maker = x.Role
		}
		head := map[string]string{view.MatterQuestion: maker + " asks", view.MatterGate: x.About.Type + " of " + maker + " waits for approval",
			view.MatterLanding: x.About.Type + " cannot land", view.MatterBid: maker + " cannot bid on " + x.About.Type,
			view.MatterModel: maker + " waits for its model"}[x.Kind]
		to := &place{kind: paneThing, id: x.ID}
		if x.Kind == view.MatterLanding {
			to.kind = paneGoal
		}
		if s.p.kind == paneThing {
			to = nil
		}
		rows = append(rows, row{key: "matter " + x.ID, matter: x, to: to, line: live.Styled{{Text: head, As: term.Warn},
			{Text: "  " + words.Short(x.ID) + "  " + age(x.AgeSeconds, max(s.m.now.Sub(s.m.read), 0)) + "  goal " + words.Short(x.WorkflowID) + " " + words.Quote(x.Goal), As: term.Dim}}})
		lines, more := beginning(x.Text)
		for _, line := range lines {
			for _, part := range term.Wrap(clean(line), max(s.m.columns-6, 1)) {
				rows = append(rows, say("    "+part, term.Plain))
			}
		}
		if more {
			rows = append(rows, say("    …", term.Dim))
		}
		if slices.Contains([]string{view.MatterLanding, view.MatterBid, view.MatterModel}, x.Kind) && len(x.Commands) > 0 {
			rows = append(rows, say("    "+x.Commands[0], term.Bold))
		}
	}
	return rows
}

func (s sheet) agentRow(a status.Agent, said string) row {
	as := term.Plain
	switch a.State {
	case "working":
		as = term.Accent
	case "idle", "starting":
	default:
		as = term.Bad
	}
	line := live.Styled{{Text: term.Pad(term.Cut(clean(a.Name), 18), 19)}, {Text: term.Pad(string(a.State), 10), As: as}}
	if a.Slots > 1 && len(a.Works) > 0 {
		line = append(line, live.Piece{Text: fmt.Sprintf("%d of %d running  ", len(a.Works), a.Slots)})
	}
	for _, w := range a.Works {
		text := "on " + words.Short(w.ClaimID) + " for " + age(w.AgeSeconds, s.since())
		if w.Attempt > 1 {
			text += fmt.Sprintf(", attempt %d", w.Attempt)
		}
		line = append(line, live.Piece{Text: text + "  "})
	}
	if a.Queued > 0 {
		line = append(line, live.Piece{Text: fmt.Sprintf("%d queued  ", a.Queued), As: term.Dim})
	}
	if a.BidsDue > 0 {
		line = append(line, live.Piece{Text: words.Count(a.BidsDue, "bid") + " due  ", As: term.Dim})
	}
	if said != "" && len(a.Works) > 0 {
		line = append(line, live.Piece{Text: said, As: term.Dim})
	}
	return row{key: "agent " + a.Name, agent: a.Name, line: line, to: &place{kind: paneLogs, title: a.Name, args: []string{"--", a.Name}}}
}

// waitRows are the waits of open work.
func (s sheet) waitRows(all []view.Wait, more int) []row {
	if len(all) == 0 {
		return nil
	}
	rows := []row{blank, heading("Waits")}
	for i, w := range all {
		as := term.Plain
		if w.ByPerson() {
			as = term.Warn
		}
		lasted := "for " + age(w.AgeSeconds, s.since())
		if most := w.May(); most > 0 {
			lasted += " of " + words.Age(most)
		}
		r := row{key: fmt.Sprintf("wait %s %s %s %d", w.What, w.SubjectID, w.Agent, i), line: live.Styled{{Text: term.Pad(string(w.What), 11), As: as}, {Text: lasted + "  ", As: term.Dim}, {Text: w.Text}}}
		if w.WorkflowID != "" && s.p.kind == paneNow {
			r.to = &place{kind: paneGoal, id: w.WorkflowID}
		} else if w.SubjectID != "" {
			r.to = &place{kind: paneThing, id: w.SubjectID}
		}
		if w.Agent != "" && isRunning(w) {
			r.agent = w.Agent
		}
		rows = append(rows, r)
	}
	if more > 0 {
		rows = append(rows, say("and "+words.Count(more, "more", "more"), term.Dim))
	}
	return rows
}

// modelRows are the accounts of the newest goals with calls.
func modelRows(v view.Models) []row {
	if len(v.Goals) == 0 && !v.Paused {
		return nil
	}
	rows := []row{blank, heading("Models")}
	if v.Pause != nil {
		rows = append(rows, say("all calls were stopped"+v.Pause.Text(time.Time{})+"; sett models resume lets them go on", term.Bad))
	}
	for i := len(v.Goals) - 1; i >= max(len(v.Goals)-5, 0); i-- {
		g := v.Goals[i]
		rows = append(rows, row{key: "models " + g.ID, goal: g.ID, to: &place{kind: paneGoal, id: g.ID}, line: live.Styled{{Text: "goal " + words.Short(g.ID) + "  ", As: term.Dim}, {Text: spent(g)}}})
	}
	return rows
}

// spent is an account in words.
func spent(g view.GoalSpending) string {
	text := words.Count(int(g.Calls), "call") + fmt.Sprintf(", %s tokens, cost %s", g.TokensText(), view.CostText(g.Sum()))
	if b := g.BudgetText(); b != "-" {
		text += ", budget " + b
	}
	return text
}

// goalRows are those of Goals, newest first.
func (s sheet) goalRows(v *goalList) []row {
	var rows []row
	for i := len(v.Goals) - 1; i >= 0; i-- {
		rows = append(rows, s.goalRow(v.Goals[i], ""))
	}
	switch {
	case len(rows) == 0 && s.p.status != "":
		rows = []row{say("no goal is "+s.p.status, term.Dim)}
	case len(rows) == 0:
		rows = []row{say("no goals yet: sett forage posts one", term.Dim)}
	case v.More:
		rows = append(rows, say("there are older ones: sett goals --limit 0", term.Dim))
	}
	return rows
}

func (s sheet) goalRow(g view.Goal, under string) row {
	left := ""
	if g.Outstanding > 0 {
		left = fmt.Sprintf("%d left", g.Outstanding)
	}
	return row{key: under + g.ID, goal: g.ID, text: g.Text, to: &place{kind: paneGoal, id: g.ID}, line: live.Styled{{Text: words.Short(g.ID) + "  ", As: term.Dim},
		{Text: term.Pad(view.GoalStatus(g.Workflow), 10) + " ", As: term.Of(view.WorkflowTone(g.Status))}, {Text: term.Pad(age(g.AgeSeconds, s.since()), 5), As: term.Dim},
		{Text: term.Pad(left, 9), As: term.Dim}, {Text: words.Quote(g.Text)}}}
}
