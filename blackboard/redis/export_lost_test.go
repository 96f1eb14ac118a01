package redis

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/blackboard/redis/archive"
)

// What is left of a blackboard that lost some records, or has broken ones, is
// exported, with the names of those; and imported as it is.
func TestExportLost(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		for what, damage := range map[string]struct {
			do     func(w *world, goal, result, claim string) (key string)
			says   string
			counts archive.Counts // of what is lost
		}{
			"a goal gone":        {func(w *world, goal, _, _ string) string { return w.b.c.Keys.Artifact(goal) }, "not found", archive.Counts{Lost: 1}},
			"an artefact gone":   {func(w *world, _, result, _ string) string { return w.b.c.Keys.Artifact(result) }, "not found", archive.Counts{Lost: 1}},
			"a claim gone":       {func(w *world, _, _, claim string) string { return w.b.c.Keys.Claim(claim) }, "not found", archive.Counts{}},
			"a workflow gone":    {func(w *world, goal, _, _ string) string { return w.b.c.Keys.Workflow(goal) }, "not found", archive.Counts{}},
			"a goal broken":      {func(w *world, goal, _, _ string) string { return w.b.c.Keys.Artifact(goal) + " version" }, "field version", archive.Counts{Lost: 1}},
			"an artefact astray": {func(w *world, _, result, _ string) string { return w.b.c.Keys.Artifact(result) + " id" }, "it says that it is", archive.Counts{Lost: 1}},
			"a claim broken":     {func(w *world, _, _, claim string) string { return w.b.c.Keys.Claim(claim) + " artefact_id" }, "field revision", archive.Counts{}},
			"a claim without":    {func(w *world, _, _, claim string) string { return w.b.c.Keys.Claim(claim) + " workflow_id" }, "field revision", archive.Counts{}},
			"a grant broken":     {func(w *world, _, _, claim string) string { return w.b.c.Keys.Claim(claim) + " grant:a" }, "read grant", archive.Counts{}},
			"a workflow broken":  {func(w *world, goal, _, _ string) string { return w.b.c.Keys.Workflow(goal) + " created_at" }, "field created_at", archive.Counts{}},
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
func damaged(t *testing.T, w *world, what, goal, says string, lost archive.Counts) {
	t.Helper()
	if _, err := archive.Export(w.ctx, w.b, io.Discard, archive.ExportOptions{}); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: nobody is told, and it says %v", what, err)
	}
	for _, only := range []string{"", goal} {
		var out bytes.Buffer
		var broken []string
		counts, err := archive.Export(w.ctx, w.b, &out, archive.ExportOptions{Goal: only, Broken: func(err error) { broken = append(broken, err.Error()) }})
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
		_, err = archive.Export(to.ctx, to.b, &again, archive.ExportOptions{Goal: only, Broken: func(error) {}})
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
			if (strings.Contains(key, ":artefacts") || strings.Contains(key, ":claims") || strings.Contains(key, ":endings:")) &&
				!strings.Contains(key, ":artefacts:agent:") && was[key] != is[key] {
				t.Errorf("%s: %s was\n%s\nand is\n%s", what, key, was[key], is[key])
			}
		}
		to.goal()
	}
}
