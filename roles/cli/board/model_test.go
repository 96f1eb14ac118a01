package board

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/roles/cli/act"
	"sett/roles/cli/instance"
	"sett/roles/cli/status"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/view"
	"sett/roles/view/report"
)

var update = flag.Bool("update", false, "write the golden files")

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return noon.Add(-d) }

const (
	goalID     = "01KE00000000000000GOAL0001"
	questionID = "01KE00000000000000QUES0001"
	gateID     = "01KE00000000000000GATE0001"
	claimID    = "01KE0000000000000CLAIM0001"
)

func workflow(status blackboard.WorkflowStatus) blackboard.Workflow {
	return blackboard.Workflow{ID: goalID, Status: status, Outstanding: 2, Questions: 1, Gates: 1, CreatedAt: ago(3 * time.Minute)}
}

var matters = []view.Matter{
	{ID: questionID, Kind: view.MatterQuestion, AgeSeconds: 70, Agent: "writer", Role: "writer", WorkflowID: goalID, Goal: "Describe the badger", Text: "Which one:\nthe European badger or the American one?"},
	{ID: gateID, Kind: view.MatterGate, AgeSeconds: 5, Agent: "writer", WorkflowID: goalID, Goal: "Describe the badger", Text: "chapter one", About: view.MatterSubject{ID: gateID, Type: "Draft", Version: 1}},
}

func thePresent() *present {
	return &present{
		Instance: status.Row{Name: "badgers", State: "running", Details: []status.Agent{
			{Name: "writer", State: instance.AgentState("working"), Works: []status.Work{{ClaimID: claimID, AgeSeconds: 12, Attempt: 2}}},
			{Name: "reviewer-with-a-very-long-name", State: instance.AgentState("idle"), Queued: 3, BidsDue: 1},
			{Name: "lint", State: instance.AgentState("unhealthy")},
		}, Waits: []view.Wait{
			{What: blackboard.WaitResult, Agent: "writer", Since: ago(12 * time.Second), Until: noon.Add(588 * time.Second), AgeSeconds: 12, SubjectID: claimID, WorkflowID: goalID, Text: "writer is running (parallel on claim CLAIM0001)"},
			{What: blackboard.WaitApproval, Agent: "writer", AgeSeconds: 5, SubjectID: gateID, WorkflowID: goalID, Text: "Draft GATE0001 of writer needs approval"},
		}},
		Failed: []view.Goal{{Workflow: blackboard.Workflow{ID: "01KE00000000000000GOAL0000", Status: blackboard.WorkflowFailed}, Text: "Try the impossible", AgeSeconds: 7200}},
		Models: view.Models{Goals: []view.GoalSpending{{ID: goalID, Calls: 3, Tokens: 1200}}},
		Said:   map[string]string{"writer": "compiling chapter two, which takes its time and says so at some length"},
	}
}

func theGoal() *goalValues {
	v := &goalValues{Text: "diff --git a/x b/x\n@@ -1 +1 @@\n-badger\n+the badger\n"}
	v.Shown.Workflow, v.Shown.Text, v.Shown.Waits = workflow(blackboard.WorkflowActive), "Describe the badger\nin two chapters", thePresent().Instance.Waits
	v.Report.Timeline = []report.Stretch{
		{Lane: "orchestrator", Kind: report.WaitsForBids, From: ago(180 * time.Second), To: ago(170 * time.Second), Says: "bids on GoalDefined", ClaimID: claimID},
		{Lane: "writer", Kind: report.Queued, From: ago(170 * time.Second), To: ago(150 * time.Second), Says: "queued"},
		{Lane: "writer", Kind: report.Runs, From: ago(150 * time.Second), To: ago(70 * time.Second), Says: "exclusive: writer done", Gist: "chapter one", ID: gateID, Tone: view.Good},
		{Lane: "people", Kind: report.WaitsForAnswer, From: ago(70 * time.Second), To: noon, Says: "asks: Which one:", Tone: view.Warn},
	}
	v.Report.Outcome = &report.Artefact{Brief: view.Brief{ID: gateID, Type: "Draft", ProducedByAgent: "writer", Commit: "0123456789abcdef"}, Excerpt: "It digs."}
	v.Report.Commits = []report.Commit{{ArtefactID: gateID, Hash: "0123456789abcdef", Subject: "chapter one"}}
	v.Report.People = []report.Deed{{Time: ago(time.Minute), By: "anna", Kind: blackboard.EventAnswer, Says: "the European one"}}
	v.Report.Ledger = []report.Entry{{ID: "1-0", Time: ago(3 * time.Minute), Kind: blackboard.EventGoal, By: "anna", Says: "posts the goal"}, {ID: "2-0", Time: ago(2 * time.Minute), Kind: blackboard.EventOpen, By: "orchestrator", Says: "claim opened"}}
	v.Report.Lacks = []string{"commit 0123456789: it is gone"}
	return v
}

