package cli

import (
	"sync"
	"testing"
	"time"

	"sett/blackboard"
)

// why and graph read what belongs to their goal: with a hundred times as much on
// the board they take at most twice their time.
func TestTracingCostsTheSameWithHistory(t *testing.T) {
	s := newStage(t)
	ids := s.tell()
	commands := [][]string{{"why", ids["terminal"]}, {"why", short(ids["rework"])}, {"graph", ids["goal"]}, {"graph", ids["second"], "-o", "json"}}
	s.fill(1000)
	few := s.best(commands)
	s.fill(99_000)
	many := s.best(commands)
	for i, c := range commands {
		t.Logf("%v: %v with 1,000 artefacts, %v with 100,000", c[:1], few[i], many[i])
		if many[i] > 2*few[i] {
			t.Errorf("%v takes %v with 1,000 artefacts, %v with 100,000", c, few[i], many[i])
		}
	}
	all, err := s.board.Goals(t.Context(), 0)
	s.must(err)
	if len(all) < 100_000 {
		t.Errorf("%d goals", len(all))
	}
}

// fill posts so many goals.
func (s *stage) fill(many int) {
	s.t.Helper()
	var work sync.WaitGroup
	slots := make(chan struct{}, 64)
	for range many {
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			id := newID()
			if err := s.board.PostGoal(s.t.Context(), blackboard.Artefact{ID: id, StructuralType: blackboard.Standard, Type: blackboard.TypeGoalDefined,
				Payload: "filler", ProducedByRole: blackboard.RoleUser, WorkflowID: id}); err != nil {
				s.t.Error(err)
			}
		})
	}
	work.Wait()
}

// best returns the shortest time that each of some commands takes, which says the
// least about the machine's other work.
func (s *stage) best(commands [][]string) []time.Duration {
	s.t.Helper()
	out := make([]time.Duration, len(commands))
	for range 15 {
		for i, c := range commands {
			began := time.Now()
			if _, _, err := s.run(c...); err != nil {
				s.t.Fatal(err)
			}
			if took := time.Since(began); out[i] == 0 || took < out[i] {
				out[i] = took
			}
		}
	}
	return out
}
