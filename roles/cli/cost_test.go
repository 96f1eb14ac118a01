package cli

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"sett/blackboard"
	"sett/roles/cli/status"
	"sett/roles/role/words"
)

// What is open is all that list, questions and wait read, and what belongs to their
// goal all that show, why and graph do: with a hundred times as much on the board they
// take at most twice their time.
func TestCommandsCostTheSameWithHistory(t *testing.T) {
	if testing.Short() {
		t.Skip(later)
	}
	t.Parallel()
	few, many := setStage(t, "--appendonly", "no"), setStage(t, "--appendonly", "no")
	commands := [][][]string{few.costly(), many.costly()}
	few.refused(200)
	many.refused(5_000)
	compareCosts(few, many, commands[0], commands[1])
	if r := many.detailed(); r.State != status.Running || *r.Gates+*r.Questions < 2 || len(r.Waits) < 3 {
		t.Errorf("%+v", r)
	}
	f, err := many.board.Figures(t.Context(), nil)
	many.Must(err)
	if f.Artefacts < 5_000 || f.Unclaimed.Count != 0 {
		t.Errorf("%d artefacts, %d of them without a claim", f.Artefacts, f.Unclaimed.Count)
	}
}

// costly has some goals, ended and open, and returns commands that read of them.
func (s *stage) costly() [][]string {
	s.t.Helper()
	s.staff()
	ids := s.tell()
	s.holds(blackboard.Standard)
	s.open(s.Goal("open"))
	return [][]string{
		{"list"}, {"list", "-v"}, {"list", "-v", "-o", "json"}, {"questions"}, {"questions", "-o", "json"},
		{"wait", ids["asking"], "--for", "question"}, {"show", ids["askingClaim"]},
		{"why", ids["terminal"]}, {"why", words.Short(ids["rework"])}, {"graph", ids["goal"]}, {"graph", ids["second"], "-o", "json"},
	}
}

// compareCosts fails where a command takes more than twice as long on the second
// stage. The two take turns, so that the machine's other work is in the way of both,
// and the shortest times say the least about it. What still seems slow is tried again:
// what is slow stays so.
func compareCosts(few, many *stage, onFew, onMany [][]string) {
	few.t.Helper()
	const rounds, most = 15, 200
	fastest := make([][2]time.Duration, len(onFew))
	slow := func(i int) bool { return fastest[i][1] > 2*fastest[i][0] }
	for round := range most {
		for i := range onFew {
			if round >= rounds && !slow(i) {
				continue
			}
			for at, took := range []time.Duration{few.took(onFew[i]), many.took(onMany[i])} {
				if round == 0 || took < fastest[i][at] {
					fastest[i][at] = took
				}
			}
		}
	}
	for i, c := range onMany {
		few.t.Logf("%v: %v with 200 artefacts, %v with 5,000", c[:1], fastest[i][0], fastest[i][1])
		if slow(i) {
			few.t.Errorf("%v takes %v with 200 artefacts, %v with 5,000", c, fastest[i][0], fastest[i][1])
		}
	}
}

// took is how long a command takes.
func (s *stage) took(command []string) time.Duration {
	s.t.Helper()
	began := time.Now()
	if _, _, err := s.run(command...); err != nil {
		s.t.Fatal(err)
	}
	return time.Since(began)
}

// refused puts so many artefacts on the board that nothing waits for: goals that got
// no claim, and the Failures that say so.
func (s *stage) refused(many int) {
	s.t.Helper()
	s.atOnce(many/2, func() error {
		goal, failure := newID(), newID()
		if err := s.postFiller(goal); err != nil {
			return err
		}
		return s.board.Leader.RefuseClaim(s.t.Context(), s.Epoch, goal, "filler", blackboard.Artefact{ID: failure, StructuralType: blackboard.Failure,
			Type: blackboard.TypeWorkflowLimit, Payload: fmt.Sprintf(`{"reason":"filler %s"}`, goal), ProducedByRole: blackboard.RoleOrchestrator,
			WorkflowID: goal, SourceArtefacts: []string{goal}})
	})
}

// fill posts so many goals.
func (s *stage) fill(many int) {
	s.t.Helper()
	s.atOnce(many, func() error { return s.postFiller(newID()) })
}

func (s *stage) postFiller(goal string) error {
	return s.board.People.PostGoal(s.t.Context(), blackboard.Artefact{ID: goal, StructuralType: blackboard.Standard, Type: blackboard.TypeGoalDefined,
		Payload: "filler", ProducedByRole: blackboard.RoleUser, WorkflowID: goal}, "ann")
}

// atOnce does something so many times, as many at once as share a round trip.
func (s *stage) atOnce(times int, do func() error) {
	s.t.Helper()
	var work sync.WaitGroup
	slots := make(chan struct{}, 64)
	for range times {
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			if err := do(); err != nil {
				s.t.Error(err)
			}
		})
	}
	work.Wait()
}
