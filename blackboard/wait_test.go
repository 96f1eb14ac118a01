package blackboard

import (
	"reflect"
	"testing"
	"time"
)

// A queued grant waits for a worker or its start: what the instance does at the moment
// tells which.
func TestWaitsOfAQueuedGrant(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	ago := func(n int) time.Time { return now.Add(-time.Duration(n) * time.Second) }
	claim := Snapshot{
		Claim:  Claim{ID: "C", WorkflowID: "G", Status: PendingExclusive, OpenedAt: ago(9)},
		Grants: []Grant{{Agent: "a", Phase: PhaseExclusive, State: GrantQueued, Attempt: 2, QueuedAt: ago(5)}},
	}
	other := Running{Claim: "D", Agent: "b", Since: ago(4)}
	busy := Running{Claim: "E", Agent: "a", Since: ago(4)}
	want := func(change func(*Wait)) []Wait {
		w := Wait{Kind: WaitStart, Agent: "a", Since: ago(5), SubjectID: "C", WorkflowID: "G", Attempt: 2}
		change(&w)
		return []Wait{w}
	}
	for name, tc := range map[string]struct {
		workers int
		slots   int
		running []Running
		want    []Wait
	}{
		"nothing runs":      {0, 1, nil, want(func(*Wait) {})},
		"the agent works":   {0, 1, []Running{other, busy}, want(func(w *Wait) { w.Busy = []string{"E"} })},
		"a worker is free":  {2, 1, []Running{other, busy}, want(func(w *Wait) { w.Workers, w.Busy = 2, []string{"E"} })},
		"no worker is free": {1, 1, []Running{other, busy}, want(func(w *Wait) { w.Kind, w.Workers, w.Busy = WaitSlot, 1, []string{"E"} })},
		"a slot is free":    {0, 2, []Running{other, busy}, want(func(*Wait) {})},
		"no slot is free": {0, 2, []Running{busy, other, busy}, want(func(w *Wait) {
			w.Kind, w.Slots, w.Busy = WaitSlot, 2, []string{"E", "E"}
		})},
	} {
		p := Policy{Agents: map[string]AgentPolicy{"a": {Workers: tc.workers, Slots: tc.slots}}}
		if got := Waits(claim, p, Scene{Now: now, Running: tc.running}); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, tc.want)
		}
	}
}

// A bound that is reached, an agent that left and a failure are for the orchestrator
// to decide; a closed claim waits for nothing.
func TestWaitsForADecision(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	p := Policy{Agents: map[string]AgentPolicy{"a": {}}, BidTimeout: time.Minute, QuestionTimeout: time.Minute}
	bidding := Snapshot{Claim: Claim{ID: "C", Status: PendingReview, OpenedAt: now, ExpectedBidders: []string{"a", "gone"}}}
	withheld := bidding
	withheld.Claim.ExpectedBidders = []string{"a"}
	withheld.Claim.Withheld = map[string]Withheld{"a": {Kind: WithheldPaused, Why: "paused", Since: now}}
	asked := Snapshot{Claim: Claim{ID: "C", Status: PendingExclusive, OpenedAt: now},
		Grants: []Grant{{Agent: "a", Phase: PhaseExclusive, State: GrantAwaitingAnswer, ResultID: "Q", EndedAt: now}}}
	failed := asked
	failed.Grants = append([]Grant{{Agent: "b", Phase: PhaseExclusive, State: GrantFailed}}, asked.Grants...)
	closed := asked
	closed.Claim.Status = Terminated
	for name, tc := range map[string]struct {
		of    Snapshot
		at    time.Time
		kinds []WaitKind
	}{
		"a bid": {bidding, now, []WaitKind{WaitBid}}, "no bid in time": {bidding, now.Add(time.Minute), []WaitKind{WaitDecision}},
		"a model":   {withheld, now.Add(time.Minute), []WaitKind{WaitBid}},
		"an answer": {asked, now, []WaitKind{WaitAnswer}}, "no answer in time": {asked, now.Add(time.Minute), []WaitKind{WaitDecision}},
		"a failure": {failed, now, []WaitKind{WaitDecision}}, "closed": {closed, now, nil},
	} {
		var kinds []WaitKind
		for _, w := range Waits(tc.of, p, Scene{Now: tc.at}) {
			kinds = append(kinds, w.Kind)
		}
		if !reflect.DeepEqual(kinds, tc.kinds) {
			t.Errorf("%s: %v, want %v", name, kinds, tc.kinds)
		}
	}
}
