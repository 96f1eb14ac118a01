package redis

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/archive"
	"sett/blackboard/redis/redistest"
	contract "sett/contract/model"
)

// history makes everything that can be on a blackboard. It returns a goal that has
// ended and one that has work of every kind open.
func history(w *world) (ended, going string) {
	w.Helper()
	must(w, w.b.SetInstance(w.ctx, blackboard.InstanceMove{State: blackboard.InstanceRunning, By: "ann"}))
	must(w, w.b.Cub.Hello(w.ctx, "a", blackboard.Presence{Incarnation: "i"}, time.Hour))
	ended = w.endedGoal()
	w.gates("Plan")
	going = w.openGoal()
	w.modelsGoals()
	w.peoplesGoals()
	return ended, going
}

// endedGoal makes a goal whose result was reviewed, reworked and reached.
func (w *world) endedGoal() string {
	w.Helper()
	claim := w.granted(blackboard.PhaseExclusive, "a")
	w.finish(claim, "a", blackboard.Question, "Question", "which one?")
	q, _ := w.b.Index.OpenQuestions(w.ctx)
	_, err := w.b.People.PostAnswer(w.ctx, q[0], word(blackboard.Answer, q[0], "", w.snapshot(claim).Claim.WorkflowID, "the \x1b[31mred\x00 one \xff\xfe", "ann"), "ann")
	must(w, err)
	c, ref := w.run(claim, "a")
	draft := result(c, "a", blackboard.Standard, "Code", "\xf0\x28\x8c not UTF-8")
	draft.Metadata, draft.Summary = json.RawMessage(" { \"a\" : \"<\u2028>\" } "), "sum\u202emary"
	must(w, w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: ref, Artefact: draft, ToolTime: time.Second}))
	must(w, w.b.Leader.CompleteClaim(w.ctx, w.guard(claim), ""))

	review := w.open(draft.ID, "a", "r")
	must(w, w.bid(review, "r", blackboard.BidReview))
	must(w, w.bid(review, "a", blackboard.BidIgnore))
	w.grant(review, blackboard.PhaseReview, "r")
	said := w.finish(review, "r", blackboard.Review, "Review", "not <good> enough")
	rework := blackboard.ReworkClaimID(review)
	must(w, w.b.Leader.TerminateClaim(w.ctx, w.guard(review), "feedback", nil, &blackboard.Rework{ClaimID: rework, Agent: "a", Context: []string{said.ID}}))
	c, ref = w.run(rework, "a")
	second := result(c, "a", blackboard.Standard, "Code", strings.Repeat("v2 ", 5000))
	second.Commit = strings.Repeat("5e", 32)
	second.LogicalID, second.SourceArtefacts = draft.ID, []string{draft.ID, said.ID}
	must(w, w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: ref, Artefact: second}))
	must(w, w.b.Leader.CompleteClaim(w.ctx, w.guard(rework), ""))

	last := w.open(second.ID, "a")
	must(w, w.b.Leader.RecordIgnores(w.ctx, w.guard(last), []string{"a"}, "silent"))
	w.grant(last, blackboard.PhaseExclusive, "a")
	w.finish(last, "a", blackboard.Terminal, "Release", "")
	must(w, w.b.Leader.CompleteClaim(w.ctx, w.guard(last), ""))
	return draft.WorkflowID
}

// openGoal makes a goal with open work of every kind.
func (w *world) openGoal() string {
	w.Helper()
	claim := w.granted(blackboard.PhaseParallel, "a", "b", "c", "d")
	goal := w.snapshot(claim).Claim.WorkflowID
	w.finish(claim, "a", blackboard.Question, "Question", "why?")
	w.finish(claim, "b", blackboard.Standard, "Plan", "one")
	bidding := w.finish(claim, "c", blackboard.Standard, "Code", "two")
	w.run(claim, "d")
	w.open(bidding.ID, "a", "b")
	must(w, w.bid(blackboard.BiddingClaimID(bidding.ID), "b", blackboard.BidExclusive))
	w.goal() // waits for its claim
	w.granted(blackboard.PhaseExclusive, "e")
	return goal
}

