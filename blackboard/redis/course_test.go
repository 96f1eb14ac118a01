package redis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
)

// enact puts settings in force by which a, b and c bid by table, or d, too, by itself.
func (w *world) enact(settings string) {
	w.Helper()
	must(w, w.b.Leader.Enact(w.ctx, w.epoch, nil, settings))
}

// opens puts on the board how claims on goals are opened.
func (w *world) opens(settings string, c blackboard.OpeningCourse) {
	w.Helper()
	c.Type, c.Bidders = blackboard.TypeGoalDefined, slices.Clone(c.Due)
	for _, b := range c.Bids {
		c.Bidders = append(c.Bidders, b.Agent)
	}
	_, err := w.b.Leader.PutOpeningCourse(w.ctx, w.epoch, settings, c)
	must(w, err)
}

// table makes bids of a table: "a=review …".
func table(bids string) (all []blackboard.TableBid) {
	for _, b := range strings.Fields(bids) {
		agent, bid, _ := strings.Cut(b, "=")
		all = append(all, blackboard.TableBid{Bid: blackboard.Bid{Agent: agent, Type: blackboard.BidType(bid)}, Rule: "*: " + bid, Line: 7})
	}
	return all
}

// told writes the events since a moment as lines, for comparison.
func told(es []blackboard.Event, claim string) (lines []string) {
	for _, e := range es {
		if e.Claim == claim && (e.Kind == blackboard.EventGrant || e.Kind == blackboard.EventComplete || e.Kind == blackboard.EventOpen || e.Kind == blackboard.EventBid) {
			line := fmt.Sprintf("%s %s %s", e.Kind, e.Agent, e.To)
			if e.Kind == blackboard.EventBid {
				line += " by " + e.Attributes[blackboard.AttributeRule] + " in " + e.Attributes[blackboard.AttributeLine]
			}
			if e.Attributes["decided_by"] != "" {
				line += " by " + e.Attributes["decided_by"]
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// A claim on the board's course needs nobody between its goal and its end: all bids are
// in, and each phase is granted by the script that ends the one before.
func TestCourseIsFollowed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		w.enact("s1")
		w.opens("s1", blackboard.OpeningCourse{Bids: table("a=review b=claim c=exclusive d=ignore"), Steps: "review:a;parallel:b;exclusive:c"})
		revision := w.raw("HGET", w.b.c.Keys.Courses(), "revision")[0]
		notices := w.listen("a", "b", "c")
		g := w.goal()
		claim := blackboard.BiddingClaimID(g.ID)
		if n := w.next(notices); n != "a "+claim {
			t.Errorf("notice %q", n)
		}
		w.finish(claim, "a", blackboard.Review, "Review", "{}")
		if s := w.snapshot(claim); s.Claim.Status != blackboard.PendingParallel || !slices.Equal(s.Claim.GrantedParallelAgents, []string{"b"}) {
			t.Errorf("after the review: %+v", s)
		}
		w.finish(claim, "b", blackboard.Standard, "Notes", "n")
		w.finish(claim, "c", blackboard.Terminal, "Done", "x")
		c := w.snapshot(claim)
		if c.Claim.Status != blackboard.Complete || c.Claim.ClosedAt.IsZero() || c.Claim.GrantedExclusiveAgent != "c" || len(c.Bids) != 4 || c.Bids[3].Agent != "d" {
			t.Errorf("at the end: %+v", c)
		}
		by := " by course, revision " + revision
		wantList(t, "ledger", told(w.events(), claim), "open  pending_review"+by, "bid a review by *: review in 7", "bid b claim by *: claim in 7",
			"bid c exclusive by *: exclusive in 7", "bid d ignore by *: ignore in 7",
			"grant a pending_review"+by, "grant b pending_parallel"+by, "grant c pending_exclusive"+by, "complete  complete"+by)
		work, err := w.b.Index.OpenWork(w.ctx)
		must(t, err)
		if len(work.Claims) != 0 || len(work.Unclaimed) != 1 { // b's notes, of which there is no course
			t.Errorf("open work %+v", work)
		}
		if f := w.workflow(g.ID); f.Outstanding != 1 || f.Terminals != 1 {
			t.Errorf("workflow %+v", f)
		}
	})
}

// The last of the agents that bid themselves sets a claim on the course of its bids.
func TestCourseOfBids(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		w.enact("s1")
		w.opens("s1", blackboard.OpeningCourse{Bids: table("a=review"), Due: []string{"c", "b"}})
		_, err := w.b.Leader.PutBidsCourse(w.ctx, w.epoch, "s1", blackboard.BidsCourse{Steps: "review:a;exclusive:b",
			Bids: []blackboard.Bid{{Agent: "a", Type: blackboard.BidReview}, {Agent: "b", Type: blackboard.BidExclusive}, {Agent: "c", Type: blackboard.BidIgnore}}})
		must(t, err)
		claim := blackboard.BiddingClaimID(w.goal().ID)
		other := blackboard.BiddingClaimID(w.goal().ID)
		for _, agent := range []string{"b", "c"} {
			work, err := w.b.Index.OpenAgentWork(w.ctx, agent)
			must(t, err)
			wantList(t, "due of "+agent, work.Due, claim, other)
		}
		must(t, w.bid(claim, "b", blackboard.BidExclusive))
		must(t, w.bid(claim, "c", blackboard.BidIgnore))
		w.finish(claim, "a", blackboard.Review, "Review", "[]")
		w.finish(claim, "b", blackboard.Terminal, "Done", "x")
		if s := w.snapshot(claim); s.Claim.Status != blackboard.Complete {
			t.Errorf("%+v", s)
		}
		must(t, w.bid(other, "c", blackboard.BidIgnore)) // in another order
		must(t, w.bid(other, "b", blackboard.BidExclusive))
		if s := w.snapshot(other); len(s.Grants) != 0 || s.Claim.Status != blackboard.PendingReview {
			t.Errorf("unknown bids: %+v", s)
		}
	})
}

