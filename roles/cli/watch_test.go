package cli

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// The ledger is followed without a gap and without anything twice, through a
// restart of Redis, and the user's interrupt is no failure.
func TestWatch(t *testing.T) {
	s := newStage(t, redistest.Durable...)
	first := s.Goal("before")
	c := s.start("watch", "--since", "all", "-o", "jsonl")
	s.Until("the past", func() bool { return strings.Contains(c.out.String(), first) })
	second := s.Goal("between")
	s.Until("the present", func() bool { return strings.Contains(c.out.String(), second) })
	s.Server.Kill()
	s.Until("a word about the loss", func() bool { return strings.Contains(c.err.String(), "blackboard lost") })
	s.Server.Restart()
	third := s.Goal("after")
	s.Until("what came after", func() bool { return strings.Contains(c.out.String(), third) })
	s.Until("a word about the return", func() bool { return strings.Contains(c.err.String(), "is back") })
	c.stop()
	if err := c.wait(); err != nil {
		t.Errorf("interrupted: %v", err)
	}
	all, err := s.board.Ledger.History(t.Context(), blackboard.Beginning, 1000)
	s.Must(err)
	dec := json.NewDecoder(strings.NewReader(c.out.String()))
	for i := 0; ; i++ {
		var e blackboard.Event
		if err := dec.Decode(&e); err == io.EOF {
			if i != len(all) {
				t.Errorf("%d of %d entries", i, len(all))
			}
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if i < len(all) && e.ID != all[i].ID {
			t.Fatalf("entry %d is %s, want %s", i, e.ID, all[i].ID)
		}
	}
}

func TestWatchOneGoal(t *testing.T) {
	s := newStage(t)
	mine, other := s.Goal("mine"), s.Goal("other")
	c := s.start("watch", "--since", "1h", "--workflow", blackboard.ShortID(mine))
	s.Until("the goal", func() bool { return strings.Contains(c.out.String(), "mine") })
	s.open(other)
	s.open(mine)
	s.Until("its claim", func() bool { return strings.Contains(c.out.String(), "  open ") })
	c.stop()
	s.Must(c.wait())
	if strings.Contains(c.out.String(), blackboard.ShortID(other)) {
		t.Errorf("another goal in\n%s", c.out.String())
	}
}

// With an end asked for, watch shows all there is up to it and says how a goal
// ended; the goal that others wait for is no concern of who watches another.
func TestWatchToTheEnd(t *testing.T) {
	s := newStage(t)
	if stdout, _, err := s.run("watch", "--exit-when-done"); err != nil || stdout != "" {
		t.Errorf("with nothing to do: %q, %v", stdout, err)
	}
	goal := s.Goal("done at last")
	one := s.start("watch", "--exit-when-done", "--since", "all", "--workflow", goal)
	all := s.start("watch", "--exit-when-done", "--since", "all")
	s.Until("the goal", func() bool {
		return strings.Contains(one.out.String(), "done at last") && strings.Contains(all.out.String(), "done at last")
	})
	other := s.Goal("the other")
	s.Complete(s.open(goal, s.all("", "")...))
	if err := one.wait(); role.CodeOf(err) != role.NoTerminal {
		t.Errorf("a goal without a Terminal: %v", err)
	}
	has(t, one.out.String(), "  complete ", "goal stalled")
	if strings.Contains(one.out.String(), "the other") {
		t.Errorf("another goal in\n%s", one.out.String())
	}
	s.Until("the other goal", func() bool { return strings.Contains(all.out.String(), "the other") })
	third := s.Goal("the third")
	claim, question := s.work(other, blackboard.Artefact{StructuralType: blackboard.Question, Type: "Question", Payload: "Which one?"})
	if _, _, err := s.run("watch", "--exit-when-done", "--workflow", other); role.CodeOf(err) != role.Waiting {
		t.Errorf("a question: %v", err)
	}
	s.Until("the question", func() bool { return strings.Contains(all.out.String(), "Which one?") })
	select {
	case err := <-all.done:
		t.Fatalf("ended with work left: %v", err)
	default:
	}
	s.Complete(s.open(third, s.all("", "")...))
	if err := all.wait(); role.CodeOf(err) != role.Waiting || !strings.Contains(err.Error(), "Which one?") {
		t.Errorf("a question is left: %v", err)
	}
	_, err := s.board.People.PostAnswer(t.Context(), question, blackboard.Artefact{ID: newID(), StructuralType: blackboard.Answer, Type: "Answer", Payload: "!", ClaimID: claim,
		WorkflowID: other, SourceArtefacts: []string{question}}, "anna")
	s.Must(err)
	s.begin(claim, "writer")
	all = s.start("watch", "--exit-when-done", "--since", "all")
	s.Until("the start", func() bool { return strings.Count(all.out.String(), "  start ") == 2 })
	s.Finish(claim, "writer", blackboard.Artefact{StructuralType: blackboard.Failure, Type: blackboard.TypeToolExecutionFailure, Payload: `{"reason":"no way"}`})
	s.Must(s.board.Leader.TerminateClaim(t.Context(), s.Guard(claim), "writer failed", nil, nil))
	if err := all.wait(); role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "goal "+words.Short(other)+" failed") {
		t.Errorf("all goals at their ends, one failed: %v", err)
	}
	if _, _, err := s.run("watch", "--exit-when-done"); err != nil {
		t.Errorf("with nothing to do any more: %v", err)
	}
	history, err := s.board.Ledger.History(t.Context(), blackboard.Beginning, 1000)
	s.Must(err)
	if got := strings.Count(all.out.String(), "\n") - strings.Count(all.out.String(), "  waits      "); got != len(history) {
		t.Errorf("%d of %d entries in\n%s", got, len(history), all.out.String())
	}
	if _, _, err := s.run("watch", "--exit-when-done", "--workflow", other); role.CodeOf(err) != role.Failed {
		t.Errorf("a goal that failed: %v", err)
	}
	waiting := s.Goal("never")
	for want, args := range map[role.Code][]string{role.TimedOut: {"--exit-when-done", "--timeout", "50ms"}, role.Usage: {"--timeout", "5s"}} {
		if _, _, err := s.run(append([]string{"watch"}, args...)...); role.CodeOf(err) != want {
			t.Errorf("%v: %v", args, err)
		}
	}
	c := s.start("watch", "--exit-when-done", "--since", "all", "--workflow", waiting)
	s.Until("the goal", func() bool { return strings.Contains(c.out.String(), "never") })
	c.stop()
	if err := c.wait(); role.CodeOf(err) != role.Interrupted {
		t.Errorf("interrupted before the end: %v", err)
	}
}

// A Failure that has all of a tool's output is too large to be read for a line: its reason is in the line all the same.
func TestWatchLargeFailure(t *testing.T) {
	s := newStage(t)
	s.work(s.Goal("much"), blackboard.Artefact{StructuralType: blackboard.Failure, Type: blackboard.TypeToolExecutionFailure, Summary: "too much output",
		Payload: `{"reason":"too much output","stdout":"` + strings.Repeat("x", view.MaxShown) + `"}`})
	stdout, _, err := s.run("watch", "--since", "all", "--until", "1ms")
	s.Must(err)
	has(t, stdout, "fails, ToolExecutionFailure", ": too much output")
}
