package redis

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

func ids(all []blackboard.Artefact) []string {
	out := make([]string, len(all))
	for i, a := range all {
		out[i] = a.ID
	}
	return out
}

// Artefacts are listed by what is asked for, newest last.
func TestListArtefacts(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseParallel, "a", "b")
		g := w.snapshot(claim).Claim.WorkflowID
		x := w.finish(claim, "a", blackboard.Standard, "X", "").ID
		y := w.finish(claim, "b", blackboard.Standard, "Y", "").ID
		other := w.granted(blackboard.PhaseExclusive, "a")
		h := w.snapshot(other).Claim.WorkflowID
		z := w.finish(other, "a", blackboard.Standard, "X", "").ID
		at, err := w.b.Records.Artefact(w.ctx, y)
		must(t, err)
		for name, tc := range map[string]struct {
			f    blackboard.Filter
			want []string
		}{
			"all":             {blackboard.Filter{}, []string{g, x, y, h, z}},
			"limit":           {blackboard.Filter{Limit: 2}, []string{h, z}},
			"large limit":     {blackboard.Filter{Limit: 1000}, []string{g, x, y, h, z}},
			"type":            {blackboard.Filter{Type: "X"}, []string{x, z}},
			"agent":           {blackboard.Filter{Agent: "a"}, []string{x, z}},
			"workflow":        {blackboard.Filter{Workflow: g}, []string{g, x, y}},
			"workflow, agent": {blackboard.Filter{Workflow: g, Agent: "a"}, []string{x}},
			"agent, type":     {blackboard.Filter{Agent: "a", Type: "Y"}, nil},
			"workflow, limit": {blackboard.Filter{Workflow: g, Type: "X", Limit: 1}, []string{x}},
			"since":           {blackboard.Filter{Since: at.CreatedAt}, []string{y, h, z}},
			"since, type":     {blackboard.Filter{Since: at.CreatedAt.Add(time.Microsecond), Type: "Y"}, nil},
			"future":          {blackboard.Filter{Since: time.Now().Add(time.Hour)}, nil},
			"nobody's":        {blackboard.Filter{Agent: "nobody"}, nil},
		} {
			all, err := w.b.Records.ListArtefacts(w.ctx, tc.f)
			must(t, err)
			wantList(t, name, ids(all), tc.want...)
		}
		for limit, want := range map[int][]string{0: {g, h}, 1: {h}, 5: {g, h}} {
			goals, err := w.b.Index.Goals(w.ctx, limit)
			must(t, err)
			wantList(t, fmt.Sprintf("%d goals", limit), goals, want...)
		}
		open, err := w.b.Index.OpenClaims(w.ctx)
		must(t, err)
		wantList(t, "open claims", open, claim, other)
		active, err := w.b.Index.ActiveCount(w.ctx)
		must(t, err)
		if active != 2 {
			t.Errorf("%d active workflows", active)
		}
	})
}

// A listing that has to compare reads on, Page by page, until it has enough.
func TestListPages(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		x := w.finish(claim, "a", blackboard.Standard, "X", "").ID
		goalID := w.snapshot(claim).Claim.WorkflowID
		fields := w.raw("HGETALL", w.b.c.Keys.Artifact(goalID))
		index := []string{w.b.c.Keys.ArtefactsByWorkflow(goalID)}
		for range store.Page + 10 { // newer than all that is there
			id := newID()
			w.raw("HSET", append([]string{w.b.c.Keys.Artifact(id)}, fields...)...)
			w.raw("HSET", w.b.c.Keys.Artifact(id), "id", id)
			index = append(index, id)
		}
		w.raw("RPUSH", index...)
		for _, limit := range []int{0, 1} {
			all, err := w.b.Records.ListArtefacts(w.ctx, blackboard.Filter{Workflow: goalID, Type: "X", Limit: limit})
			must(t, err)
			wantList(t, fmt.Sprintf("limit %d", limit), ids(all), x)
		}
		all, err := w.b.Records.ListArtefacts(w.ctx, blackboard.Filter{Workflow: goalID})
		must(t, err)
		if len(all) != store.Page+12 || all[0].ID != goalID {
			t.Errorf("%d artefacts, want %d", len(all), store.Page+12)
		}
	})
}