// at is a model that shows a place with values.
func at(p place, values any) *model {
	m := newModel("badgers", "", noon, func(t time.Time) string { return t.UTC().Format("15:04:05.000") })
	m.take(m.stack[0], wasRead{values: thePresent(), matters: matters})
	if p.kind != paneNow {
		m.push(p)
	}
	if values != nil {
		m.take(m.here(), wasRead{values: values, matters: matters})
	}
	return m
}

func plain(s string, _ term.Style) string { return s }

// screens are the panes with something in them.
func screens() map[string]*model {
	all := map[string]*model{
		"now":   at(place{kind: paneNow}, nil),
		"goals": at(place{kind: paneGoals}, &goalList{Goals: []view.Goal{{Workflow: blackboard.Workflow{ID: "01KE00000000000000GOAL0000", Status: blackboard.WorkflowFailed}, Text: "Try the impossible", AgeSeconds: 7200}, {Workflow: workflow(blackboard.WorkflowActive), Text: "Describe the badger\nin two chapters", AgeSeconds: 180}}, More: true}),
		"thing": at(place{kind: paneThing, id: gateID}, &thing{Text: "artefact\tDraft\n\nIt digs, " + strings.Repeat("day and night, ", 12)}),
		"help":  at(place{kind: paneHelp}, nil),
	}
	for i, part := range parts {
		v := theGoal()
		v.part = part
		all["goal-"+part] = at(place{kind: paneGoal, id: goalID, part: i}, v)
	}
	logs := at(place{kind: paneLogs, title: "writer"}, nil)
	logs.told(logged{logs.here().number, []string{"writer  12:00:00 │ compiling", "writer  12:00:01 │ linking"}})
	all["logs"] = logs
	asking := at(place{kind: paneNow}, nil)
	press(asking, "n", "n", "o", "t", "space", "y", "e", "t", "enter")
	all["now-rejects"] = asking
	away := at(place{kind: paneNow}, nil)
	away.told(message{act.Away, "blackboard lost, waiting for it: connection refused"})
	away.told(passed{noon.Add(90 * time.Second)})
	all["now-old"] = away
	return all
}

// A question of megabytes takes a few rows of a list, and each draw and key handles no more of it.
func TestLongQuestion(t *testing.T) {
	for name, text := range map[string]string{"one line": strings.Repeat("a", 1<<20), "words": strings.Repeat("what now, ", 1<<17), "tabs": strings.Repeat("a\t", 1<<19), "lines": strings.Repeat("what now?\n", 1<<17), "blanks": strings.Repeat(" ", 1<<20)} {
		m := at(place{kind: paneNow}, nil)
		long := matters[0]
		long.Text = text
		m.take(m.here(), wasRead{values: thePresent(), matters: []view.Matter{long}})
		rows := sheet{m, m.here()}.matterRows(m.matters)
		if shown := len(rows); shown > 1+mostAskedBytes*8/70 {
			t.Errorf("%s: %d rows", name, shown)
		}
		if last := rows[len(rows)-1].line[0].Text; last != "    …" {
			t.Errorf("%s: it ends with %q", name, last)
		}
	}
}

