package orchestrator

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
	"sett/contract/config"
	"sett/contract/env"
)

// approving has artefacts of these types wait for approval.
func (s *sett) approving(types ...string) {
	s.Helper()
	s.cfg.Approve = types
	s.write()
}

// reloaded has what was written to sett.yml taken over, and waits until the
// blackboard knows what is to be approved.
func (s *sett) reloaded() {
	s.Helper()
	s.must(s.board.Nudge(s.Context()))
	s.until("the policy", func() bool {
		es := s.events(blackboard.EventPolicy)
		return len(es) > 0 && es[len(es)-1].Attributes["approve"] == strings.Join(s.cfg.Approve, " ")
	})
}

// events returns what the ledger has of a kind.
func (s *sett) events(kind blackboard.EventKind) (out []blackboard.Event) {
	s.Helper()
	es, err := s.board.Ledger.History(s.Context(), blackboard.Beginning, 10_000)
	s.must(err)
	for _, e := range es {
		if e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

func (s *sett) approves(who, artefact string) {
	s.Helper()
	s.must(s.board.People.Approve(s.Context(), artefact, s.by(who, blackboard.Review, artefact, "", "{}"), who))
}

// rejects returns the claim that a rejection opens.
func (s *sett) rejects(who, artefact, why string) string {
	s.Helper()
	c, err := s.board.People.Reject(s.Context(), artefact, s.by(who, blackboard.Review, artefact, "", why), who)
	s.must(err)
	return c
}

// held fails the test unless exactly these artefacts wait for approval, without a
// claim.
func (s *sett) held(artefacts ...string) {
	s.Helper()
	got, err := s.board.Index.OpenGates(s.Context())
	s.must(err)
	if !slices.Equal(got, artefacts) {
		s.Fatalf("%v wait for approval, want %v", got, artefacts)
	}
	for _, id := range artefacts {
		if _, err := s.board.Records.Snapshot(s.Context(), blackboard.BiddingClaimID(id)); err == nil {
			s.Fatalf("%s has a claim and waits for approval", id)
		}
	}
}

// passes has a whole claim decided about, so that whatever was to be decided
// about what came before it has been.
func (s *sett) passes() {
	s.Helper()
	g := s.goal("something else")
	c := s.claimOf(g)
	for _, a := range s.cfg.Agents {
		s.bids(c, a.Name+" ignore")
	}
	s.ended(g, blackboard.WorkflowStalled)
}

// What waits for approval gets no claim, whoever leads, until a person approves.
func TestGateHolds(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a")
	s.approving("Draft", "Rel*")
	first := s.lead(options{})
	g := s.goal("g")
	draft := s.makes(g, "a")
	s.passes()
	s.held(draft)
	s.must(first.stop())
	second := s.lead(options{})
	second.leads()
	s.passes()
	s.held(draft)
	if w, err := s.board.Records.Workflow(t.Context(), g); err != nil || w.Status != blackboard.WorkflowActive || w.Outstanding != 1 {
		t.Fatalf("workflow %+v, %v", w, err)
	}
	s.approves("ann", draft)
	c := s.claimOf(draft)
	s.bids(c, "a exclusive")
	end := s.does(c, "a", blackboard.Terminal, "Release", "x")
	s.status(c, blackboard.Complete)
	s.held(end)
	if w, err := s.board.Records.Workflow(t.Context(), g); err != nil || w.Status != blackboard.WorkflowActive || w.Terminals != 0 {
		t.Fatalf("a Terminal that waits ended it: %+v, %v", w, err)
	}
	s.approves("ann", end)
	s.ended(g, blackboard.WorkflowAchieved)
	for _, e := range s.events(blackboard.EventApprove) {
		if e.Attributes["by"] != "ann" {
			t.Errorf("ledger %+v", e)
		}
	}
}

// What was approved while nobody leads has its claim when somebody does; another
// leader takes the policy over as it is.
func TestGateApprovedWhileNobodyLeads(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a")
	s.approving("Draft")
	l := s.lead(options{})
	draft := s.makes(s.goal("g"), "a")
	s.must(l.stop())
	s.approves("ann", draft)
	s.held()
	s.lead(options{})
	s.claimOf(draft)
	if es := s.events(blackboard.EventPolicy); len(es) != 1 {
		t.Errorf("the policy was set %d times: %+v", len(es), es)
	}
}

// Who takes over enacts sett.yml as it is then, and not as it was when it began to
// wait.
func TestPolicyOfWhoTakesOver(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a")
	first := s.lead(options{})
	first.leads()
	second := s.lead(options{vars: map[string]string{env.HealthAddr: "127.0.0.1:0"}, pace: func(p *pace) { p.tick = time.Hour }})
	url := second.address() + "/metrics" // it has read the configuration
	s.approving("Draft")
	s.reloaded()
	s.must(first.stop())
	second.leads()
	draft := s.makes(s.goal("g"), "a")
	s.held(draft)
	if es := s.events(blackboard.EventPolicy); len(es) != 1 {
		t.Errorf("the policy was set %d times: %+v", len(es), es)
	}
	if _, body := s.get(url); !strings.Contains(body, "\nsett_configuration_reloads_total 1\n") {
		t.Errorf("the change is not counted once:\n%s", body)
	}
}

// The policy is on the blackboard before the first claim is opened, also where
// goals waited for somebody to lead.
func TestPolicyComesFirst(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a")
	s.approving("Draft")
	g := s.goal("early")
	s.lead(options{})
	draft := s.makes(g, "a")
	s.passes()
	s.held(draft)
	es, err := s.board.Ledger.History(t.Context(), blackboard.Beginning, 1000)
	s.must(err)
	policy := slices.IndexFunc(es, func(e blackboard.Event) bool { return e.Kind == blackboard.EventPolicy })
	open := slices.IndexFunc(es, func(e blackboard.Event) bool { return e.Kind == blackboard.EventOpen })
	if policy < 0 || policy > open {
		t.Errorf("the policy is entry %d, the first claim entry %d", policy, open)
	}
}

// A changed sett.yml holds what is made from then on, and lets go of nothing.
func TestPolicyReloaded(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "b")
	s.lead(options{})
	open := s.claimOf(s.makes(s.goal("g"), "a")) // nobody has to approve it
	s.approving("Draft")
	s.reloaded()
	if st := s.snapshot(open).Claim.Status; st.Closed() {
		t.Errorf("the open claim is %s", st)
	}
	draft := s.makes(s.goal("g"), "b")
	s.passes()
	s.held(draft)
	s.approving("Other")
	s.reloaded()
	free := s.makes(s.goal("g"), "a")
	s.claimOf(free)
	s.held(draft)
	s.approving()
	s.reloaded()
	s.held(draft)
	s.approves("ann", draft)
	s.claimOf(draft)
}

// A policy that the blackboard did not take is set before anything is decided.
func TestPolicyWaitsForBlackboard(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a")
	s.approving("Draft")
	p := newProxy(t, strings.TrimPrefix(s.url, "redis://"))
	l := s.lead(options{vars: map[string]string{"REDIS_URL": "redis://" + p.addr}, pace: func(p *pace) { p.retry = 10 * time.Millisecond }})
	l.leads()
	s.passes()
	p.set(true)
	s.approving("Draft", "Final")
	s.until("the loss to be noticed", func() bool { return strings.Contains(l.log.String(), "blackboard lost") })
	g := s.goal("meanwhile")
	p.set(false)
	draft := s.makes(g, "a")
	s.held(draft)
	s.until("the policy", func() bool { return len(s.events(blackboard.EventPolicy)) == 2 })
}

// A blackboard that comes back may have forgotten the policy while it remembers who
// leads: Redis by default writes down what it acknowledged a second later.
func TestPolicyLostByBlackboard(t *testing.T) {
	t.Parallel()
	r := redistest.Embedded(t)
	s := newSettAt(t, r.URL, "a")
	s.approving("Draft")
	p := newProxy(t, r.Addr())
	l := s.lead(options{vars: map[string]string{env.RedisURL: "redis://" + p.addr, env.Lease: "1m"}})
	g := s.goal("g")
	c := s.claimOf(g)
	p.set(true)
	s.until("the loss to be noticed", func() bool { return strings.Contains(l.log.String(), "blackboard lost") })
	s.redis(r, "HDEL", "sett:{test}:instance", "approve")
	p.set(false)
	s.until("the policy", func() bool { return len(s.events(blackboard.EventPolicy)) == 2 })
	s.bids(c, "a exclusive")
	s.held(s.does(c, "a", blackboard.Standard, "Draft", "x"))
	if n := strings.Count(l.log.String(), "msg=leading"); n != 1 {
		t.Errorf("it took the lead %d times: that another term sets it says nothing", n)
	}
}

// A rejection is feedback: whoever made it makes the next version, with the
// person's Review, and that one waits again. So also a Terminal.
func TestGateRejected(t *testing.T) {
	t.Parallel()
	for _, structural := range []blackboard.StructuralType{std, blackboard.Terminal} {
		t.Run(string(structural), func(t *testing.T) {
			t.Parallel()
			s := newSett(t, "maker", "other")
			s.approving("Draft")
			s.lead(options{})
			g := s.goal("g")
			c := s.claimOf(g)
			s.bids(c, "maker exclusive", "other ignore")
			draft := s.does(c, "maker", structural, "Draft", "v1")
			s.status(c, blackboard.Complete)
			for version := 2; version <= 3; version++ {
				c := s.rejects("ann", draft, "too long")
				if got := s.status(c, blackboard.Terminated); !strings.Contains(got.Claim.Reason, "feedback by ann") {
					t.Errorf("claim %+v", got.Claim)
				}
				st := s.starts(blackboard.ReworkClaimID(c), "maker", "h")
				if !slices.Equal(st.Claim.AdditionalContextIDs, []string{blackboard.GateReviewID(draft)}) || st.Artefact.ID != draft {
					t.Fatalf("rework %+v", st)
				}
				next := s.artefact(s.finishes(st, "maker", structural, "Draft", "better"))
				if next.Version != version || next.LogicalID != s.artefact(draft).LogicalID {
					t.Fatalf("next version %+v", next)
				}
				draft = next.ID
				s.status(st.Claim.ID, blackboard.Complete)
				s.held(draft)
			}
			s.approves("ann", draft)
			if structural == std {
				c := s.claimOf(draft)
				s.bids(c, "maker ignore", "other ignore")
				s.ended(g, blackboard.WorkflowStalled)
			} else if w := s.ended(g, blackboard.WorkflowAchieved); w.TerminalID != draft || w.Terminals != 1 {
				t.Errorf("workflow %+v", w)
			}
		})
	}
}

// Nobody reworks a goal: one that is rejected has failed.
func TestGateRejectsGoal(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a")
	s.approving(blackboard.TypeGoalDefined)
	s.lead(options{})
	s.until("the policy", func() bool { return len(s.events(blackboard.EventPolicy)) > 0 })
	g := s.goal("nonsense")
	s.held(g)
	s.status(s.rejects("ann", g, "no"), blackboard.Terminated)
	s.ended(g, blackboard.WorkflowFailed)
	if f := s.failures(g, 1)[0]; f.Type != "GoalRejected" {
		t.Errorf("failure %+v", f)
	}
}

// A rejection at the limit of reworks fails the workflow, or asks first.
func TestGateRejectedAtLimit(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{config.ReviewLimitFail, config.ReviewLimitAsk} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			s := newSett(t, "maker")
			s.cfg.Orchestrator.MaxReviewIterations, s.cfg.Orchestrator.OnReviewLimit = 1, limit
			s.approving("Draft")
			s.lead(options{})
			g := s.goal("g")
			first := s.makes(g, "maker")
			second := s.does(blackboard.ReworkClaimID(s.rejects("ann", first, "no")), "maker", std, "Draft", "v2")
			c := s.rejects("ann", second, "still no")
			s.status(c, blackboard.Terminated)
			if limit == config.ReviewLimitFail {
				s.ended(g, blackboard.WorkflowFailed)
				if f := s.failures(g, 1)[0]; f.Type != blackboard.TypeReviewLimit {
					t.Errorf("failure %+v", f)
				}
				return
			}
			rework := blackboard.ReworkClaimID(c)
			q := s.artefact(s.grant(rework, "maker", blackboard.GrantAwaitingAnswer).ResultID)
			if q.ProducedByRole != blackboard.RoleOrchestrator || !slices.Equal(q.SourceArtefacts, []string{second, blackboard.GateReviewID(second)}) {
				t.Errorf("question %+v", q)
			}
			s.answers(q.ID, "shorter")
			third := s.does(rework, "maker", std, "Draft", "v3")
			s.status(rework, blackboard.Complete)
			s.held(third)
		})
	}
}
