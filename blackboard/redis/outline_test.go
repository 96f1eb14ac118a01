package redis

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
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
		goal, err := w.b.Records.Artefact(w.ctx, goalID)
		must(t, err)
		broken := w.goal()
		w.raw("HSET", w.b.c.Keys.Artifact(broken.ID), "version", "one")

		ids := slices.Concat(slices.Repeat([]string{goalID}, store.Page), []string{x.ID, broken.ID, newID(), "no id"})
		all, each, err := w.b.Records.Outlines(w.ctx, ids)
		must(t, err)
		for i := range store.Page {
			must(t, each[i])
			got := all[i].Artefact
			got.Payload = goal.Payload
			if !reflect.DeepEqual(got, goal) || all[i].PayloadSize != len(goal.Payload) || all[i].Payload != "" {
				t.Fatalf("outline %d is %+v, want %+v", i, all[i], goal)
			}
		}
		must(t, each[store.Page])
		wantError(t, "corrupt", each[store.Page+1], blackboard.ErrCorrupt)
		wantError(t, "missing", each[store.Page+2], blackboard.ErrNotFound)
		wantError(t, "missing", each[store.Page+3], blackboard.ErrNotFound)

		must(t, w.b.Records.ReadPayloads(w.ctx, []*blackboard.Outline{&all[0], &all[store.Page], &all[store.Page+2]}, 999))
		if all[0].Payload != goal.Payload || all[store.Page].Payload != "" || all[store.Page].PayloadSize != 1000 {
			t.Errorf("payloads %q and %d of %d bytes", all[0].Payload, len(all[store.Page].Payload), all[store.Page].PayloadSize)
		}
		must(t, w.b.Records.ReadPayloads(w.ctx, []*blackboard.Outline{&all[store.Page]}, 1000))
		if all[store.Page].Payload != long {
			t.Errorf("%d bytes of payload", len(all[store.Page].Payload))
		}
		texts, each, err := w.b.Records.OutlinesWithTexts(w.ctx, ids, 999)
		must(t, err)
		if texts[0].Payload != goal.Payload || texts[store.Page].Payload != "" || texts[store.Page].PayloadSize != 1000 || each[store.Page+1] == nil || each[store.Page+2] == nil {
			t.Errorf("with texts: %+v, %+v, %v", texts[0], texts[store.Page], each[store.Page:])
		}
		in, err := w.b.Index.WorkflowArtefacts(w.ctx, goalID)
		must(t, err)
		wantList(t, "artefacts of the workflow", in, goalID, x.ID)
		versions, err := w.b.Index.Versions(w.ctx, x.ID) // of the first version, the id names the thread
		must(t, err)
		wantList(t, "versions", versions, x.ID)
	})
}

func TestSnapshots(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim, broken := w.granted(blackboard.PhaseExclusive, "a"), w.granted(blackboard.PhaseExclusive, "a")
		want := w.snapshot(claim)
		w.raw("HSET", w.b.c.Keys.Claim(broken), "grant:a", "{")
		all, each, err := w.b.Records.Snapshots(w.ctx, slices.Concat(slices.Repeat([]string{claim}, store.Page), []string{broken, newID()}))
		must(t, err)
		for i := range store.Page {
			must(t, each[i])
			if !reflect.DeepEqual(all[i], want) {
				t.Fatalf("snapshot %d is %+v, want %+v", i, all[i], want)
			}
		}
		wantError(t, "corrupt", each[store.Page], blackboard.ErrCorrupt)
		wantError(t, "missing", each[store.Page+1], blackboard.ErrNotFound)
	})
}