func press(m *model, all ...string) (effects []effect) {
	for _, k := range all {
		effects = append(effects, m.key(k)...)
	}
	return effects
}

// Each pane looks as its file says, at two widths.
func TestScreens(t *testing.T) {
	for name, m := range screens() {
		for _, columns := range []int{80, 120} {
			m.columns, m.rows = columns, 32
			got := strings.Join(m.draw(plain), "\n") + "\n"
			path := filepath.Join("testdata", fmt.Sprintf("%s.%d", name, columns))
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s is\n%s\nwant\n%s", path, got, want)
			}
		}
	}
}

// The keys of each act lead to the command of that name, and no key leads there twice.
func TestActs(t *testing.T) {
	for name, c := range map[string]struct {
		keys []string
		want does
	}{
		"answer":  {[]string{"a", "r", "e", "d", "space", "o", "n", "e", "enter"}, does{"answer", questionID, act.Wish{Text: "red one"}}},
		"lines":   {[]string{"a", "r", "alt+enter", "b", "backspace", "c", "home", "x", "end", "left", "delete", "d", "enter"}, does{"answer", questionID, act.Wish{Text: "xr\nd"}}},
		"approve": {[]string{"y", "enter"}, does{"approve", gateID, act.Wish{}}},
		"reject":  {[]string{"n", "b", "a", "d", "enter", "y"}, does{"reject", gateID, act.Wish{Text: "bad"}}},
		"reword":  {[]string{"n", "b", "enter", "n", "u", "g", "enter", "y"}, does{"reject", gateID, act.Wish{Text: "bug"}}},
		"retry":   {[]string{"G", "t", "enter"}, does{"retry", "01KE00000000000000GOAL0000", act.Wish{}}},
		"cancel":  {[]string{"G", "x", "w", "h", "y", "enter", "y"}, does{"cancel", "01KE00000000000000GOAL0000", act.Wish{Text: "why"}}},
	} {
		m := at(place{kind: paneNow}, nil)
		before := press(m, c.keys[:len(c.keys)-1]...)
		if got := press(m, c.keys[len(c.keys)-1]); len(before) > 0 || !reflect.DeepEqual(got, []effect{c.want}) {
			t.Errorf("%s: %+v, then %+v, want %+v", name, before, got, c.want)
		}
		if again := press(m, "enter", "y", "enter", "a", "q"); again != nil {
			t.Errorf("%s: keys while it is being done: %+v", name, again)
		}
		m.told(wasDone{done: act.Done{Says: "it is done"}})
		if m.asked != nil || m.message != "it is done" {
			t.Errorf("%s: after it was done: %+v %q", name, m.asked, m.message)
		}
	}
}

// No act begins by a key that is pressed twice, with no words, or after a no.
func TestNoActs(t *testing.T) {
	for _, keys := range [][]string{
		{"y", "y", "y"}, {"y", "esc", "enter"}, {"y", "n", "enter"}, {"n", "enter", "y"}, {"n", "space", "enter", "y"}, {"n", "b", "enter", "enter", "enter"},
		{"n", "b", "enter", "esc", "y"}, {"a", "enter"}, {"a", "x", "esc", "enter"}, {"x", "x", "enter"}, {"G", "x", "x", "enter", "enter"}, {"G", "t", "t", "t"},
	} {
		m := at(place{kind: paneNow}, nil)
		for _, e := range press(m, keys...) {
			if d, ok := e.(does); ok {
				t.Errorf("%q: %+v", keys, d)
			}
		}
	}
}