// peoplesGoals are goals in which people had a hand.
func (w *world) peoplesGoals() {
	w.Helper()
	claim := w.granted(blackboard.PhaseParallel, "a", "b")
	goal := w.snapshot(claim).Claim.WorkflowID
	yes, no := w.finish(claim, "a", blackboard.Standard, "Plan", "yes"), w.finish(claim, "b", blackboard.Standard, "Plan", "no")
	must(w, w.b.People.Approve(w.ctx, yes.ID, word(blackboard.Review, yes.ID, "", goal, "{}", "ann"), "ann"))
	_, err := w.b.People.Reject(w.ctx, no.ID, word(blackboard.Review, no.ID, "", goal, "not that", "ann"), "ann")
	must(w, err)
	must(w, w.b.Leader.CompleteClaim(w.ctx, w.guard(claim), ""))

	failed := w.granted(blackboard.PhaseExclusive, "a")
	w.finish(failed, "a", blackboard.Failure, "ToolExecutionFailure", `{"reason":"x"}`)
	must(w, w.b.Leader.TerminateClaim(w.ctx, w.guard(failed), "failed", nil, nil))
	must(w, w.b.People.Retry(w.ctx, failed, newID(), "ann", "again"))

	cancelled := w.granted(blackboard.PhaseExclusive, "a")
	goal = w.snapshot(cancelled).Claim.WorkflowID
	must(w, w.b.People.CancelClaim(w.ctx, cancelled, word(blackboard.Failure, goal, cancelled, goal, `{"reason":"no"}`, "ann"), "ann", "no"))
	stopped := w.goal()
	reviewed := w.open(stopped.ID, "a", "b")
	must(w, w.b.People.Review(w.ctx, reviewed, word(blackboard.Review, stopped.ID, reviewed, stopped.ID, "{}", "ann"), "ann"))
	must(w, w.b.People.CancelWorkflow(w.ctx, stopped.ID, word(blackboard.Failure, stopped.ID, "", stopped.ID, `{"reason":"no"}`, "ann"), "ann", "no"))
	large := w.goal()
	must(w, w.b.Leader.RefuseClaim(w.ctx, w.epoch, large.ID, "too large", failure(large.ID, blackboard.TypeWorkflowLimit)))
}

// modelsGoals are goals whose agents call models: one has a raised budget, a call for a
// bid, a grant that ended, and calls under way.
func (w *world) modelsGoals() {
	w.Helper()
	for _, model := range []string{"smart", "local:one"} {
		ref, call := w.called("a")
		goal := w.goalOf(ref.Claim)
		for i, priced := range []bool{true, false} {
			q := call(newID())
			q.Model = model
			w.reserve(q, 500, 700, blackboard.Budgets{})
			must(w, w.b.Calls.Settle(w.ctx, q, blackboard.Settlement{
				Usage: contract.Usage{Input: 10, Cached: 20, CacheWrite: 5, Output: int64(7 + i), Reasoning: 3}, Cost: 99, Priced: priced, Estimated: !priced, Took: time.Second, Status: 200, Answer: "h",
			}))
		}
		must(w, w.b.People.RaiseBudget(w.ctx, blackboard.Raise{Word: newID(), Workflow: goal, More: contract.Budget{Cost: 3, Tokens: 2, Calls: 1, Time: time.Hour}, By: "ann"}))
		under := call(newID())
		under.Model = model
		w.reserve(under, 40, 50, blackboard.Budgets{})
		draft := w.finish(ref.Claim, "a", blackboard.Standard, "Code", "by a model")
		bidding := w.open(draft.ID, "b")
		w.reserve(blackboard.Call{ID: newID(), Claim: bidding, Agent: "b", Holder: "h", Model: model, Request: "r"}, 4, 5, blackboard.Budgets{})
	}
}

// export exports, and holds the text to what the export says of it.
func (w *world) export(goal string) []string {
	w.Helper()
	var out bytes.Buffer
	done, err := archive.Export(w.ctx, w.b, &out, archive.ExportOptions{Goal: goal})
	must(w, err)
	lines := strings.SplitAfter(out.String(), "\n")
	lines = lines[:len(lines)-1]
	n := done.Artefacts + done.Claims + done.Workflows + done.Open + done.Calls + done.Events + 2
	if len(lines) != n || done.Artefacts == 0 || done.Events == 0 {
		w.Fatalf("%d lines of %+v", len(lines), done)
	}
	return lines
}

func (w *world) imports(lines []string) (archive.Counts, error) {
	return archive.Import(w.ctx, w.b, strings.NewReader(strings.Join(lines, "")), archive.ImportOptions{Token: newID(), By: "ann", Source: "a file"})
}

