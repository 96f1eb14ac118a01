package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
)

// verifies has a goal that waits to land verified: agents get its Landing, or a person does, at its gate.
func (s *stage) verifies(goal string) (landing string) {
	s.t.Helper()
	w, err := s.board.Records.Workflow(s.t.Context(), goal)
	s.Must(err)
	landing = blackboard.LandingThread(goal)
	s.Must(s.board.Leader.Land(s.t.Context(), blackboard.LandingStep{Epoch: s.Epoch, Workflow: goal, From: *w.Landing,
		To: blackboard.Landing{State: blackboard.LandingVerifying, Branch: "released", Artefact: w.TerminalID, Verification: landing},
		Artefact: &blackboard.Artefact{ID: landing, LogicalID: landing, StructuralType: blackboard.Standard, Type: blackboard.TypeLanding, Payload: "{}", Commit: "bb",
			SourceArtefacts: []string{w.TerminalID}, ProducedByRole: blackboard.RoleRepository, WorkflowID: goal}}))
	return landing
}

// reviews has the writer review a Landing, and ask a person.
func (s *stage) reviews(landing, question string) (asked string) {
	s.t.Helper()
	claim := s.open(landing, s.all("writer", blackboard.BidReview)...)
	s.Grant(claim, blackboard.PhaseReview, "writer")
	s.begin(claim, "writer")
	return s.Finish(claim, "writer", blackboard.Artefact{StructuralType: blackboard.Question, Type: "Question", Payload: question})
}

// A goal behind one that only people can take on waits for them, too: for approval, or for an
// answer. All commands that wait name what a person types.
func TestTurnBehindAPerson(t *testing.T) {
	for name, gated := range map[string]bool{"a gate": true, "a question": false} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.Must(s.board.Leader.SetLanding(t.Context(), s.Epoch, "released"))
			if gated {
				s.Must(s.board.Leader.Enact(t.Context(), s.Epoch, []string{blackboard.TypeLanding}, ""))
			}
			first := s.concluded(blackboard.Terminal)
			landing := s.verifies(first)
			command := "approve " + words.Short(landing)
			if !gated {
				command = "answer " + words.Short(s.reviews(landing, "Is it good?"))
			}
			second, third := s.concluded(blackboard.Terminal), s.concluded(blackboard.Terminal)
			for _, goal := range []string{second, third} {
				for what, want := range map[string]role.Code{forTerminal: role.Waiting, forEnd: role.TimedOut, forQuestion: role.OK, forIdle: role.OK} {
					args := []string{"wait", goal, "--for", what}
					if want == role.TimedOut {
						args = append(args, "--timeout", "50ms")
					}
					out, _, err := s.run(args...)
					if role.CodeOf(err) != want {
						t.Errorf("--for %s: %v", what, err)
					}
					if want == role.OK {
						has(t, out, command)
					} else {
						has(t, err.Error(), command)
					}
				}
				_, _, err := s.run("watch", "--exit-when-done", "--workflow", goal)
				if role.CodeOf(err) != role.Waiting {
					t.Errorf("watch: %v", err)
				}
				has(t, err.Error(), "waiting for you: 1 ", " of goal "+words.Short(first)+", which lands before goal "+words.Short(goal)+"\n", command)
				wait := "goal " + words.Short(goal) + " waits for its turn to land, after goal " + words.Short(first) + ", which waits for you: sett " + command
				out, _, err := s.run("show", goal)
				s.Must(err)
				has(t, out, wait)
			}
			for _, since := range []string{"all", "1ms"} {
				_, _, err := s.run("watch", "--exit-when-done", "--since", since)
				if role.CodeOf(err) != role.Waiting || !strings.Contains(err.Error(), command) {
					t.Errorf("watch all: %v", err)
				}
			}
			out, _, err := s.run("wait", second, "-o", "json", "--for", forIdle)
			s.Must(err)
			var v waitView
			s.Must(json.Unmarshal([]byte(out), &v))
			if len(v.Matters) != 1 || v.Matters[0].WorkflowID != first || len(v.Waits) != 1 || v.Waits[0].Agent != "" || !strings.Contains(v.Waits[0].Text, command) {
				t.Errorf("for programs: %s", out)
			}
			if _, _, err := s.run("wait", first); role.CodeOf(err) != role.Waiting || strings.Contains(err.Error(), " which lands before ") {
				t.Errorf("the first goal: %v", err)
			}
		})
	}
}

// A command that waits for a goal ends when it comes to stand behind a person, and when a person is needed
// for the goal before it. A goal before which agents work goes on.
func TestTurnComesToStandBehindAPerson(t *testing.T) {
	for name, late := range map[string]bool{"the goal comes later": true, "the person comes later": false} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.Must(s.board.Leader.SetLanding(t.Context(), s.Epoch, "released"))
			first := s.concluded(blackboard.Terminal)
			landing := s.verifies(first)
			ask := func() string { return "answer " + words.Short(s.reviews(landing, "Is it good?")) }
			second := s.Goal("the second")
			end := func() {
				claim, _ := s.work(second, blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Done", Payload: "done"})
				s.Complete(claim)
			}
			var command string
			if late {
				command = ask()
			} else {
				end()
				if _, _, err := s.run("wait", second, "--timeout", "50ms"); role.CodeOf(err) != role.TimedOut || !strings.Contains(err.Error(), "after goal "+words.Short(first)+", for ") {
					t.Errorf("an agent is to bid: %v", err)
				}
			}
			calls := map[*call]role.Code{
				s.start("wait", second): role.Waiting, s.start("wait", second, "--for", forQuestion): role.OK, s.start("wait", second, "--for", forIdle): role.OK,
				s.start("watch", "--exit-when-done"): role.Waiting, s.start("watch", "--exit-when-done", "--workflow", second): role.Waiting,
			}
			s.Until("all follow the ledger", func() bool { return s.Server.Followers() == len(calls) })
			if late {
				end()
			} else {
				command = ask()
			}
			for c, want := range calls {
				err := c.wait()
				if role.CodeOf(err) != want {
					t.Errorf("%v", err)
				}
				text := c.out.String()
				if err != nil {
					text = err.Error()
				}
				has(t, text, command)
			}
		})
	}
}

// A goal that cannot land until a person acts is all that is left: no command that waits hangs.
func TestNothingLeftButABarredGoal(t *testing.T) {
	s := newStage(t)
	s.Must(s.board.Leader.SetLanding(t.Context(), s.Epoch, "released"))
	goal := s.concluded(blackboard.Terminal)
	w, err := s.board.Records.Workflow(t.Context(), goal)
	s.Must(err)
	s.Must(s.board.Leader.Land(t.Context(), blackboard.LandingStep{Epoch: s.Epoch, Workflow: goal, From: *w.Landing,
		To: blackboard.Landing{State: blackboard.LandingBarred, Artefact: w.TerminalID, Branch: "released", Reason: "it is checked out", People: true}}))
	command := "land " + words.Short(goal) + " --onto released"
	for _, args := range [][]string{{"watch", "--exit-when-done", "--timeout", "1m"}, {"wait", goal, "--timeout", "1m"}} {
		_, _, err := s.run(args...)
		if role.CodeOf(err) != role.Waiting || !strings.Contains(err.Error()+hint(err), command) {
			t.Errorf("%s: %v", args[0], err)
		}
		has(t, err.Error(), "waiting for you: ", "goal "+words.Short(goal)+" cannot land: it is checked out")
	}
	out, _, err := s.run("wait", goal, "--for", forIdle, "--timeout", "1m")
	s.Must(err)
	has(t, out, command)
}
