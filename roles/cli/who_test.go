package cli

import (
	"strings"
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
	approve := func(typed string) error {
		c := s.start("approve", held)
		s.Until("it asks", func() bool { return strings.HasSuffix(c.err.String(), "[y/N] ") })
		_, err := master.WriteString(typed)
		s.Must(err)
		return c.wait()
	}
	for _, typed := range []string{"n\n", "\n", "\x04"} {
		if err := approve(typed); role.CodeOf(err) != role.Usage || !strings.Contains(err.Error(), refused) {
			t.Errorf("%q: %v", typed, err)
		}
	}
	if err := approve("yes\n"); err != nil {
		t.Errorf("confirmed: %v", err)
	}
	if a, err := s.board.Records.Artefact(t.Context(), blackboard.GateReviewID(held)); err != nil {
		t.Errorf("confirmed: %+v, %v", a, err)
	}
}