// Ids are found by their whole, their beginning and their ending, as people type
// them.
func TestResolve(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		g := goal("x")
		g.ID = blackboard.NewID(time.Now(), strings.NewReader("\x00\x44\x32\x14\xc7\x42\x54\xb6\x35\xcf"))
		g.WorkflowID = g.ID
		must(t, w.b.People.PostGoal(w.ctx, g, "ann"))
		claim := w.open(g.ID, "a")
		ending := blackboard.ShortID(g.ID)
		similar := strings.NewReplacer("1", "l", "0", "o")
		for part, want := range map[string]struct {
			id   string
			kind blackboard.Kind
		}{
			g.ID:                              {g.ID, blackboard.KindArtefact},
			claim:                             {claim, blackboard.KindClaim},
			ending:                            {g.ID, blackboard.KindArtefact},
			blackboard.ShortID(claim):         {claim, blackboard.KindClaim},
			strings.ToLower(ending):           {g.ID, blackboard.KindArtefact},
			similar.Replace(ending):           {g.ID, blackboard.KindArtefact},
			strings.ToLower(g.ID[:24]):        {g.ID, blackboard.KindArtefact},
			similar.Replace(g.ID):             {g.ID, blackboard.KindArtefact},
			claim[:25]:                        {claim, blackboard.KindClaim},
			ending[len(ending)-2:]:            {g.ID, blackboard.KindArtefact},
			ending[:5]:                        {g.ID, blackboard.KindArtefact},
			strings.ToLower(ending[:6]):       {g.ID, blackboard.KindArtefact},
			"   ":                             {},
			"":                                {},
			"u":                               {},
			"0123456789012345678901234567":    {},
			"ZZZZZZZZZZZZZZZZZZZZZZZZZZ":      {},
			"ZZZZ":                            {},
			"\xff\xfe":                        {},
			newID():                           {},
			strings.Repeat("7", 25):           {},
			blackboard.ShortID(newID()) + "Z": {},
		} {
			id, kind, err := w.b.Index.Resolve(w.ctx, part, blackboard.KindClaim, blackboard.KindArtefact)
			if want.id == "" {
				wantError(t, fmt.Sprintf("%q", part), err, blackboard.ErrNotFound)
				continue
			}
			if err != nil || id != want.id || kind != want.kind {
				t.Errorf("%q: got %s %s %v, want %s", part, kind, id, err, want.id)
			}
		}
		_, _, err := w.b.Index.Resolve(w.ctx, claim, blackboard.KindArtefact)
		wantError(t, "a claim where an artefact is wanted", err, blackboard.ErrNotFound)
		id, _, err := w.b.Index.Resolve(w.ctx, g.ID[:8], blackboard.KindClaim)
		if err != nil || id != claim {
			t.Errorf("a prefix that fits one of the kind: %s %v", id, err)
		}
	})
}

// A beginning finds its id also where ids that were derived from older ones stand
// between, whichever entry it is and whichever of them has lost its record.
func TestResolveBeginningAmongDerived(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		for kind, in := range map[blackboard.Kind]struct {
			index, time string
			record      func(string) string
		}{
			blackboard.KindArtefact: {w.b.c.Keys.Artefacts(), "created_at", w.b.c.Keys.Artifact},
			blackboard.KindClaim:    {w.b.c.Keys.Claims(), "opened_at", w.b.c.Keys.Claim},
		} {
			start := time.Now().Add(-24 * time.Hour)
			var all []string
			add := func(id string, minutes int) {
				at := strconv.FormatInt(start.Add(time.Duration(minutes)*time.Minute).UnixMicro(), 10)
				w.raw("HSET", in.record(id), "id", id, in.time, at)
				w.raw("RPUSH", in.index, id)
				all = append(all, id)
			}
			id := func(minutes int) string {
				return blackboard.NewID(start.Add(time.Duration(minutes)*time.Minute), rand.Reader)
			}
			add(id(0), 0)
			add(id(60), 60)
			add(blackboard.DerivedArtefactID(string(kind), all[0]), 120)
			add(id(130), 130)
			add(blackboard.DerivedArtefactID(string(kind), all[1]), 140)
			for lost := -1; lost < len(all); lost++ {
				if lost >= 0 {
					w.raw("RENAME", in.record(all[lost]), "away")
				}
				for i, want := range all {
					got, _, err := w.b.Index.Resolve(w.ctx, want[:16], kind)
					if i == lost {
						wantError(t, fmt.Sprintf("%s %d, which is lost", kind, i), err, blackboard.ErrNotFound)
					} else if err != nil || got != want {
						t.Errorf("%s %d without %d: got %s, want %s: %v", kind, i, lost, got, want, err)
					}
				}
				if lost >= 0 {
					w.raw("RENAME", "away", in.record(all[lost]))
				}
			}
		}
	})
}

// An abbreviation that fits several names them, ten at most.
func TestResolveAmbiguous(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		now := time.Now()
		var all []string
		for range 12 {
			g := goal("x")
			g.ID = blackboard.NewID(now, rand.Reader)
			g.ID = g.ID[:24] + "ZZ"
			g.WorkflowID = g.ID
			must(t, w.b.People.PostGoal(w.ctx, g, "ann"))
			all = append(all, g.ID)
		}
		for _, part := range []string{"ZZ", all[0][:10]} {
			_, _, err := w.b.Index.Resolve(w.ctx, part, blackboard.KindArtefact)
			wantError(t, part, err, blackboard.ErrAmbiguous)
			var several *blackboard.AmbiguousError
			if !errors.As(err, &several) || len(several.Candidates) != 10 || several.Part != part {
				t.Fatalf("%s: %+v", part, several)
			}
			for i, c := range several.Candidates {
				if !strings.Contains(err.Error(), c) || i > 0 && several.Candidates[i-1] >= c {
					t.Errorf("%s: candidate %s: %v", part, c, err)
				}
			}
		}
		id, _, err := w.b.Index.Resolve(w.ctx, all[3][14:], blackboard.KindArtefact)
		if err != nil || id != all[3] {
			t.Errorf("enough of the ending: %s %v", id, err)
		}
	})
}
