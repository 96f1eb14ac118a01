package orchestrator

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/env"
	"sett/runtime"
)

// tables is an instance whose agents bid by table: on goals a reviews, b and w work in
// parallel, c is exclusive; nobody wants anything else. w has workers.
func tables(t *testing.T) *sett {
	t.Helper()
	s := newSett(t, "a", "b", "w", "c")
	for agent, bid := range map[string]blackboard.BidType{"a": "review", "b": "claim", "w": "claim", "c": "exclusive"} {
		s.agent(agent).Bids = []config.BidRule{{Type: "Goal*", Bid: bid}}
	}
	s.agent("w").Strategy = config.StrategyFreshPerCall
	s.write()
	return s
}

// works takes a goal to its end, as the agents, and returns its claim.
func (s *sett) works(goal string, holders func(agent string) string) string {
	s.Helper()
	c := s.claimOf(goal)
	does := func(agent string, of blackboard.StructuralType, typ, payload string) {
		s.finishes(s.starts(c, agent, holders(agent)), agent, of, typ, payload)
	}
	does("a", review, "Review", "{}")
	does("b", blackboard.Standard, "Notes", "n")
	does("w", blackboard.Standard, "Notes", "n")
	does("c", blackboard.Terminal, "Done", "x")
	s.status(c, blackboard.Complete)
	return c
}

// decided lists the decisions about a claim, each with a mark where a script took it.
func (s *sett) decided(claim string) (all []string) {
	s.Helper()
	events, err := s.board.Ledger.History(s.Context(), blackboard.Beginning, 100_000)
	s.must(err)
	for _, e := range events {
		if e.Claim != claim || e.Kind == blackboard.EventStart || e.Kind == blackboard.EventResult {
			continue
		}
		mark := ""
		if strings.HasPrefix(e.Attributes[blackboard.AttributeDecidedBy], "course, revision ") {
			mark = "*"
		}
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s%s %s %s %s %s", mark, e.Kind, e.Phase, e.Agent, e.From, e.To)))
	}
	return all
}

// Of the second goal and of its results the orchestrator decides about the step with
// workers, and about nothing else. The ledger says what it said of the first one. Without courses nothing
// changes.
func TestCourses(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]string{"on": "on", "off": "off"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p := tables(t), newPlace()
			o := inPlace(p)
			o.vars[env.Courses] = off
			l := s.lead(o)
			worker := func(claim string) func(string) string {
				return func(agent string) string {
					if agent == "w" {
						return s.incarnation(p, workerName("w", claim, 1))
					}
					return s.incarnation(p, "agent-"+agent)
				}
			}
			g := s.goal("first")
			first := s.claimOf(g)
			s.bids(first, "a review", "b claim", "w claim", "c exclusive")
			s.works(g, worker(first))
			p.exit(workerName("w", first, 1), runtime.Exit{Text: "exit status 0"})
			notes := map[string]string{}
			for _, agent := range []string{"b", "w"} {
				of, _ := s.snapshot(first).Grant(agent)
				notes[agent] = s.claimOf(of.ResultID)
				s.bids(notes[agent], "a ignore", "b ignore", "w ignore", "c ignore")
			}
			s.ended(g, blackboard.WorkflowAchieved)
			if off == "off" {
				g := s.goal("second")
				if c := s.claimOf(g); len(s.snapshot(c).Bids) != 0 {
					t.Error("somebody has bid")
				}
				return
			}
			s.until("the courses", func() bool { // of goals and of two kinds of notes; of the bids on both
				return strings.Count(l.log.String(), "course put on the blackboard") == 5
			})
			g = s.goal("second")
			second := s.works(g, worker(blackboard.BiddingClaimID(g)))
			s.ended(g, blackboard.WorkflowAchieved)
			var want []string
			for _, line := range s.decided(first) {
				if !strings.HasPrefix(line, "bid") && !strings.Contains(line, "b,w") {
					line = "*" + strings.TrimPrefix(line, "*")
				}
				want = append(want, line)
			}
			if got := s.decided(second); !slices.Equal(got, want) || len(got) != 9 {
				t.Errorf("decided\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			for _, agent := range []string{"b", "w"} {
				of, _ := s.snapshot(second).Grant(agent)
				if c := s.snapshot(blackboard.BiddingClaimID(of.ResultID)).Claim; c.Status != blackboard.Complete || c.Reason != "no agent bid on it" {
					t.Errorf("claim on the notes: %+v", c)
				}
			}
		})
	}
}

