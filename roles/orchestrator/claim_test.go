package orchestrator

import (
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
)

const (
	review = blackboard.Review
	std    = blackboard.Standard
)

// The claim waits for whoever is silent, by name; other claims go on meanwhile.
func TestConsensusIsByName(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "b", "c")
	s.lead(options{})
	slow, quick := s.claimOf(s.goal("slow")), s.claimOf(s.goal("quick"))
	s.bids(slow, "a exclusive", "b ignore")
	s.bids(quick, "a exclusive", "b ignore", "c ignore")
	s.does(quick, "a", blackboard.Terminal, "Done", "x")
	s.status(quick, blackboard.Complete)
	if got := s.snapshot(slow); len(got.Grants) != 0 || !slices.Equal(got.Missing(), []string{"c"}) {
		t.Fatalf("the slow claim did not wait for c: %+v", got)
	}
	s.bids(slow, "c review")
	s.grant(slow, "c", blackboard.GrantQueued)
}

func TestPhasesInOrder(t *testing.T) {
	t.Parallel()
	s := newSett(t, "r1", "r2", "p1", "p2", "x1", "x2")
	s.lead(options{})
	c := s.claimOf(s.goal("g"))
	s.bids(c, "x2 exclusive", "p1 claim", "r1 review", "r2 review", "p2 claim", "x1 exclusive")
	s.does(c, "r1", review, "Review", "{}")
	if got := s.snapshot(c); len(got.Grants) != 2 || got.Claim.Status != blackboard.PendingReview {
		t.Fatalf("a phase began before the one before it was done: %+v", got.Grants)
	}
	s.does(c, "r2", review, "Review", " [] ")
	s.does(c, "p1", std, "Doc", "d")
	if got := s.snapshot(c); got.Claim.Status != blackboard.PendingParallel || len(got.Grants) != 4 {
		t.Fatalf("parallel phase: %+v", got)
	}
	s.does(c, "p2", std, "Test", "t")
	s.does(c, "x2", blackboard.Terminal, "Done", "x") // it bid first
	got := s.status(c, blackboard.Complete)
	if _, ok := got.Grant("x1"); ok || got.Claim.GrantedExclusiveAgent != "x2" {
		t.Fatalf("exclusive grant: %+v", got.Claim)
	}
}

func TestPhasesNobodyWantsAreSkipped(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "b")
	s.lead(options{})
	for _, test := range []struct {
		bids  []string
		first blackboard.ClaimStatus
	}{
		{[]string{"a claim", "b exclusive"}, blackboard.PendingParallel},
		{[]string{"a exclusive", "b ignore"}, blackboard.PendingExclusive},
		{[]string{"a review", "b exclusive"}, blackboard.PendingReview},
	} {
		c := s.claimOf(s.goal("g"))
		s.bids(c, test.bids...)
		s.grant(c, "a", blackboard.GrantQueued)
		if got := s.snapshot(c).Claim.Status; got != test.first {
			t.Errorf("%v: the claim is %s, want %s", test.bids, got, test.first)
		}
	}
}

func TestUnwantedClaimCompletes(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "b")
	s.lead(options{})
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "a ignore", "b ignore")
	if got := s.status(c, blackboard.Complete); len(got.Grants) != 0 || got.Claim.Reason == "" {
		t.Fatalf("claim %+v", got)
	}
	s.ended(g, blackboard.WorkflowStalled)
}

// Everything but {} and [] is feedback, and feedback means that the agent that
// made the artefact makes its next version, which is reviewed like any other.
func TestReworkByItsMaker(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{`{"fix":"it"}`, "not json", "", "{ }", "null", `""`, "[{}]"} {
		t.Run("payload "+payload, func(t *testing.T) {
			t.Parallel()
			s := newSett(t, "maker", "critic", "fan")
			s.lead(options{})
			g := s.goal("g")
			draft := s.makes(g, "maker")
			c := s.claimOf(draft)
			s.bids(c, "maker ignore", "critic review", "fan review")
			against := s.does(c, "critic", review, "Review", payload)
			s.does(c, "fan", review, "Review", "{}")
			s.status(c, blackboard.Terminated)
			rework := blackboard.ReworkClaimID(c)
			st := s.starts(rework, "maker", "h")
			if !slices.Equal(st.Claim.AdditionalContextIDs, []string{against}) || st.Artefact.ID != draft ||
				st.Claim.Origin != blackboard.OriginRework || st.Grant.Phase != blackboard.PhaseExclusive {
				t.Fatalf("rework %+v", st)
			}
			next := s.artefact(s.finishes(st, "maker", std, "Draft", "v2"))
			if next.Version != 2 || next.LogicalID != draft {
				t.Fatalf("next version %+v", next)
			}
			s.status(rework, blackboard.Complete)
			c2 := s.claimOf(next.ID)
			s.bids(c2, "maker ignore", "critic review", "fan review")
			s.does(c2, "critic", review, "Review", "[]")
			s.does(c2, "fan", review, "Review", "{}")
			s.status(c2, blackboard.Complete)
			s.ended(g, blackboard.WorkflowStalled)
		})
	}
}

