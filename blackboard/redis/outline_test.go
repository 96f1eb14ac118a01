package redis

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
)

// What is read of many artefacts and claims at once is what is read of each, the
// payloads aside; one that is missing or corrupt does not keep the others away.
func TestOutlines(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		long := strings.Repeat("x", 1000)
		x := w.finish(claim, "a", blackboard.Standard, "X", long)
		goalID := w.snapshot(claim).Claim.WorkflowID
		goal, err := w.b.Artefact(w.ctx, goalID)
		must(t, err)
		broken := w.goal()
		w.raw("HSET", w.b.keys.artifact(broken.ID), "version", "one")

		ids := slices.Concat(slices.Repeat([]string{goalID}, page), []string{x.ID, broken.ID, newID(), "no id"})
		all, each, err := w.b.Outlines(w.ctx, ids)
		must(t, err)
		for i := range page {
			must(t, each[i])
			got := all[i].Artefact
			got.Payload = goal.Payload
			if !reflect.DeepEqual(got, goal) || all[i].PayloadSize != len(goal.Payload) || all[i].Payload != "" {
				t.Fatalf("outline %d is %+v, want %+v", i, all[i], goal)
			}
		}
		must(t, each[page])
		wantError(t, "corrupt", each[page+1], blackboard.ErrCorrupt)
		wantError(t, "missing", each[page+2], blackboard.ErrNotFound)
		wantError(t, "missing", each[page+3], blackboard.ErrNotFound)

		must(t, w.b.ReadPayloads(w.ctx, []*Outline{&all[0], &all[page], &all[page+2]}, 999))
		if all[0].Payload != goal.Payload || all[page].Payload != "" || all[page].PayloadSize != 1000 {
			t.Errorf("payloads %q and %d of %d bytes", all[0].Payload, len(all[page].Payload), all[page].PayloadSize)
		}
		must(t, w.b.ReadPayloads(w.ctx, []*Outline{&all[page]}, 1000))
		if all[page].Payload != long {
			t.Errorf("%d bytes of payload", len(all[page].Payload))
		}
		texts, each, err := w.b.OutlinesWithTexts(w.ctx, ids, 999)
		must(t, err)
		if texts[0].Payload != goal.Payload || texts[page].Payload != "" || texts[page].PayloadSize != 1000 || each[page+1] == nil || each[page+2] == nil {
			t.Errorf("with texts: %+v, %+v, %v", texts[0], texts[page], each[page:])
		}
		in, err := w.b.WorkflowArtefacts(w.ctx, goalID)
		must(t, err)
		wantList(t, "artefacts of the workflow", in, goalID, x.ID)
		versions, err := w.b.Versions(w.ctx, x.ID) // of the first version, the id names the thread
		must(t, err)
		wantList(t, "versions", versions, x.ID)
	})
}

func TestSnapshots(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim, broken := w.granted(blackboard.PhaseExclusive, "a"), w.granted(blackboard.PhaseExclusive, "a")
		want := w.snapshot(claim)
		w.raw("HSET", w.b.keys.grants(broken), "a", "{")
		all, each, err := w.b.Snapshots(w.ctx, slices.Concat(slices.Repeat([]string{claim}, page), []string{broken, newID()}))
		must(t, err)
		for i := range page {
			must(t, each[i])
			if !reflect.DeepEqual(all[i], want) {
				t.Fatalf("snapshot %d is %+v, want %+v", i, all[i], want)
			}
		}
		wantError(t, "corrupt", each[page], blackboard.ErrCorrupt)
		wantError(t, "missing", each[page+1], blackboard.ErrNotFound)
	})
}
