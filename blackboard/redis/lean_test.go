package redis

import (
	"fmt"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
)

// writes counts the calls of some commands since it was asked last.
func (w *world) writes(names ...string) (counts []string) {
	w.Helper()
	all := strings.Join(w.raw("INFO", "commandstats"), "\n")
	w.raw("CONFIG", "RESETSTAT")
	for _, name := range names {
		calls := 0
		if _, rest, found := strings.Cut(all, "cmdstat_"+name+":calls="); found {
			_, err := fmt.Sscan(strings.SplitN(rest, ",", 2)[0], &calls)
			must(w, err)
		}
		counts = append(counts, fmt.Sprintf("%s %d", name, calls))
	}
	return counts
}

// A script writes each record once, however many steps it takes with it.
func TestOneWritePerRecord(t *testing.T) {
	r := redistest.Start(t)
	w := newWorld(t, &server{r.URL, r.Kill, r.Restart})
	w.enact("s1")
	w.opens("s1", blackboard.OpeningCourse{Bids: table("b=claim c=ignore"), Steps: "parallel:b"})
	_, err := w.b.Leader.PutOpeningCourse(w.ctx, w.epoch, "s1", blackboard.OpeningCourse{Type: "Notes", Agent: "b",
		Bidders: []string{"b", "c"}, Bids: table("b=ignore c=ignore")})
	must(t, err)
	w.writes()
	g := w.goal()
	// Written are workflow, artefact, claim with its grant, and bids.
	wantList(t, "writes of the goal", w.writes("hset", "hincrby", "xadd"), "hset 4", "hincrby 0", "xadd 1")
	w.finish(blackboard.BiddingClaimID(g.ID), "b", blackboard.Standard, "Notes", "n")
	// The start writes the index of running grants and the grant's claim; the result its artefact, its claim, which
	// ends at once, then the claim with its grant, and workflow.
	wantList(t, "writes of the result", w.writes("hset", "hincrby", "xadd"), "hset 6", "hincrby 0", "xadd 2")
	flow := w.workflow(g.ID)
	if flow.Outstanding != 0 || flow.Status != blackboard.WorkflowStalled || flow.EndedAt.IsZero() || flow.Claims != 2 {
		t.Errorf("workflow %+v", flow)
	}
	open, err := w.b.Index.OpenClaims(w.ctx)
	must(t, err)
	wantList(t, "open claims", open)
}

// The ledger has no empty values: an absent one says the same.
func TestLedgerWithoutEmptyValues(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		w.enact("s1")
		w.opens("s1", blackboard.OpeningCourse{Bids: table("b=claim"), Steps: "parallel:b"})
		g := w.goal()
		w.finish(blackboard.BiddingClaimID(g.ID), "b", blackboard.Terminal, "Done", "x")
		entries, err := w.b.c.Entries(w.ctx, blackboard.Beginning, "+", 100)
		must(t, err)
		for _, e := range entries {
			for name, value := range e.FieldValues {
				if value == "" {
					t.Errorf("entry %s %s has an empty %s", e.ID, e.FieldValues["kind"], name)
				}
			}
		}
	})
}
