package orchestrator

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/runtime"
)

func (s *sett) remove(name string) {
	s.Helper()
	s.cfg.Agents = slices.DeleteFunc(s.cfg.Agents, func(a config.Agent) bool { return a.Name == name })
	s.write()
	s.must(s.board.Nudge(s.Context()))
}

// reasons returns why bids were recorded, as the ledger has it.
func (s *sett) reasons(claim string) (out []string) {
	s.Helper()
	es, err := s.board.Ledger.History(s.Context(), blackboard.Beginning, 1000)
	s.must(err)
	for _, e := range es {
		if e.Kind == blackboard.EventBid && e.Claim == claim && e.Reason != "" {
			out = append(out, e.Agent+" "+e.To+" "+e.Reason)
		}
	}
	return out
}

// Silence becomes an ignore when its time is over, without waiting for a tick.
func TestBidTimeout(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "mute")
	s.cfg.Orchestrator.BidTimeout = 300 * time.Millisecond
	s.write()
	s.lead(options{pace: func(p *pace) { p.tick = time.Hour }})
	began := time.Now()
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "a exclusive")
	s.does(c, "a", blackboard.Terminal, "Done", "x")
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("silence was recorded after %s", took)
	}
	s.ended(g, blackboard.WorkflowAchieved)
	if got := s.reasons(c); !slices.Equal(got, []string{"mute ignore bid_timeout"}) {
		t.Errorf("the ledger says %q", got)
	}
}

// An agent that has left sett.yml need not be waited for; one that is new is
// asked about later claims only.
func TestClanChangesWhileBidding(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "gone")
	s.lead(options{})
	before := s.claimOf(s.goal("g"))
	s.bids(before, "a exclusive")
	s.cfg.Agents = append(s.cfg.Agents, member("new"))
	s.remove("gone")
	s.grant(before, "a", blackboard.GrantQueued)
	if got := s.reasons(before); !slices.Equal(got, []string{"gone ignore agent_removed"}) {
		t.Errorf("the ledger says %q", got)
	}
	if got := s.snapshot(before).Claim.ExpectedBidders; !slices.Equal(got, []string{"a", "gone"}) {
		t.Errorf("the claim expects %v", got)
	}
	after := s.claimOf(s.goal("g"))
	if got := s.snapshot(after).Claim.ExpectedBidders; !slices.Equal(got, []string{"a", "new"}) {
		t.Errorf("the later claim expects %v", got)
	}
}

// The grants of an agent that has left fail: the queued one at once, the running
// one when its unit has ended.
func TestRemovedAgentsGrants(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a", "gone"), newPlace()
	p.hold = make(chan struct{})
	s.lead(inPlace(p))
	goals := []string{s.goal("running"), s.goal("queued")}
	claims := []string{s.claimOf(goals[0]), s.claimOf(goals[1])}
	for _, c := range claims {
		s.bids(c, "gone exclusive", "a ignore")
	}
	s.starts(claims[0], "gone", s.incarnation(p, "agent-gone"))
	s.grant(claims[1], "gone", blackboard.GrantQueued)
	s.remove("gone")
	s.status(claims[1], blackboard.Terminated)
	if g := s.grant(claims[0], "gone", blackboard.GrantRunning); g.Holder == "" {
		t.Fatalf("grant %+v", g)
	}
	close(p.hold)
	s.status(claims[0], blackboard.Terminated)
	for _, g := range goals {
		f := s.failures(g, 1)[0]
		if f.Type != blackboard.TypeAgentRemoved || !strings.Contains(f.Payload, "no longer in sett.yml") {
			t.Errorf("failure %+v", f)
		}
	}
	s.until("the unit to be removed", func() bool {
		units, err := p.List(t.Context(), runtime.Labels{runtime.LabelComponent: runtime.ComponentAgent})
		s.must(err)
		return len(units) == 1 && units[0].Name == "agent-a"
	})
}

// Without a runtime nobody can be waited for.
func TestRemovedAgentNobodyRuns(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "gone")
	s.lead(options{})
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "gone exclusive", "a ignore")
	s.starts(c, "gone", "h")
	s.remove("gone")
	s.status(c, blackboard.Terminated)
	if f := s.failures(g, 1)[0]; f.Type != blackboard.TypeAgentRemoved {
		t.Errorf("failure %+v", f)
	}
}

func TestReworkForRemovedAgent(t *testing.T) {
	t.Parallel()
	s := newSett(t, "maker", "critic")
	s.lead(options{})
	g := s.goal("g")
	c := s.claimOf(s.makes(g, "maker"))
	s.bids(c, "maker ignore", "critic review")
	st := s.starts(c, "critic", "h")
	s.cfg.Agents = s.cfg.Agents[1:]
	s.write()
	l := s.finishes(st, "critic", review, "Review", "no")
	_ = l
	s.must(s.board.Nudge(t.Context()))
	s.status(c, blackboard.Terminated)
	// Whether the reload or the review came first: an AgentRemoved, not a wait.
	s.ended(g, blackboard.WorkflowFailed)
	if f := s.failures(g, 1)[0]; f.Type != blackboard.TypeAgentRemoved {
		t.Errorf("failure %+v", f)
	}
}

func TestChangedAndNewAgents(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "same", "changed"), newPlace()
	s.lead(inPlace(p))
	was := s.incarnation(p, "agent-changed")
	same := s.incarnation(p, "agent-same")
	s.agent("changed").Command = []string{"/bin/false"}
	s.cfg.Agents = append(s.cfg.Agents, member("new"))
	s.write()
	s.must(s.board.Nudge(t.Context()))
	s.incarnation(p, "agent-new")
	s.incarnation(p, "agent-changed", was)
	if u, _ := p.unit("agent-changed"); u.Labels[runtime.LabelConfig] != s.agent("changed").Digest() {
		t.Error("it was started with the old configuration")
	}
	if s.incarnation(p, "agent-same") != same || p.starts("agent-same") != 1 {
		t.Error("an agent that had not changed was restarted")
	}
}

// An agent whose unit cannot be stopped is not forgotten.
func TestRemovalThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a", "gone"), newPlace()
	p.failStop = errNoRoom
	l := s.lead(inPlace(p))
	s.incarnation(p, "agent-gone")
	s.remove("gone")
	s.until("two attempts", func() bool { return strings.Count(l.log.String(), "agent not stopped") >= 2 })
	p.set(func() { p.failStop = nil })
	s.until("the stop", func() bool { return p.running("agent-gone") == 0 })
}

// A configuration that cannot be read changes nothing.
func TestBrokenConfigurationIsNotTaken(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a")
	l := s.lead(options{})
	l.leads()
	whole := s.cfg
	for i, broken := range []config.Config{{}, {Version: "1.0"}} {
		s.cfg = broken
		s.write()
		s.must(s.board.Nudge(t.Context()))
		s.until("the complaint", func() bool { return strings.Count(l.log.String(), "configuration not reloaded") > i })
	}
	s.cfg = whole
	c := s.claimOf(s.goal("g"))
	if got := s.snapshot(c).Claim.ExpectedBidders; !slices.Equal(got, []string{"a"}) {
		t.Errorf("the claim expects %v", got)
	}
}
