package cli

import (
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/grammar"
	"sett/roles/role"
	"sett/roles/role/words"
)

// A goal that a person cancelled before its result landed goes on no more: sett retry names the command that brings the result.
func TestRetryOfAGoalCancelledInTheQueue(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	s.Must(s.board.Leader.SetLanding(t.Context(), s.Epoch, "released"))
	s.applies(func(c *config.Config) { c.Land = &config.Land{Onto: "released"} })
	goal := s.concluded(blackboard.Terminal)
	_, _, err := s.run("cancel", goal, "not now")
	s.Must(err)
	_, _, err = s.run("retry", goal)
	if role.CodeOf(err) != role.Failed {
		t.Fatal(err)
	}
	has(t, err.Error(), "retry Cancelled, ", "anna ", "cancelled the goal before its result landed")
	has(t, hint(err), " land "+words.Short(goal)+" --onto released", "brings its result")
}

// Completion of sett retry has Failures of goals that can go on, though they belong to no claim.
func TestCompleteRetryOfAGoalsEnd(t *testing.T) {
	s := newStage(t)
	s.Must(s.board.Leader.SetLanding(t.Context(), s.Epoch, "released"))
	goal := s.concluded(blackboard.Terminal)
	w, err := s.board.Records.Workflow(t.Context(), goal)
	s.Must(err)
	f := blackboard.Artefact{ID: newID(), StructuralType: blackboard.Failure, Type: blackboard.TypeReviewLimit, Payload: "{}", ProducedByRole: blackboard.RoleOrchestrator,
		WorkflowID: goal, SourceArtefacts: []string{w.TerminalID}}
	f.LogicalID = f.ID
	s.Must(s.board.Leader.Land(t.Context(), blackboard.LandingStep{Epoch: s.Epoch, Workflow: goal, From: *w.Landing,
		To: blackboard.Landing{State: blackboard.LandingNone, Artefact: w.TerminalID}, Over: true, Artefact: &f}))
	s.Until("the goal and its Failure", func() bool { // a completion on a busy machine gives up
		all := strings.Join(s.completed("retry", ""), "\n")
		return strings.Contains(all, grammar.LastGoal) && strings.Contains(all, words.Short(f.ID))
	})
	_, _, err = s.run("retry", goal)
	s.Must(err)
	if all := strings.Join(s.completed("retry", ""), "\n"); strings.Contains(all, words.Short(f.ID)) {
		t.Errorf("retried: %s", all)
	}
}
