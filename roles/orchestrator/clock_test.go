package orchestrator

import (
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
)

// How long agents and people may take is measured by the blackboard's clock, whatever
// ours says.
func TestWrongClock(t *testing.T) {
	t.Parallel()
	for _, wrong := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
		t.Run(wrong.String(), func(t *testing.T) {
			t.Parallel()
			s := newSett(t, "a", "mute")
			const timeout = 300 * time.Millisecond
			s.cfg.Orchestrator.BidTimeout = timeout
			s.timesOut(timeout)
			s.lead(options{now: func() time.Time { return time.Now().Add(wrong) }, pace: func(p *pace) { p.tick = time.Hour }})
			in := func(what string, took time.Duration) {
				t.Helper()
				if took < timeout-10*time.Millisecond || took > patience {
					t.Errorf("%s took %s", what, took)
				}
			}
			g := s.goal("g")
			c := s.claimOf(g)
			s.bids(c, "a exclusive")
			in("the bids", s.grant(c, "a", blackboard.GrantQueued).QueuedAt.Sub(s.snapshot(c).Claim.OpenedAt))
			s.does(c, "a", blackboard.Question, "Question", "which?")
			in("the question", s.unanswered(g, c, "a"))
		})
	}
}

// When the blackboard's clock is set back, nobody waits for that much longer.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) { t.Parallel(); clockSetBack(t, redistest.StartWithClock(t)) })
	t.Run("embedded", func(t *testing.T) { t.Parallel(); clockSetBack(t, redistest.Embedded(t)) })
}

func clockSetBack(t *testing.T, r *redistest.Server) {
	s := newSettAt(t, r.URL, "a", "mute")
	s.cfg.Orchestrator.BidTimeout = time.Second
	s.write()
	s.lead(options{pace: func(p *pace) { p.tick = 50 * time.Millisecond }})
	c := s.claimOf(s.goal("g"))
	r.Shift(-time.Hour)
	s.bids(c, "a exclusive")
	s.grant(c, "a", blackboard.GrantQueued)
}

// The clock follows the blackboard's, also when either is put right.
func TestClock(t *testing.T) {
	t.Parallel()
	own := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := &clock{own: func() time.Time { return own }}
	is := func(want time.Time) {
		t.Helper()
		if got := c.now(); !got.Equal(want) {
			t.Errorf("it is %s, want %s", got, want)
		}
	}
	is(own)
	server := own.Add(time.Hour)
	c.set(server)
	own = own.Add(time.Second)
	is(server.Add(time.Second))
	server = server.Add(-2 * time.Hour)
	c.set(server)
	is(server)
	own = own.Add(-time.Minute)
	c.set(server)
	is(server)
}
