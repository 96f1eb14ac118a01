package cli

import (
	"testing"

	"github.com/creack/pty"

	"sett/blackboard"
	"sett/contract/env"
	"sett/roles/role"
)

// A tool is refused without a terminal, and on one until somebody says yes.
func TestToolOnATerminal(t *testing.T) {
	s := newStage(t)
	_, held := s.holds(blackboard.Standard)
	s.vars = map[string]string{env.ClaimID: "01CLAIM"}
	const refused = "a tool may not speak as a person: this runs inside an agent's tool"
	s.refuses(role.Usage, refused, "approve", held)
	master, tty, err := pty.Open()
	s.Must(err)
	defer master.Close()
	defer tty.Close()
	s.stdin = tty
	for _, typed := range []string{"n\n", "\n", "\x04"} {
		_, err = master.WriteString(typed)
		s.Must(err)
		s.refuses(role.Usage, refused, "approve", held)
	}
	_, err = master.WriteString("yes\n")
	s.Must(err)
	stdout, _, err := s.run("approve", held)
	if err != nil || stdout != blackboard.GateReviewID(held)+"\n" {
		t.Errorf("confirmed: %q, %v", stdout, err)
	}
}
