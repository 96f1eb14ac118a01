package redis

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
)

// What is broken in a claim, its goal or its artefact is said before anything is
// written: half a retry could not be repeated.
func TestRetryOfBroken(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseReview, "r")
		c := w.snapshot(claim).Claim
		w.fail(claim, "r")
		key := w.b.c.Keys.Claim(claim)
		for _, b := range []struct{ key, field, value, why string }{
			{key, "expected_bidders", "{", "corrupt"}, {key, "expected_bidders", "", "corrupt"},
			{key, "artefact_id", "", "corrupt"}, {key, "workflow_id", "", "corrupt"},
			{key, "grant:r", "{", "corrupt"}, {key, "grant:r", "7", "corrupt"}, {key, "grant:r", "review failed", "corrupt"}, {key, "grant:r", "none failed 1", "corrupt"},
			{key, "times:r", "x", "corrupt"}, {key, "more:r", "{", "corrupt"}, {key, "grant:r", `{"state":"failed","phase":"none"}`, "corrupt"},
			{w.b.c.Keys.Artifact(c.ArtefactID), "type", "", "its artefact"}, {w.b.c.Keys.Workflow(c.WorkflowID), "created_at", "", "its goal"},
		} {
			back := []string{"HDEL", b.key, b.field}
			if w.raw("HEXISTS", b.key, b.field)[0] == "1" {
				back = []string{"HSET", b.key, b.field, w.raw("HGET", b.key, b.field)[0]}
			}
			if b.value == "" {
				w.raw("HDEL", b.key, b.field)
			} else {
				w.raw("HSET", b.key, b.field, b.value)
			}
			w.refuses(b.field+" "+b.value, blackboard.ErrRefused, func() error {
				err := w.b.People.Retry(w.ctx, claim, newID(), "ann", "")
				if err == nil || !strings.Contains(err.Error(), b.why) {
					t.Errorf("%s %q: %v", b.field, b.value, err)
				}
				return err
			})
			w.raw(back[0], back[1:]...)
		}
		w.raw("HDEL", w.b.c.Keys.Bids(claim), "r")
		must(t, w.b.People.Retry(w.ctx, claim, newID(), "ann", ""))
	})
}

// A claim of before Failures were counted by claim has those that name it.
func TestRetryOfUncounted(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseParallel, "a", "b")
		goalID := w.snapshot(claim).Claim.WorkflowID
		w.fail(claim, "a", "b")
		w.raw("HDEL", w.b.c.Keys.Claim(claim), "failures")
		must(t, w.b.People.Retry(w.ctx, claim, newID(), "ann", ""))
		if wf := w.workflow(goalID); wf.Failures != 0 || wf.FailureID != "" {
			t.Errorf("workflow %+v", wf)
		}
	})
}

// A retry costs the same however many claims its goal has had.
func TestRetryCost(t *testing.T) {
	w := newWorld(t, &server{url: redistest.Start(t).URL})
	claim := w.granted(blackboard.PhaseParallel, "a")
	calls := regexp.MustCompile(`cmdstat_[^:]*:calls=(\d+)`)
	var costs []int
	for range 3 { // the first has the script loaded
		w.fail(claim, "a")
		w.raw("CONFIG", "RESETSTAT")
		again := newID()
		must(t, w.b.People.Retry(w.ctx, claim, again, "ann", ""))
		cost := 0
		for _, m := range calls.FindAllStringSubmatch(w.raw("INFO", "commandstats")[0], -1) {
			n, err := strconv.Atoi(m[1])
			must(t, err)
			cost += n
		}
		costs = append(costs, cost)
		for range 20 { // each is a claim of the goal, and closed
			w.fail(again, "a")
			claim, again = again, newID()
			must(t, w.b.People.Retry(w.ctx, claim, again, "ann", ""))
		}
		claim = again
	}
	if costs[1] != costs[2] {
		t.Errorf("%d commands, and %d when there have been 20 claims more", costs[1], costs[2])
	}
}
