package cli

import (
	"testing"

	"sett/roles/role"
	"sett/roles/role/words"
)

// A goal that is waited for and cannot be found any more ends the wait.
func TestWaitForLostGoal(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("the goal")
	posted := s.start("forage", "--wait", "another goal")
	other := posted.goalOf()
	calls := map[*call]string{posted: other}
	for _, args := range [][]string{
		{"wait", goal}, {"wait", goal, "--for", "question"}, {"wait", goal, "--for", "idle"}, {"wait", goal, "--for", "end"},
		{"watch", "--workflow", goal, "--exit-when-done"}, {"watch", "--workflow", goal},
	} {
		calls[s.start(args...)] = goal
	}
	s.Until("all follow the ledger", func() bool { return s.Server.Followers() == len(calls) })
	for _, id := range []string{goal, other} {
		s.Send("DEL", s.board.Conn().Keys.Workflow(id))
	}
	for c, id := range calls {
		err := c.wait()
		if role.CodeOf(err) != role.NotFound {
			t.Errorf("%v", err)
			continue
		}
		has(t, err.Error(), "goal "+words.Short(id)+" cannot be found any more")
		has(t, hint(err), "--name stage goals")
	}
}
