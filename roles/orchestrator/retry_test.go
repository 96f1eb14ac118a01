package orchestrator

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/runtime"
)

// retries has a claim tried again, and returns the new one.
func (s *sett) retries(claim string) string {
	s.Helper()
	id := newID()
	s.must(s.board.People.Retry(s.Context(), claim, id, "ann", "once more"))
	return id
}

// fails has an agent fail, and the claim with it.
func (s *sett) fails(claim, agent string) {
	s.Helper()
	s.does(claim, agent, blackboard.Failure, blackboard.TypeToolExecutionFailure, "{}")
	s.status(claim, blackboard.Terminated)
}

// A retry goes on where the claim failed: what is done counts, the rest runs
// again, and the phases after it come as ever.
func TestRetryGoesOn(t *testing.T) {
	t.Parallel()
	s := newSett(t, "r", "p1", "p2", "x")
	s.lead(options{})
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "r review", "p1 claim", "p2 claim", "x exclusive")
	s.does(c, "r", review, "Review", "{}")
	s.does(c, "p1", blackboard.Terminal, "Part", "1")
	s.fails(c, "p2")
	s.ended(g, blackboard.WorkflowFailed)
	again := s.retries(c)
	if w, err := s.board.Records.Workflow(t.Context(), g); err != nil || w.Status != blackboard.WorkflowActive || w.Failures != 0 {
		t.Errorf("workflow %+v, %v", w, err)
	}
	s.does(again, "p2", blackboard.Terminal, "Part", "2")
	s.fails(again, "x")
	third := s.retries(again)
	s.does(third, "x", blackboard.Terminal, "Done", "x")
	got := s.status(third, blackboard.Complete)
	var states []string
	for _, g := range got.Grants {
		states = append(states, g.Agent+" "+string(g.State))
	}
	if !slices.Equal(states, []string{"p1 done", "p2 done", "r done", "x done"}) {
		t.Errorf("grants %v", states)
	}
	if w := s.ended(g, blackboard.WorkflowAchieved); w.Terminals != 3 || w.Failures != 0 {
		t.Errorf("workflow %+v", w)
	}
}

// A reviewer that failed is asked again, and what it then says counts.
func TestRetryOfReview(t *testing.T) {
	t.Parallel()
	s := newSett(t, "maker", "fan", "critic")
	s.lead(options{})
	g := s.goal("g")
	draft := s.makes(g, "maker")
	c := s.claimOf(draft)
	s.bids(c, "maker ignore", "fan review", "critic review")
	s.reviews("ann", c, "{}")
	s.does(c, "fan", review, "Review", "{}")
	s.fails(c, "critic")
	again := s.retries(c)
	against := s.does(again, "critic", review, "Review", "no")
	s.status(again, blackboard.Terminated)
	rework := blackboard.ReworkClaimID(again)
	st := s.starts(rework, "maker", "h")
	if !slices.Equal(st.Claim.AdditionalContextIDs, []string{against}) {
		t.Errorf("rework %+v", st.Claim)
	}
	s.finishes(st, "maker", blackboard.Failure, blackboard.TypeToolExecutionFailure, "{}")
	s.status(rework, blackboard.Terminated)
	if err := s.board.People.Retry(t.Context(), again, newID(), "ann", ""); !errors.Is(err, blackboard.ErrRefused) {
		t.Errorf("a retry after feedback: %v", err)
	}
	// The rework that failed is a rework when it is tried again.
	st = s.starts(s.retries(rework), "maker", "h")
	if !slices.Equal(st.Claim.AdditionalContextIDs, []string{against}) || !st.Claim.Rework {
		t.Errorf("retried rework %+v", st.Claim)
	}
	next := s.artefact(s.finishes(st, "maker", std, "Draft", "v2"))
	if next.Version != 2 || next.LogicalID != draft {
		t.Errorf("next version %+v", next)
	}
	s.status(st.Claim.ID, blackboard.Complete)
	s.claimOf(next.ID)
}

// A claim that was cancelled while agents bid is bid on further; silence counts
// from the retry on.
func TestRetryOfBidding(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "mute")
	const timeout = 3 * time.Second // all that comes before it is over has to be done by then
	s.cfg.Orchestrator.BidTimeout = timeout
	s.write()
	s.lead(options{pace: func(p *pace) { p.tick = time.Hour }})
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "a exclusive")
	s.cancels(c, "wait")
	opened := s.snapshot(c).Claim.OpenedAt
	s.until("the time for bids to be over", func() bool { return time.Since(opened) > timeout })
	again := s.retries(c)
	if got := s.snapshot(again); len(got.Grants) != 0 || !slices.Equal(got.Missing(), []string{"mute"}) {
		t.Errorf("the retry does not wait for the silent agent: %+v", got)
	}
	s.does(again, "a", blackboard.Terminal, "Done", "x")
	s.status(again, blackboard.Complete)
	if got := s.reasons(again); !slices.Equal(got, []string{"mute ignore bid_timeout"}) {
		t.Errorf("the ledger says %q", got)
	}
	first, err := s.board.Records.Grant(t.Context(), again, "a")
	s.must(err)
	if waited := first.QueuedAt.Sub(s.snapshot(again).Claim.OpenedAt); waited < timeout-10*time.Millisecond {
		t.Errorf("it waited %s for the silent agent", waited)
	}
	s.ended(g, blackboard.WorkflowAchieved)
}