func TestReviewLimit(t *testing.T) {
	t.Parallel()
	s := newSett(t, "maker", "critic")
	s.cfg.Orchestrator.MaxReviewIterations = 1
	s.write()
	s.lead(options{})
	g := s.goal("g")
	c := s.claimOf(s.makes(g, "maker"))
	s.bids(c, "maker ignore", "critic review")
	s.does(c, "critic", review, "Review", "no")
	v2 := s.does(blackboard.ReworkClaimID(c), "maker", std, "Draft", "v2")
	c2 := s.claimOf(v2)
	s.bids(c2, "maker ignore", "critic review")
	s.does(c2, "critic", review, "Review", "still no")
	s.ended(g, blackboard.WorkflowFailed)
	f := s.failures(g, 1)[0]
	if f.Type != blackboard.TypeReviewLimit || !strings.Contains(f.Payload, "max_review_iterations") {
		t.Fatalf("failure %+v", f)
	}
	if f.ProducedByRole != blackboard.RoleOrchestrator || !slices.Equal(f.SourceArtefacts, []string{v2}) {
		t.Fatalf("failure %+v", f)
	}
}

func TestRejectedGoalFails(t *testing.T) {
	t.Parallel()
	s := newSett(t, "critic")
	s.lead(options{})
	g := s.goal("nonsense")
	c := s.claimOf(g)
	s.bids(c, "critic review")
	s.does(c, "critic", review, "Review", "no")
	s.status(c, blackboard.Terminated)
	s.failures(g, 1)
	s.ended(g, blackboard.WorkflowFailed)
}

// A Failure in any phase terminates the claim and cancels its siblings; there is
// no rework, whatever the reviews said.
func TestFailureCancelsSiblings(t *testing.T) {
	t.Parallel()
	for _, bid := range []string{"review", "claim"} {
		t.Run(bid, func(t *testing.T) {
			t.Parallel()
			s := newSett(t, "maker", "a", "b", "c", "d")
			s.lead(options{})
			g := s.goal("g")
			c := s.claimOf(s.makes(g, "maker"))
			s.bids(c, "maker ignore", "a "+bid, "b "+bid, "c "+bid, "d "+bid)
			s.starts(c, "a", "ha")
			if bid == "review" {
				s.does(c, "d", review, "Review", "feedback")
			} else {
				s.does(c, "d", std, "Doc", "x")
			}
			s.does(c, "b", blackboard.Failure, blackboard.TypeToolExecutionFailure, "{}")
			got := s.status(c, blackboard.Terminated)
			for agent, want := range map[string]blackboard.GrantState{"a": blackboard.GrantCancelled,
				"b": blackboard.GrantFailed, "c": blackboard.GrantCancelled, "d": blackboard.GrantDone} {
				if grant, _ := got.Grant(agent); grant.State != want {
					t.Errorf("the grant of %s is %s, want %s", agent, grant.State, want)
				}
			}
			if _, err := s.board.Records.Snapshot(t.Context(), blackboard.ReworkClaimID(c)); err == nil {
				t.Error("there is a rework")
			}
			if bid == "claim" { // the branch that d's result began runs on
				return
			}
			s.ended(g, blackboard.WorkflowFailed)
		})
	}
}

func TestFailureInExclusive(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a")
	s.lead(options{})
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "a exclusive")
	s.does(c, "a", blackboard.Failure, blackboard.TypeToolExecutionFailure, "{}")
	s.status(c, blackboard.Terminated)
	s.ended(g, blackboard.WorkflowFailed)
}

// A Terminal in the parallel phase ends its grant only.
func TestTerminalInParallel(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "b", "c")
	s.lead(options{})
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "a claim", "b claim", "c exclusive")
	s.does(c, "a", blackboard.Terminal, "Done", "x")
	if got := s.snapshot(c).Claim.Status; got != blackboard.PendingParallel {
		t.Fatalf("the claim is %s", got)
	}
	s.does(c, "b", blackboard.Terminal, "Done", "y")
	s.does(c, "c", blackboard.Terminal, "Done", "z")
	s.status(c, blackboard.Complete)
	if w := s.ended(g, blackboard.WorkflowAchieved); w.Terminals != 3 {
		t.Fatalf("workflow %+v", w)
	}
}

