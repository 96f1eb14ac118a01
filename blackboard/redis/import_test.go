package redis

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/archive"
	"sett/blackboard/redis/internal/store"
)

// readerFunc is told before each line is read.
type readerFunc struct {
	lines  []string
	before func(n int)
	n      int
}

func (r *readerFunc) Read(p []byte) (int, error) {
	if r.n >= len(r.lines) {
		return 0, io.EOF
	}
	r.before(r.n)
	n := copy(p, r.lines[r.n])
	if r.lines[r.n] = r.lines[r.n][n:]; r.lines[r.n] == "" {
		r.n++
	}
	return n, nil
}

func slowly(lines []string, before func(n int)) io.Reader {
	return &readerFunc{lines: append([]string(nil), lines...), before: before}
}

// resealed returns lines with the footer that they should have.
func resealed(lines []string) []string {
	lines = append([]string(nil), lines...)
	var f archive.FooterLine
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &f); err != nil {
		panic(err)
	}
	sum := sha256.Sum256([]byte(strings.Join(lines[:len(lines)-1], "")))
	f.SHA256, f.Counts = hex.EncodeToString(sum[:]), archive.Counts{}
	for _, line := range lines[:len(lines)-1] {
		kind, _ := archive.KindOfLine([]byte(line))
		f.Count(kind)
	}
	lines[len(lines)-1] = store.Encode(f) + "\n"
	return lines
}

// An import whose process dies at any line leaves nothing that anybody sees, and
// is cleared away by the next, which succeeds.
func TestImportKilled(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		from := newWorld(t, startEmbedded(t))
		history(from)
		lines := from.export("")
		want := from.dump()
		w := fresh(t, s)
		must(t, w.b.SetInstance(w.ctx, blackboard.InstanceMove{State: blackboard.InstanceRunning, By: "bob"}))
		before := len(w.events())
		const step = 17
		for at := 1; at < len(lines); at += step {
			dies := open(t, s.url)
			_, err := archive.Import(w.ctx, dies, slowly(lines, func(n int) {
				if n == at {
					dies.Close()
				}
			}), archive.ImportOptions{Token: newID(), By: "ann", Part: 3})
			if err == nil {
				t.Fatalf("line %d: an import without a connection", at)
			}
			w.nothingImported(at, before)
			w.raw("HSET", w.b.c.Keys.Staging("mark"), "until", "0") // time passes
		}
		counts, err := w.imports(lines)
		must(t, err)
		sameKeys(t, want, w.dump())
		if got := len(w.events()); got != counts.Events+before+1 {
			t.Errorf("%d entries of %d imported and %d before", got, counts.Events, before)
		}
	})
}

// nothingImported holds what can be seen of an instance to that of an empty one.
func (w *world) nothingImported(at, events int) {
	w.Helper()
	goals, err := w.b.Index.Goals(w.ctx, 0)
	must(w, err)
	all, err := w.b.Records.ListArtefacts(w.ctx, blackboard.Filter{})
	must(w, err)
	work, err := w.b.Index.OpenWork(w.ctx)
	must(w, err)
	questions, err := w.b.Index.OpenQuestions(w.ctx)
	must(w, err)
	if len(goals)+len(all)+len(work.Claims)+len(work.Unclaimed)+len(questions) > 0 || len(w.events()) != events {
		w.Fatalf("line %d: there are goals %v, artefacts %d, work %v, questions %v, entries %d", at, goals, len(all), work, questions, len(w.events()))
	}
	err = w.b.People.PostGoal(w.ctx, goal("x"), "ann")
	wantError(w, "a goal meanwhile", err, blackboard.ErrRefused)
}

