package cli

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
)

// waitOutcomes are states of a goal, and what each --for comes to then.
var waitOutcomes = map[string]struct {
	set                           func(s *stage) (goal string)
	terminal, end, question, idle role.Code
	says                          string // on stdout
}{
	"achieved": {func(s *stage) string { return s.concluded(blackboard.Terminal) }, role.OK, role.OK, role.Failed, role.OK, "achieved"},
	"stalled":  {func(s *stage) string { return s.concluded("") }, role.NoTerminal, role.NoTerminal, role.NoTerminal, role.OK, "stalled"},
	"failed":   {func(s *stage) string { return s.concluded(blackboard.Failure) }, role.Failed, role.Failed, role.Failed, role.OK, "failed"},
	"a question": {func(s *stage) string {
		goal, _, _ := s.asks("the goal", "Which one?")
		return goal
	}, role.Waiting, role.TimedOut, role.OK, role.OK, "Which one?"},
	"a gate": {func(s *stage) string {
		goal, _ := s.holds(blackboard.Standard)
		return goal
	}, role.Waiting, role.TimedOut, role.OK, role.OK, "approve "},
	"a question beside work": {func(s *stage) string {
		bids := s.allBut("writer", blackboard.BidClaim, "lint", blackboard.BidClaim)
		goal := s.Goal("the goal")
		claim := s.open(goal, bids...)
		s.Grant(claim, blackboard.PhaseParallel, "writer", "lint")
		s.begin(claim, "lint")
		s.Finish(claim, "lint", blackboard.Artefact{StructuralType: blackboard.Question, Type: "Question", Payload: "Which one?"})
		return goal
	}, role.TimedOut, role.TimedOut, role.OK, role.TimedOut, "Which one?"},
	"work": {func(s *stage) string { return s.Goal("the goal") }, role.TimedOut, role.TimedOut, role.TimedOut, role.TimedOut, ""},
}

// concluded plays a goal that ends: with a Terminal, a Failure, or (empty) neither.
func (s *stage) concluded(st blackboard.StructuralType) (goal string) {
	s.t.Helper()
	goal = s.Goal("the goal")
	switch st {
	case "":
		s.Complete(s.open(goal, s.all("", "")...))
	case blackboard.Terminal:
		claim, _ := s.work(goal, blackboard.Artefact{StructuralType: st, Type: "Done", Payload: "done"})
		s.Complete(claim)
	default:
		claim, _ := s.work(goal, blackboard.Artefact{StructuralType: st, Type: "Failure", Payload: "no"})
		s.Must(s.board.Leader.TerminateClaim(s.t.Context(), s.Guard(claim), "it failed", nil, nil))
	}
	return goal
}

// What is so already ends the wait at once, whatever it is for.
func TestWaitForWhatIsSo(t *testing.T) {
	for name, tc := range waitOutcomes {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			goal := tc.set(s)
			for what, want := range map[string]role.Code{forTerminal: tc.terminal, forEnd: tc.end, forQuestion: tc.question, forIdle: tc.idle} {
				args := []string{"wait", "@last", "--for", what}
				if want == role.TimedOut {
					args = append(args, "--timeout", "50ms")
				}
				stdout, _, err := s.run(args...)
				if role.CodeOf(err) != want {
					t.Errorf("--for %s: %v", what, err)
				}
				if want == role.TimedOut {
					if stdout != "" {
						t.Errorf("--for %s prints %q", what, stdout)
					}
					continue
				}
				has(t, stdout, words.Short(goal), tc.says)
				args[1] = words.Short(goal)
				stdout, stderr, _ := s.run(append(args, "-o", "json", "--quiet")...)
				var v waitView
				if err := json.Unmarshal([]byte(stdout), &v); err != nil || v.ID != goal || v.Text == "" || v.Matters == nil || v.Waits == nil || stderr != "" {
					t.Errorf("--for %s: %v: %s%s", what, err, stdout, stderr)
				}
				if open := v.Questions + v.Gates; len(v.Matters) != open || len(v.Waits) < open {
					t.Errorf("--for %s: %s", what, stdout)
				}
			}
		})
	}
}

