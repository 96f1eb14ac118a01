package orchestrator

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/orchestrator/arbiter"
)

// answers posts a person's answer and returns its id.
func (s *sett) answers(question, text string) string {
	s.Helper()
	q := s.artefact(question)
	a := s.by("ann", blackboard.Answer, question, q.ClaimID, text)
	_, err := s.board.People.PostAnswer(s.Context(), question, a, "ann")
	s.must(err)
	return a.ID
}

// unanswered waits until a claim has ended for a question that nobody answered,
// and returns how long that took.
func (s *sett) unanswered(goal, claim, agent string) time.Duration {
	s.Helper()
	got := s.status(claim, blackboard.Terminated)
	f := s.failures(goal, 1)[0]
	if f.Type != blackboard.TypeQuestionTimeout || !strings.Contains(f.Payload, "question_timeout") || f.ClaimID != claim {
		s.Errorf("failure %+v", f)
	}
	g, _ := got.Grant(agent)
	if g.State != blackboard.GrantFailed || g.ResultID != f.ID {
		s.Errorf("grant %+v", g)
	}
	if open, err := s.board.Index.OpenQuestions(s.Context()); err != nil || len(open) != 0 {
		s.Errorf("open questions %v, %v", open, err)
	}
	return g.EndedAt.Sub(s.artefact(s.asked(claim, agent)).CreatedAt)
}

// asked returns the last question of a grant that is no more.
func (s *sett) asked(claim, agent string) string {
	s.Helper()
	g, err := s.board.Records.Grant(s.Context(), claim, agent)
	s.must(err)
	return g.Asked[len(g.Asked)-1]
}

func (s *sett) timesOut(questions time.Duration) {
	s.Helper()
	s.cfg.Orchestrator.QuestionTimeout = questions
	s.write()
}

// A question nobody answers is a Failure when its time is over, at once and not
// at some tick, and takes its siblings with it.
func TestQuestionTimeout(t *testing.T) {
	t.Parallel()
	const timeout = 300 * time.Millisecond
	for _, bid := range []string{"review", "claim", "exclusive"} {
		t.Run(bid, func(t *testing.T) {
			t.Parallel()
			s := newSett(t, "a", "b")
			s.timesOut(timeout)
			s.lead(options{pace: func(p *pace) { p.tick = time.Hour }})
			g := s.goal("g")
			c := s.claimOf(g)
			s.bids(c, "a "+bid, "b "+bid)
			s.does(c, "a", blackboard.Question, "Question", "which?")
			if took := s.unanswered(g, c, "a"); took < timeout-10*time.Millisecond {
				t.Errorf("it failed after %s", took)
			}
			if b, granted := s.snapshot(c).Grant("b"); granted && b.State != blackboard.GrantCancelled {
				t.Errorf("its sibling is %s", b.State)
			}
			s.ended(g, blackboard.WorkflowFailed)
		})
	}
}

// An answer in time stops the clock; the next question starts it anew.
func TestAnswerInTime(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a")
	const timeout = 3 * time.Second // the answer has to be there by then
	s.timesOut(timeout)
	s.lead(options{})
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "a exclusive")
	began := time.Now()
	q := s.does(c, "a", blackboard.Question, "Question", "which?")
	s.answers(q, "that")
	s.until("the time of the question to be over", func() bool { return time.Since(began) > timeout+100*time.Millisecond })
	s.passes()
	if st := s.grant(c, "a", blackboard.GrantQueued); st.Attempt != 2 {
		t.Fatalf("grant %+v", st)
	}
	again := s.does(c, "a", blackboard.Question, "Question", "and then?")
	if took := s.unanswered(g, c, "a"); took < timeout-10*time.Millisecond {
		t.Errorf("the second question failed after %s", took)
	}
	if asked := s.asked(c, "a"); asked != again {
		t.Errorf("it failed for %s, want %s", asked, again)
	}
}

// The time goes on while nobody leads, and who leads next knows when it is over.
func TestQuestionTimeoutOverRestart(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		t.Run(map[bool]string{true: "over meanwhile", false: "not over"}[late], func(t *testing.T) {
			t.Parallel()
			s := newSett(t, "a")
			const timeout = 3 * time.Second // nobody may lead any more by then
			s.timesOut(timeout)
			l := s.lead(options{})
			g := s.goal("g")
			c := s.claimOf(g)
			s.bids(c, "a claim")
			q := s.does(c, "a", blackboard.Question, "Question", "which?")
			s.must(l.stop())
			asked := s.artefact(q).CreatedAt
			if late {
				s.until("the time to be over", func() bool { return time.Since(asked) > timeout+50*time.Millisecond })
				s.grant(c, "a", blackboard.GrantAwaitingAnswer)
			}
			s.lead(options{pace: func(p *pace) { p.tick = time.Hour }})
			if took := s.unanswered(g, c, "a"); took < timeout-10*time.Millisecond {
				t.Errorf("it failed after %s", took)
			}
		})
	}
}

// A timeout that sett.yml gets later counts for what is open.
func TestQuestionTimeoutReloaded(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a")
	s.lead(options{})
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "a exclusive")
	s.does(c, "a", blackboard.Question, "Question", "which?")
	s.timesOut(time.Millisecond)
	s.must(s.board.Nudge(t.Context()))
	s.unanswered(g, c, "a")
}