// Whatever reply is lost, the import is made once and whole.
func TestImportLostReplies(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		from := newWorld(t, startEmbedded(t))
		history(from)
		lines, want := from.export(""), from.dump()
		w := fresh(t, s)
		cut := startCutter(t, s)
		for lost := int64(1); ; lost++ {
			w.raw("FLUSHALL")
			b := openOptions(t, store.Options{URL: cut.url, Instance: "test", Backoff: time.Millisecond})
			must(t, w.b.SetInstance(w.ctx, blackboard.InstanceMove{State: blackboard.InstanceRunning, By: "bob"}))
			before := cut.cuts.Load()
			cut.left.Store(lost)
			counts, err := archive.Import(w.ctx, b, bytes.NewBufferString(strings.Join(lines, "")), archive.ImportOptions{Token: newID(), By: "ann", Part: 40})
			must(t, err)
			sameKeys(t, want, w.dump())
			if got := len(w.events()); got != counts.Events+2 {
				t.Fatalf("reply %d: %d entries of %d", lost, got, counts.Events)
			}
			if cut.left.Store(0); cut.cuts.Load() == before {
				if lost < 5 {
					t.Errorf("only %d replies", lost)
				}
				return
			}
		}
	})
}

// Interrupted at whatever reply, an import is there as a whole and says so, or not at
// all, and then a goal can be posted.
func TestImportInterrupted(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		from := newWorld(t, startEmbedded(t))
		history(from)
		lines, want := from.export(""), from.dump()
		w := fresh(t, s)
		interrupted := func(left int64, when func() bool) (lost bool, err error) {
			w.raw("FLUSHALL")
			must(t, w.b.SetInstance(w.ctx, blackboard.InstanceMove{State: blackboard.InstanceRunning, By: "bob"}))
			ctx, interrupt := context.WithCancel(w.ctx)
			defer interrupt()
			before, cut := w.dump(), startCutter(t, s)
			cut.when, cut.lost = when, interrupt
			b := openOptions(t, store.Options{URL: cut.url, Instance: "test", Backoff: time.Millisecond})
			cut.left.Store(left)
			_, err = archive.Import(ctx, b, bytes.NewBufferString(strings.Join(lines, "")), archive.ImportOptions{Token: newID(), By: "ann", Part: 40})
			cut.left.Store(0)
			if err == nil {
				sameKeys(t, want, w.dump())
			} else {
				w.unchanged("an import interrupted", before)
				must(t, w.b.People.PostGoal(w.ctx, goal("x"), "ann"))
			}
			return cut.cuts.Load() > 0, err
		}
		for left := int64(1); ; left++ {
			if lost, err := interrupted(left, nil); !lost {
				if must(t, err); left < 5 {
					t.Errorf("only %d replies", left)
				}
				break
			}
		}
		var told atomic.Bool
		lost, err := interrupted(0, func() bool { // the first reply once everything is in
			in, err := w.b.c.Client.Do(w.ctx, w.b.c.Client.B().Hexists().Key(w.b.c.Keys.Instance()).Field("imported").Build()).AsBool()
			return err == nil && in && !told.Swap(true)
		})
		if must(t, err); !lost {
			t.Error("the word of the end was not lost")
		}
	})
}

// Two at a time: the first goes on, the second is refused; and an import that was
// overtaken because it seemed dead writes nothing any more.
func TestImportTwice(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		from := newWorld(t, startEmbedded(t))
		history(from)
		lines := from.export("")
		w := fresh(t, s)
		_, err := archive.Import(w.ctx, w.b, slowly(lines, func(n int) {
			switch n {
			case 20:
				// The first waits for its next line, and is heard of all the same.
				_, err := archive.Import(w.ctx, w.b, strings.NewReader(strings.Join(lines, "")), archive.ImportOptions{Token: newID(), By: "bob"})
				if !errors.Is(err, blackboard.ErrRefused) || !strings.Contains(err.Error(), "ann is importing") {
					t.Errorf("a second import: %v", err)
				}
			case 60:
				err := blackboard.ErrRefused
				for errors.Is(err, blackboard.ErrRefused) { // as long as the first is heard of at that moment
					w.raw("HSET", w.b.c.Keys.Staging("mark"), "until", "0")
					_, err = w.imports(lines)
				}
				must(t, err)
			}
		}), archive.ImportOptions{Token: newID(), By: "ann", Part: 5})
		wantError(t, "an import that was overtaken", err, blackboard.ErrStale)
		sameKeys(t, from.dump(), w.dump())
		before := w.dump()
		_, err = w.imports(lines)
		wantError(t, "an import repeated", err, blackboard.ErrRefused)
		w.unchanged("an import repeated", before)
		must(t, w.b.People.PostGoal(w.ctx, goal("and on"), "ann"))
	})
}

