package cli

import (
	"strings"
	"testing"

	"sett/roles/role"
)

// On a blackboard that belongs to another workspace commands that act change nothing and end
// with 2. Others name its owner once, list and doctor as a trouble of the instance.
func TestOwnedBlackboard(t *testing.T) {
	s, in := settled(t)
	s.staff()
	goal := s.Goal("the goal")
	before := in.Mark()
	s.Send("HSET", "sett:{stage}:instance", "owner", "other", "owner_workspace", "/their/\x1b[31mwork", "owner_host", "there", "owner_user", "bob", "mark", "theirs")
	entries := s.Send("XLEN", "sett:{stage}:events")
	const says = "has an instance stage of another workspace: /their/"
	for _, args := range [][]string{
		{"forage", "x"}, {"answer", goal, "x"}, {"approve", goal}, {"reject", goal}, {"review", goal, "--approve"}, {"cancel", goal, "x"}, {"retry", goal},
		{"restart", "writer"}, {"land", goal}, {"models", "pause", "x"}, {"models", "resume"},
	} {
		_, _, err := s.run(args...)
		if role.CodeOf(err) != role.Usage {
			t.Errorf("%v: %v", args, err)
			continue
		}
		has(t, err.Error(), "the blackboard at "+s.Server.Addr(), says, " of bob on there")
		has(t, hint(err), "sett up --name OTHER", "sett --name stage up --take-over")
		if strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q", err)
		}
	}
	if now := s.Send("XLEN", "sett:{stage}:events"); now != entries {
		t.Errorf("%s entries, were %s", now, entries)
	}
	for _, args := range [][]string{{"goals"}, {"show", goal}, {"hoard"}, {"questions"}, {"models"}, {"graph"}, {"ledger", "export", "--file", "x"}} {
		_, stderr, err := s.run(args...)
		s.Must(err)
		if strings.Count(stderr, says) != 1 {
			t.Errorf("%v: %s", args, stderr)
		}
	}
	stdout, stderr, err := s.run("list")
	s.Must(err)
	has(t, stdout, "degraded")
	has(t, stderr, says, "--take-over")
	stdout, _, _ = s.run("doctor")
	has(t, stdout, says, "--take-over")
	if after := in.Mark(); after != before {
		t.Errorf("the sight %+v became %+v", before, after)
	}
}