// Words that were refused are kept, and so is the thing that they are about, whatever
// happens meanwhile.
func TestRefusedWords(t *testing.T) {
	m := at(place{kind: paneNow}, nil)
	press(m, "a", "r", "e", "d")
	m.take(m.here(), wasRead{values: thePresent(), matters: append([]view.Matter{{ID: "other", Kind: view.MatterQuestion}}, matters...)})
	if got := press(m, "enter"); !reflect.DeepEqual(got, []effect{does{"answer", questionID, act.Wish{Text: "red"}}}) {
		t.Fatalf("%+v", got)
	}
	m.told(wasDone{err: role.Fail(role.Environment, errors.New("no blackboard"), "sett up")})
	if m.asked == nil || string(m.asked.text) != "red" || m.message != "no blackboard (sett up)" || !m.bad {
		t.Errorf("%+v %q", m.asked, m.message)
	}
	if got := press(m, "enter"); !reflect.DeepEqual(got, []effect{does{"answer", questionID, act.Wish{Text: "red"}}}) {
		t.Errorf("again: %+v", got)
	}
}

// Where several wait, the cursor chooses.
func TestSeveral(t *testing.T) {
	m := at(place{kind: paneNow}, nil)
	second := matters[0]
	second.ID = "01KE00000000000000QUES0002"
	m.take(m.here(), wasRead{values: thePresent(), matters: append(slices.Clone(matters), second)})
	press(m, "j", "a")
	if m.asked != nil || !m.bad {
		t.Errorf("at the gate: %+v", m.asked)
	}
	press(m, "j", "a")
	if m.asked == nil || m.asked.id != second.ID {
		t.Errorf("at the second: %+v", m.asked)
	}
}

// Keys lead to panes and back.
func TestWays(t *testing.T) {
	m := at(place{kind: paneNow}, nil)
	m.reading = false
	leads := func(want kind, keys ...string) {
		t.Helper()
		press(m, keys...)
		if got := m.here().kind; got != want {
			t.Errorf("%q leads to %d, want %d", keys, got, want)
		}
	}
	leads(paneThing, "enter")
	leads(paneNow, "esc")
	leads(paneGoals, "tab")
	leads(paneNow, "left")
	leads(paneHelp, "?")
	leads(paneNow, "u")
	m.filters = false
	leads(paneNow, "/", "w", "r", "i", "t", "e", "r", "q", "backspace", "enter")
	if m.here().filter != "writer" {
		t.Errorf("filter %q", m.here().filter)
	}
	for _, r := range m.shown() {
		text := r.text
		for _, p := range r.line {
			text += p.Text
		}
		if !strings.Contains(text, "writer") {
			t.Errorf("shown in spite of the filter: %q", text)
		}
	}
	leads(paneNow, "esc")
	if m.here().filter != "" {
		t.Error("esc ends the filter first")
	}
	leads(paneGoal, "G", "enter")
	leads(paneLogs, "l")
	leads(paneNow, "esc", "esc")
	if got := press(m, "q"); !reflect.DeepEqual(got, []effect{leaves{}}) {
		t.Errorf("q: %+v", got)
	}
	if got := press(m, "a", "ctrl+c"); !reflect.DeepEqual(got, []effect{leaves{}}) {
		t.Errorf("ctrl+c in a prompt: %+v", got)
	}
}

// A part of a goal that is not read yet says so: nothing of another stands for it.
func TestParts(t *testing.T) {
	v := theGoal()
	v.part = partStory
	m := at(place{kind: paneGoal, id: goalID, part: 2}, v)
	for _, part := range []string{partGraph, partChanges, partLedger, partTimeline, partResult} {
		press(m, "tab")
		if screen := strings.Join(m.draw(plain), "\n"); !strings.Contains(screen, "["+part+"]") || !strings.Contains(screen, "is read…") {
			t.Errorf("%s:\n%s", part, screen)
		}
	}
	v.part = partResult
	for _, part := range []string{partResult, partTimeline} {
		screen := strings.Join(m.draw(plain), "\n")
		if shown := !strings.Contains(screen, "is read…"); !strings.Contains(screen, "["+part+"]") || shown != (part == partResult) {
			t.Errorf("%s:\n%s", part, screen)
		}
		press(m, "left")
	}
}