func TestQuestionSuspendsAnswerResumes(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "b")
	s.lead(options{})
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "a claim", "b exclusive")
	q := s.does(c, "a", blackboard.Question, "Ask", "which?")
	s.grant(c, "a", blackboard.GrantAwaitingAnswer)
	answer := blackboard.Artefact{ID: newID(), StructuralType: blackboard.Answer, Type: "Answer", Payload: "that",
		SourceArtefacts: []string{q}, ProducedByRole: blackboard.RoleHuman, WorkflowID: g, ClaimID: c}
	agent, err := s.board.People.PostAnswer(t.Context(), q, answer, "me")
	s.must(err)
	if agent != "a" {
		t.Fatalf("%s goes on", agent)
	}
	st := s.starts(c, "a", "again")
	if !slices.Equal(st.Grant.Asked, []string{q, answer.ID}) || st.Grant.Attempt != 2 {
		t.Fatalf("resumed %+v", st.Grant)
	}
	s.finishes(st, "a", blackboard.Terminal, "Done", "x")
	s.does(c, "b", blackboard.Terminal, "Done", "y")
	s.ended(g, blackboard.WorkflowAchieved)
}

// The end of a claim closes its questions.
func TestFailureClosesQuestions(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "b")
	s.lead(options{})
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "a claim", "b claim")
	q := s.does(c, "a", blackboard.Question, "Ask", "which?")
	s.does(c, "b", blackboard.Failure, blackboard.TypeToolExecutionFailure, "{}")
	s.status(c, blackboard.Terminated)
	_, err := s.board.People.PostAnswer(t.Context(), q, blackboard.Artefact{ID: newID(), StructuralType: blackboard.Answer, WorkflowID: g}, "me")
	if err == nil || !strings.Contains(err.Error(), "terminated") {
		t.Fatalf("late answer: %v", err)
	}
	if w := s.ended(g, blackboard.WorkflowFailed); w.Questions != 0 {
		t.Fatalf("workflow %+v", w)
	}
}

// One branch fails; the other goes on to its end, which does not make it good.
func TestBranchesRunOn(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "b")
	s.lead(options{})
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "a claim", "b claim")
	branch := s.does(c, "a", std, "Doc", "x")
	s.does(c, "b", blackboard.Failure, blackboard.TypeToolExecutionFailure, "{}")
	s.status(c, blackboard.Terminated)
	c2 := s.claimOf(branch)
	s.bids(c2, "a exclusive", "b ignore")
	if w, err := s.board.Records.Workflow(t.Context(), g); err != nil || w.Status != blackboard.WorkflowActive {
		t.Fatalf("workflow %+v, %v", w, err)
	}
	s.does(c2, "a", blackboard.Terminal, "Done", "x")
	s.ended(g, blackboard.WorkflowFailed)
}

// Two agents that answer each other's work for ever are ended, with one Failure.
func TestPingPongEnds(t *testing.T) {
	t.Parallel()
	s := newSett(t, "ping", "pong")
	s.cfg.Orchestrator.MaxArtefacts = 6
	s.write()
	s.lead(options{})
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "ping claim", "pong claim")
	ends := []string{s.does(c, "ping", std, "Ball", "x"), s.does(c, "pong", std, "Ball", "x")}
	turn := func(i int, agent, other string) {
		c := s.claimOf(ends[i])
		s.bids(c, agent+" exclusive", other+" ignore")
		ends[i] = s.does(c, agent, std, "Ball", "x")
		s.status(c, blackboard.Complete)
	}
	turn(0, "pong", "ping")
	turn(1, "ping", "pong")
	turn(0, "ping", "pong") // the sixth artefact
	turn(1, "pong", "ping") // the seventh: one too many
	turn(0, "pong", "ping") // and so is the other branch's
	w := s.ended(g, blackboard.WorkflowFailed)
	f := s.failures(g, 1)[0]
	if f.Type != blackboard.TypeWorkflowLimit || w.FailureID != f.ID || !strings.Contains(f.Payload, "max_artefacts") {
		t.Fatalf("failure %+v of %+v", f, w)
	}

	// With the same limit it is ended again, with a Failure of its own; with a higher one both branches go on.
	again := func(failure string) error {
		return s.board.People.RetryGoal(t.Context(), blackboard.GoalRetry{Workflow: g, Failure: failure, Type: blackboard.TypeWorkflowLimit, Word: newID(), MaxArtefacts: 100}, "ann", "")
	}
	s.must(again(f.ID))
	s.failures(g, 2)
	w = s.ended(g, blackboard.WorkflowFailed)
	if w.FailureID == f.ID || w.Failures != 1 {
		t.Fatalf("ended again: %+v", w)
	}
	s.cfg.Orchestrator.MaxArtefacts = 100
	s.write()
	s.must(s.board.Nudge(t.Context()))
	s.passes()
	s.must(again(w.FailureID))
	for _, id := range ends {
		c := s.claimOf(id)
		s.bids(c, "ping exclusive", "pong ignore")
		s.does(c, "ping", blackboard.Terminal, "Won", "x")
	}
	s.ended(g, blackboard.WorkflowAchieved)
}
