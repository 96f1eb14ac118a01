package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
	"sett/roles/role"
	"sett/roles/role/words"
)

func TestForageWait(t *testing.T) {
	standard := blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Note", Payload: "text"}
	for name, tc := range map[string]struct {
		code role.Code
		says []string
		play func(s *stage, goal string)
	}{
		"achieved": {role.OK, []string{"goal achieved", "Done ", "all well", "claim", "writer"}, func(s *stage, goal string) {
			claim, _ := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Done", Summary: "all well"})
			s.Complete(claim)
		}},
		"failed": {role.Failed, []string{"goal failed", "ToolExecutionFailure of writer", "no such tool", "sett --name stage show"}, func(s *stage, goal string) {
			claim, _ := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Failure, Type: blackboard.TypeToolExecutionFailure, Payload: `{"reason":"no such tool"}`})
			s.Must(s.board.Leader.TerminateClaim(s.t.Context(), s.Guard(claim), "writer failed", nil, nil))
		}},
		"stalled": {role.NoTerminal, []string{"without a Terminal", "sett --name stage show"}, func(s *stage, goal string) {
			claim := s.open(goal, s.all("", "")...)
			s.Complete(claim)
		}},
		"question": {role.Waiting, []string{"waiting for you: 1 question", "Which one?", `sett --name stage answer `}, func(s *stage, goal string) {
			s.work(goal, blackboard.Artefact{StructuralType: blackboard.Question, Type: "Question", Payload: "Which one?"})
		}},
		"question while others work": {role.NoTerminal, []string{"without a Terminal"}, func(s *stage, goal string) {
			claim := s.open(goal, blackboard.BidRequest{Agent: "writer", Bid: blackboard.BidClaim}, blackboard.BidRequest{Agent: "lint", Bid: blackboard.BidClaim},
				blackboard.BidRequest{Agent: "many", Bid: blackboard.BidIgnore})
			s.Grant(claim, blackboard.PhaseParallel, "writer", "lint")
			s.begin(claim, "writer", blackboard.ReadOnly)
			s.begin(claim, "lint", blackboard.ReadOnly)
			q := s.Finish(claim, "writer", blackboard.Artefact{StructuralType: blackboard.Question, Type: "Question", Payload: "?"})
			a := blackboard.Artefact{ID: newID(), StructuralType: blackboard.Answer, Type: "Answer", Payload: "!", ClaimID: claim, WorkflowID: goal, SourceArtefacts: []string{q}}
			if _, err := s.board.People.PostAnswer(s.t.Context(), q, a, "anna"); err != nil {
				s.t.Fatal(err)
			}
			s.begin(claim, "writer", blackboard.ReadOnly)
			for _, agent := range []string{"writer", "lint"} {
				id := s.Finish(claim, agent, standard)
				s.Complete(s.open(id, s.all("", "")...))
			}
			s.Complete(claim)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			c := s.start("forage", "--wait", "--goal", "do it")
			goal := c.goalOf()
			tc.play(s, goal)
			err := c.wait()
			if got := role.CodeOf(err); got != tc.code {
				t.Errorf("exit code %d, want %d: %v", got, tc.code, err)
			}
			text := c.err.String() + hint(err)
			if err != nil {
				text += err.Error()
			}
			has(t, text, tc.says...)
			if c.out.String() != goal+"\n" {
				t.Errorf("stdout is %q, want the id alone", c.out.String())
			}
		})
	}
}

func TestForageWaitIsCutShort(t *testing.T) {
	s := newStage(t)
	c := s.start("forage", "--wait=50ms", "a", "goal", "in", "words")
	err := c.wait()
	if role.CodeOf(err) != role.TimedOut || !strings.Contains(err.Error(), "goes on") {
		t.Errorf("after its time: %v", err)
	}
	goal, err := s.board.Records.Artefact(t.Context(), c.goalOf())
	s.Must(err)
	if goal.Payload != "a goal in words" || goal.Type != blackboard.TypeGoalDefined || goal.ProducedByRole != "user" || goal.WorkflowID != goal.ID {
		t.Errorf("goal %+v", goal)
	}
	c = s.start("forage", "--wait", "-")
	id := c.goalOf()
	s.Until("the goal's line", func() bool { return strings.Contains(c.err.String(), "from stdin") })
	c.stop()
	err = c.wait()
	if role.CodeOf(err) != role.Interrupted || !strings.Contains(err.Error(), "goes on") {
		t.Errorf("after an interrupt: %v", err)
	}
	if w, err := s.board.Records.Workflow(t.Context(), id); err != nil || w.Status != blackboard.WorkflowActive {
		t.Errorf("the goal is %+v, %v", w, err)
	}
}

