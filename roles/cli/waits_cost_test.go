package cli

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"sett/blackboard"
)

// What is open is all that list, questions and wait read: with a hundred times as
// much on the board they take at most twice their time.
func TestWaitingCostsTheSameWithHistory(t *testing.T) {
	s := newStage(t)
	s.staff()
	ids := s.tell()
	s.holds(blackboard.Standard)
	s.open(s.post("open"))
	if r := s.detailed(); r.State != stateRunning || r.Gates+r.Questions < 2 {
		t.Fatalf("%+v", r)
	}
	commands := [][]string{{"list"}, {"list", "-v"}, {"list", "-v", "-o", "json"}, {"questions"}, {"questions", "-o", "json"},
		{"wait", ids["asking"], "--for", "question"}, {"show", ids["askingClaim"]}}
	s.refused(1000)
	few := s.best(commands)
	s.refused(99_000)
	many := s.best(commands)
	for range 10 { // the machine has other work, at one time more than at another
		if !slower(many, few) {
			break
		}
		for i, took := range s.best(commands) {
			many[i] = min(many[i], took)
		}
	}
	for i, c := range commands {
		t.Logf("%v: %v with 1,000 artefacts, %v with 100,000", c, few[i], many[i])
		if many[i] > 2*few[i] {
			t.Errorf("%v takes %v with 1,000 artefacts, %v with 100,000", c, few[i], many[i])
		}
	}
	if r := s.detailed(); r.State != stateRunning || len(r.Waits) < 3 {
		t.Errorf("%+v", r)
	}
	f, err := s.board.Figures(t.Context(), nil)
	s.must(err)
	if f.Artefacts < 100_000 || f.Unclaimed.Count != 0 {
		t.Errorf("%d artefacts, %d of them without a claim", f.Artefacts, f.Unclaimed.Count)
	}
}

// slower says whether anything takes more than twice its time.
func slower(many, few []time.Duration) bool {
	for i := range many {
		if many[i] > 2*few[i] {
			return true
		}
	}
	return false
}

// refused puts so many artefacts on the board that nothing waits for: goals that got
// no claim, and the Failures that say so.
func (s *stage) refused(many int) {
	s.t.Helper()
	var work sync.WaitGroup
	slots := make(chan struct{}, 64)
	for range many / 2 {
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			goal, failure := newID(), newID()
			err := s.board.PostGoal(s.t.Context(), blackboard.Artefact{ID: goal, StructuralType: blackboard.Standard, Type: blackboard.TypeGoalDefined,
				Payload: "filler", ProducedByRole: blackboard.RoleUser, WorkflowID: goal})
			if err == nil {
				err = s.board.RefuseClaim(s.t.Context(), s.epoch, goal, "filler", blackboard.Artefact{ID: failure, StructuralType: blackboard.Failure,
					Type: blackboard.TypeWorkflowLimit, Payload: fmt.Sprintf(`{"reason":"filler %s"}`, goal), ProducedByRole: blackboard.RoleOrchestrator,
					WorkflowID: goal, SourceArtefacts: []string{goal}})
			}
			if err != nil {
				s.t.Error(err)
			}
		})
	}
	work.Wait()
}
