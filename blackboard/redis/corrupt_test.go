package redis

import (
	"strings"
	"testing"

	"sett/blackboard"
)

// A record with a field that is missing or broken is corrupt, and the error names
// the field.
func TestCorruptRecords(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		x := w.finish(claim, "a", blackboard.Standard, "X", "")
		must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(claim), ""))
		ended := w.granted(blackboard.PhaseExclusive, "a")
		must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(ended), ""))
		goalID := w.snapshot(ended).Claim.WorkflowID
		for _, rec := range []struct {
			key, optional string
			read          func() error
			broken        map[string]string // values that no field of this name can have
		}{
			{w.b.c.Keys.Artifact(x.ID), "logical_id version structural_type source_artefacts produced_by_role produced_by_agent claim_id summary metadata", func() error { _, err := w.b.Records.Artefact(w.ctx, x.ID); return err }, map[string]string{
				"version": "one", "structural_type": "Nothing", "source_artefacts": "[1]", "metadata": "{", "created_at": "today",
			}},
			{w.b.c.Keys.Claim(claim), "course granted_review_agents granted_parallel_agents granted_exclusive_agent origin additional_context_ids reason " +
				"target_logical_id target_version target_agent target_role grant:a times:a holder:a more:a bid_order", func() error { _, err := w.b.Records.Claims(w.ctx, []string{claim}); return err }, map[string]string{
				"granted_review_agents": "{}", "granted_parallel_agents": "x", "expected_bidders": `"a"`, "additional_context_ids": "[{}]",
				"revision": "", "opened_at": "1.5", "closed_at": "x", "target_version": "v1",
			}},
			{w.b.c.Keys.Workflow(goalID), "by outstanding failures terminals questions suspended terminal_id failure_id",
				func() error { _, err := w.b.Records.Workflow(w.ctx, goalID); return err }, map[string]string{
					"outstanding": "x", "failures": "x", "terminals": "1.5", "questions": "-", "suspended": "x", "created_at": "x", "ended_at": "x",
				}},
		} {
			must(t, rec.read())
			all := w.raw("HGETALL", rec.key)
			check := func(field, how string) {
				t.Helper()
				err := rec.read()
				wantError(t, field+" "+how, err, blackboard.ErrCorrupt)
				if err != nil && !strings.Contains(err.Error(), "field "+field+":") {
					t.Errorf("%s %s: the field is not named: %v", field, how, err)
				}
			}
			for i := 0; i < len(all); i += 2 {
				field, value := all[i], all[i+1]
				if !strings.Contains(rec.optional, field) {
					w.raw("HDEL", rec.key, field)
					check(field, "missing")
				}
				if broken, ok := rec.broken[field]; ok {
					w.raw("HSET", rec.key, field, broken)
					check(field, "broken")
					delete(rec.broken, field)
				}
				w.raw("HSET", rec.key, field, value)
			}
			for field, broken := range rec.broken {
				w.raw("HSET", rec.key, field, broken)
				check(field, "broken")
				w.raw("HDEL", rec.key, field)
			}
			must(t, rec.read())
		}
	})
}

// A grant that is no JSON, or has broken times, is corrupt.
func TestCorruptGrant(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		for _, broken := range []string{"", "{", "[]", "exclusive queued", "exclusive queued 0", "queued 1", `{"phase":"review","attempt":1,"state":"queued","queued_at":"now"}`,
			`{"phase":"review","attempt":"1","state":"queued","queued_at":"1"}`} {
			w.raw("HSET", w.b.c.Keys.Claim(claim), "grant:a", broken)
			_, err := w.b.Records.Grant(w.ctx, claim, "a")
			wantError(t, "grant "+broken, err, blackboard.ErrCorrupt)
			_, err = w.b.Records.Snapshot(w.ctx, claim)
			wantError(t, "snapshot with "+broken, err, blackboard.ErrCorrupt)
		}
	})
}

