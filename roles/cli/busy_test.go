package cli

import (
	"net"
	"strings"
	"testing"

	"sett/roles/cli/status"
	"sett/roles/role"
)

// A blackboard that a script without an end keeps busy is said to be so, with the cure.
func TestBoardBusy(t *testing.T) {
	s := newStage(t, "--busy-reply-threshold", "10")
	s.staff()
	conn, err := net.Dial("tcp", s.Server.Addr())
	s.Must(err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = conn.Write([]byte("EVAL \"while true do end\" 0\r\n"))
	s.Must(err)
	s.Until("the server is busy", func() bool {
		_, err := s.TrySend("PING")
		return err != nil
	})
	stdout, stderr, err := s.run("list")
	s.Must(err)
	has(t, stdout, status.Unreachable)
	has(t, stderr, "a script on it runs without an end", "SCRIPT KILL", "SHUTDOWN NOSAVE")
	_, _, err = s.run("goals")
	has(t, hint(err), "SCRIPT KILL", "SHUTDOWN NOSAVE")
	stdout, _, err = s.run("doctor")
	if role.CodeOf(err) == 0 {
		t.Error("the doctor finds nothing")
	}
	said := strings.Join(strings.Fields(stdout), " ")
	has(t, said, "a script on it runs without an end", "SCRIPT KILL")
}

// A command says what it waits for when the blackboard takes connections and does not answer, and
// goes on when it does again.
func TestBoardIsSilent(t *testing.T) {
	s := newStage(t, "--maxclients", "1000") // a server of its own
	s.staff()
	goal := s.Goal("the goal")
	s.Send("CLIENT", "PAUSE", "8000", "ALL")
	c := s.start("goals", "-o", "json")
	s.Until("a word about the silence", func() bool {
		return strings.Contains(c.err.String(), "sett: the blackboard of stage does not answer, waiting for it\n")
	})
	s.Must(c.wait())
	has(t, c.out.String(), goal)
}