// A Redis that dies in the middle does not end the wait.
func TestForageWaitThroughRestart(t *testing.T) {
	s := newStage(t, redistest.Durable...)
	c := s.start("forage", "--wait", "--goal", "do it")
	goal := c.goalOf()
	s.Until("the goal's line", func() bool { return strings.Contains(c.err.String(), "do it") })
	s.Server.Kill()
	s.Until("a word about the loss", func() bool { return strings.Contains(c.err.String(), "blackboard lost") })
	s.Server.Restart()
	claim, _ := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Done"})
	s.Complete(claim)
	if err := c.wait(); err != nil {
		t.Error(err)
	}
}

func TestForageRefuses(t *testing.T) {
	s := newStage(t)
	refused := func(want role.Code, says string, args ...string) {
		t.Helper()
		_, _, err := s.run(append([]string{"forage"}, args...)...)
		if role.CodeOf(err) != want || !strings.Contains(err.Error()+"\n"+hint(err), says) {
			t.Errorf("forage %v: code %d, %v; hint %s", args, role.CodeOf(err), err, hint(err))
		}
	}
	refused(role.Usage, "empty")
	refused(role.Usage, "empty", "--goal", " \n")
	refused(role.Usage, "not UTF-8", "a\xffb")
	refused(role.Usage, "not UTF-8", "--goal", "a\xffb")
	refused(role.Usage, "twice", "--goal", "x", "y")
	refused(role.Usage, "no such file", "--file", "nowhere")
	refused(role.Usage, "--wait=10m", "--wait", "10m", "Fix", "the", "test")
	refused(role.Usage, "how long --wait may take", "--timeout", "5s", "x")
	refused(role.Usage, "--timeout: -5s is negative", "--wait", "--timeout=-5s", "x")
	refused(role.Usage, "twice", "--wait=5s", "--timeout", "5s", "x")
	for i := range 12 {
		s.write(fmt.Sprintf("file-%02d", i), "x")
	}
	s.write("sett.yml", clan+"# changed\n")
	refused(role.Usage, "uncommitted  sett.yml", "x")
	refused(role.Usage, "untracked    file-08", "x")
	refused(role.Usage, "and 3 more", "x")
	refused(role.Usage, "git add -A", "x")
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "second")
	s.staff()
	s.Must(s.board.SetInstance(t.Context(), blackboard.InstanceStopping, "test"))
	refused(role.NotFound, "is being stopped and takes no new goals\nsett -C ", "x")
	if ids, err := s.board.Index.Goals(t.Context(), 0); err != nil || len(ids) > 0 {
		t.Errorf("goals %v, %v", ids, err)
	}
}

func TestForageOutsideGit(t *testing.T) {
	s := newStage(t)
	s.Must(os.RemoveAll(filepath.Join(s.root, ".git")))
	_, _, err := s.run("forage", "x")
	if role.CodeOf(err) != role.Usage || !strings.Contains(hint(err), "git init") {
		t.Errorf("outside a repository: %v", err)
	}
	s.git("init", "-q")
	_, _, err = s.run("forage", "x")
	if role.CodeOf(err) != role.Usage || !strings.Contains(err.Error(), "no commit") {
		t.Errorf("without a commit: %v", err)
	}
}

// What an agent has not committed yet is no dirt: forage waits for it.
func TestForageWaitsForWriter(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("first")
	claim := s.open(goal, s.all("writer", blackboard.BidExclusive)...)
	s.Grant(claim, blackboard.PhaseExclusive, "writer")
	s.begin(claim, "writer", blackboard.ReadWrite)
	s.write("half", "done")
	c := s.start("forage", "second")
	s.Until("a word about the writer", func() bool { return strings.Contains(c.err.String(), "waiting for writer") })
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "whole")
	s.Finish(claim, "writer", blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Note"})
	if err := c.wait(); err != nil {
		t.Error(err)
	}
	c.goalOf()
}

// As long as the limit of --wait allows: it is for all that forage does.
func TestForageLimitCoversWriter(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("first")
	claim := s.open(goal, s.all("writer", blackboard.BidExclusive)...)
	s.Grant(claim, blackboard.PhaseExclusive, "writer")
	s.begin(claim, "writer", blackboard.ReadWrite)
	s.write("half", "done")
	for _, args := range [][]string{{"--wait=300ms", "x"}, {"--wait", "--timeout", "300ms", "x"}} {
		stdout, _, err := s.run(append([]string{"forage", "--quiet"}, args...)...)
		if role.CodeOf(err) != role.TimedOut || !strings.Contains(err.Error(), "writer (claim "+words.Short(claim)+")") || stdout != "" {
			t.Errorf("%v: %v, %q", args, err, stdout)
		}
	}
	if ids, err := s.board.Index.Goals(t.Context(), 0); err != nil || len(ids) != 1 {
		t.Errorf("goals %v, %v", ids, err)
	}
}

func TestForageWarnsOfAbsentAgents(t *testing.T) {
	s := newStage(t)
	s.Must(s.board.Cub.Goodbye(t.Context(), "lint", "i-lint", "gone"))
	_, stderr, err := s.run("forage", "x")
	s.Must(err)
	has(t, stderr, "warning: not at work: lint (is not running); the goal waits for them (sett --name stage list, sett --name stage logs lint)")
}