// The result of a goal that waits to land is taken to its branch, and that of one which has landed is there.
func TestResultLands(t *testing.T) {
	for want, l := range map[string]blackboard.Landing{
		"to bring its commit to branch new ü: sett land " + blackboard.ShortID(goalID) + " --onto 'new ü'": {State: blackboard.LandingBarred, Branch: "new ü", People: true},
		"branch released has its commit": {State: blackboard.LandingLanded, Branch: "released"},
	} {
		v := theGoal()
		v.part, v.Shown.Workflow.Landing, v.Shown.Workflow.Status = partResult, &l, blackboard.WorkflowActive
		m := at(place{kind: paneGoal, id: goalID, part: 1}, v)
		if screen := strings.Join(m.draw(plain), "\n"); !strings.Contains(screen, want) {
			t.Errorf("no %s in\n%s", want, screen)
		}
	}
}

// The log that is followed is that of the pane, and none after it was left.
func TestLogPane(t *testing.T) {
	m := at(place{kind: paneNow}, nil)
	press(m, "j", "j")
	got := press(m, "l")
	number := m.here().number
	if !reflect.DeepEqual(got, []effect{follows{number, []string{"--", "writer"}}}) {
		t.Fatalf("%+v", got)
	}
	var lines []string
	for i := range 2*mostLog + 10 {
		lines = append(lines, fmt.Sprintf("line %d", i))
	}
	m.told(logged{number, lines})
	m.rows = 12
	if screen := strings.Join(m.draw(plain), "\n"); !strings.Contains(screen, fmt.Sprintf("line %d\n", 2*mostLog+9)) || len(m.here().log) != mostLog {
		t.Errorf("the end is not shown:\n%s", screen)
	}
	press(m, "k")
	m.told(logged{number, []string{"newer"}})
	if screen := strings.Join(m.draw(plain), "\n"); strings.Contains(screen, "newer") {
		t.Errorf("it does not stay where its reader is:\n%s", screen)
	}
	press(m, "G")
	if screen := strings.Join(m.draw(plain), "\n"); !strings.Contains(screen, "newer") {
		t.Errorf("the end is not shown again:\n%s", screen)
	}
	if got := m.told(happened{}); len(got) != 1 || got[0].(reads).pane.kind != paneNow {
		t.Errorf("while a log is shown, an entry leads to %+v", got)
	}
	m.told(wasRead{pane: m.stack[0].number, values: thePresent(), matters: matters[:1]})
	if screen := strings.Join(m.draw(plain), "\n"); !strings.Contains(screen, "1 matter waits for you") {
		t.Errorf("the title is old:\n%s", screen)
	}
	if got := press(m, "esc"); len(got) == 0 || got[0] != (effect)(nil) && !reflect.DeepEqual(got[0], follows{}) {
		t.Errorf("%+v", got)
	}
	m.told(logged{number, []string{"late"}})
}

// Values that cannot be read stay, and are called old, until they are read again.
func TestOld(t *testing.T) {
	m := at(place{kind: paneNow}, nil)
	m.reading = false
	m.told(happened{})
	m.told(wasRead{pane: m.here().number, err: role.Fail(role.Environment, errors.New("nobody answers"), "")})
	screen := func() string { return strings.Join(m.draw(plain), "\n") }
	if s := screen(); !strings.Contains(s, "OLD, as of 12:00:00: nobody answers") || !strings.Contains(s, "writer asks") {
		t.Errorf("shown:\n%s", s)
	}
	var tried bool
	for i := range tryEvery {
		tried = tried || len(m.told(passed{noon.Add(time.Duration(i+1) * time.Second)})) > 0
	}
	if !tried {
		t.Error("it is not tried again")
	}
	m.told(wasRead{pane: m.here().number, values: thePresent(), matters: matters})
	if s := screen(); strings.Contains(s, "OLD") || !strings.Contains(s, "· live") {
		t.Errorf("shown:\n%s", s)
	}
	m.told(message{act.Away, "blackboard lost"})
	m.told(wasRead{pane: m.here().number, values: thePresent()})
	if s := screen(); !strings.Contains(s, "OLD") {
		t.Errorf("while the blackboard is away:\n%s", s)
	}
	m.told(message{act.Back, ""})
	m.told(wasRead{pane: m.here().number, values: thePresent(), err: act.LeftOut{Err: errors.New("a record is corrupt")}, took: time.Second})
	if s := screen(); strings.Contains(s, "OLD") {
		t.Errorf("after it is back:\n%s", s)
	}
}

