package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
)

// screens are the places where people and programs read what a command says.
var screens = []screen{{"80 columns", 80, ""}, {"120 columns", 120, ""}, {"80 columns, TERM=dumb", 80, "dumb"}, {"a pipe", 0, ""}}

type screen struct {
	name    string
	columns int // 0: no terminal
	term    string
}

// on has the commands that follow see this screen.
func (s *stage) on(at screen) {
	s.vars = map[string]string{"NO_COLOR": "1", "TERM": at.term, "SETT_USER": "anna"}
}

// keystrokes are what a person types, each once the terminal shows a text.
type keystrokes [][2]string

// shot runs a command on a screen, and returns all that stands there at its end. meanwhile
// runs beside it; nil: nothing does.
func (s *stage) shot(at screen, keys keystrokes, meanwhile func(), args ...string) string {
	s.t.Helper()
	s.on(at)
	play := func(c *call) error {
		if meanwhile != nil {
			meanwhile()
		}
		return c.wait()
	}
	if at.columns == 0 {
		c := s.start(args...)
		err := play(c)
		said := c.err.String()
		if err != nil {
			var b bytes.Buffer
			role.Report(&b, err)
			said += b.String()
		}
		return c.out.String() + prefixed("stderr: ", said)
	}
	p := newTTY(s.t, uint16(at.columns)) //nolint:gosec // it is one of the above
	c := s.startAt(p, args...)
	for _, k := range keys {
		p.types(k[1], k[0])
	}
	if err := play(c); err != nil {
		role.Report(p.end, err)
	}
	return seen(p.closed(), at.columns)
}

func prefixed(with, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(with+line, " "))
	}
	return b.String()
}

// shots are what commands have shown, by the name of their golden file.
type shots map[string]*strings.Builder

// add adds what a command shows on a screen. No line is wider, but for commands to be typed,
// which are copied in one piece.
func (all shots) add(t *testing.T, name string, at screen, shown string) {
	t.Helper()
	shown = waitsLine.ReplaceAllString(shown, "")
	for line := range strings.Lines(shown) {
		if body := strings.TrimSpace(line); at.columns > 0 && wider(line, at.columns) != "" && !toType.MatchString(body) {
			t.Errorf("%s, %s: wider: %s", name, at.name, line)
		}
	}
	shown = unfolded(shown)
	if all[name] == nil {
		all[name] = &strings.Builder{}
	}
	fmt.Fprintf(all[name], "=== %s\n%s\n", at.name, strings.TrimRight(shown, "\n"))
}

var (
	toType    = regexp.MustCompile(`^(sett: hint: )?(sett|git|cd|export) `)
	waitsLine = regexp.MustCompile(`(?m)^\S+ +(\S+ +)?waits .*\n`) // on a busy machine there is time for one
	timed     = regexp.MustCompile(`(?m)^(sett: (?:error: )?goal (?:achieved in|failed after|ended after) .*)\n  (\S)`)
	placed    = regexp.MustCompile(`(?m)^runs in  .*(?:\n {9}\S.*)*`)
	spans     = regexp.MustCompile(`\b(in|after) \d+(\.\d+)?m?s\b`)
	tookTool  = regexp.MustCompile(`\(\d+(\.\d+)?m?s\)`)
)

// unfolded joins the lines whose breaks depend on the run: how long a goal took, and the
// folder of a tree that is tried, which lies below TMPDIR.
func unfolded(shown string) string {
	for timed.MatchString(shown) {
		shown = timed.ReplaceAllString(shown, "$1 $2")
	}
	return placed.ReplaceAllStringFunc(shown, func(line string) string {
		folder, rest, _ := strings.Cut(strings.TrimPrefix(line, "runs in  "), ",")
		return "runs in  " + strings.Join(strings.Fields(folder), "") + ", " + strings.Join(strings.Fields(rest), " ")
	})
}

