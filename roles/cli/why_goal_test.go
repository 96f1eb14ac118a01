package cli

import (
	"errors"
	"testing"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
)

// Nothing led to a goal: of one that has ended, what came of it is told; and a
// hint is something that works.
func TestWhyOfAGoal(t *testing.T) {
	s := newStage(t)
	ids := s.tell()
	want, _, err := s.run("why", ids["terminal"])
	s.Must(err)
	got, stderr, err := s.run("why", ids["goal"])
	s.Must(err)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	has(t, stderr, "note: how goal "+words.Short(ids["goal"])+" was achieved\n")
	got, stderr, err = s.run("why", ids["failed"])
	s.Must(err)
	has(t, got, words.Short(ids["failure"]))
	has(t, stderr, "was failed")
	_, stderr, err = s.run("why", ids["asking"])
	s.Must(err)
	has(t, stderr, "is active; sett --name stage show "+words.Short(ids["asking"]))
}

func TestMissingArguments(t *testing.T) {
	s := newStage(t)
	s.refuses(role.NotFound, "no question waits for an answer", "answer")
	s.refuses(role.NotFound, "no goal", "why") // without an argument it is the newest
	s.refuses(role.NotFound, "no goal", "show")
	s.refuses(role.NotFound, "no goal", "wait")
	goal := s.Goal("the goal")
	for _, command := range []string{"show", "why", "graph"} {
		stdout, _, err := s.run(command)
		s.Must(err)
		has(t, stdout, goal[len(goal)-8:])
	}
	s.Must(s.board.People.CancelWorkflow(t.Context(), goal, s.byPerson("emil", blackboard.Failure, blackboard.TypeCancelled, `{"reason":"x"}`, "", goal, goal), "emil", "x"))
	stdout, _, _ := s.run("wait")
	has(t, stdout, words.Short(goal))
}

// What a cancelled goal's hint says can be typed.
func TestRetryOfCancelledGoal(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	goal := s.Goal("do it")
	_, _, err := s.run("cancel", goal, "enough")
	s.Must(err)
	_, _, err = s.run("retry", goal)
	var e *role.Error
	if !errors.As(err, &e) || e.Code != role.Failed || e.Hint != `sett --name stage forage --goal "…" posts a goal anew` {
		t.Errorf("%+v", err)
	}
	if w, err := s.board.Records.Workflow(t.Context(), goal); err != nil || w.Status != blackboard.WorkflowFailed {
		t.Errorf("%+v %v", w, err)
	}
}