// Entries that come while values are read lead to one more read, and no more.
func TestReadsAgain(t *testing.T) {
	m := at(place{kind: paneNow}, nil)
	m.reading = false
	if got := m.told(happened{}); len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	for range 100 {
		if got := m.told(happened{}); got != nil {
			t.Fatalf("%+v", got)
		}
	}
	got := m.told(wasRead{pane: m.here().number, values: thePresent(), took: time.Hour})
	if !reflect.DeepEqual(got, []effect{waits{longestWait, 1}}) {
		t.Fatalf("%+v", got)
	}
	if got := m.told(happened{}); got != nil {
		t.Fatalf("%+v", got)
	}
	if got := m.told(due{1}); len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	if got := m.told(wasRead{pane: m.here().number, values: thePresent(), took: time.Hour}); got != nil {
		t.Fatalf("%+v", got)
	}
}

// A key is obeyed at once, also while reading is put off for the sake of a busy machine, and
// while something else is read. A read that was put off before it is not done as well.
func TestKeysDoNotWait(t *testing.T) {
	busy := func() *model {
		m := at(place{kind: paneNow}, nil)
		m.told(happened{})
		m.told(happened{})
		if got := m.told(wasRead{pane: m.here().number, values: thePresent(), matters: matters, took: time.Hour}); !reflect.DeepEqual(got, []effect{waits{longestWait, 1}}) {
			t.Fatalf("%+v", got)
		}
		return m
	}
	reading := func(got []effect) (kinds []kind) {
		for _, e := range got {
			if r, ok := e.(reads); ok {
				kinds = append(kinds, r.pane.kind)
			}
		}
		return kinds
	}
	for key, leads := range map[string]kind{"enter": paneGoal, "2": paneGoals, "tab": paneGoals, "r": paneNow} {
		m := busy()
		if key == "enter" {
			press(m, "G")
		}
		if got := reading(press(m, key)); !slices.Equal(got, []kind{leads}) {
			t.Errorf("%s reads %v", key, got)
		}
		if got := m.told(due{1}); got != nil {
			t.Errorf("%s: what was put off is read as well: %+v", key, got)
		}
		if got := m.told(passed{noon.Add(quietEvery * time.Second)}); got != nil {
			t.Errorf("%s: %+v", key, got)
		}
	}

	m := at(place{kind: paneGoal, id: goalID}, theGoal())
	m.told(happened{})
	if got := press(m, "tab"); got != nil {
		t.Fatalf("two reads beside each other: %+v", got)
	}
	got := m.told(wasRead{pane: m.here().number, place: place{kind: paneGoal, id: goalID}, values: theGoal(), took: time.Hour})
	if len(got) != 1 || reading(got) == nil || got[0].(reads).pane.part != 1 {
		t.Errorf("the other part: %+v", got)
	}
}

// A board that reads says that it is live, also when it was not told that the blackboard is
// back: entries come from there.
func TestBack(t *testing.T) {
	m := at(place{kind: paneNow}, nil)
	m.told(message{act.Away, "blackboard lost"})
	m.told(happened{})
	m.told(wasRead{pane: m.here().number, values: thePresent(), matters: matters})
	if s := strings.Join(m.draw(plain), "\n"); strings.Contains(s, "OLD") || !strings.Contains(s, "· live") {
		t.Errorf("shown:\n%s", s)
	}
}

const nasty = "x\x1b[2J\x1b]0;title\x07\x1b]8;;http://e\x07\x1b]52;c;eA==\x07\u009b31m\r\b\x7f\x00\u202eabc\u2066\u200f\u2028\u0085\ufeff\xff\xc3\x28\t漢字👩‍👩‍👧🇩🇪e\u0301\u0301\n\tמימין"

