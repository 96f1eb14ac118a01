package cli

import (
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/runtime"
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
	for _, args := range [][]string{{"watch", "--workflow", goal, "--exit-when-done"}, {"wait", goal}} { // the first look finds none
		_, _, err := s.run(args...)
		if role.CodeOf(err) != role.NotFound {
			t.Errorf("%q: %v", args, err)
		}
		has(t, err.Error(), "goal "+words.Short(goal)+" cannot be found any more")
	}
}

// Who waits hears once that nothing goes on, because no orchestrator leads, and the command to
// type; and that one leads again.
func TestWaitWithoutOrchestrator(t *testing.T) {
	s := newStage(t)
	units := s.staff()
	goal := s.Goal("the goal")
	calls := []*call{s.start("wait", goal), s.start("watch", "-o", "jsonl"), s.start("watch", "--workflow", goal, "--exit-when-done")}
	s.Until("all follow the ledger", func() bool { return s.Server.Followers() == len(calls) })
	for _, part := range []string{runtime.ComponentKeeper, runtime.ComponentOrchestrator} {
		s.Must(units.Stop(t.Context(), part, 0))
	}
	s.Must(s.board.Leader.RenewLead(t.Context(), blackboard.Lead{Holder: "test", Epoch: s.Epoch}, 0))
	const says = "sett: the orchestrator of stage does not run, so nothing is granted; sett -C "
	for _, c := range calls {
		s.Until("it is said", func() bool {
			return strings.Contains(c.err.String(), says) && strings.Contains(c.err.String(), " up starts it\n")
		})
	}
	s.Must(s.board.Leader.RenewLead(t.Context(), blackboard.Lead{Holder: "test", Epoch: s.Epoch}, time.Hour))
	for _, c := range calls {
		s.Until("the end of it is said", func() bool { return strings.Contains(c.err.String(), "sett: an orchestrator leads again\n") })
		if n := strings.Count(c.err.String(), says); n != 1 {
			t.Errorf("said %d times: %s", n, c.err.String())
		}
	}
}