// One corrupt claim does not hide the others from those who can go on without it.
func TestTryClaims(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		good, bad, gone := w.open(w.goal().ID, "a"), w.open(w.goal().ID, "a"), newID()
		w.raw("HDEL", w.b.c.Keys.Claim(bad), "status")
		all, each, err := w.b.Records.TryClaims(w.ctx, []string{bad, good, gone})
		must(t, err)
		wantError(t, "the corrupt one", each[0], blackboard.ErrCorrupt)
		wantError(t, "the missing one", each[2], blackboard.ErrNotFound)
		if each[1] != nil || all[1].ID != good {
			t.Errorf("the good one: %+v %v", all[1], each[1])
		}
		_, err = w.b.Records.Claims(w.ctx, []string{good, bad})
		wantError(t, "all or nothing", err, blackboard.ErrCorrupt)
		for what, err := range map[string]error{
			"artefact": func() error { _, err := w.b.Records.Artefact(w.ctx, gone); return err }(),
			"workflow": func() error { _, err := w.b.Records.Workflow(w.ctx, gone); return err }(),
			"snapshot": func() error { _, err := w.b.Records.Snapshot(w.ctx, gone); return err }(),
		} {
			wantError(t, what, err, blackboard.ErrNotFound)
		}
		none, err := w.b.Records.Artefacts(w.ctx, nil)
		if err != nil || len(none) != 0 {
			t.Errorf("no artefacts: %v %v", none, err)
		}
	})
}

// Bids whose order was lost are still bids; the index of running grants survives nonsense.
func TestOddRecords(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.open(w.goal().ID, "c", "b", "a")
		for _, agent := range []string{"c", "b", "a"} {
			must(t, w.bid(claim, agent, blackboard.BidReview))
		}
		w.raw("HSET", w.b.c.Keys.Claim(claim), "bid_order", "c c stranger")
		var order []string
		for _, b := range w.snapshot(claim).Bids {
			order = append(order, b.Agent)
		}
		wantList(t, "bids", order, "c", "a", "b")
		w.raw("HSET", w.b.c.Keys.Running(), "x", "nonsense")
		w.raw("HSET", w.b.c.Keys.Workspace(), "hold:x", "nonsense")
		wantList(t, "running", w.running())
	})
}

// A list goes on without what is missing or corrupt when somebody wants to be told
// of it, and fails when nobody does.
func TestListWithoutBroken(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		first, gone, corrupt, last := w.goal().ID, w.goal().ID, w.goal().ID, w.goal().ID
		w.raw("DEL", w.b.c.Keys.Artifact(gone))
		w.raw("HDEL", w.b.c.Keys.Artifact(corrupt), "created_at")
		w.raw("HDEL", w.b.c.Keys.Workflow(corrupt), "created_at")
		for _, limit := range []int{0, 1, 3} { // with 1 what is broken fills whole pages
			var told []error
			f := blackboard.Filter{Limit: limit, Broken: func(err error) { told = append(told, err) }}
			all, err := w.b.Records.ListArtefacts(w.ctx, f)
			must(t, err)
			outlines, err := w.b.Records.ListOutlines(w.ctx, f)
			must(t, err)
			if len(all) != len(outlines) || len(all) == 0 || all[len(all)-1].ID != last {
				t.Errorf("limit %d: %d artefacts, %d outlines", limit, len(all), len(outlines))
			}
			if limit != 1 && (len(all) != 2 || all[0].ID != first || len(told) != 4) {
				t.Errorf("limit %d: %v, told of %v", limit, all, told)
			}
		}
		_, err := w.b.Records.ListArtefacts(w.ctx, blackboard.Filter{})
		wantError(t, "artefacts, nobody told", err, blackboard.ErrNotFound)
		_, err = w.b.Records.ListOutlines(w.ctx, blackboard.Filter{})
		wantError(t, "outlines, nobody told", err, blackboard.ErrCorrupt)
		goals, each, err := w.b.Records.TryWorkflows(w.ctx, []string{first, corrupt, newID()})
		must(t, err)
		wantError(t, "corrupt goal", each[1], blackboard.ErrCorrupt)
		wantError(t, "missing goal", each[2], blackboard.ErrNotFound)
		if each[0] != nil || goals[0].ID != first {
			t.Errorf("the good goal: %+v, %v", goals[0], each[0])
		}
	})
}
