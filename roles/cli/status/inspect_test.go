package status

import (
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/roles/cli/instance"
)

func TestUnled(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	long, just := now.Add(-time.Hour), now.Add(-time.Second)
	for name, c := range map[string]struct {
		leader  blackboard.Leader
		started time.Time
		want    string
	}{
		"never":                          {blackboard.Leader{}, now.Add(-time.Minute), "nobody leads, for 1m"},
		"it was started just now":        {blackboard.Leader{}, just, ""},
		"so was one after another":       {blackboard.Leader{Holder: "o", Until: now.Add(-time.Minute)}, just, ""},
		"it leads":                       {blackboard.Leader{Holder: "o", Until: now.Add(time.Second)}, long, ""},
		"another one takes over":         {blackboard.Leader{Holder: "o", Until: now.Add(-leaseOver)}, long, ""},
		"its lease is over":              {blackboard.Leader{Holder: "o", Until: now.Add(-90 * time.Second)}, long, "nobody leads, for 1m"},
		"another machine's clock is off": {blackboard.Leader{Holder: "o", Until: now.Add(time.Second)}, now.Add(time.Hour), ""},
	} {
		if got := unled(c.leader, now, c.started); (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Nobody leading is among an instance's troubles, which list and doctor show.
func TestUnledIsTrouble(t *testing.T) {
	r := Row{State: Degraded, Unled: "nobody leads, for 1m", in: &instance.Instance{}}
	if got := r.Troubles(); !strings.Contains(got, r.Unled) {
		t.Errorf("%q", got)
	}
}