// An answer that comes while its question's time runs out counts, and nobody says
// that the grant failed.
func TestAnswerAtTheLastMoment(t *testing.T) {
	t.Parallel()
	s, log := newSett(t, "a", "b"), &output{}
	s.timesOut(time.Millisecond)
	lead, _, err := s.board.Leader.TakeLead(t.Context(), "me", "", time.Hour)
	s.must(err)
	e := s.env(options{}, log)
	o := s.unled(e, e.Logger("orchestrator").Handler())
	l := newTerm(o, lead)
	defer l.stopAlarms()
	asks := func() (claim, question string, late arbiter.Decision) {
		g := s.goal("g")
		k := key{claimKey, blackboard.BiddingClaimID(g)}
		s.must(l.look(t.Context(), key{artefactKey, g}))
		s.bids(k.id, "a exclusive", "b ignore")
		s.must(l.look(t.Context(), k))
		question = s.does(k.id, "a", blackboard.Question, "Question", "which?")
		d := arbiter.Decide(s.snapshot(k.id), policyOf(o.clan.get()), time.Now().Add(time.Minute))
		if d.Kind != arbiter.FailGrant {
			t.Fatalf("decision %+v", d)
		}
		return k.id, question, d
	}
	c, q, late := asks()
	before := s.snapshot(c)
	s.answers(q, "that")
	s.must(l.apply(t.Context(), before, late, false))
	l.record(before, late)
	s.grant(c, "a", blackboard.GrantQueued)
	if strings.Contains(log.String(), "grant failed") {
		t.Errorf("it says\n%s", log)
	}
	c, _, late = asks()
	before = s.snapshot(c)
	for range 2 { // the second time for a lost reply
		s.must(l.apply(t.Context(), before, late, false))
		l.record(before, late)
	}
	s.grant(c, "a", blackboard.GrantFailed)
	if !strings.Contains(log.String(), "grant failed") {
		t.Errorf("it says\n%s", log)
	}
}

// At the review limit a person is asked, by the orchestrator; the rework goes on
// with the answer, and the next feedback asks again.
func TestAskAtReviewLimit(t *testing.T) {
	t.Parallel()
	s := newSett(t, "maker", "critic")
	s.cfg.Orchestrator.MaxReviewIterations, s.cfg.Orchestrator.OnReviewLimit = 1, config.ReviewLimitAsk
	s.write()
	l := s.lead(options{})
	g := s.goal("g")
	draft := s.makes(g, "maker")
	for version := 1; version <= 3; version++ {
		c := s.claimOf(draft)
		s.bids(c, "maker ignore", "critic review")
		against := s.does(c, "critic", review, "Review", "no")
		s.status(c, blackboard.Terminated)
		rework := blackboard.ReworkClaimID(c)
		if version > 1 {
			question := s.artefact(s.grant(rework, "maker", blackboard.GrantAwaitingAnswer).ResultID)
			if question.StructuralType != blackboard.Question || question.ProducedByRole != blackboard.RoleOrchestrator ||
				question.ClaimID != rework || !slices.Equal(question.SourceArtefacts, []string{draft, against}) ||
				!strings.Contains(question.Payload, "max_review_iterations: 1") || !strings.Contains(question.Payload, "maker") {
				t.Fatalf("question %+v", question)
			}
			if version == 3 { // who leads next waits for the same answer
				s.must(l.stop())
				s.lead(options{}).leads()
				s.passes()
			}
			answer := s.answers(question.ID, "shorter")
			if g := s.grant(rework, "maker", blackboard.GrantQueued); !slices.Equal(g.Asked, []string{question.ID, answer}) {
				t.Fatalf("grant %+v", g)
			}
		}
		st := s.starts(rework, "maker", "h")
		if !slices.Equal(st.Claim.AdditionalContextIDs, []string{against}) {
			t.Errorf("rework %+v", st.Claim)
		}
		next := s.artefact(s.finishes(st, "maker", std, "Draft", "better"))
		if next.Version != version+1 {
			t.Fatalf("next version %+v", next)
		}
		draft = next.ID
	}
	c := s.claimOf(draft)
	s.bids(c, "maker ignore", "critic ignore")
	s.ended(g, blackboard.WorkflowStalled)
}

// Who is asked at the limit and keeps silent lets the rework fail; whose agent
// leaves meanwhile, too.
func TestAskedAtReviewLimitInVain(t *testing.T) {
	t.Parallel()
	for _, want := range []string{blackboard.TypeQuestionTimeout, blackboard.TypeAgentRemoved} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			s := newSett(t, "maker", "critic")
			s.cfg.Orchestrator.MaxReviewIterations, s.cfg.Orchestrator.OnReviewLimit = 1, config.ReviewLimitAsk
			s.write()
			s.lead(options{vars: map[string]string{env.LogLevel: "info"}})
			g := s.goal("g")
			c := s.claimOf(s.makes(g, "maker"))
			s.bids(c, "maker ignore", "critic review")
			s.does(c, "critic", review, "Review", "no")
			c = s.claimOf(s.does(blackboard.ReworkClaimID(c), "maker", std, "Draft", "v2"))
			s.bids(c, "maker ignore", "critic review")
			s.does(c, "critic", review, "Review", "still no")
			rework := blackboard.ReworkClaimID(c)
			s.grant(rework, "maker", blackboard.GrantAwaitingAnswer)
			if want == blackboard.TypeQuestionTimeout {
				s.timesOut(time.Millisecond)
				s.must(s.board.Nudge(t.Context()))
			} else {
				s.remove("maker")
			}
			s.status(rework, blackboard.Terminated)
			w := s.ended(g, blackboard.WorkflowFailed)
			if f := s.failures(g, 1)[0]; f.Type != want || f.ClaimID != rework || w.Questions != 0 {
				t.Errorf("failure %+v of %+v", f, w)
			}
		})
	}
}
