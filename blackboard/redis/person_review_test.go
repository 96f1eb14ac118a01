package redis

import (
	"encoding/json"
	"strings"
	"testing"

	"sett/blackboard"
)

// A goal can be cancelled that has a claim whose record is corrupt, which nobody
// else ends; and so can the claim.
func TestCancelCorruptClaim(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		for _, broken := range [][]string{
			{"grant:a", "{"}, {"grant:a", `[]`}, {"grant:a", `"x"`}, {"grant:a", "parallel"}, {"times:a", "now"}, {"expected_bidders", "{"}, {"expected_bidders", "7"},
			{"revision", "many"}, {"revision", ""}, {"status", "odd"},
		} {
			for _, what := range []string{"goal", "claim"} {
				w := newWorld(t, s)
				claim := w.granted(blackboard.PhaseParallel, "a", "b")
				goalID := w.snapshot(claim).Claim.WorkflowID
				w.raw("HSET", w.b.c.Keys.Claim(claim), broken[0], broken[1])
				f := cancelled(goalID, "", goalID)
				var err error
				if what == "goal" {
					err = w.b.People.CancelWorkflow(w.ctx, goalID, f, "ann", "enough")
				} else {
					f.ClaimID = claim
					err = w.b.People.CancelClaim(w.ctx, claim, f, "ann", "enough")
				}
				wf := w.workflow(goalID)
				if err != nil || wf.Status != blackboard.WorkflowFailed || wf.Outstanding != 0 || wf.Failures != 1 {
					t.Errorf("%s with %v: %v, workflow %+v", what, broken, err, wf)
				}
				if g, err := w.b.Records.Grant(w.ctx, claim, "b"); err != nil || g.State != blackboard.GrantCancelled {
					t.Errorf("%s with %v: grant %+v %v", what, broken, g, err)
				}
			}
		}
	})
}

// A bid on a claim that does not say whose bids it expects is refused, by any server.
func TestBidOnCorruptClaim(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		for _, broken := range []string{"{", "7", ""} {
			claim := w.open(w.goal().ID, "a")
			w.raw("HSET", w.b.c.Keys.Claim(claim), "expected_bidders", broken)
			w.refuses("a bid", blackboard.ErrRefused, func() error { return w.bid(claim, "a", blackboard.BidIgnore) })
		}
	})
}

// Whatever a person is called, what they do can be read again and is theirs alone.
func TestOddNames(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		w.gates("Held")
		for _, by := range []string{"", " ", "human:", `"}],{\`, "a=b,c:d e", "\x1b[31m\x00\u202e", strings.Repeat("n", 300), "Jürgen ☃"} {
			metadata, err := json.Marshal(map[string]string{"by": by, "request": newID()})
			must(t, err)
			says := func(st blackboard.StructuralType, about, claim, goal, payload string) blackboard.Artefact {
				a := word(st, about, claim, goal, payload, "")
				a.Metadata = metadata
				return a
			}
			claim := w.granted(blackboard.PhaseParallel, "a")
			goalID := w.snapshot(claim).Claim.WorkflowID
			held := w.finish(claim, "a", blackboard.Standard, "Held", "x")
			review := says(blackboard.Review, held.ID, "", goalID, "no")
			var rejected string
			w.twice("reject", func() (err error) {
				rejected, err = w.b.People.Reject(w.ctx, held.ID, review, by)
				return err
			})
			w.refuses("approving after it", blackboard.ErrRefused, func() error {
				err := w.b.People.Approve(w.ctx, held.ID, word(blackboard.Review, held.ID, "", goalID, "{}", "bob"), "bob")
				if err == nil || !strings.Contains(err.Error(), "rejected by "+by) {
					t.Errorf("it does not say who rejected: %v", err)
				}
				return err
			})
			reviewed := w.open(w.goal().ID, "a")
			must(t, w.b.People.Review(w.ctx, reviewed, says(blackboard.Review, goalID, reviewed, goalID, "{}"), by))
			for _, c := range []string{rejected, reviewed} {
				if g := w.grantOf(c, blackboard.HumanAgent(by)); g.State != blackboard.GrantDone || !blackboard.IsHuman(g.Agent) {
					t.Errorf("%q: grant %+v", by, g)
				}
			}
			failure := says(blackboard.Failure, goalID, rejected, goalID, "{}")
			must(t, w.b.People.CancelClaim(w.ctx, rejected, failure, by, by))
			if e := w.lastEvent(); e.Attributes["by"] != by || w.snapshot(rejected).Claim.Reason != "cancelled by "+by+": "+by {
				t.Errorf("%q: ledger %+v", by, e)
			}
		}
	})
}