// What an import sent before it was given up may arrive when it is being cleared
// away: it writes nothing any more, and puts nothing in place.
func TestImportClearedAway(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		from := newWorld(t, startEmbedded(t))
		history(from)
		lines := from.export("")
		w := newWorld(t, s)
		before := w.dump()
		token, late := newID(), 0
		_, err := archive.Import(w.ctx, w.b, slowly(lines, func(n int) {
			if n != len(lines)-1 {
				return
			}
			cleared, err := w.b.c.Do(w.ctx, "import_clear", token, "10")
			must(t, err)
			put, err := w.b.c.Do(w.ctx, "import_put", token, "0", "1000000")
			must(t, err)
			finish, err := w.b.c.Do(w.ctx, "import_finish", token, "ann", "", "", "1", "1", "1", "1", "")
			must(t, err)
			if cleared.Status != "more" || put.Status != "stale" || finish.Status != "stale" {
				t.Errorf("clear answers %s, then put %s and finish %s", cleared.Status, put.Status, finish.Status)
			}
			late = n
		}), archive.ImportOptions{Token: token, By: "ann", Part: 20})
		if wantError(t, "an import that is being cleared away", err, blackboard.ErrStale); late == 0 {
			t.Error("nothing came late")
		}
		w.unchanged("an import that was cleared away", before)
		must(t, w.b.People.PostGoal(w.ctx, goal("x"), "ann"))
	})
}

// What an import left that died can be cleared away; a living one cannot.
func TestAbortImport(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		wantError(t, "nothing to abort", archive.Abort(w.ctx, w.b, newID(), "bob"), blackboard.ErrNotFound)
		from := newWorld(t, startEmbedded(t))
		history(from)
		lines := from.export("")
		before := w.dump()
		dies := open(t, s.url)
		_, err := archive.Import(w.ctx, dies, slowly(lines, func(n int) {
			if n == 90 {
				dies.Close()
			}
		}), archive.ImportOptions{Token: newID(), Part: 5})
		if err == nil || len(w.dump()) < len(before)+50 {
			t.Fatalf("it left %d keys: %v", len(w.dump()), err)
		}
		w.raw("HSET", w.b.c.Keys.Staging("mark"), "until", "0")
		must(t, archive.Abort(w.ctx, w.b, newID(), "bob"))
		w.unchanged("an import and its end", before)
		must(t, w.b.People.PostGoal(w.ctx, goal("x"), "ann"))
	})
}

