package orchestrator

import (
	"strings"
	"testing"

	"sett/blackboard/redis/redistest"
)

// An orchestrator that leads says when entries were removed from the ledger, once for each removal.
func TestRemovedEntries(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newSettAt(t, server.URL, "a")
	l := s.lead(options{})
	said := func() int { return strings.Count(l.log.String(), "the ledger lacks entries") }
	s.until("a leader", func() bool { return strings.Contains(l.log.String(), "leading") })
	for n := 1; n < 3; n++ {
		if got := said(); got != n-1 {
			t.Fatalf("%d said, want %d: %s", got, n-1, l.log.String())
		}
		id := server.Send("XADD", "sett:{test}:events", "*", "kind", "models") // nobody has seen it
		server.Send("XADD", "sett:{test}:events", "*", "kind", "models")
		server.Send("XDEL", "sett:{test}:events", id)
		s.until("a line of the log", func() bool { return said() == n })
	}
}
