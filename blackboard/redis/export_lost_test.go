package redis

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
)

// What is left of a blackboard that lost some records, or has broken ones, is
// exported, with the names of those; and imported as it is.
func TestExportLost(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		for what, damage := range map[string]struct {
			do     func(w *world, goal, result, claim string) (key string)
			says   string
			counts ExportCounts // of what is lost
		}{
			"a goal gone":        {func(w *world, goal, _, _ string) string { return w.b.keys.artifact(goal) }, "not found", ExportCounts{Lost: 1}},
			"an artefact gone":   {func(w *world, _, result, _ string) string { return w.b.keys.artifact(result) }, "not found", ExportCounts{Lost: 1}},
			"a claim gone":       {func(w *world, _, _, claim string) string { return w.b.keys.claim(claim) }, "not found", ExportCounts{}},
			"a workflow gone":    {func(w *world, goal, _, _ string) string { return w.b.keys.workflow(goal) }, "not found", ExportCounts{}},
			"a goal broken":      {func(w *world, goal, _, _ string) string { return w.b.keys.artifact(goal) + " version" }, "field version", ExportCounts{Lost: 1}},
			"an artefact astray": {func(w *world, _, result, _ string) string { return w.b.keys.artifact(result) + " id" }, "it says that it is", ExportCounts{Lost: 1}},
			"a claim broken":     {func(w *world, _, _, claim string) string { return w.b.keys.claim(claim) + " artefact_id" }, "field revision", ExportCounts{}},
			"a claim without":    {func(w *world, _, _, claim string) string { return w.b.keys.claim(claim) + " workflow_id" }, "field revision", ExportCounts{}},
			"a grant broken":     {func(w *world, _, _, claim string) string { return w.b.keys.grants(claim) + " a" }, "read grant", ExportCounts{}},
			"a workflow broken":  {func(w *world, goal, _, _ string) string { return w.b.keys.workflow(goal) + " created_at" }, "field created_at", ExportCounts{}},
		} {
			w := newWorld(t, s)
			goal, _ := history(w)
			claim := blackboard.BiddingClaimID(goal)
			result := w.grantOf(claim, "a").ResultID
			key, field, broken := strings.Cut(damage.do(w, goal, result, claim), " ")
			if broken {
				w.raw("HSET", key, field, "\xff?")
				if strings.Contains(damage.says, "revision") {
					w.raw("HDEL", key, "revision")
				}
			} else {
				w.raw("DEL", key)
			}
			damaged(t, w, what, goal, damage.says, damage.counts)
			w.raw("FLUSHALL")
		}
	})
}

// damaged exports and imports a blackboard with one record that is not as it was.
func damaged(t *testing.T, w *world, what, goal, says string, lost ExportCounts) {
	t.Helper()
	if _, err := w.b.Export(w.ctx, io.Discard, ExportOptions{}); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: nobody is told, and it says %v", what, err)
	}
	for _, only := range []string{"", goal} {
		var out bytes.Buffer
		var broken []string
		counts, err := w.b.Export(w.ctx, &out, ExportOptions{Goal: only, Broken: func(err error) { broken = append(broken, err.Error()) }})
		must(t, err)
		if len(broken) != 1 || !strings.Contains(broken[0], says) || counts.Lost != lost.Lost {
			t.Errorf("%s: %d lost, told of %q", what, counts.Lost, broken)
		}
		to := fresh(t, otherKind(t))
		imported, err := to.imports(strings.SplitAfter(out.String(), "\n"))
		if err != nil || imported != counts {
			t.Fatalf("%s: exported %+v, imported %+v: %v", what, counts, imported, err)
		}
		var again bytes.Buffer
		_, err = to.b.Export(to.ctx, &again, ExportOptions{Goal: only, Broken: func(error) {}})
		must(t, err)
		first, second := slices.Collect(strings.Lines(out.String())), slices.Collect(strings.Lines(again.String()))
		if more := sameLines(t, first, second); len(more) > 1 { // the import
			t.Errorf("%s: new are %s", what, more)
		}
		if only != "" {
			continue
		}
		// Who led to it through the lists still does; through other records, nobody.
		was, is := w.dump(), to.dump()
		for key := range was {
			if (strings.Contains(key, ":artefacts") || strings.Contains(key, ":claims") || strings.Contains(key, ":ids:")) &&
				!strings.Contains(key, ":artefacts:agent:") && was[key] != is[key] {
				t.Errorf("%s: %s was\n%s\nand is\n%s", what, key, was[key], is[key])
			}
		}
		to.goal()
	}
}