// What becomes so ends the wait, through a restart of Redis.
func TestWaitThroughRestart(t *testing.T) {
	s := newStage(t, redistest.Durable...)
	other := s.Goal("another")
	goal := s.Goal("the goal")
	calls := map[string]*call{}
	for _, what := range []string{forTerminal, forQuestion, forIdle} {
		calls[what] = s.start("wait", goal, "--for", what)
	}
	s.Until("all follow the ledger", func() bool { return s.Server.Followers() == 3 })
	s.Server.Kill()
	for _, c := range calls {
		s.Until("they notice the loss", func() bool { return strings.Contains(c.err.String(), "blackboard lost") })
	}
	s.Server.Restart()
	s.work(other, blackboard.Artefact{StructuralType: blackboard.Question, Type: "Question", Payload: "Not mine"})
	_, question := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Question, Type: "Question", Payload: "Which one?"})
	for what, want := range map[string]role.Code{forTerminal: role.Waiting, forQuestion: role.OK, forIdle: role.OK} {
		err := calls[what].wait()
		if role.CodeOf(err) != want || !strings.Contains(calls[what].out.String(), "answer "+words.Short(question)) || strings.Contains(calls[what].out.String(), "Not mine") {
			t.Errorf("--for %s: %v: %s", what, err, calls[what].out.String())
		}
		if what == forTerminal {
			has(t, err.Error(), "sett --name stage answer "+words.Short(question))
			if h := hint(err); h != "" {
				t.Errorf("the hint says again: %s", h)
			}
		}
	}
}

// A goal that ends ends every wait for it.
func TestWaitUntilTheEnd(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("the goal")
	calls := map[string]*call{}
	for _, what := range []string{forTerminal, forEnd, forQuestion, forIdle} {
		calls[what] = s.start("wait", goal, "--for", what)
	}
	s.Until("all follow the ledger", func() bool { return s.Server.Followers() == 4 })
	claim, _ := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Done", Payload: "done"})
	s.Complete(claim)
	for what, want := range map[string]role.Code{forTerminal: role.OK, forEnd: role.OK, forQuestion: role.Failed, forIdle: role.OK} {
		if err := calls[what].wait(); role.CodeOf(err) != want || !strings.Contains(calls[what].out.String(), "achieved") {
			t.Errorf("--for %s: %v: %s", what, err, calls[what].out.String())
		}
	}
}

