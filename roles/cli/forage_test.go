package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
	"sett/roles/role"
	"sett/roles/role/store"
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
		"failed of a long reason": {role.Failed, []string{"the cause: " + strings.Repeat("so ", 40) + "it is; sett models resume"}, func(s *stage, goal string) {
			claim, _ := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Failure, Type: blackboard.TypeToolExecutionFailure,
				Payload: `{"reason":"the cause: ` + strings.Repeat("so ", 40) + `it is; sett models resume"}`})
			s.Must(s.board.Leader.TerminateClaim(s.t.Context(), s.Guard(claim), "writer failed", nil, nil))
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
			s.begin(claim, "writer")
			s.begin(claim, "lint")
			q := s.Finish(claim, "writer", blackboard.Artefact{StructuralType: blackboard.Question, Type: "Question", Payload: "?"})
			a := blackboard.Artefact{ID: newID(), StructuralType: blackboard.Answer, Type: "Answer", Payload: "!", ClaimID: claim, WorkflowID: goal, SourceArtefacts: []string{q}}
			if _, err := s.board.People.PostAnswer(s.t.Context(), q, a, "anna"); err != nil {
				s.t.Fatal(err)
			}
			s.begin(claim, "writer")
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
	s.Must(s.board.SetInstance(t.Context(), blackboard.InstanceMove{State: blackboard.InstanceStopping, By: "test"}))
	refused(role.NotFound, "is being stopped and takes no new goals\nsett -C ", "x")
	if ids, err := s.board.Index.Goals(t.Context(), 0); err != nil || len(ids) > 0 {
		t.Errorf("goals %v, %v", ids, err)
	}
}