// A file that is not what was exported is refused with the line, and nothing of it
// is left.
func TestImportDamaged(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		from := newWorld(t, startEmbedded(t))
		history(from)
		lines := from.export("")
		first := map[string]int{}
		for i, line := range lines {
			kind, err := archive.KindOfLine([]byte(line))
			must(t, err)
			if _, ok := first[kind]; !ok {
				first[kind] = i
			}
		}
		edit := func(kind, from, to string) func([]string) []string {
			return func(lines []string) []string {
				at := first[kind]
				if !strings.Contains(lines[at], from) {
					t.Fatalf("%s has no %s", lines[at], from)
				}
				lines[at] = strings.Replace(lines[at], from, to, 1)
				return lines
			}
		}
		twice := func(kind string) func([]string) []string {
			return func(lines []string) []string {
				at := first[kind]
				return resealed(append(append(append([]string(nil), lines[:at]...), lines[at]), lines[at:]...))
			}
		}
		without := func(at int) func([]string) []string {
			return func(lines []string) []string {
				return resealed(append(append([]string(nil), lines[:at]...), lines[at+1:]...))
			}
		}
		w := newWorld(t, s)
		before := w.dump()
		for want, damage := range map[string]func([]string) []string{
			"no line of an export":   func([]string) []string { return []string{"{}\n"} },
			"ends before its footer": func(l []string) []string { return l[:len(l)-1] },
			"cut off":                func([]string) []string { return nil },
			"was cut off":            func(l []string) []string { return append(l[:50], l[50][:20]) },
			"has format 2":           edit(archive.LineHeader, `"format":1`, `"format":2,"more":3`),
			"of schema 99":           edit(archive.LineHeader, `"schema":"`+archive.Schema+`"`, `"schema":"99"`),
			"is no header":           func(l []string) []string { return l[1:] },
			"a second header":        func(l []string) []string { return resealed(append([]string{l[0]}, l...)) },
			`unknown kind "wisdom"`:  edit(archive.LineClaim, `"kind":"claim"`, `"kind":"wisdom"`),
			"comes after": func(l []string) []string {
				return resealed(append([]string{l[0], l[first[archive.LineEvent]]}, l[1:]...))
			},
			"the file was changed": edit(archive.LineClaim, `"reason":""`, `"reason":"x"`),
			"is not what the ledger": func(l []string) []string {
				return resealed(edit(archive.LineArtefact, `"payload":"do it"`, `"payload":"do xx"`)(l))
			},
			"it has another created_at": func(l []string) []string {
				return resealed(edit(archive.LineArtefact, `"created_at":"20`, `"created_at":"19`)(l))
			},
			"it has another type": func(l []string) []string {
				return resealed(edit(archive.LineArtefact, `"type":"`, `"type":"X`)(l))
			},
			"it has another summary, metadata": func(l []string) []string {
				return resealed(edit(archive.LineArtefact, `"summary":"`, `"summary":"X`)(l))
			},
			"unknown field": func(l []string) []string {
				return resealed(edit(archive.LineArtefact, `"summary":`, `"humour":1,"summary":`)(l))
			},
			"is in the file twice":        twice(archive.LineArtefact),
			"claim ":                      twice(archive.LineClaim),
			"workflow ":                   twice(archive.LineWorkflow),
			"does not come after":         twice(archive.LineEvent),
			"in the ledger and nowhere":   without(first[archive.LineClaim] - 1), // an artefact without a claim
			"is open and not in the file": func(l []string) []string { return resealed(edit(archive.LineOpen, `"id":"0`, `"id":"1`)(l)) },
			"unknown index":               func(l []string) []string { return resealed(edit(archive.LineOpen, `"index":"`, `"index":"x`)(l)) },
			"has no fields": func(l []string) []string {
				id, _, _ := strings.Cut(l[len(l)-2], `"event":{`)
				l[len(l)-2] = id + `"event":{}}` + "\n"
				return resealed(l)
			},
			"no entry can be added": func(l []string) []string { return lastEntry(l, "18446744073709551615-18446744073709551615") },
			"after which no entry":  func(l []string) []string { return lastEntry(l, "18446744073709551615-0") },
			"is of 2096-10-02T07:06:40Z, and the blackboard's clock says": func(l []string) []string {
				return lastEntry(l, "4000000000000-0")
			},
			"is no id of an entry": func(l []string) []string { return lastEntry(l, "tomorrow") },
			"something after":      func(l []string) []string { return append(l, "{}\n") },
			"no time":              func(l []string) []string { return resealed(edit(archive.LineOpen, `"since":"`, `"since":"x`)(l)) },
			"its footer says": func(l []string) []string {
				l[len(l)-1] = strings.Replace(l[len(l)-1], `"claims":1`, `"claims":2`, 1)
				return l
			},
			"want a string":            func(l []string) []string { return resealed(edit(archive.LineClaim, `"reason":""`, `"reason":7`)(l)) },
			"structural_type: unknown": func(l []string) []string { return resealed(edit(archive.LineArtefact, `"Standard"`, `"standard"`)(l)) },
			"which is not in the file": func(l []string) []string {
				return resealed(edit(archive.LineClaim, `"artefact_id":"0`, `"artefact_id":"1`)(l))
			},
			"goal \"1": func(l []string) []string {
				return resealed(edit(archive.LineCall, `"workflow":"0`, `"workflow":"1`)(l))
			},
			"there is more than one value": func(l []string) []string { return resealed(edit(archive.LineClaim, "}\n", "} {}\n")(l)) },
		} {
			_, err := archive.Import(w.ctx, w.b, strings.NewReader(strings.Join(damage(append([]string(nil), lines...)), "")),
				archive.ImportOptions{Token: newID(), By: "ann", Part: 7})
			var wrong *archive.FormatError
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "line ") {
				t.Errorf("%s: got %v", want, err)
			}
			w.unchanged(want, before)
		}
		_, err := w.imports(lines)
		must(t, err)
	})
}

