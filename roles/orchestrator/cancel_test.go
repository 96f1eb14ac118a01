package orchestrator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/runtime"
)

// cancels ends a claim as a person does, and returns the Failure's id.
func (s *sett) cancels(claim, why string) string {
	s.Helper()
	f := s.by("ann", blackboard.Failure, s.snapshot(claim).Claim.ArtefactID, claim, `{"reason":"cancelled"}`)
	f.Type = blackboard.TypeCancelled
	s.must(s.board.People.CancelClaim(s.Context(), claim, f, "ann", why))
	return f.ID
}

// cancelsGoal ends everything of a goal.
func (s *sett) cancelsGoal(goal string) {
	s.Helper()
	f := s.by("ann", blackboard.Failure, goal, "", `{"reason":"cancelled"}`)
	f.Type = blackboard.TypeCancelled
	s.must(s.board.People.CancelWorkflow(s.Context(), goal, f, "ann", "enough"))
}

// toldOf returns a channel of what an agent is told from now on.
func (s *sett) toldOf(agent string) <-chan string {
	s.Helper()
	told, ready := make(chan string, 100), make(chan struct{})
	var once sync.Once
	ctx := s.Context()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.board.Subscribe(ctx, []redis.Channel{redis.AgentEvents(agent)}, func() { once.Do(func() { close(ready) }) },
			func(_ redis.Channel, id string) { told <- id }, func(error) {})
	}()
	s.Cleanup(func() { <-done })
	select {
	case <-ready:
	case <-time.After(patience):
		s.Fatal("no subscription")
	}
	return told
}

func (s *sett) isTold(told <-chan string, want string) {
	s.Helper()
	for deadline := time.After(patience); ; {
		select {
		case got := <-told:
			if got == want {
				return
			}
		case <-deadline:
			s.Fatalf("it is not told of %s", want)
		}
	}
}

// Who runs what is cancelled is told, holds nobody up, and can hand nothing in.
func TestCancelStopsWhatRuns(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "b")
	l := s.lead(options{})
	told := s.toldOf("a")
	goals := []string{s.goal("cancelled"), s.goal("next")}
	c, next := s.claimOf(goals[0]), s.claimOf(goals[1])
	s.bids(c, "a claim", "b claim")
	s.bids(next, "a ignore", "b exclusive")
	st := s.starts(c, "a", "h")
	s.grant(next, "b", blackboard.GrantQueued)
	f := s.cancels(c, "wrong way")
	s.isTold(told, c) // when it was granted
	s.isTold(told, c)
	got := s.status(c, blackboard.Terminated)
	if got.Claim.Reason != "cancelled by ann: wrong way" {
		t.Errorf("reason %q", got.Claim.Reason)
	}
	for _, g := range got.Grants {
		if g.State != blackboard.GrantCancelled {
			t.Errorf("grant %+v", g)
		}
	}
	if w := s.ended(goals[0], blackboard.WorkflowFailed); w.FailureID != f || w.Failures != 1 {
		t.Errorf("workflow %+v", w)
	}
	late := blackboard.Artefact{ID: newID(), StructuralType: std, Type: "Draft", ProducedByAgent: "a", ClaimID: c, WorkflowID: goals[0]}
	if err := s.board.Cub.Finish(t.Context(), blackboard.Result{GrantRef: ref(st), Artefact: late}); !errors.Is(err, blackboard.ErrRefused) {
		t.Errorf("a late result: %v", err)
	}
	s.does(next, "b", blackboard.Terminal, "Done", "x")
	s.ended(goals[1], blackboard.WorkflowAchieved)
	s.quiet(l)
}

// quiet fails the test when an orchestrator complained.
func (s *sett) quiet(l *leader) {
	s.Helper()
	for line := range strings.Lines(l.log.String()) {
		if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
			s.Errorf("it complains: %s", line)
		}
	}
}

