package supervisor

import (
	"context"
	"testing"
	"time"

	"sett/blackboard"
	"sett/runtime"
)

// beats is a roster of one agent.
type beats struct{ alive time.Time }

func (b *beats) Agents(context.Context) (map[string]blackboard.Presence, error) {
	return map[string]blackboard.Presence{"a": {Incarnation: "a-1", Alive: b.alive}}, nil
}

func (b *beats) Workers(context.Context, string) (map[string]blackboard.Worker, error) {
	return nil, nil
}

// A frozen agent is found after the same time wherever the blackboard's clock jumps to,
// and one that beats is never taken for it.
func TestSilenceWhileClocksJump(t *testing.T) {
	for name, jump := range map[string]time.Duration{"none": 0, "90 s back": -90 * time.Second, "an hour back": -time.Hour, "an hour ahead": time.Hour} {
		for _, frozen := range []bool{true, false} {
			own := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			server := own.Add(7 * time.Hour) // another host's
			roster := &beats{}
			s := New(Options{Now: func() time.Time { return own }, Steady: func() time.Time { return own.Add(-time.Hour) }, Since: own,
				ServerTime: func(context.Context) (time.Time, error) { return server, nil }, Roster: roster,
				Pace: Pace{LookAround: 15 * time.Second, SilentAfter: 30 * time.Second, Promise: 15 * time.Second}})
			suspects := []runtime.Unit{{Labels: runtime.Labels{runtime.LabelAgent: "a", runtime.LabelIncarnation: "a-1"}}}
			found := time.Duration(0)
			for passed := time.Duration(0); passed < 10*time.Minute && found == 0; passed += time.Second {
				if !frozen || passed < time.Minute {
					roster.alive = server.Add(12 * time.Second)
				}
				if passed == time.Minute+5*time.Second { // before a look has seen the last heartbeat
					server = server.Add(jump)
				}
				if passed%(15*time.Second) == 0 && len(s.silent(t.Context(), suspects)) > 0 {
					found = passed - time.Minute
				}
				own, server = own.Add(time.Second), server.Add(time.Second)
			}
			if frozen && (found < 30*time.Second || found > time.Minute+15*time.Second) || !frozen && found != 0 {
				t.Errorf("%s, frozen %t: found after %s", name, frozen, found)
			}
		}
	}
}