// A goal that counts more or less than there is open in the file, or nothing at all, is counted anew, and its ledger says so.
// One that counts right is not touched.
func TestImportMiscounted(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		from := newWorld(t, startEmbedded(t))
		ended, going := history(from)
		lines := from.export("")
		edit := func(goal, from, to string) []string {
			all := slices.Clone(lines)
			for i, line := range all {
				if strings.HasPrefix(line, `{"kind":"workflow","id":"`+goal) {
					if !strings.Contains(line, from) {
						t.Fatalf("no %s in %s", from, line)
					}
					all[i] = strings.Replace(line, from, to, 1)
				}
			}
			return resealed(all)
		}
		outstanding := `"outstanding":"` + strconv.Itoa(from.workflow(going).Outstanding) + `"`
		for what, c := range map[string]struct {
			lines []string
			goal  string
		}{
			"right":              {lines, ""},
			"ended, and active":  {edit(ended, `"outstanding":"0","questions":"0","status":"achieved"`, `"outstanding":"5","questions":"0","status":"active"`), ended},
			"ended, below zero":  {edit(ended, `"outstanding":"0"`, `"outstanding":"-5"`), ended},
			"active, too much":   {edit(going, outstanding, `"outstanding":"50"`), going},
			"active, below zero": {edit(going, outstanding, `"outstanding":"-1"`), going},
		} {
			w := fresh(t, s)
			_, err := w.imports(c.lines)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			for _, goal := range []string{ended, going} {
				was, is := from.workflow(goal), w.workflow(goal)
				if is.Status != was.Status || is.Outstanding != was.Outstanding || is.Gates != was.Gates || is.Questions != was.Questions || is.Suspended != was.Suspended {
					t.Errorf("%s: %+v, want %+v", what, is, was)
				}
			}
			recounts := slices.DeleteFunc(w.events(), func(e blackboard.Event) bool { return e.Kind != blackboard.EventRecount })
			if c.goal == "" && len(recounts) != 0 || c.goal != "" && (len(recounts) != 1 || recounts[0].Workflow != c.goal || recounts[0].Reason != "it was imported") {
				t.Errorf("%s: recounts %+v", what, recounts)
			}
			w.raw("FLUSHALL")
		}
	})
}

// lastEntry adds an entry of that id, and others.
func lastEntry(lines []string, id string, more ...string) []string {
	last := `{"kind":"event","id":"` + id + `","event":{"kind":"models","to":"running"}}` + "\n"
	return resealed(slices.Insert(lines, len(lines)-1, append([]string{last}, more...)...))
}

// An import takes entries that are ahead of its clock by less than a day, and by more where the ledger says that
// its clock was set back. Others can be added behind them.
func TestImportAhead(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		from := newWorld(t, startEmbedded(t))
		history(from)
		lines := from.export("")
		clock := func(id string) string {
			return `{"kind":"event","id":"` + id + `","event":{"kind":"clock","at":"1"}}` + "\n"
		}
		later := func(id string) string {
			return `{"kind":"event","id":"` + id + `","event":{"kind":"models","to":"running"}}` + "\n"
		}
		tomorrow := strconv.FormatInt(time.Now().Add(23*time.Hour).UnixMilli(), 10)
		for what, l := range map[string][]string{
			"hours":    lastEntry(slices.Clone(lines), tomorrow+"-0"),
			"set back": lastEntry(slices.Clone(lines), "4000000000000-0", later("4000000000000-1"), clock("4000000000000-2"), later("4000000000000-3")),
		} {
			w := fresh(t, s)
			counts, err := w.imports(l)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			must(t, w.b.People.PostGoal(w.ctx, goal("and on"), "ann"))
			if got := len(w.events()); got < counts.Events+2 {
				t.Errorf("%s: %d entries of %d", what, got, counts.Events)
			}
			w.raw("FLUSHALL")
		}
		w := fresh(t, s)
		_, err := w.imports(lastEntry(slices.Clone(lines), "4000000000000-0", clock("4000000000000-2"), later("4000100000000-0")))
		if err == nil || !strings.Contains(err.Error(), "is of 2096-10-03") {
			t.Errorf("ahead of what the clock was: %v", err)
		}
	})
}