// TestFirstHour: each message of somebody's first hour has a golden file, with all its screens.
func TestFirstHour(t *testing.T) {
	s := landStage(t)
	all := shots{}
	s.settled(all)
	s.asked(all)
	s.foraged(all)
	s.reading(all)
	s.tried(all)
	mask := s.masking()
	for name, b := range all {
		text := maskTerminal(mask(b.String()))
		text = tookTool.ReplaceAllString(spans.ReplaceAllString(text, "$1 <span>"), "(<span>)")
		golden(t, filepath.Join("golden", "first", name), text)
	}
}

// settled: what waits is settled without an id.
func (s *stage) settled(all shots) {
	long := "Which of the two colours that are left in the cellar do you want on the wall of the badgers' sett?"
	for _, at := range screens {
		_, claim, _ := s.asks("paint it", long)
		all.add(s.t, "questions", at, s.shot(at, nil, nil, "questions"))
		all.add(s.t, "answer", at, s.shot(at, nil, nil, "answer", "red, as the one next door"))
		s.concludes(claim, "red")
		s.holds(blackboard.Standard)
		all.add(s.t, "approve", at, s.shot(at, nil, nil, "approve"))
		s.holds(blackboard.Standard)
		all.add(s.t, "reject", at, s.shot(at, nil, nil, "reject", "no changelog, and nobody has tried it on the old machines"))
	}
	_, one, _ := s.asks("paint it", long)
	_, two, _ := s.asks("paint the other one", "And this one?")
	for _, at := range screens {
		all.add(s.t, "answer-which", at, s.shot(at, nil, nil, "answer", "red"))
	}
	s.concludes(one, "red")
	s.concludes(two, "red")
}