// importsAll is imports of a file in which nothing was changed: no claim and no goal differs from the ledger.
func (w *world) importsAll(lines []string) (archive.Counts, error) {
	return archive.Import(w.ctx, w.b, strings.NewReader(strings.Join(lines, "")), archive.ImportOptions{Token: newID(), By: "ann", Source: "a file",
		Altered: func(err error) { w.Error(err) }})
}

// fresh is another server, without a leader.
func fresh(t testing.TB, s *server) *world {
	return &world{t, testContext(t), open(t, s.url), ""}
}

// patient is for tests that move much: under the race detector, on a busy machine,
// that takes more than others have.
func (w *world) patient() *world {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	w.Cleanup(cancel)
	w.ctx = ctx
	return w
}

// onTwo is onBoth without a container, which would add no kind of server to a test
// that takes long.
func onTwo(t *testing.T, f func(t *testing.T, s *server)) {
	t.Run("redis", func(t *testing.T) {
		r := redistest.Start(t)
		f(t, &server{r.URL, r.Kill, r.Restart})
	})
	t.Run("embedded", func(t *testing.T) { f(t, startEmbedded(t)) })
}

// otherKind is a server of the other kind.
func otherKind(t *testing.T) *server {
	if strings.HasSuffix(t.Name(), "/embedded") {
		r := redistest.Start(t)
		return &server{r.URL, r.Kill, r.Restart}
	}
	return startEmbedded(t)
}

// own are keys that are an instance's own and are not exported, or written in another form;
// of the ledger, dump tells the length.
func own(key string) bool {
	name := strings.TrimPrefix(key, "sett:{test}:")
	return slices.Contains([]string{"leader", "epoch", "instance", "agents", "running", "notified", "events", "spending", "courses"}, name) ||
		strings.HasSuffix(name, ":alive") || strings.HasSuffix(name, ":workers")
}

// withoutCourse leaves out the course of a claim, which belongs to one board.
func withoutCourse(fields string) string {
	return regexp.MustCompile(`(?m)^course=.*\n?`).ReplaceAllString(fields, "")
}

// sameKeys holds one instance's keys, all of them but its own, to another's.
func sameKeys(t *testing.T, from, to map[string]string) {
	t.Helper()
	for key, value := range from {
		if !own(key) && withoutCourse(to[key]) != withoutCourse(value) {
			t.Errorf("%s was\n%s\nand is\n%s", key, value, to[key])
		}
	}
	for key, value := range to {
		if _, ok := from[key]; !ok && !own(key) {
			t.Errorf("%s is new: %s", key, value)
		}
	}
}

// sameLines holds a second export to the first: every line, in the same order.
// What it has besides is returned.
func sameLines(t *testing.T, first, second []string) (more []string) {
	t.Helper()
	first, second = first[1:len(first)-1], second[1:len(second)-1] // header and footer have times and counts
	for _, line := range second {
		if len(first) > 0 && line == first[0] {
			first = first[1:]
		} else {
			more = append(more, line)
		}
	}
	if len(first) > 0 {
		t.Errorf("%d lines are lost or moved, the first is %.300s", len(first), first[0])
	}
	return more
}

// kindsOf are the kinds of the entries among lines; another line is an error.
func kindsOf(t *testing.T, lines []string) (kinds []string) {
	t.Helper()
	for _, line := range lines {
		var e archive.EventLine
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Kind != archive.LineEvent {
			t.Errorf("not an entry: %s", line)
		}
		kinds = append(kinds, string(e.Fields["kind"]))
	}
	return kinds
}

// What is exported and imported, from either kind of server to the other, is what
// it was, key by key and line by line.
func TestExportImport(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		history(w)
		lines := w.export("")
		to := fresh(t, otherKind(t))
		must(t, to.b.SetInstance(to.ctx, blackboard.InstanceMove{State: blackboard.InstanceRunning, By: "bob"}))
		must(t, to.b.Cub.Hello(to.ctx, "a", blackboard.Presence{Incarnation: "other"}, time.Hour))
		counts, err := to.importsAll(lines)
		must(t, err)
		if want := w.events(); counts.Events != len(want) || counts.Artefacts < 20 || counts.Open < 15 {
			t.Errorf("imported %+v, there were %d entries", counts, len(want))
		}
		sameKeys(t, w.dump(), to.dump())
		more := sameLines(t, lines, to.export(""))
		wantList(t, "new entries", kindsOf(t, more), "instance", "agent", "import")
		e := to.lastEvent()
		for field, want := range map[string]string{
			"by": "ann", "source": "a file", "source_workflow": "", "sha256": fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(lines[:len(lines)-1], "")))),
			"artefact_count": strconv.Itoa(counts.Artefacts), "claim_count": strconv.Itoa(counts.Claims),
			"workflow_count": strconv.Itoa(counts.Workflows), "event_count": strconv.Itoa(counts.Events),
		} {
			if got := e.Attributes[field]; e.Kind != "import" || got != want {
				t.Errorf("ledger %s: %s is %q, want %q", e.Kind, field, got, want)
			}
		}
		before, after := w.events(), to.events()
		for i := range before {
			if fmt.Sprint(before[i]) != fmt.Sprint(after[i]) {
				t.Errorf("entry %d was %+v and is %+v", i, before[i], after[i])
			}
		}
	})
}