// What was open goes on after an import: grants are run, questions answered, gates
// opened, and a grant that ran is found to have no living holder.
func TestImportGoesOn(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		from := newWorld(t, otherKind(t))
		_, going := history(from)
		w := newWorld(t, s)
		ready, woken := make(chan struct{}), make(chan struct{}, 100)
		listening, stop := context.WithCancel(w.ctx)
		defer stop()
		go func() {
			_ = w.b.Subscribe(listening, []Channel{OrchestratorEvents}, func() { close(ready) }, func(_ Channel, id string) {
				if id == "" {
					woken <- struct{}{}
				}
			}, func(error) {})
		}()
		<-ready
		_, err := w.imports(from.export(""))
		must(t, err)
		<-woken // the orchestrator looks around
		questions, err := w.b.Index.OpenQuestions(w.ctx)
		must(t, err)
		agent, err := w.b.People.PostAnswer(w.ctx, questions[0], word(blackboard.Answer, questions[0], "", going, "so", "ann"), "ann")
		must(t, err)
		gates, err := w.b.Index.OpenGates(w.ctx)
		must(t, err)
		must(t, w.b.People.Approve(w.ctx, gates[0], word(blackboard.Review, gates[0], "", going, "{}", "ann"), "ann"))
		work, err := w.b.Index.OpenAgentWork(w.ctx, "e")
		must(t, err)
		w.finish(work.Grants[0], "e", blackboard.Terminal, "Done", "x")
		must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(work.Grants[0]), ""))
		uses, err := w.b.Roster.Running(w.ctx)
		must(t, err)
		if agent != "a" || len(uses) != 1 || uses[0].Agent != "d" || uses[0].Holder != "h-d" {
			t.Fatalf("agent %s goes on; who ran is %+v", agent, uses)
		}
		u := uses[0]
		must(t, w.b.Leader.FailGrant(w.ctx, w.epoch, blackboard.GrantRef{Claim: u.Claim, Agent: u.Agent, Attempt: u.Attempt, Holder: u.Holder}, "died", failure(going, blackboard.TypeAgentCrashed)))
		if uses, err = w.b.Roster.Running(w.ctx); err != nil || len(uses) != 0 {
			t.Errorf("%v run: %v", uses, err)
		}
		if _, _, err := w.b.Index.Resolve(w.ctx, going[len(going)-6:], blackboard.KindArtefact); err != nil {
			t.Errorf("resolve: %v", err)
		}
	})
}

// An import gives the entries that were there new ids. Who saw one of them goes on.
func TestSightBeforeAnImport(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		from := newWorld(t, startEmbedded(t))
		history(from)
		w := newWorld(t, s)
		_, err := w.b.Settle(w.ctx, "mine", false, "test")
		must(t, err)
		lead, _, err := w.b.Leader.TakeLead(w.ctx, "o", "orchestrator", time.Hour)
		must(t, err)
		seen, err := w.b.Look(w.ctx)
		must(t, err)
		_, err = w.imports(from.export(""))
		must(t, err)
		if entries := w.raw("XRANGE", w.b.c.Keys.Events(), seen.Last, seen.Last); len(entries) > 0 {
			t.Error("the entry that was seen kept its id: the test shows nothing")
		}
		must(t, w.b.Leader.RenewLead(w.ctx, lead, time.Hour))
		must(t, w.b.Cub.Hello(w.ctx, "writer", blackboard.Presence{Incarnation: "i1"}, time.Hour))
	})
}