// In an unfinished merge the hint is to finish it: a commit of all would have the marks of its conflicts.
func TestForageInMerge(t *testing.T) {
	s := landStage(t)
	base := s.rev("main")
	s.commitFile("a", "ours\n")
	s.git("checkout", "-q", "-b", "other", base)
	theirs := s.commitFile("a", "theirs\n")
	s.git("checkout", "-q", "main")
	for _, what := range []string{"merge", "rebase", "cherry-pick", "stash"} {
		args := []string{what, theirs}
		if what == "stash" { // its conflicts are no operation that goes on
			s.write("a", "aside\n")
			s.git("stash", "-q")
			s.commitFile("a", "newer\n")
			args = []string{"stash", "pop"}
		}
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x"}, args...)...)
		cmd.Dir = s.root
		if out, err := cmd.CombinedOutput(); err == nil {
			t.Fatalf("%v: no conflict: %s", args, out)
		}
		_, _, err := s.run("forage", "x")
		if role.CodeOf(err) != role.Usage || !strings.Contains(err.Error(), "unmerged     a") || strings.Contains(hint(err), "git add -A") {
			t.Errorf("%s: %v, hint %s", what, err, hint(err))
		}
		if what == "stash" {
			has(t, hint(err), "settle the conflicts in the unmerged files and commit them, or --allow-dirty")
			continue
		}
		has(t, err.Error(), "a "+what+" is under way")
		has(t, hint(err), "git add the settled files and git "+what+" --continue, or git "+what+" --abort, or --allow-dirty leaves them out")
		s.git(what, "--abort")
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

// baseOf returns the commit and the branch of a goal, and checks that the store holds it with all its history.
func (s *stage) baseOf(goal string) blackboard.Base {
	s.t.Helper()
	a, err := s.board.Records.Artefact(s.t.Context(), strings.TrimSpace(goal))
	s.Must(err)
	base := a.Base()
	if got := gitIn(s.t, s.store().Dir, "", "rev-parse", store.Goal(a.ID)); got != base.Commit {
		s.t.Errorf("the store holds %s, the goal says %s", got, base.Commit)
	}
	gitIn(s.t, s.store().Dir, "", "rev-list", "--objects", "--quiet", base.Commit)
	return base
}

// A goal starts from the commit that the person means, which the store has from then on.
func TestForageBase(t *testing.T) {
	s := newStage(t)
	first := gitIn(t, s.root, "", "rev-parse", "HEAD")
	branch := gitIn(t, s.root, "", "symbolic-ref", "--short", "HEAD")
	s.git("branch", "release/1")
	s.git("tag", "-m", "tagged", "v1")
	s.write("more", "x")
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "second")
	second := gitIn(t, s.root, "", "rev-parse", "HEAD")
	for name, tc := range map[string]struct {
		args []string
		want blackboard.Base
	}{
		"HEAD":    {nil, blackboard.Base{Commit: second, Branch: branch}},
		"branch":  {[]string{"--base", "release/1"}, blackboard.Base{Commit: first, Branch: "release/1"}},
		"tag":     {[]string{"--base", "v1"}, blackboard.Base{Commit: first}},
		"hash":    {[]string{"--base", first[:9]}, blackboard.Base{Commit: first}},
		"formula": {[]string{"--base", "HEAD~1"}, blackboard.Base{Commit: first}},
		"by name": {[]string{"--base", "HEAD"}, blackboard.Base{Commit: second, Branch: branch}},
	} {
		stdout, _, err := s.run(append([]string{"forage", "--goal", "do it"}, tc.args...)...)
		s.Must(err)
		if got := s.baseOf(stdout); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	for _, none := range []string{"nowhere", "--all", "HEAD:sett.yml"} {
		if _, _, err := s.run("forage", "--base="+none, "--goal", "x"); role.CodeOf(err) != role.NotFound || !strings.Contains(err.Error(), "names no commit") {
			t.Errorf("%s: %v", none, err)
		}
	}
	s.git("checkout", "-q", "--detach")
	stdout, _, err := s.run("forage", "x")
	s.Must(err)
	if got := s.baseOf(stdout); got.Branch != "" || got.Commit != second {
		t.Errorf("on no branch: %v", got)
	}
	s.write("dirty", "x")
	s.write("more", "y")
	_, stderr, err := s.run("forage", "--allow-dirty", "x")
	s.Must(err)
	has(t, stderr, "note: agents start from "+second[:10]+" without 2 files that are not committed: more, dirty")
	if _, _, err := s.run("forage", "--base", first, "x"); err != nil {
		t.Errorf("with a base the working tree does not count: %v", err)
	}
	out, _, err := s.run("show", "-o", "json", words.Short(strings.TrimSpace(stdout)))
	s.Must(err)
	has(t, out, second)
}

// A goal that is refused leaves nothing in the store.
func TestForageRefusedLeavesNoRef(t *testing.T) {
	s := newStage(t)
	s.Must(s.board.SetInstance(t.Context(), blackboard.InstanceMove{State: blackboard.InstanceStopping, By: "test"}))
	if _, _, err := s.run("forage", "x"); role.CodeOf(err) != role.NotFound {
		t.Errorf("posted: %v", err)
	}
	if refs := gitIn(t, s.store().Dir, "", "for-each-ref", store.Goal("")); refs != "" {
		t.Errorf("the store holds %s", refs)
	}
}

// What the store cannot have whole is refused with the reason and a remedy.
func TestForageCannotBring(t *testing.T) {
	s := newStage(t)
	for _, text := range []string{"x", "y"} {
		s.write("more", text)
		s.git("add", "-A")
		s.git("commit", "-q", "-m", text)
	}
	refused := func(says ...string) {
		t.Helper()
		_, _, err := s.run("forage", "x")
		if role.CodeOf(err) != role.Environment {
			t.Fatalf("posted: %v", err)
		}
		has(t, err.Error()+"\n"+hint(err), says...)
	}
	whole := filepath.Join(s.home, "whole")
	s.Must(os.Rename(s.root, whole))
	gitIn(t, whole, "", "config", "uploadpack.allowFilter", "true")
	gitIn(t, s.home, "", "clone", "-q", "--filter=blob:none", "file://"+whole, s.root)
	refused("it is a partial clone", "git fetch --refetch --no-filter")
	s.Must(os.RemoveAll(s.store().Dir))
	refused("instance stage has no store for commits: an older sett started it", "sett -C ", " up")
	if ids, err := s.board.Index.Goals(t.Context(), 0); err != nil || len(ids) > 0 {
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

// What keeps an agent from working decides about the goal: it waits, fails, or gets no bid.
func TestForageWarnsOfUnfitAgents(t *testing.T) {
	s := newStage(t)
	state := func(agent, trouble string, unfit bool) {
		s.Must(s.board.Cub.Hello(t.Context(), agent, blackboard.Presence{Incarnation: "i-" + agent, Trouble: trouble, Unfit: unfit}, blackboard.MostPromised))
	}
	state("lint", "tools/lint cannot be run: permission denied", true)
	_, stderr, err := s.run("forage", "x")
	s.Must(err)
	has(t, stderr, "warning: unable to work: lint (unfit: tools/lint cannot be run: permission denied); every goal that reaches them will fail (sett --name stage list, sett --name stage logs lint)")
	if strings.Contains(stderr, "waits for them") {
		t.Errorf("a goal that does not wait: %s", stderr)
	}
	state("lint", "bid script ended with exit code 4", false)
	_, stderr, err = s.run("forage", "x")
	s.Must(err)
	has(t, stderr, "warning: unable to bid: lint (unhealthy: bid script ended with exit code 4); they bid ignore (")
	if strings.Contains(stderr, "waits for them") {
		t.Errorf("a goal that does not wait: %s", stderr)
	}
}