// spoil makes every text below a value nasty, and every list and number large.
func spoil(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(v.String() + strings.Repeat(nasty, 3))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Field(i).Type() != reflect.TypeFor[time.Time]() {
				spoil(v.Field(i), depth)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			spoil(v.Elem(), depth)
		}
	case reflect.Slice:
		if v.Len() == 0 && depth > 0 && v.CanSet() {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			depth--
		}
		for i := range v.Len() {
			spoil(v.Index(i), depth)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			if v.Type().Elem().Kind() == reflect.String {
				v.SetMapIndex(k, reflect.ValueOf(nasty))
			}
		}
	case reflect.Int, reflect.Int64:
		if v.CanSet() && v.Type().PkgPath() == "" {
			v.SetInt(1 << 40)
		}
	}
}

// Nothing of a hostile text reaches the terminal, and no line is wider than it, at any size.
func TestHostile(t *testing.T) {
	all := screens()
	for name, m := range all {
		for _, p := range m.stack {
			if p.values != nil {
				spoil(reflect.ValueOf(p.values), 2)
			}
			for i := range p.log {
				p.log[i] += nasty
			}
			p.title, p.status = p.title+nasty, nasty
		}
		m.matters = slices.Clone(matters)
		spoil(reflect.ValueOf(&m.matters).Elem(), 2)
		for i := range m.matters { // so that they are still of a kind
			m.matters[i].Kind = matters[i].Kind
		}
		m.instance, m.message = nasty, nasty
		if m.lost = nasty; name == "now" {
			press(m, "a")
			m.paste(nasty)
		}
		m.filters = true
		for columns := 200; columns > 0; columns -= 9 {
			for _, rows := range []int{40, 8, 3, 1} {
				m.columns, m.rows = columns, rows
				lines := m.draw(plain)
				if len(lines) != rows {
					t.Fatalf("%s: %d lines of %d", name, len(lines), rows)
				}
				for _, line := range lines {
					if at := strings.IndexFunc(line, role.Harmful); at >= 0 {
						t.Fatalf("%s: %q", name, line)
					}
					if w := term.Width(line); w > columns {
						t.Fatalf("%s: %d of %d columns: %q", name, w, columns, line)
					}
				}
			}
		}
	}
}

// Whatever is typed at whatever size, it goes on.
func TestAnyKeys(t *testing.T) {
	keys := []string{"up", "down", "j", "k", "g", "G", "pgup", "pgdown", "enter", "esc", "tab", "left", "right", "/", "s", "l", "a", "y", "n", "x", "t", "r", "?", "1", "2", "u", "backspace", "space", "ctrl+u", "ctrl+w",
		"delete", "home", "end", "ctrl+d", "alt+enter", "é", "漢", "f1", "ctrl+l", "ctrl+z"}
	random := rand.New(rand.NewPCG(1, 2))
	m := at(place{kind: paneNow}, nil)
	for range 5000 {
		m.columns, m.rows = 1+random.IntN(200), 1+random.IntN(60)
		effects := press(m, keys[random.IntN(len(keys))])
		for _, e := range effects {
			switch e := e.(type) {
			case reads:
				t := wasRead{pane: e.pane.number, place: e.pane.place, matters: matters[:random.IntN(3)]}
				switch e.pane.kind {
				case paneNow:
					t.values = thePresent()
				case paneGoals:
					t.values = &goalList{Goals: thePresent().Failed}
				case paneGoal:
					v := theGoal()
					v.part = parts[e.pane.part]
					t.values = v
				case paneThing:
					t.values = &thing{Text: strings.Repeat("It digs.\n", random.IntN(90))}
				}
				if random.IntN(8) == 0 {
					t.err = errors.New("away")
				}
				m.told(t)
			case follows:
				m.told(logged{e.pane, []string{"a", "b"}})
			case does:
				m.told(wasDone{err: errors.New("refused")})
			}
		}
		if random.IntN(20) == 0 {
			m.paste(nasty)
		}
		if lines := m.draw(plain); len(lines) != m.rows {
			t.Fatalf("%d lines of %d", len(lines), m.rows)
		}
	}
}
