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
	"sett/contract/env"
)

// A script without an end is ended, its agent is ended and started again, and both are
// in the ledger; other agents are left alone. One that has written ends with the server.
func TestScriptWithoutEnd(t *testing.T) {
	const endless, wrote = "while true do end", "redis.call('SET','half','1') while true do end"
	server := func(t testing.TB) *redistest.Server { return redistest.Start(t, "--busy-reply-threshold", "50") }
	embedded := func(t testing.TB) *redistest.Server { return redistest.EmbeddedBusy(t, 50*time.Millisecond) }
	for name, c := range map[string]struct {
		server       func(testing.TB) *redistest.Server
		script, says string
	}{
		"redis":          {server, endless, "it ran for"},
		"embedded":       {embedded, endless, "it ran for"},
		"embedded wrote": {embedded, wrote, "it kept the blackboard from everybody else, and had written"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := c.server(t)
			s, p := newSettAt(t, server.URL, "a", "b"), newPlace()
			o := inPlace(p)
			o.vars[env.ListenAddr] = server.Addr()
			l := s.lead(o)
			a := s.incarnation(p, "agent-a")
			s.incarnation(p, "agent-b")
			s.must(s.board.Cub.Hello(t.Context(), "a", blackboard.Presence{Incarnation: a}, time.Hour))
			conn, err := net.Dial("tcp", server.Addr())
			s.must(err)
			defer func() { _ = conn.Close() }()
			_, err = fmt.Fprintf(conn, "CLIENT SETNAME %s\r\n*3\r\n$4\r\nEVAL\r\n$%d\r\n%s\r\n$1\r\n0\r\n", redis.CubName("a"), len(c.script), c.script)
			s.must(err)
			if c.script == wrote {
				s.until("the server's end", func() bool { return !listens(server.Addr()) })
				server.Kill()
				server.Restart()
			}
			s.incarnation(p, "agent-a", a)
			var said string
			s.until("an entry in the ledger", func() bool {
				said = agentsFate(s)
				return strings.Contains(said, "a overran: "+c.says) && strings.Contains(said, "a gone: its script on the blackboard had no end")
			})
			if n := p.starts("agent-b"); n != 1 {
				t.Errorf("the other one was started %d times", n)
			}
			if log := l.log.String(); !strings.Contains(log, "a script without an end was ended") {
				t.Errorf("the log says %s", log)
			}
		})
	}
}

// listens says whether somebody does at the address.
func listens(addr string) bool {
	conn, err := net.Dial("tcp", addr)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

// agentsFate is the ledger's entries of ended scripts and of agents, a line each.
func agentsFate(s *sett) (said string) {
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
	return said
}
