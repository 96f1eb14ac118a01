package report

import (
	"strings"
	"testing"
	"time"

	"sett/roles/view/lineage"
)

// The times of a report of several days have their date, since a goal may wait for a person over a weekend.
func TestTimesOfSeveralDays(t *testing.T) {
	began := time.Date(2026, 11, 27, 22, 33, 51, 179e6, time.UTC)
	for name, c := range map[string]struct {
		ended, deed time.Time
		want        string
	}{
		"one day":             {began.Add(time.Minute), began.Add(time.Second), "- 22:33:52.179 cid, answer: red\n"},
		"three days":          {began.Add(72 * time.Hour), began.Add(71 * time.Hour), "- 2026-11-30 21:33:51.179 cid, answer: red\n"},
		"a deed after it":     {began.Add(time.Minute), began.Add(24 * time.Hour), "- 2026-11-28 22:33:51.179 cid, answer: red\n"},
		"over midnight alone": {began.Add(2 * time.Hour), began.Add(time.Second), "- 2026-11-27 22:33:52.179 cid, answer: red\n"},
	} {
		r := Report{Graph: &lineage.Graph{}, Goal: Goal{Began: began, Ended: c.ended}, People: []Deed{{Time: c.deed, By: "cid", Kind: "answer", Says: "red"}}}
		if got := r.Markdown(); !strings.Contains(got, c.want) {
			t.Errorf("%s: no %q in\n%s", name, c.want, got)
		}
	}
	r := Report{Graph: &lineage.Graph{}, Goal: Goal{Began: began, AsOf: began.Add(48 * time.Hour)}, People: []Deed{{Time: began, By: "cid", Kind: "goal", Says: "x"}}}
	if got := r.HTML(); !strings.Contains(got, "<td>2026-11-27 22:33:51.179</td>") {
		t.Errorf("an open goal's page has no dates:\n%s", got)
	}
}