// --for end waits on through what a person answers.
func TestWaitThroughAnswer(t *testing.T) {
	s := newStage(t)
	goal, claim, question := s.asks("the goal", "Which one?")
	c := s.start("wait", goal, "--for", "end")
	s.Until("it follows the ledger", func() bool { return s.Server.Followers() == 1 })
	_, _, err := s.run("answer", question, "That one.")
	s.Must(err)
	s.begin(claim, "writer")
	s.Finish(claim, "writer", blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Done", Payload: "done"})
	s.Complete(claim)
	if err := c.wait(); err != nil || !strings.Contains(c.out.String(), "achieved") {
		t.Errorf("%v: %s", err, c.out.String())
	}
}

// Who sits at a terminal is told what is waited for.
func TestWaitTellsWaits(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("the goal")
	terminal, told := openTerminal(t), &output{}
	go func() { _, _ = io.Copy(told, terminal) }() // a terminal echoes
	s.stderr = terminal
	c := s.start("wait", goal)
	s.Until("it is told", func() bool {
		return strings.Contains(told.String(), "the orchestrator has to open a claim on GoalDefined")
	})
	claim, _ := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Done", Payload: "done"})
	s.Complete(claim)
	s.Must(c.wait())
	if text := told.String(); strings.Contains(text, "result   ") || strings.Contains(text, "\"kind\"") {
		t.Errorf("more than the waits is told: %s", text)
	}
	has(t, c.out.String(), "achieved")
}

// What was answered just now is not waited for, and the goal is followed on.
func TestAnsweredMeanwhile(t *testing.T) {
	s := newStage(t)
	goal, _, question := s.asks("the goal", "Which one?")
	a := newApp(t.Context(), role.Env{Now: time.Now, Stderr: &output{}})
	in := &instance.Instance{State: instance.State{Name: "stage"}}
	b := instance.BoardOf(s.board)
	if end, err := a.ending(t.Context(), b, in, goal); err != nil || role.CodeOf(end) != role.Waiting {
		t.Errorf("%v, %v", end, err)
	}
	_, _, err := s.run("answer", question, "That one.")
	s.Must(err)
	if end, err := a.ending(t.Context(), b, in, goal); !errors.Is(err, errGoesOn) || end != nil {
		t.Errorf("%v, %v", end, err)
	}
	for what, want := range map[string]error{forTerminal: errGoesOn, forEnd: errGoesOn, forIdle: errGoesOn, forQuestion: errGoesOn} {
		w := &goalWaiter{app: a, b: b, in: in, goal: goal, what: what, form: term.Form{Output: "json"}}
		w.is, err = w.view(t.Context())
		s.Must(err)
		if _, err := w.taken(t.Context()); !errors.Is(err, want) {
			t.Errorf("--for %s: %v", what, err)
		}
	}
}

func TestWaitIsCutShort(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("the goal")
	c := s.start("wait", goal)
	s.Until("it follows the ledger", func() bool { return s.Server.Followers() == 1 })
	c.stop()
	if err := c.wait(); role.CodeOf(err) != role.Interrupted || c.out.String() != "" {
		t.Errorf("%v, %s", err, c.out.String())
	}
	for want, args := range map[role.Code][]string{
		role.Usage: {"@last", "--timeout", "-1s"}, role.NotFound: {"zzzzzz"},
	} {
		if _, _, err := s.run(append([]string{"wait"}, args...)...); role.CodeOf(err) != want {
			t.Errorf("%v: %v", args, err)
		}
	}
	if _, _, err := s.run("wait", "@last", "--for", "ever"); role.CodeOf(err) != role.Usage {
		t.Errorf("--for ever: %v", err)
	}
}

// watch says what is waited for while nothing happens: to people, and to programs
// that ask.
func TestWatchWaits(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("the goal")
	people, programs, ledger := s.start("watch"), s.start("watch", "-o", "jsonl", "--waits", "--workflow", goal), s.start("watch", "-o", "jsonl")
	s.Until("it is told", func() bool {
		return strings.Contains(people.out.String(), "waits") && strings.Contains(programs.out.String(), "waits")
	})
	has(t, people.out.String(), words.Short(goal)+"  waits      orchestrator  the orchestrator has to open a claim on GoalDefined "+words.Short(goal)+", for ")
	var entry waitsEntry
	if err := json.Unmarshal([]byte(programs.out.String()), &entry); err != nil || entry.Kind != "waits" || entry.Workflow != goal ||
		entry.Time.IsZero() || len(entry.Waits) != 1 || entry.Waits[0].What != blackboard.WaitClaim {
		t.Errorf("%v: %s", err, programs.out.String())
	}
	if ledger.out.String() != "" {
		t.Errorf("the ledger has %s", ledger.out.String())
	}
	before := len(people.out.String())
	s.asks("another", "Which one?")
	s.Until("what is new is told", func() bool { return strings.Contains(people.out.String(), " needs an answer to Question ") })
	if again := people.out.String()[before:]; strings.Contains(again, "to open a claim on GoalDefined "+words.Short(goal)) {
		t.Errorf("what was told is told again: %s", again)
	}
	claim, _ := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Done", Payload: "done"})
	s.Complete(claim)
	s.Until("there is nothing more to tell", func() bool { return strings.HasSuffix(programs.out.String(), `"waits":[]}`+"\n") })
	if n := strings.Count(programs.out.String(), `"kind":"waits"`); n != 2 {
		t.Errorf("told %d times: %s", n, programs.out.String())
	}
	for _, c := range []*call{people, programs, ledger} {
		c.stop()
		s.Must(c.wait())
	}
	if strings.Contains(ledger.out.String(), `"waits"`) {
		t.Errorf("the ledger has %s", ledger.out.String())
	}
}

// forage --wait says so, too, and names what was waited for when its time is over.
func TestForageWaitNamesWaits(t *testing.T) {
	s := newStage(t)
	var c *call
	var err error
	for _, limit := range []string{"3s", "6s", "12s"} { // a busy machine names waits later
		c = s.start("forage", "--wait="+limit, "--goal", "the goal")
		if err = c.wait(); role.CodeOf(err) != role.TimedOut {
			t.Errorf("%v", err)
		}
		has(t, err.Error(), limit+" was not enough")
		if strings.Contains(c.err.String(), "waits ") {
			break
		}
	}
	has(t, err.Error(), "\n  the orchestrator has to open a claim on GoalDefined")
	has(t, c.err.String(), "waits      orchestrator  the orchestrator has to open")
	if strings.Contains(c.out.String(), "waits") {
		t.Errorf("on stdout: %s", c.out.String())
	}
}

// A wait for a goal that cannot land says how to let it: by the branch itself, where it is not there.
func TestWaitNamesTheBranch(t *testing.T) {
	s := landStage(t)
	base := s.rev("main")
	s.Must(s.board.Leader.SetLanding(t.Context(), s.Epoch, "new ü"))
	goal, terminal := s.achieved(base, s.aside("a", "1\n"))
	was := blackboard.Landing{State: blackboard.LandingQueued}
	for tip, want := range map[string]string{"": "git branch 'new ü': it lands by itself then", base: "free the branch: it lands by itself then"} {
		want = "sett --name stage land " + blackboard.ShortID(goal) + " --onto 'new ü', or " + want
		is := blackboard.Landing{State: blackboard.LandingBarred, Artefact: terminal, Branch: "new ü", Tip: tip, Reason: "it cannot", People: true}
		s.Must(s.board.Leader.Land(t.Context(), blackboard.LandingStep{Epoch: s.Epoch, Workflow: goal, From: was, To: is}))
		was = is
		if _, _, err := s.run("wait", goal); role.CodeOf(err) != role.Waiting || hint(err) != want {
			t.Errorf("%v, hint %q, want %q", err, hint(err), want)
		}
	}
}
