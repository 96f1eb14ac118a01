package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/model"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/words"
)

// A goal of which bids are all that is left, and a person withholds them, waits for that person: each command that
// waits ends, and names what to type. One that follows already ends, too.
func TestWithheldBidWaitsForAPerson(t *testing.T) {
	for kind, want := range map[blackboard.WithheldKind][]string{
		blackboard.WithheldPaused: {"models resume", "all calls of models are paused"},
		blackboard.WithheldBudget: {"up", "raise budget in sett.yml"},
	} {
		t.Run(string(kind), func(t *testing.T) {
			s := newStage(t)
			why := "all calls of models are paused: sett models resume"
			if kind == blackboard.WithheldBudget {
				why = "the goal's budget of 2 calls is used up (2)"
				s.budgets(2)
			} else {
				s.Must(s.board.People.PauseModels(t.Context(), true, "ann", "dear"))
			}
			goal := s.Goal("the goal")
			claim := s.open(goal, blackboard.BidRequest{Agent: "writer", Bid: blackboard.BidIgnore}, blackboard.BidRequest{Agent: "many", Bid: blackboard.BidIgnore})
			if _, _, err := s.run("wait", goal, "--timeout", "50ms"); role.CodeOf(err) != role.TimedOut {
				t.Errorf("an agent is to bid: %v", err)
			}
			calls := waiters(s, goal)
			s.Must(s.board.Cub.Withhold(t.Context(), claim, "lint", kind, why))
			ends := func(err error, out string, code role.Code) {
				t.Helper()
				if role.CodeOf(err) != code {
					t.Errorf("got %v, want exit code %d", err, code)
				}
				if err != nil {
					out = err.Error()
					has(t, out, "waiting for you: 1 claim without a bid")
				}
				has(t, out, append(want, "lint cannot bid")...)
			}
			for c, code := range calls {
				err := c.wait()
				ends(err, c.out.String(), code)
			}
			for _, args := range [][]string{{"wait", goal}, {"watch", "--exit-when-done"}, {"watch", "--exit-when-done", "--workflow", goal}} {
				out, _, err := s.run(append(args, "--timeout", "1m")...)
				ends(err, out, role.Waiting)
			}
			out, _, err := s.run("questions")
			ends(err, out, role.OK)
			if _, _, err := s.run("wait", goal, "--for", forEnd, "--timeout", "50ms"); role.CodeOf(err) != role.TimedOut {
				t.Errorf("--for end: %v", err)
			}
		})
	}
}

// budgets has the instance run with a budget for each goal.
func (s *stage) budgets(calls int64) {
	s.t.Helper()
	c := *s.config
	c.Budget = &config.Budget{Budget: model.Budget{Calls: calls}}
	in := &instance.Instance{Dir: filepath.Join(s.home, "sett", "stage")}
	s.Must(instance.WriteFile(in.ConfigPath(), &c))
}

// A person has acted, and the agent is about to ask its model again: no command says that it waits for that person.
func TestWithheldNoLonger(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("the goal")
	claim := s.open(goal, blackboard.BidRequest{Agent: "writer", Bid: blackboard.BidIgnore}, blackboard.BidRequest{Agent: "many", Bid: blackboard.BidIgnore})
	for kind, why := range map[blackboard.WithheldKind]string{
		blackboard.WithheldPaused: "all calls of models are paused: sett models resume", blackboard.WithheldBudget: "the goal's budget of 2 calls is used up (2)",
	} {
		s.budgets(3)
		s.Must(s.board.Cub.Withhold(t.Context(), claim, "lint", kind, why))
		for _, args := range [][]string{{"wait", goal}, {"watch", "--exit-when-done"}, {"wait", goal, "--for", forIdle}} {
			if _, _, err := s.run(append(args, "--timeout", "50ms")...); role.CodeOf(err) != role.TimedOut {
				t.Errorf("%s: %s: %v", kind, args, err)
			}
		}
		out, _, err := s.run("questions")
		s.Must(err)
		if strings.Contains(out, words.Short(claim)) {
			t.Errorf("%s: questions: %s", kind, out)
		}
	}
}

// waiters starts each command that waits for a goal, with the exit code that it has where the goal waits for a person, once all follow the ledger.
func waiters(s *stage, goal string) map[*call]role.Code {
	calls := map[*call]role.Code{
		s.start("wait", goal): role.Waiting, s.start("wait", goal, "--for", forQuestion): role.OK, s.start("wait", goal, "--for", forIdle): role.OK,
		s.start("watch", "--exit-when-done"): role.Waiting, s.start("watch", "--exit-when-done", "--workflow", goal): role.Waiting,
		s.start("questions", "--wait"): role.OK,
	}
	s.Until("all follow the ledger", func() bool { return s.Server.Followers() == len(calls) })
	return calls
}

// A goal of which work is all that is left that does not begin, since calls of models are paused, waits for a person: each
// command that waits ends, and names what to type. When they go on, none of them says so any more.
func TestWaitForModelWaitsForAPerson(t *testing.T) {
	s := newStage(t)
	s.Must(s.board.People.PauseModels(t.Context(), true, "ann", "dear"))
	goal, claim := granted(s)
	st := s.begin(claim, "writer")
	ref := blackboard.GrantRef{Claim: claim, Agent: "writer", Attempt: st.Grant.Attempt, Holder: st.Grant.Holder}
	if _, _, err := s.run("wait", goal, "--timeout", "50ms"); role.CodeOf(err) != role.TimedOut {
		t.Errorf("an agent works: %v", err)
	}
	calls := waiters(s, goal)
	s.Must(s.board.Cub.Await(t.Context(), ref, blackboard.WaitModel, "all calls of models are paused: sett models resume"))
	ends := func(out string, err error, code role.Code) {
		t.Helper()
		if role.CodeOf(err) != code {
			t.Errorf("got %v, want exit code %d", err, code)
		}
		if err != nil {
			out = err.Error()
			has(t, out, "waiting for you: 1 claim without its model")
		}
		has(t, out, "writer waits for its model", "all calls of models are paused", "models resume")
	}
	for c, code := range calls {
		err := c.wait()
		ends(c.out.String(), err, code)
	}
	out, _, err := s.run("questions")
	ends(out, err, role.OK)
	out, _, err = s.run("questions", "-o", "json")
	s.Must(err)
	has(t, out, `"kind": "model"`, `"agent": "writer"`, claim)
	out, _, err = s.run("watch", "--since", "all", "--exit-when-done", "--timeout", "1m")
	has(t, out, "waits for the model: all calls of models are paused")
	ends(out, err, role.Waiting)

	s.Must(s.board.People.PauseModels(t.Context(), false, "ann", ""))
	for range 2 { // the agent begins within seconds, then it has begun
		for _, args := range [][]string{{"wait", goal}, {"watch", "--exit-when-done"}, {"wait", goal, "--for", forIdle}} {
			if _, _, err := s.run(append(args, "--timeout", "50ms")...); role.CodeOf(err) != role.TimedOut {
				t.Errorf("%s: %v", args, err)
			}
		}
		out, _, err := s.run("questions")
		s.Must(err)
		if strings.Contains(out, words.Short(claim)) {
			t.Errorf("questions: %s", out)
		}
		s.Must(s.board.Cub.Await(t.Context(), ref, "", ""))
	}
}
