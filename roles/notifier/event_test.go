package notifier

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"sett/blackboard"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// What the command gets of every kind of event is held by a golden file.
func TestEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.board.Leader.Enact(w.ctx, w.lead.Epoch, []string{"Draft"}, ""))

	claim := w.goal("write <a> letter & more\n")
	question := w.finish(claim, blackboard.Question, "Ask", "whom is it \"to\"?")
	r := w.start(takes, quick())
	w.told(1)
	w.answer(question)
	draft := w.finish(claim, blackboard.Standard, "Draft", "Dear Ann")
	w.told(2)
	held, err := w.board.Records.Artefact(w.ctx, draft)
	w.must(err)
	w.must(w.board.People.Approve(w.ctx, draft, w.human(blackboard.Review, blackboard.GateReviewID(draft), held), "ann"))
	w.must(w.board.Leader.CompleteClaim(w.ctx, w.guard(claim), "done"))
	next := w.granted(draft)
	w.finish(next, blackboard.Terminal, "Letter", "Dear Ann, yours")
	w.must(w.board.Leader.CompleteClaim(w.ctx, w.guard(next), "done"))
	w.told(3)

	w.must(w.board.Leader.Enact(w.ctx, w.lead.Epoch, nil, ""))
	claim = w.goal("fail")
	id := w.finish(claim, blackboard.Failure, blackboard.TypeToolExecutionFailure, `{"reason":"exit code 3","exit_code":3,"stdout":"","stderr":"oh"}`)
	w.must(w.board.Leader.TerminateClaim(w.ctx, w.guard(claim), "tool failed: "+id, nil, nil))
	w.told(4)

	claim = w.goal("stall")
	w.must(w.board.Leader.CompleteClaim(w.ctx, w.guard(claim), "nobody wants it"))
	w.told(5)

	claim = w.goal("review for ever")
	rework := newID()
	s, err := w.board.Records.Snapshot(w.ctx, claim)
	w.must(err)
	w.must(w.board.Leader.TerminateClaim(w.ctx, w.guard(claim), "feedback", nil, &blackboard.Rework{ClaimID: rework, Agent: "writer", Context: []string{}, Question: &blackboard.Artefact{
		ID: newID(), StructuralType: blackboard.Question, Type: "Question", Payload: "how is it to go on?", ProducedByRole: blackboard.RoleOrchestrator,
		ClaimID: rework, WorkflowID: s.Claim.WorkflowID, SourceArtefacts: []string{s.Claim.ArtefactID}}}))
	w.told(6)

	w.must(w.board.Leader.SetLanding(w.ctx, w.lead.Epoch, "released"))
	claim = w.goal("land it")
	w.finish(claim, blackboard.Terminal, "CodeCommit", "a commit")
	w.must(w.board.Leader.CompleteClaim(w.ctx, w.guard(claim), "done"))
	s, err = w.board.Records.Snapshot(w.ctx, claim)
	w.must(err)
	w.must(w.board.Leader.Land(w.ctx, blackboard.LandingStep{Epoch: w.lead.Epoch, Workflow: s.Claim.WorkflowID, From: blackboard.Landing{State: blackboard.LandingQueued},
		To: blackboard.Landing{State: blackboard.LandingBarred, Artefact: newID(), Branch: "released", Reason: "branch released is checked out", People: true}}))
	w.told(7)

	asked := w.offered(w.post("ask the model"))
	w.must(w.board.Cub.Withhold(w.ctx, asked, "writer", blackboard.WithheldBudget, "the goal's budget of 2 calls is used up"))
	w.told(8)
	w.must(w.board.Cub.Withhold(w.ctx, asked, "writer", blackboard.WithheldBudget, "the goal's budget of 3 calls is used up")) // no other event
	w.must(w.board.Cub.Withhold(w.ctx, asked, "writer", blackboard.WithheldPaused, "all calls of models are paused"))
	w.told(9)
	w.must(w.board.Cub.Withhold(w.ctx, asked, "writer", "", "")) // nor is the end of that
	w.finish(w.granted(w.post("the last")), blackboard.Question, "Ask", "is that all?")
	w.told(10)
	ref := w.started(w.goal("work with the model"))
	w.must(w.board.Cub.Await(w.ctx, ref, blackboard.WaitRepository, "no room"))
	w.must(w.board.Cub.Await(w.ctx, ref, blackboard.WaitModel, "all calls of models are paused: sett models resume"))
	w.told(11)
	w.must(w.board.Cub.Await(w.ctx, ref, "", ""))
	r.halt()

	raw, err := os.ReadFile(filepath.Join(w.dir, "told"))
	w.must(err)
	file := filepath.Join("testdata", "events.golden")
	got := placeholders(t, raw)
	if *update {
		w.must(os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	w.must(err)
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A bid that waits no longer is told as such, since the event was due; without its reason, which is no longer known.
func TestEventOfBidThatWaitsNoLonger(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	claim := w.offered(w.post("ask the model"))
	w.must(w.board.Cub.Withhold(w.ctx, claim, "writer", blackboard.WithheldPaused, "all calls of models are paused"))
	w.must(w.board.Cub.Withhold(w.ctx, claim, "writer", blackboard.WithheldBudget, "the goal's budget of 2 calls is used up"))
	w.start(takes, quick())
	all := w.told(2)
	for i, want := range []map[string]any{
		{"claim": claim, "agent": "writer", "kind": "paused", "reason": "", "open": false},
		{"claim": claim, "agent": "writer", "kind": "budget", "reason": "the goal's budget of 2 calls is used up", "open": true},
	} {
		got, _ := all[i]["bid"].(map[string]any)
		delete(got, "about")
		if !maps.Equal(got, want) {
			t.Errorf("event %d: got %v, want %v", i, got, want)
		}
	}
}

// Work that waits no longer for its model is told as such, since the event was due.
func TestEventOfWorkThatWaitsNoLonger(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ref := w.started(w.goal("work with the model"))
	w.must(w.board.Cub.Await(w.ctx, ref, blackboard.WaitModel, "why"))
	w.must(w.board.Cub.Await(w.ctx, ref, "", ""))
	w.start(takes, quick())
	got, _ := w.told(1)[0]["model"].(map[string]any)
	delete(got, "about")
	if want := map[string]any{"claim": ref.Claim, "agent": "writer", "reason": "", "open": false}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// placeholders indents the events, and replaces what differs between runs.
func placeholders(t *testing.T, raw []byte) string {
	t.Helper()
	var out strings.Builder
	for line := range bytes.Lines(raw) {
		var b bytes.Buffer
		if err := json.Indent(&b, line, "", "  "); err != nil {
			t.Fatal(err)
		}
		out.Write(b.Bytes())
	}
	names := map[string]string{}
	text := regexp.MustCompile(`\b[0-9A-HJKMNP-TV-Z]{26}\b`).ReplaceAllStringFunc(out.String(), func(id string) string {
		if names[id] == "" {
			names[id] = "ID-" + string(rune('A'+len(names)))
		}
		return names[id]
	})
	text = regexp.MustCompile(`"time": "2[0-9T:.-]+Z"`).ReplaceAllString(text, `"time": "TIME"`)
	text = regexp.MustCompile(`"position": "[0-9]+-[0-9]+"`).ReplaceAllString(text, `"position": "POSITION"`)
	return regexp.MustCompile(`"took_seconds": [0-9.]+`).ReplaceAllString(text, `"took_seconds": SECONDS`)
}

// Texts of any size and bytes give an event of bounded size that is JSON.
func TestEventOfAnyText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.finish(w.goal(strings.Repeat("g", maxText)+"é"), blackboard.Question, "\x1b[31m\xff", strings.Repeat("\x1b[2J\xff\u202e", 2<<20))
	w.start(takes, quick())
	v := w.told(1)[0]
	q, _ := v["question"].(map[string]any)
	text, _ := q["text"].(string)
	if !strings.HasPrefix(text, "\x1b[2J\ufffd\u202e") || len(text) > 2*maxText || q["truncated"] != true {
		t.Errorf("the text has %d bytes, truncated %v: %.40q", len(text), q["truncated"], text)
	}
	flow, _ := v["workflow"].(map[string]any)
	if goal, _ := flow["goal"].(string); len(goal) != maxText || flow["truncated"] != true {
		t.Errorf("the goal has %d bytes, truncated %v", len(goal), flow["truncated"])
	}
}

func TestCut(t *testing.T) {
	long := strings.Repeat("x", maxText-1)
	for in, want := range map[string]struct {
		out string
		cut bool
	}{
		"": {"", false}, "a\xffb": {"a\ufffdb", false}, long + "y": {long + "y", false}, long + "yz": {long + "y", true},
		long + "é": {long, true}, long + "\U0001F600": {long, true}, long + "\xff\xff": {long, true},
		long[2:] + "€": {long[2:] + "€", false}, long[1:] + "€": {long[1:], true}, long[1:] + "é!": {long[1:] + "é", true},
	} {
		got, cut := cut(in)
		if len(in) <= maxText && want.cut || got != want.out || cut != want.cut || !utf8.ValidString(got) {
			t.Errorf("%d bytes ending in %q: %d bytes ending in %q, %v", len(in), in[max(0, len(in)-4):], len(got), got[max(0, len(got)-4):], cut)
		}
	}
}