// One goal's export has that goal and nothing else.
func TestExportGoal(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		ended, going := history(w)
		for _, goal := range []string{ended, going} {
			lines := w.export(goal)
			if !strings.Contains(lines[0], `"workflow_id":"`+goal+`"`) {
				t.Errorf("its header is %s", lines[0])
			}
			to := fresh(t, otherKind(t))
			counts, err := to.imports(lines)
			must(t, err)
			if e := to.lastEvent(); e.Attributes["source_workflow"] != goal {
				t.Errorf("ledger %+v", e)
			}
			if counts.Workflows != 1 || w.workflow(goal) != to.workflow(goal) {
				t.Errorf("workflow was %+v and is %+v", w.workflow(goal), to.workflow(goal))
			}
			from, got := w.dump(), to.dump()
			for key := range got {
				if strings.Contains(key, ":artifact:") || strings.Contains(key, ":claim:") || strings.Contains(key, ":thread:") {
					if withoutCourse(from[key]) != withoutCourse(got[key]) {
						t.Errorf("%s was %s and is %s", key, from[key], got[key])
					}
				}
			}
			wantList(t, "new entries", kindsOf(t, sameLines(t, lines, to.export(""))), "import")
			sameLines(t, to.export(goal), lines)
			if _, err := to.imports(w.export(ended)); !errors.Is(err, blackboard.ErrRefused) || !strings.Contains(err.Error(), "not empty") {
				t.Errorf("a goal into an instance that has one: %v", err)
			}
		}
	})
}

// While others work, an export is of one moment: it can be imported, and every
// count in it is right.
func TestExportWhileOthersWork(t *testing.T) {
	onTwo(t, func(t *testing.T, s *server) {
		if testing.Short() { // it needs both kinds of servers, and others must not work on when one is missing
			t.Skip(redistest.Later)
		}
		w := newWorld(t, s).patient()
		for range 50 {
			w.goal()
		}
		stop := make(chan struct{})
		var working sync.WaitGroup
		for n := range 3 {
			working.Go(func() {
				agent := fmt.Sprint("a", n)
				for {
					ref, call := w.called(agent)
					claim, q := ref.Claim, call(newID())
					w.reserve(q, 9, 8, blackboard.Budgets{})
					must(w, w.b.Calls.Settle(w.ctx, q, blackboard.Settlement{Usage: contract.Usage{Input: 7}, Cost: 6, Priced: true}))
					w.reserve(call(newID()), 5, 4, blackboard.Budgets{})
					w.finish(claim, agent, blackboard.Failure, "F", "x")
					must(w, w.b.Leader.TerminateClaim(w.ctx, w.guard(claim), "failed", nil, nil))
					must(w, w.b.People.Retry(w.ctx, claim, newID(), "ann", ""))
					select {
					case <-stop:
						return
					case <-time.After(10 * time.Millisecond): // what there is to export grows no faster than it is exported
					}
				}
			})
		}
		at := map[string]bool{}
		for range 3 {
			lines := w.export("")
			to := fresh(t, otherKind(t)).patient()
			_, err := to.imports(lines)
			must(t, err)
			wantList(t, "new entries", kindsOf(t, sameLines(t, lines, to.export(""))), "import")
			consistent(t, to)
			at[lines[0]] = true
		}
		w.raw("DEL", w.b.c.Keys.Claims(), w.b.c.Keys.Artefacts())
		for range 2 {
			lines, broken := w.exportBroken("")
			to := fresh(t, otherKind(t)).patient()
			_, err := to.imports(lines)
			must(t, err)
			consistent(t, to)
			if len(broken) != 2 || !strings.Contains(broken[0], "index artefacts lacks") || !strings.Contains(broken[1], "index claims lacks") {
				t.Errorf("without two indexes it says %q", broken)
			}
		}
		close(stop)
		working.Wait()
		if len(at) != 3 {
			t.Errorf("nothing happened meanwhile: %v", at)
		}
	})
}