// Everything of a goal ends at once: what runs, what asks, what is to be
// approved, reworked or claimed. Another goal does not notice.
func TestCancelGoal(t *testing.T) {
	t.Parallel()
	s := newSett(t, "maker", "asks", "runs", "notes")
	s.approving("Held")
	l := s.lead(options{})
	other := s.claimOf(s.goal("other"))
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "maker claim", "asks claim", "runs claim", "notes claim")
	told := s.toldOf("runs")
	s.does(c, "maker", std, "Held", "x")
	s.does(c, "asks", blackboard.Question, "Question", "?")
	s.starts(c, "runs", "h")
	bidding := s.claimOf(s.does(c, "notes", std, "Note", "x"))
	s.bids(bidding, "maker ignore")
	s.cancelsGoal(g)
	s.isTold(told, c)
	w := s.ended(g, blackboard.WorkflowFailed)
	if w.Outstanding != 0 || w.Questions != 0 || w.Gates != 0 || w.Failures != 1 {
		t.Errorf("workflow %+v", w)
	}
	s.held()
	for _, claim := range []string{c, bidding} { // at once: it is one move
		if got := s.snapshot(claim).Claim; got.Status != blackboard.Terminated || got.Reason != "goal cancelled by ann: enough" {
			t.Errorf("claim %+v", got)
		}
	}
	s.bids(other, "maker exclusive", "asks ignore", "runs ignore", "notes ignore")
	s.does(other, "maker", blackboard.Terminal, "Done", "x")
	s.status(other, blackboard.Complete)
	s.quiet(l)
}

// Whenever a person cancels, at whatever the orchestrator decides just then: the
// claim ends once, and that is nothing to complain about.
func TestCancelAtAnyTime(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "b", "c")
	l := s.lead(options{})
	var all sync.WaitGroup
	for i := range 60 {
		g := s.goal(fmt.Sprint(i))
		c := s.claimOf(g)
		s.bids(c, "a claim", "b ignore")
		cancelled := make(chan struct{})
		all.Go(func() {
			defer close(cancelled)
			s.cancels(c, "now")
		})
		each, err := s.board.Cub.SubmitBids(t.Context(), []blackboard.BidRequest{{Claim: c, Agent: "c", Bid: blackboard.BidExclusive}})
		if err := errors.Join(append(each, err)...); err != nil && !errors.Is(err, blackboard.ErrRefused) {
			t.Fatal(err)
		}
		if i%2 == 0 {
			_, _ = s.board.Cub.Start(t.Context(), blackboard.StartRequest{Claim: c, Agent: "a", Holder: "h"}) // refused if it is cancelled already
		}
		<-cancelled
		s.status(c, blackboard.Terminated)
		s.ended(g, blackboard.WorkflowFailed)
		s.failures(g, 1)
	}
	all.Wait()
	s.passes()
	s.quiet(l)
}

// A worker whose claim is cancelled makes room when its cub has ended, with no
// Failure besides; one in line is never started.
func TestCancelledWorkers(t *testing.T) {
	t.Parallel()
	s, p := newPool(t, 1)
	l := s.lead(inPlace(p))
	g, running := s.granted()
	unit := workerName("w", running, 1)
	s.starts(running, "w", s.incarnation(p, unit))
	_, waiting := s.granted()
	_, last := s.granted()
	s.cancels(waiting, "not this one")
	s.cancels(running, "nor this")
	if n := p.running("worker-"); n != 1 {
		t.Fatalf("%d workers", n)
	}
	p.exit(unit, runtime.Exit{Text: "exit status 0"})
	s.incarnation(p, workerName("w", last, 1))
	if got := p.workers(); !slices.Equal(got, []string{running, last}) {
		t.Errorf("started for %v", got)
	}
	s.until("nothing to run", func() bool {
		all, err := s.board.Roster.Running(t.Context())
		s.must(err)
		return len(all) == 0
	})
	s.failures(g, 1)
	s.quiet(l)
}

// What was cancelled while nobody led stays so.
func TestCancelledWhileNobodyLeads(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "b")
	s.cfg.Orchestrator.OnReviewLimit = config.ReviewLimitAsk
	s.write()
	first := s.lead(options{})
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "a exclusive", "b review")
	st := s.starts(c, "b", "h")
	s.must(first.stop())
	s.finishes(st, "b", review, "Review", "no") // nobody decides about it
	s.cancels(c, "leave it")
	l := s.lead(options{})
	l.leads()
	s.passes()
	if _, err := s.board.Records.Snapshot(t.Context(), blackboard.ReworkClaimID(c)); !errors.Is(err, blackboard.ErrNotFound) {
		t.Errorf("there is a rework: %v", err)
	}
	if got := s.snapshot(c).Claim; got.Status != blackboard.Terminated || got.Reason != "cancelled by ann: leave it" {
		t.Errorf("claim %+v", got)
	}
	s.failures(g, 1)
	s.quiet(l)
}
