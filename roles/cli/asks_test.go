package cli

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
)

// followed is a goal that is followed at a terminal, and asks.
type followed struct {
	*call
	*tty
	goal, claim, question string
}

// onQuestion follows a goal until its question is on the terminal.
func (s *stage) onQuestion(text string) followed {
	s.t.Helper()
	s.by("anna")
	p := newTTY(s.t, 80)
	f := followed{tty: p, call: s.startAt(p, "forage", "--wait", "--goal", "paint it")}
	s.Until("a goal", func() bool {
		ids, err := s.board.Index.Goals(s.t.Context(), 1)
		s.Must(err)
		if len(ids) == 1 {
			f.goal = ids[0]
		}
		return f.goal != ""
	})
	f.claim, f.question = s.work(f.goal, blackboard.Artefact{StructuralType: blackboard.Question, Type: "Question", Payload: text})
	p.await("writer asks:")
	return f
}

func (s *stage) finishes(f followed) {
	s.t.Helper()
	s.begin(f.claim, "writer")
	s.Finish(f.claim, "writer", blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Done", Payload: "red"})
	s.Complete(f.claim)
}

// A question is asked where the goal is followed, cleaned, and following goes on.
func TestAskedInPlace(t *testing.T) {
	s := newStage(t)
	f := s.onQuestion("which?\n\x1b[2Jred or blue")
	f.types("  red \n", "later): ")
	f.await("answered; writer goes on")
	s.Until("the answer", func() bool { return s.grantOf(f.claim, "writer").State == blackboard.GrantQueued })
	asked := s.grantOf(f.claim, "writer").Asked
	a, err := s.board.Records.Artefact(t.Context(), asked[1])
	s.Must(err)
	if a.Payload != "red" || blackboard.PersonOf(a) != "anna" {
		t.Errorf("answered %q by %s", a.Payload, blackboard.PersonOf(a))
	}
	s.finishes(f)
	s.Must(f.wait())
	has(t, f.closed(), "writer asks:\r\n    which?\r\n    \\x1b[2Jred or blue\r\n", "goal achieved")
}

// An empty line, or the end of the input, leaves a question open.
func TestLeftOpenInPlace(t *testing.T) {
	s := newStage(t)
	f := s.onQuestion("which?")
	f.types("\n", "later): ")
	if err := f.wait(); role.CodeOf(err) != role.Waiting {
		t.Errorf("left open: %v", err)
	}
	has(t, f.closed(), "sett: left open; later: sett --name stage answer "+words.Short(f.question)+` "…"`)
	for _, typed := range []string{"\n", "\x04"} {
		p := newTTY(t, 80)
		c := s.startAt(p, "wait", f.goal)
		p.types(typed, "later): ")
		if err := c.wait(); role.CodeOf(err) != role.Waiting {
			t.Errorf("%q leaves it open: %v", typed, err)
		}
		has(t, p.closed(), "left open; later: ")
	}
	if g := s.grantOf(f.claim, "writer"); g.State != blackboard.GrantAwaitingAnswer {
		t.Errorf("grant %+v", g)
	}
}

func TestInterruptedInPlace(t *testing.T) {
	s := newStage(t)
	f := s.onQuestion("which?")
	f.stop()
	err := f.wait()
	if role.CodeOf(err) != role.Interrupted || !strings.Contains(strings.Join(strings.Fields(err.Error()), " "), "; later: sett --name stage answer "+words.Short(f.question)+` "…"`) {
		t.Errorf("interrupted: %v", err)
	}
}

// Somebody else may be faster.
func TestSettledElsewhere(t *testing.T) {
	s := newStage(t)
	f := s.onQuestion("which?")
	_, _, err := s.run("answer", f.question, "blue")
	s.Must(err)
	f.await("sett: anna answered it ")
	f.await(" ago, with ")
	s.finishes(f)
	s.Must(f.wait())
	if strings.Contains(f.closed(), "was dropped") {
		t.Errorf("nothing was typed, and yet: %s", f.shown())
	}
	goal, held := s.holds(blackboard.Standard)
	p := newTTY(t, 80)
	c := s.startAt(p, "wait", goal)
	p.await("later: ")
	_, _, err = s.run("approve", held)
	s.Must(err)
	p.await("sett: it was approved by anna ")
	c.stop()
	_ = c.wait()
}

// An answer that is half typed when its question is given up is dropped, with a word: the shell
// would run it.
func TestDroppedInPlace(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	at := func(args ...string) followed {
		p := newTTY(t, 80)
		return followed{call: s.startAt(p, args...), tty: p}
	}
	elsewhere := func(args ...string) func() {
		return func() {
			_, _, err := s.run(args...)
			s.Must(err)
		}
	}
	f := s.onQuestion("which?")
	f.at = 0
	s.drops(f, func() {
		elsewhere("answer", f.question, "blue")()
		s.finishes(f)
	}, "sett: anna answered it ")
	goal, _, question := s.asks("paint it", "which?")
	_, held := s.holds(blackboard.Standard)
	for _, f := range []followed{at("wait", goal), at("watch", "--workflow", goal), at("wait", held)} {
		s.drops(f, f.stop, "")
	}
	s.drops(at("watch", "--workflow", goal), elsewhere("answer", question, "blue"), "sett: anna answered it ")
	s.drops(at("wait", held), elsewhere("reject", held, "no changelog"), "sett: it was rejected by anna ")
}

// drops types half an answer at a question that is then over, and sees that whoever reads the terminal next gets
// nothing of it.
func (s *stage) drops(f followed, over func(), says string) {
	s.t.Helper()
	f.types("rm -rf shed", "later")
	f.await("rm -rf shed")
	over()
	f.await(says)
	f.await("sett: what you typed was dropped\r\n")
	f.stop()
	_ = f.wait()
	if _, err := f.master.WriteString("\n"); err != nil {
		s.t.Fatal(err)
	}
	next := make([]byte, 100)
	n, err := f.end.Read(next)
	s.Must(err)
	if string(next[:n]) != "\n" {
		s.t.Errorf("%q is left on the terminal, which shows\n%s", next[:n], f.shown())
	}
}

// releases has the writer make what waits for approval, in the goal that is followed.
func (s *stage) releases(f followed) (held string) {
	s.t.Helper()
	s.begin(f.claim, "writer")
	held = s.Finish(f.claim, "writer", blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Release", Payload: "v1.0", Summary: "packed"})
	s.Complete(f.claim)
	return held
}

// undecided leaves a gate open with an empty line, and sees that nothing has settled it.
func (s *stage) undecided(f followed, held string) {
	s.t.Helper()
	f.types("\n", "Approve it? y, n, or empty: later: ")
	f.await("left open; later:")
	f.stop()
	_ = f.wait()
	if review, err := s.board.Records.Artefact(s.t.Context(), blackboard.GateReviewID(held)); err == nil {
		s.t.Errorf("it is decided: %+v", review)
	}
}

// Lines that are pasted are one answer, and what is typed before a gate is shown does not
// approve it.
func TestPastedInPlace(t *testing.T) {
	s := newStage(t)
	s.Must(s.board.Leader.Enact(t.Context(), s.Epoch, []string{"Release"}, ""))
	f := s.onQuestion("how?")
	f.types("The shed should be green:\n\n- two coats\ny", "later): ")
	f.types("es\n", "that is a text of several lines; an empty line ends it")
	f.await("es\r\n")
	for !strings.Contains(f.shown(), "answered; writer goes on") {
		time.Sleep(300 * time.Millisecond) // a line of its own, which was not pasted
		f.types("\n", "")
	}
	f.types("y\ny\n", "answered; writer goes on")
	s.Until("the answer", func() bool { return s.grantOf(f.claim, "writer").State == blackboard.GrantQueued })
	a, err := s.board.Records.Artefact(t.Context(), s.grantOf(f.claim, "writer").Asked[1])
	s.Must(err)
	if a.Payload != "The shed should be green:\n\n- two coats\nyes" {
		t.Errorf("answered %q", a.Payload)
	}
	f.await("y\r\ny\r\n")
	held := s.releases(f)
	f.await("sett: what you typed before this question was dropped\r\n")
	s.undecided(f, held)
}

// A letter that was typed at another question is none at a gate.
func TestHalfTypedInPlace(t *testing.T) {
	s := newStage(t)
	s.Must(s.board.Leader.Enact(t.Context(), s.Epoch, []string{"Release"}, ""))
	f := s.onQuestion("which?")
	f.types("y", "later): ")
	f.await("y")
	_, _, err := s.run("answer", f.question, "blue")
	s.Must(err)
	f.await("sett: what you typed was dropped")
	s.undecided(f, s.releases(f))
}

// Lines that are pasted at a gate do not approve it.
func TestPastedAtGate(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	goal, held := s.holds(blackboard.Standard)
	p := newTTY(t, 80)
	c := s.startAt(p, "wait", goal)
	p.types("y\nno, wait\ny\n", "Approve it? y, n, or empty: later: ")
	s.undecided(followed{call: c, tty: p}, held)
}

// A yes that was typed before the question agrees to nothing.
func TestTypedBeforeConfirm(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	for _, typed := range []string{"y\n", "y"} {
		p := newTTY(t, 80)
		p.types(typed, "")
		p.await("y")
		c := s.startAt(p, "down", "--purge")
		p.types("\n", "[y/N] ")
		if err := c.wait(); role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "nothing was done") {
			t.Errorf("%q: %v", typed, err)
		}
		if said := strings.Contains(p.closed(), "what you typed before this question was dropped"); !said {
			t.Errorf("%q: %s", typed, p.shown())
		}
	}
	p := newTTY(t, 80)
	c := s.startAt(p, "down", "--purge")
	p.types("y\n", "[y/N] ")
	s.Must(c.wait())
}

func TestGateInPlace(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	for _, tc := range []struct {
		typed, last string
		state       string
	}{
		{"maybe\ny\n", "", "approved"}, {"n\nno changelog\n", "What is wrong with it (empty: later): ", "rejected"}, {"n\n\n", "What is wrong with it (empty: later): ", ""}, {"\n", "", ""},
	} {
		goal, held := s.holds(blackboard.Standard)
		p := newTTY(t, 80)
		c := s.startAt(p, "wait", goal)
		p.await("Release of writer waits for approval:\r\n    packed\r\n  sett --name stage unearth " + words.Short(held) + " shows it\r\n")
		for i, line := range strings.SplitAfter(strings.TrimSuffix(tc.typed, "\n"), "\n") {
			when := "Approve it? y, n, or empty: later: "
			if i > 0 && tc.last != "" {
				when = tc.last
			}
			p.types(strings.TrimSuffix(line, "\n")+"\n", when)
		}
		p.await(map[string]string{"approved": "is approved; its claim opens", "rejected": "is rejected; writer reworks it", "": "left open; later:"}[tc.state])
		c.stop()
		_ = c.wait()
		review, err := s.board.Records.Artefact(t.Context(), blackboard.GateReviewID(held))
		if tc.state == "" {
			if err == nil {
				t.Errorf("%q decides: %+v", tc.typed, review)
			}
			continue
		}
		s.Must(err)
		if tc.state == "rejected" && review.Payload != "no changelog" || blackboard.PersonOf(review) != "anna" {
			t.Errorf("%q: %+v", tc.typed, review)
		}
	}
}

// Nobody is asked who cannot answer, and no program.
func TestNobodyIsAsked(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	goal, _, _ := s.asks("paint it", "which?")
	p := newTTY(t, 80)
	null, err := os.Open(os.DevNull)
	s.Must(err)
	defer null.Close()
	for name, prepare := range map[string]func(){
		"no input":  func() { s.terminal, s.stdin = p.end, null },
		"no stderr": func() { s.terminal, s.stderr = p.end, &output{} },
		"a tool": func() {
			s.terminal, s.vars = p.end, map[string]string{"SETT_CLAIM_ID": "x"}
		},
	} {
		s.terminal, s.stdin, s.stderr, s.vars = nil, nil, nil, nil
		prepare()
		c := s.start("wait", goal)
		if err := c.wait(); role.CodeOf(err) != role.Waiting {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.terminal, s.stdin, s.stderr, s.vars = p.end, nil, nil, nil
	for _, args := range [][]string{{"wait", goal, "-o", "json"}, {"wait", goal, "--quiet"}, {"wait", goal, "--for", "idle"}, {"watch", "--exit-when-done"}} {
		_ = s.start(args...).wait()
	}
	if shown := p.closed(); strings.Contains(shown, "Your answer") {
		t.Errorf("asked: %s", shown)
	}
}

// Somebody may go on typing for a moment after a question was given up. What is typed later is for the shell.
func TestTypedOn(t *testing.T) {
	for _, tc := range []struct {
		after time.Duration
		kept  string
	}{{time.Second, "\n"}, {time.Minute, "ls\n"}} {
		p := newTTY(t, 80)
		now := time.Unix(0, 0)
		on := term.New(role.Env{Stdin: p.end, Stdout: p.end, Stderr: p.end, Now: func() time.Time { return now }})
		typist := term.NewTypist(&on)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		go func() { _, err := typist.Ask(ctx, "which? "); done <- err }()
		p.types("the r", "which? ")
		p.await("the r")
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || !typist.Dropped() || typist.Dropped() {
			t.Fatalf("given up with %v, or not said once that text was dropped", err)
		}
		p.types("ls", "")
		p.await("ls")
		now = now.Add(tc.after)
		typist.End()
		if typist.Dropped() != (tc.kept == "\n") {
			t.Errorf("after %s: dropped is wrong", tc.after)
		}
		p.types("\n", "")
		line := make([]byte, 100)
		n, err := p.end.Read(line)
		if err != nil || string(line[:n]) != tc.kept {
			t.Errorf("after %s %q is kept (%v), want %q", tc.after, line[:n], err, tc.kept)
		}
	}
}