// concludes answers what a grant asks and has it make the final result.
func (s *stage) concludes(claim, result string) {
	s.t.Helper()
	if g := s.grantOf(claim, "writer"); g.State == blackboard.GrantAwaitingAnswer {
		_, _, err := s.run("answer", g.Asked[0], "red")
		s.Must(err)
	}
	s.begin(claim, "writer")
	s.Finish(claim, "writer", blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Done", Payload: result})
	s.Complete(claim)
}

// asked: a question and a gate are asked where the goal is followed.
func (s *stage) asked(all shots) {
	for _, at := range screens {
		goal, claim, question := s.asks("paint it", "Which colour?\nThe cellar has red, blue and a green that is nearly empty, so that it would do for the door alone.")
		keys := keystrokes{{"later): ", "red\n"}, {"answered; writer goes on", ""}}
		follow := []string{"watch", "--since", "all", "--exit-when-done", "--workflow", goal}
		if at.columns == 0 {
			all.add(s.t, "asked", at, s.shot(at, nil, nil, follow...))
			_, _, err := s.run("answer", question, "red")
			s.Must(err)
			s.concludes(claim, "red")
		} else {
			all.add(s.t, "asked", at, s.shot(at, keys, func() { s.concludes(claim, "red") }, follow...))
		}
		goal, _ = s.holds(blackboard.Standard)
		follow[len(follow)-1] = goal
		keys = keystrokes{{"later: ", "n\n"}, {"later): ", "no changelog\n"}, {"is rejected", ""}}
		cancel := func() {
			_, _, err := s.run("cancel", goal, "enough of it")
			s.Must(err)
		}
		if at.columns == 0 {
			all.add(s.t, "gate", at, s.shot(at, nil, nil, follow...))
			cancel()
		} else {
			all.add(s.t, "gate", at, s.shot(at, keys, cancel, follow...))
		}
	}
}

// foraged: the end of forage --wait, with a result, a commit, a Failure, nothing, and a person to wait for.
func (s *stage) foraged(all shots) {
	poem := strings.TrimRight(strings.Repeat("Two badgers live below the hill, and both of them are digging still; the sett has forty doors by now.\n", 3), "\n")
	for _, at := range screens {
		s.on(at)
		known, err := s.board.Index.Goals(s.t.Context(), 1)
		s.Must(err)
		shown := s.shot(at, nil, func() {
			var goals []string
			s.Until("a goal", func() bool {
				goals, err = s.board.Index.Goals(s.t.Context(), 1)
				s.Must(err)
				return goals[0] != known[0]
			})
			claim, _ := s.work(goals[0], blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Poem", Payload: poem, Summary: "a poem on badgers"})
			s.Complete(claim)
		}, "forage", "--wait", "--goal", "a poem")
		_, end, _ := strings.Cut(shown, "sett: goal achieved")
		all.add(s.t, "forage-wait", at, "sett: goal achieved"+end)
	}
	base := s.rev("main")
	made, _ := s.achieved(base, s.aside("song", "la\n"))
	failed := s.Goal("do it")
	report := `{"reason":"tool ended with exit code 3: make: no space left on the device that has /home/anna/projects/badgers","exit_code":3}`
	claim, _ := s.work(failed, blackboard.Artefact{StructuralType: blackboard.Failure, Type: blackboard.TypeToolExecutionFailure, Payload: report})
	s.Must(s.board.Leader.TerminateClaim(s.t.Context(), s.Guard(claim), "writer failed", nil, nil))
	stalled := s.Goal("say something")
	claim, draft := s.work(stalled, blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Draft", Payload: "hm"})
	s.Complete(claim)
	claim = s.open(draft, s.all("", "")...)
	s.Complete(claim)
	waiting, _, _ := s.asks("paint it", "Which colour?")
	for _, at := range screens {
		for name, goal := range map[string]string{"wait-commit": made, "wait-failed": failed, "wait-stalled": stalled} {
			all.add(s.t, name, at, s.shot(at, nil, nil, "wait", goal))
		}
		keys := keystrokes{{"later): ", "\n"}}
		all.add(s.t, "wait-left", at, s.shot(at, keys, nil, "wait", waiting))
	}
	s.concludes(s.claimOf(waiting), "red")
}

func (s *stage) claimOf(goal string) string { return blackboard.BiddingClaimID(goal) }

// reading: what there is to read afterwards.
func (s *stage) reading(all shots) {
	goal := s.Goal("check it")
	claim := s.open(goal, s.all("writer", blackboard.BidExclusive)...)
	s.Grant(claim, blackboard.PhaseExclusive, "writer")
	s.begin(claim, "writer")
	s.Finish(claim, "writer", blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Done", Payload: "fine\n"})
	s.Complete(claim)
	s.logged()
	s.Must(os.Rename(filepath.Join(s.home, "sett", "stage", "logs", "orchestrator.log"), filepath.Join(s.home, "sett", "stage", "logs", "agent-lint.log")))
	s.said("writer", claim, "compiling")
	s.said("writer", claim, "main.go:14:2: declared and not used: badger (and here the compiler explains at some length the meaning of that)")
	s.write("sett.yml", goldenClan)
	for _, at := range screens {
		for name, args := range map[string][]string{
			"result": {"result"}, "result-none": {"result", s.failing()}, "logs-agent": {"logs", "writer"}, "logs-claim": {"logs", words.Short(claim)}, "logs-all": {"logs", "--all", "writer"},
			"logs-silent": {"logs", "lint"}, "logs-unknown": {"logs", "writr"}, "hoard": {"hoard", "--workflow", goal}, "list": {"list"}, "goals": {"goals", "--limit", "3"},
			"questions-none": {"questions"},
		} {
			all.add(s.t, name, at, s.shot(at, nil, nil, args...))
		}
	}
}

// failing is a goal that has failed.
func (s *stage) failing() string {
	s.t.Helper()
	failed, err := s.board.Index.Goals(s.t.Context(), 100)
	s.Must(err)
	for _, id := range failed {
		if w, err := s.board.Records.Workflow(s.t.Context(), id); err == nil && w.Status == blackboard.WorkflowFailed {
			return id
		}
	}
	return ""
}

// tried: one agent is tried.
func (s *stage) tried(all shots) {
	s.write("sett.yml", goldenClan+"  fails: {command: [sh, -c, 'echo there is no badger in this sett, and there was none in the one before >&2; exit 3']}\n")
	s.agree()
	for _, at := range screens {
		all.add(s.t, "try", at, s.shot(at, nil, nil, "try", "lint", "--goal", "hello"))
		all.add(s.t, "try-fails", at, s.shot(at, nil, nil, "try", "fails", "--goal", "hello"))
		all.add(s.t, "try-unknown", at, s.shot(at, nil, nil, "try", "lnt", "--goal", "hello"))
	}
}