// Bids of a course that ignore are no fields; whoever reads the claim is given them, and so are a retry and an
// export, in their order.
func TestCourseIgnores(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		w.enact("s1")
		bids := func(claim string) (all []string) {
			for _, b := range w.snapshot(claim).Bids {
				all = append(all, b.Agent+"="+string(b.Type))
			}
			return all
		}
		w.opens("s1", blackboard.OpeningCourse{Bids: table("z=claim b=ignore a=ignore"), Steps: "parallel:z"})
		claim := blackboard.BiddingClaimID(w.goal().ID)
		wantList(t, "bids of all", bids(claim), "z=claim", "b=ignore", "a=ignore")
		wantList(t, "fields of all", w.raw("HGETALL", w.b.c.Keys.Bids(claim)), "z", "claim")
		w.finish(claim, "z", blackboard.Failure, "ToolExecutionFailure", "{}")
		must(t, w.b.Leader.TerminateClaim(w.ctx, w.guard(claim), "failed", nil, nil))
		again := newID()
		must(t, w.b.People.Retry(w.ctx, claim, again, "ann", ""))
		wantList(t, "bids of the retry", bids(again), "z=claim", "b=ignore", "a=ignore")

		w.opens("s1", blackboard.OpeningCourse{Bids: table("b=ignore a=review"), Due: []string{"d", "c"}})
		claim = blackboard.BiddingClaimID(w.goal().ID)
		wantList(t, "bids so far", bids(claim), "b=ignore", "a=review")
		w.refuses("another bid of the course's", blackboard.ErrRefused, func() error { return w.bid(claim, "b", blackboard.BidExclusive) })
		must(t, w.bid(claim, "d", blackboard.BidExclusive))
		must(t, w.b.Leader.RecordIgnores(w.ctx, w.guard(claim), []string{"c"}, "silent"))
		wantList(t, "bids in the end", bids(claim), "b=ignore", "a=review", "d=exclusive", "c=ignore")
		w.opens("s1", blackboard.OpeningCourse{Bids: table("b=ignore a=ignore"), Steps: ""})
		nobody := blackboard.BiddingClaimID(w.goal().ID)
		wantList(t, "bids of nobody", bids(nobody), "b=ignore", "a=ignore")
		if n := w.raw("EXISTS", w.b.c.Keys.Bids(nobody))[0]; n != "0" {
			t.Error("bids that ignore are fields")
		}
		lines := w.export("")
		to := fresh(t, otherKind(t))
		_, err := to.imports(lines)
		must(t, err)
		for _, id := range []string{again, claim, nobody} {
			if got, want := to.snapshot(id).Bids, w.snapshot(id).Bids; !slices.Equal(got, want) {
				t.Errorf("imported bids %v, want %v", got, want)
			}
		}
	})
}