// The worker of a retried grant is started at once, by who leads, or by who leads
// next.
func TestRetryByWorker(t *testing.T) {
	t.Parallel()
	for _, led := range []bool{true, false} {
		t.Run(map[bool]string{true: "led", false: "not led"}[led], func(t *testing.T) {
			t.Parallel()
			s, p := newPool(t, 1)
			o := inPlace(p)
			usual := o.pace
			o.pace = func(p *pace) { usual(p); p.tick = time.Hour }
			l := s.lead(o)
			g, c := s.granted()
			unit := workerName("w", c, 1)
			s.starts(c, "w", s.incarnation(p, unit))
			p.exit(unit, runtime.Exit{Code: 1, Text: "exit status 1"})
			s.ended(g, blackboard.WorkflowFailed)
			if !led {
				s.must(l.stop())
			}
			again := s.retries(c)
			if !led {
				s.lead(o)
			}
			holder := s.incarnation(p, workerName("w", again, 2))
			s.finishes(s.starts(again, "w", holder), "w", blackboard.Terminal, "Done", "x")
			s.ended(g, blackboard.WorkflowAchieved)
		})
	}
}

// A retry for an agent that has left fails as it would have.
func TestRetryForRemovedAgent(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "gone")
	s.lead(options{})
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "a ignore", "gone exclusive")
	s.fails(c, "gone")
	s.remove("gone")
	s.passes()
	again := s.retries(c)
	s.status(again, blackboard.Terminated)
	w := s.ended(g, blackboard.WorkflowFailed)
	if f := s.artefact(w.FailureID); f.Type != blackboard.TypeAgentRemoved || f.ClaimID != again || w.Failures != 1 {
		t.Errorf("failure %+v of %+v", f, w)
	}
}

// What nobody answered in time may be asked again.
func TestRetryAfterQuestionTimeout(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a")
	s.timesOut(time.Millisecond)
	l := s.lead(options{})
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "a exclusive")
	first := s.does(c, "a", blackboard.Question, "Question", "which?")
	s.unanswered(g, c, "a")
	s.timesOut(0)
	s.must(s.board.Nudge(t.Context()))
	s.until("that to be taken over", func() bool { return strings.Contains(l.log.String(), "configuration changed") })
	again := s.retries(c)
	st := s.starts(again, "a", "h")
	if len(st.Grant.Asked) != 0 {
		t.Errorf("the question %s that nobody answered is in %v", first, st.Grant.Asked)
	}
	q := s.finishes(st, "a", blackboard.Question, "Question", "which?")
	s.answers(q, "that")
	s.does(again, "a", blackboard.Terminal, "Done", "x")
	s.ended(g, blackboard.WorkflowAchieved)
}

// Where a person was asked before a rework, in vain, a retry of it asks again, and it
// goes on with the answer.
func TestRetryAfterAskedInVain(t *testing.T) {
	t.Parallel()
	s := newSett(t, "maker")
	s.cfg.Orchestrator.MaxReviewIterations, s.cfg.Orchestrator.OnReviewLimit = 1, config.ReviewLimitAsk
	s.approving("Draft")
	s.lead(options{})
	g := s.goal("g")
	second := s.does(blackboard.ReworkClaimID(s.rejects("ann", s.makes(g, "maker"), "no")), "maker", std, "Draft", "v2")
	rework := blackboard.ReworkClaimID(s.rejects("ann", second, "still no"))
	question := s.grant(rework, "maker", blackboard.GrantAwaitingAnswer).ResultID
	s.cancels(rework, "no idea")
	s.ended(g, blackboard.WorkflowFailed)
	again := s.retries(rework)
	s.passes()
	if asked := s.grant(again, "maker", blackboard.GrantAwaitingAnswer); asked.ResultID != question {
		t.Errorf("asked anew: %+v, want %s", asked, question)
	}
	answer := s.answers(question, "shorter")
	st := s.starts(again, "maker", "h")
	if !slices.Equal(st.Claim.AdditionalContextIDs, []string{blackboard.GateReviewID(second)}) || !slices.Equal(st.Grant.Asked, []string{question, answer}) {
		t.Errorf("rework %+v, grant %+v", st.Claim, st.Grant)
	}
	if next := s.artefact(s.finishes(st, "maker", std, "Draft", "v3")); next.Version != 3 {
		t.Errorf("next version %+v", next)
	}
}
