package supervisor

import (
	"testing"
	"time"

	"sett/runtime"
)

// An end that was seen and not recorded keeps its exit; one that nobody saw says so.
func TestExitsOfIncarnations(t *testing.T) {
	now := time.Now()
	n := NewIncarnations()
	n.begin("runs")
	n.end("seen", ending{now, runtime.Exit{Code: 137, Text: "killed"}})
	for _, c := range []struct {
		incarnation string
		before      time.Time
		text        string
		gone        bool
	}{
		{"runs", now.Add(time.Hour), "", false},
		{"seen", now, "killed", false},
		{"seen", now.Add(time.Second), "killed", true},
		{"unknown", now, "ended while no orchestrator watched", true},
	} {
		if e, gone := n.gone(c.incarnation, c.before); e.Text != c.text || gone != c.gone {
			t.Errorf("%s: %+v, %v", c.incarnation, e, gone)
		}
	}
}