// A claim leaves its course for the orchestrator at everything that is out of the
// ordinary, and at every change of leader or settings.
func TestCourseIsLeft(t *testing.T) {
	stays := func(t *testing.T, w *world, claim string, want blackboard.ClaimStatus) {
		t.Helper()
		if s := w.snapshot(claim); s.Claim.Status != want {
			t.Errorf("the claim is %s, want %s", s.Claim.Status, want)
		}
		if slices.Contains(kinds(w.events()), "complete") {
			t.Error("a claim was completed")
		}
	}
	onBoth(t, func(t *testing.T, s *server) {
		for name, leave := range map[string]func(t *testing.T, w *world, claim string){
			"feedback": func(t *testing.T, w *world, claim string) {
				w.finish(claim, "a", blackboard.Review, "Review", "no")
				stays(t, w, claim, blackboard.PendingReview)
			},
			"failure": func(t *testing.T, w *world, claim string) {
				w.finish(claim, "a", blackboard.Failure, "F", "x")
				stays(t, w, claim, blackboard.PendingReview)
			},
			"question": func(t *testing.T, w *world, claim string) {
				w.finish(claim, "a", blackboard.Question, "Question", "?")
				stays(t, w, claim, blackboard.PendingReview)
			},
			"person": func(t *testing.T, w *world, claim string) {
				must(t, w.b.People.Review(w.ctx, claim, blackboard.Artefact{ID: newID(), StructuralType: blackboard.Review, Type: "Review", Payload: "{}",
					ProducedByRole: blackboard.RoleHuman, ClaimID: claim, WorkflowID: w.snapshot(claim).Claim.WorkflowID}, "ann"))
				w.finish(claim, "a", blackboard.Review, "Review", "{}")
				stays(t, w, claim, blackboard.PendingReview)
			},
			"settings": func(t *testing.T, w *world, claim string) {
				w.enact("s2")
				w.finish(claim, "a", blackboard.Review, "Review", "{}")
				stays(t, w, claim, blackboard.PendingReview)
				w.opensNothing(t)
			},
			"settings and back": func(t *testing.T, w *world, claim string) {
				w.enact("s2")
				w.enact("s1")
				w.finish(claim, "a", blackboard.Review, "Review", "{}")
				stays(t, w, claim, blackboard.PendingReview)
			},
			"leader": func(t *testing.T, w *world, claim string) {
				must(t, w.b.Leader.RenewLead(w.ctx, blackboard.Lead{Holder: "test", Epoch: w.epoch}, 0))
				lead, _, err := w.b.Leader.TakeLead(w.ctx, "other", "", 1e9)
				must(t, err)
				w.finish(claim, "a", blackboard.Review, "Review", "{}")
				stays(t, w, claim, blackboard.PendingReview)
				w.opensNothing(t)
				_, err = w.b.Leader.PutBidsCourse(w.ctx, w.epoch, "s1", blackboard.BidsCourse{})
				wantError(t, "the old leader", err, blackboard.ErrStale)
				_, err = w.b.Leader.PutBidsCourse(w.ctx, lead.Epoch, "s1", blackboard.BidsCourse{})
				wantError(t, "the new one before its settings are in force", err, blackboard.ErrRefused)
			},
			"worker": func(t *testing.T, w *world, _ string) {
				w.opens("s1", blackboard.OpeningCourse{Bids: table("a=review b=claim c=claim d=exclusive"), Steps: "review:a;parallel:b,+c;exclusive:d"})
				claim := blackboard.BiddingClaimID(w.goal().ID)
				w.finish(claim, "a", blackboard.Review, "Review", "{}")
				stays(t, w, claim, blackboard.PendingReview)
				w.grant(claim, blackboard.PhaseParallel, "b", "c")
				w.finish(claim, "b", blackboard.Standard, "Notes", "n")
				w.finish(claim, "c", blackboard.Standard, "Notes", "n")
				stays(t, w, claim, blackboard.PendingExclusive) // back on its course
			},
			"miscounted": func(t *testing.T, w *world, claim string) {
				w.finish(claim, "a", blackboard.Review, "Review", "{}")
				w.raw("HSET", w.b.c.Keys.Workflow(w.snapshot(claim).Claim.WorkflowID), "outstanding", "0")
				w.finish(claim, "c", blackboard.Terminal, "Done", "x")
				stays(t, w, claim, blackboard.PendingExclusive)
			},
			"nobody else": func(t *testing.T, w *world, claim string) { // the others' leave it where it is
				w.opens("s1", blackboard.OpeningCourse{Bids: table("a=ignore")})
				id := w.goal().ID
				if s := w.snapshot(blackboard.BiddingClaimID(id)); s.Claim.Status != blackboard.Complete || s.Claim.Reason != "no agent bid on it" {
					t.Errorf("%+v", s)
				}
				if f := w.workflow(id); f.Status != blackboard.WorkflowStalled || f.Outstanding != 0 {
					t.Errorf("%+v", f)
				}
			},
			"limit": func(t *testing.T, w *world, claim string) {
				w.opens("s1", blackboard.OpeningCourse{MaxArtefacts: 1, Bids: table("a=ignore")})
				w.goal()
				_, err := w.b.Leader.PutOpeningCourse(w.ctx, w.epoch, "s1", blackboard.OpeningCourse{Type: "Code", Agent: "c", MaxArtefacts: 1, Bidders: []string{"a"}, Bids: table("a=ignore")})
				must(t, err)
				w.finish(claim, "a", blackboard.Review, "Review", "{}") // which does not count
				w.finish(claim, "c", blackboard.Standard, "Code", "x")
				work, err := w.b.Index.OpenWork(w.ctx)
				must(t, err)
				if len(work.Unclaimed) != 1 {
					t.Errorf("open work %+v", work)
				}
			},
		} {
			t.Run(name, func(t *testing.T) {
				w := newWorld(t, s)
				w.raw("FLUSHALL")
				w = newWorld(t, s)
				w.enact("s1")
				w.opens("s1", blackboard.OpeningCourse{Bids: table("a=review c=exclusive"), Steps: "review:a;exclusive:c"})
				leave(t, w, blackboard.BiddingClaimID(w.goal().ID))
			})
		}
	})
}

