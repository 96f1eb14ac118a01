package orchestrator

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/blackboard/redis/redistest"
)

// A script without an end is ended, its agent is ended and started again, and both are
// in the ledger; other agents are left alone.
func TestScriptWithoutEnd(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--busy-reply-threshold", "50")
	s, p := newSettAt(t, server.URL, "a", "b"), newPlace()
	l := s.lead(inPlace(p))
	a := s.incarnation(p, "agent-a")
	s.incarnation(p, "agent-b")
	s.must(s.board.Cub.Hello(t.Context(), "a", blackboard.Presence{Incarnation: a}, time.Hour))
	conn, err := net.Dial("tcp", server.Addr())
	s.must(err)
	defer func() { _ = conn.Close() }()
	_, err = fmt.Fprintf(conn, "CLIENT SETNAME %s\r\nEVAL \"while true do end\" 0\r\n", redis.CubName("a"))
	s.must(err)
	s.incarnation(p, "agent-a", a)
	var said string
	s.until("an entry in the ledger", func() bool {
		events, err := s.board.Ledger.History(s.Context(), blackboard.Beginning, 1000)
		s.must(err)
		for _, e := range events {
			switch e.Kind {
			case blackboard.EventOverrun:
				said += e.Agent + " overran: " + e.Reason + "\n"
			case blackboard.EventAgent:
				said += e.Agent + " " + e.To + ": " + e.Reason + "\n"
			}
		}
		return strings.Contains(said, "a overran: it ran for") && strings.Contains(said, "a gone: its script on the blackboard had no end")
	})
	if n := p.starts("agent-b"); n != 1 {
		t.Errorf("the other one was started %d times", n)
	}
	if log := l.log.String(); !strings.Contains(log, "a script without an end was ended") {
		t.Errorf("the log says %s", log)
	}
}