// accounted holds each goal's account to its calls under way and its runs, and those to the
// sums by model.
func accounted(t *testing.T, w *world, goals []string) {
	t.Helper()
	pending, err := w.b.Calls.Pending(w.ctx)
	must(t, err)
	held := map[string]int64{}
	for _, p := range pending {
		held[p.Workflow] += p.Tokens
	}
	sum, all := int64(0), int64(0)
	for _, id := range goals {
		account, tokens := w.spending(id), int64(0)
		for _, s := range account.Total() {
			tokens += s.Tokens()
		}
		if account.Held.Tokens != held[id] || account.Tokens != tokens {
			t.Errorf("account %+v, its calls under way hold %d, its runs took %d", account, held[id], tokens)
		}
		sum += tokens
	}
	models, err := w.b.Calls.Sums(w.ctx)
	must(t, err)
	for _, m := range models {
		all += m.Tokens()
	}
	if sum != all {
		t.Errorf("the goals took %d tokens, the models gave %d", sum, all)
	}
}

// consistent holds each workflow's counts of work to what is open of it.
func consistent(t *testing.T, w *world) {
	t.Helper()
	work, err := w.b.Index.OpenWork(w.ctx)
	must(t, err)
	outstanding, suspended := map[string]int{}, map[string]int{}
	for _, id := range work.Unclaimed {
		a, err := w.b.Records.Artefact(w.ctx, id)
		must(t, err)
		outstanding[a.WorkflowID]++
	}
	for _, id := range work.Claims {
		s := w.snapshot(id)
		outstanding[s.Claim.WorkflowID]++
		if s.Suspended() {
			suspended[s.Claim.WorkflowID]++
		}
	}
	gates, err := w.b.Index.OpenGates(w.ctx)
	must(t, err)
	for _, id := range gates {
		a, err := w.b.Records.Artefact(w.ctx, id)
		must(t, err)
		outstanding[a.WorkflowID]++
		suspended[a.WorkflowID]++
	}
	goals, err := w.b.Index.Goals(w.ctx, 0)
	must(t, err)
	accounted(t, w, goals)
	for _, id := range goals {
		if wf := w.workflow(id); wf.Outstanding != outstanding[id] || wf.Suspended != suspended[id] {
			t.Errorf("workflow %+v has %d open, %d suspended", wf, outstanding[id], suspended[id])
		}
	}
}

// A payload that is not what the ledger recorded is named, in an export and in an
// import.
func TestExportTampered(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		for what, tamper := range map[string]func(w *world, id string){
			"payload": func(w *world, id string) { w.raw("HSET", w.b.c.Keys.Artifact(id), "payload", "do xx") },
			"gone":    func(w *world, id string) { w.raw("DEL", w.b.c.Keys.Artifact(id)) },
			"index":   func(w *world, id string) { w.raw("LREM", w.b.c.Keys.Artefacts(), "1", id) },
		} {
			w := newWorld(t, s)
			id := w.goal().ID
			tamper(w, id)
			_, err := archive.Export(w.ctx, w.b, io.Discard, archive.ExportOptions{})
			if !errors.Is(err, blackboard.ErrCorrupt) || !strings.Contains(err.Error(), id) {
				t.Errorf("%s: %v", what, err)
			}
			w.raw("FLUSHALL")
		}
	})
}

// A payload of 10 MiB of the worst kind comes through; a failing disk is an error.
func TestExportLarge(t *testing.T) {
	onTwo(t, func(t *testing.T, s *server) {
		w := newWorld(t, s).patient()
		size := blackboard.MaxCapture
		if strings.HasSuffix(t.Name(), "embedded") {
			size /= 10 // once the largest is enough
		}
		must(t, w.b.People.PostGoal(w.ctx, goal(strings.Repeat("\x00", size)), "ann"))
		must(t, w.b.People.PostGoal(w.ctx, goal(strings.Repeat("\xff", blackboard.MaxCapture/10)), "ann"))
		lines := w.export("")
		to := fresh(t, otherKind(t)).patient()
		_, err := to.imports(lines)
		must(t, err)
		sameKeys(t, w.dump(), to.dump())
		full := errors.New("disk full")
		_, err = archive.Export(w.ctx, w.b, writerFunc(func([]byte) (int, error) { return 0, full }), archive.ExportOptions{})
		wantError(t, "a full disk", err, full)
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