// opensNothing holds that the board has no courses.
func (w *world) opensNothing(t *testing.T) {
	t.Helper()
	w.goal()
	work, err := w.b.Index.OpenWork(w.ctx)
	must(t, err)
	if len(work.Unclaimed) != 1 {
		t.Errorf("open work %+v, want an artefact without a claim", work)
	}
}

// A gate holds an artefact whatever its course, and there is room for so many courses.
func TestCourseBounds(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		must(t, w.b.Leader.Enact(w.ctx, w.epoch, []string{"Goal*"}, "s1"))
		w.opens("s1", blackboard.OpeningCourse{Bids: table("a=exclusive"), Steps: "exclusive:a"})
		g := w.goal()
		w.openGates(g.ID)
		if n := w.raw("EXISTS", w.b.c.Keys.Claim(blackboard.BiddingClaimID(g.ID)))[0]; n != "0" {
			t.Error("a held artefact has a claim")
		}
		full := []string{w.b.c.Keys.Courses()}
		for i := range blackboard.MaxCourses - 1 {
			full = append(full, fmt.Sprint("B x", i), "")
		}
		w.raw("HSET", full...)
		cleared, err := w.b.Leader.PutBidsCourse(w.ctx, w.epoch, "s1", blackboard.BidsCourse{Steps: "x"})
		must(t, err)
		if n := w.raw("HLEN", w.b.c.Keys.Courses())[0]; !cleared || n != "3" {
			t.Errorf("cleared %v, %s fields", cleared, n)
		}
	})
}
