package redis

import (
	"testing"
	"time"
)

// Whoever asks is told who leads and for how long; a lead that was given up, and a
// record that is broken, are nobody's.
func TestLeader(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		ctx, b := testContext(t), open(t, s.url)
		nobody := func(when string) {
			t.Helper()
			l, err := b.Roster.Leader(ctx)
			must(t, err)
			now, err := b.ServerTime(ctx)
			must(t, err)
			if l.Holder != "" && l.Until.After(now) {
				t.Errorf("%s: %+v", when, l)
			}
		}
		nobody("before anybody led")
		lead, _, err := b.Leader.TakeLead(ctx, "o1", "", time.Hour)
		must(t, err)
		l, err := b.Roster.Leader(ctx)
		must(t, err)
		now, err := b.ServerTime(ctx)
		must(t, err)
		if left := l.Until.Sub(now); l.Holder != "o1" || left < 59*time.Minute || left > time.Hour {
			t.Errorf("%+v, %s left", l, left)
		}
		must(t, b.Leader.RenewLead(ctx, lead, 0))
		nobody("given up")
		must(t, b.c.Client.Do(ctx, b.c.Client.B().Set().Key(b.c.Keys.Leader()).Value("o1 soon").Build()).Error())
		nobody("broken")
	})
}
