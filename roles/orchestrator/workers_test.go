package orchestrator

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/config"
	"sett/runtime"
)

// newPool is an instance with one agent w of fresh_per_call.
func newPool(t *testing.T, replicas int) (*sett, *place) {
	s := newSett(t, "w")
	s.agent("w").Strategy, s.agent("w").Replicas = config.StrategyFreshPerCall, replicas
	s.write()
	return s, newPlace()
}

// granted posts a goal and has its claim granted to w.
func (s *sett) granted() (goal, claim string) {
	s.Helper()
	goal = s.goal("g")
	claim = s.claimOf(goal)
	s.bids(claim, "w exclusive")
	s.grant(claim, "w", blackboard.GrantQueued)
	return goal, claim
}

func (p *place) workers() (claims []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.started {
		if c := s.Labels[runtime.LabelClaim]; c != "" {
			claims = append(claims, c)
		}
	}
	return claims
}

// Workers take claims in the order they were granted, so many at once and no
// more, and are removed when they are done.
func TestWorkersInOrder(t *testing.T) {
	t.Parallel()
	s, p := newPool(t, 2)
	s.lead(inPlace(p))
	s.incarnation(p, "agent-w")
	var claims []string
	for range 6 {
		_, c := s.granted()
		claims = append(claims, c)
	}
	for i, c := range claims {
		unit := workerName("w", c, 1)
		holder := s.incarnation(p, unit)
		if n := p.running("worker-"); n > 2 {
			t.Fatalf("%d workers at once", n)
		}
		spec := p.spec(unit)
		if !slices.Equal(spec.Args, []string{"cub", "--execute-claim", c}) || spec.Labels[runtime.LabelAttempt] != "1" ||
			spec.Labels[runtime.LabelComponent] != runtime.ComponentWorker {
			t.Fatalf("spec %+v", spec)
		}
		s.finishes(s.starts(c, "w", holder), "w", blackboard.Terminal, "Done", strconv.Itoa(i))
		p.exit(unit, runtime.Exit{Text: "exit status 0"})
		s.status(c, blackboard.Complete)
		if i+2 < len(claims) {
			s.incarnation(p, workerName("w", claims[i+2], 1))
		}
	}
	if got := p.workers(); len(got) != 6 || !slices.Equal(sorted(got[:2]), sorted(claims[:2])) || !slices.Equal(got[2:], claims[2:]) {
		t.Errorf("started for %v, granted %v", got, claims)
	}
	if p.most["w"] > 2 {
		t.Errorf("%d at once", p.most["w"])
	}
	s.until("the workers to be removed", func() bool {
		units, err := p.List(t.Context(), runtime.Labels{runtime.LabelComponent: runtime.ComponentWorker})
		s.must(err)
		return len(units) == 0
	})
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// A worker that ends without a result has failed, whether or not it had begun.
func TestWorkerWithoutResult(t *testing.T) {
	t.Parallel()
	for _, began := range []bool{true, false} {
		t.Run("began "+strconv.FormatBool(began), func(t *testing.T) {
			t.Parallel()
			s, p := newPool(t, 1)
			s.agent("w").Retries = 1
			s.write()
			s.lead(inPlace(p))
			g, c := s.granted()
			for attempt := 1; attempt <= 2; attempt++ {
				unit := workerName("w", c, attempt)
				holder := s.incarnation(p, unit)
				if began {
					s.starts(c, "w", holder)
				}
				p.exit(unit, runtime.Exit{Code: 2, Text: "exit status 2", Tail: "no such file"})
			}
			s.status(c, blackboard.Terminated)
			if r := reportOf(t, s.failures(g, 1)[0]); r.ExitCode != 2 || r.Log != "no such file\n" || r.Attempt != 2 {
				t.Errorf("report %+v", r)
			}
			if n := p.starts("worker-"); n != 2 {
				t.Errorf("%d workers", n)
			}
		})
	}
}

// Who leads next finds the workers by name, and the queue on the blackboard.
func TestWorkersAreAdopted(t *testing.T) {
	t.Parallel()
	s, p := newPool(t, 1)
	l := s.lead(inPlace(p))
	_, first := s.granted()
	unit := workerName("w", first, 1)
	holder := s.incarnation(p, unit)
	_, second := s.granted()
	s.must(l.stop())
	l = s.lead(inPlace(p))
	l.leads()
	s.finishes(s.starts(first, "w", holder), "w", blackboard.Terminal, "Done", "x")
	s.status(first, blackboard.Complete)
	if n := p.starts("worker-"); n != 1 {
		t.Fatalf("%d workers were started, one runs still", n)
	}
	p.exit(unit, runtime.Exit{Text: "exit status 0"})
	s.incarnation(p, workerName("w", second, 1))
	if n := p.starts(unit); n != 1 {
		t.Errorf("%s was started %d times", unit, n)
	}
}

// What was cancelled before its turn is not started.
func TestCancelledBeforeItsTurn(t *testing.T) {
	t.Parallel()
	s := newSett(t, "w", "b")
	p := newPlace()
	s.agent("w").Strategy = config.StrategyFreshPerCall
	s.write()
	s.lead(trusting(p))
	start := func() (claim string) {
		claim = s.claimOf(s.goal("g"))
		s.bids(claim, "w claim", "b claim")
		s.grant(claim, "w", blackboard.GrantQueued)
		return claim
	}
	first := start()
	holder := s.incarnation(p, workerName("w", first, 1))
	cancelled, last := start(), start()
	s.does(cancelled, "b", blackboard.Failure, blackboard.TypeToolExecutionFailure, "{}")
	s.status(cancelled, blackboard.Terminated)
	s.finishes(s.starts(first, "w", holder), "w", blackboard.Terminal, "Done", "x")
	p.exit(workerName("w", first, 1), runtime.Exit{Text: "exit status 0"})
	s.incarnation(p, workerName("w", last, 1))
	if got := p.workers(); !slices.Equal(got, []string{first, last}) {
		t.Errorf("started for %v", got)
	}
}

// A worker that cannot be started is tried again while its grant waits.
func TestWorkerNotStarted(t *testing.T) {
	t.Parallel()
	s, p := newPool(t, 1)
	l := s.lead(inPlace(p))
	s.incarnation(p, "agent-w")
	p.set(func() { p.failing = errNoRoom })
	_, c := s.granted()
	s.until("two attempts", func() bool { return strings.Count(l.log.String(), "worker not started") >= 2 })
	p.set(func() { p.failing = nil })
	s.incarnation(p, workerName("w", c, 1))
}

// The workers of an agent that has left are ended; their grants fail for that.
func TestWorkersOfRemovedAgent(t *testing.T) {
	t.Parallel()
	s, p := newPool(t, 1)
	s.cfg.Agents = append(s.cfg.Agents, member("other"))
	s.write()
	s.lead(inPlace(p))
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "w exclusive", "other ignore")
	s.starts(c, "w", s.incarnation(p, workerName("w", c, 1)))
	s.remove("w")
	s.status(c, blackboard.Terminated)
	if f := s.failures(g, 1)[0]; f.Type != blackboard.TypeAgentRemoved {
		t.Errorf("failure %+v", f)
	}
	s.until("the end of its units", func() bool { return p.running("worker-")+p.running("agent-w") == 0 })
}

// A phase that is granted to a pool while nobody leads is worked on by the next.
func TestReworkByWorker(t *testing.T) {
	t.Parallel()
	s := newSett(t, "w", "critic")
	p := newPlace()
	s.agent("w").Strategy = config.StrategyFreshPerCall
	s.write()
	s.lead(inPlace(p))
	c := s.claimOf(s.goal("g"))
	s.bids(c, "w exclusive", "critic ignore")
	unit := workerName("w", c, 1)
	draft := s.finishes(s.starts(c, "w", s.incarnation(p, unit)), "w", std, "Draft", "v1")
	p.exit(unit, runtime.Exit{Text: "exit status 0"})
	c = s.claimOf(draft)
	s.bids(c, "w ignore", "critic review")
	s.finishes(s.starts(c, "critic", s.incarnation(p, "agent-critic")), "critic", review, "Review", "no")
	rework := blackboard.ReworkClaimID(c)
	s.starts(rework, "w", s.incarnation(p, workerName("w", rework, 1)))
}