// After the orchestrator's death claims go on while their courses are known. What is not
// known waits, and the next orchestrator does it.
func TestCoursesOutliveTheOrchestrator(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "c")
	s.agent("a").Bids = []config.BidRule{{Type: "Goal*", Bid: "review"}}
	s.agent("c").Bids = []config.BidRule{{Type: "Goal*", Bid: "exclusive"}}
	s.write()
	l := s.lead(options{})
	g := s.goal("first")
	s.bids(s.claimOf(g), "a review", "c exclusive")
	s.does(s.claimOf(g), "a", review, "Review", "{}")
	s.does(s.claimOf(g), "c", blackboard.Terminal, "Done", "x")
	s.ended(g, blackboard.WorkflowAchieved)
	s.must(l.stop())
	g = s.goal("nobody leads")
	c := s.claimOf(g)
	s.does(c, "a", review, "Review", "{}")
	code := s.does(c, "c", blackboard.Standard, "Code", "x")
	s.status(c, blackboard.Complete)
	bad := s.claimOf(s.goal("feedback"))
	s.does(bad, "a", review, "Review", "no")
	if s.snapshot(bad).Claim.Status != blackboard.PendingReview {
		t.Error("a script decided about feedback")
	}
	work, err := s.board.Index.OpenWork(t.Context())
	s.must(err)
	if !slices.Equal(work.Unclaimed, []string{code}) {
		t.Errorf("without a claim: %v, want %s", work.Unclaimed, code)
	}
	s.lead(options{})
	s.status(bad, blackboard.Terminated)
	s.bids(s.claimOf(code), "a ignore", "c ignore")
	s.ended(g, blackboard.WorkflowStalled)
}

// While goals come in, sett.yml changes again and again. Once the blackboard says that the
// new settings are in force, no script goes by older ones.
func TestCoursesWhileSettingsChange(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "b")
	bids := func(a, b blackboard.BidType) {
		s.agent("a").Bids, s.agent("b").Bids = []config.BidRule{{Type: "Goal*", Bid: a}}, []config.BidRule{{Type: "Goal*", Bid: b}}
		s.write()
	}
	bids("exclusive", "ignore")
	s.lead(options{pace: quickTally})
	const changes, goals = 4, 200
	var posting sync.WaitGroup
	claims := make(chan string, goals)
	for range 4 {
		posting.Go(func() {
			for range goals / 4 {
				claims <- blackboard.BiddingClaimID(s.goal("g"))
			}
		})
	}
	for i := range changes {
		a, b := blackboard.BidExclusive, blackboard.BidIgnore
		if i%2 == 0 {
			a, b = b, a
		}
		bids(a, b)
		s.must(s.board.Nudge(t.Context()))
		cfg := s.cfg
		s.until("the settings to be in force", func() bool {
			is, err := s.board.Enacted(t.Context(), cfg.Approve, cfg.Land.Branch(), cfg.DecisionDigest())
			return err == nil && is
		})
		from, err := s.board.Ledger.Last(t.Context())
		s.must(err)
		s.bids(s.claimOf(s.goal("by the new settings")), "a "+string(a), "b "+string(b))
		s.until("a course of the new settings", func() bool {
			g := s.goal("probe")
			snap, err := s.board.Records.Snapshot(t.Context(), blackboard.BiddingClaimID(g))
			return err == nil && len(snap.Grants) == 1
		})
		events, err := s.board.Ledger.History(t.Context(), from, 100_000)
		s.must(err)
		for _, e := range events {
			want := map[string]blackboard.BidType{"a": a, "b": b}[e.Agent]
			if e.Kind == blackboard.EventBid && e.To != string(want) {
				t.Fatalf("after change %d: %+v, want %s", i, e, want)
			}
			if e.Kind == blackboard.EventGrant && e.Attributes[blackboard.AttributeDecidedBy] != "" && want != blackboard.BidExclusive {
				t.Fatalf("after change %d: %+v", i, e)
			}
		}
	}
	posting.Wait()
	close(claims)
}
