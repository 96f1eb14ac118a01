package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/roles/cli/term/ttytest"
	"sett/roles/role"
)

// seen is what a terminal of so many columns shows at last.
func seen(raw string, columns int) string {
	g := ttytest.NewGlass(columns)
	_, _ = g.Write([]byte(strings.ReplaceAll(raw, "\r\n", "\n")))
	return g.String()
}

var (
	shortClock = regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`)
	epochs     = regexp.MustCompile(`epoch(\s+)\d+`)
	achieved   = regexp.MustCompile(`achieved in [0-9.]+m?s`)
	cutPath    = regexp.MustCompile(`…?\S*/work\b`)
)

// maskTerminal replaces what differs between runs, and is for people only.
func maskTerminal(text string) string {
	text = cutPath.ReplaceAllString(text, "<workspace>")
	text = epochs.ReplaceAllString(shortClock.ReplaceAllString(text, "hh:mm:ss"), "epoch${1}N")
	return achieved.ReplaceAllString(text, "achieved in <span>")
}

// TestGoldenTerminal: what is followed has the terminal's width, and a program gets whole lines.
func TestGoldenTerminal(t *testing.T) {
	s := newStage(t)
	ids := s.tell()
	s.write("sett.yml", goldenClan)
	long := strings.TrimSpace(strings.Repeat("characteristic ", 12)) // lines break long before they are full: an age may be longer
	s.asks(long, long+"\n"+long)
	mask := s.masking()
	for _, c := range []goldenCommand{
		{name: "watch-goal", args: "watch --since all --workflow {goal} --exit-when-done"},
		{name: "watch-all", args: "watch --since all --exit-when-done", code: role.Waiting},
		{name: "list", args: "list"},
		{name: "hoard", args: "hoard"},
		{name: "goals", args: "goals"},
		{name: "questions", args: "questions"},
	} {
		for _, columns := range []int{40, 80, 120} {
			s.vars = map[string]string{"NO_COLOR": "1"}
			p := newTTY(t, uint16(columns))
			if err := s.startAt(p, named(c.args, ids)...).wait(); role.CodeOf(err) != c.code {
				t.Errorf("%s ends with %v", c.name, err)
			}
			shown := seen(p.closed(), columns)
			rows, _, _ := strings.Cut(shown, "\nsett: ")
			if columns == 40 && !strings.HasPrefix(c.name, "watch") {
				continue // a table of ids needs more
			}
			if wide := wider(rows, columns); wide != "" {
				t.Errorf("%s: %q is wider than %d", c.name, wide, columns)
			}
			golden(t, fmt.Sprintf("golden/terminal/%s.%d", c.name, columns), maskTerminal(mask(unfolded(shown))))
		}
	}
}

// wider is the first line that is wider than a terminal.
func wider(text string, columns int) string {
	for line := range strings.Lines(text) {
		if len([]rune(strings.TrimRight(line, "\n"))) > columns {
			return line
		}
	}
	return ""
}

// said writes a line of a tool's output into the agent's log.
func (s *stage) said(agent, claim, line string) {
	s.t.Helper()
	dir := filepath.Join(s.home, "sett", "stage", "logs")
	s.Must(os.MkdirAll(dir, 0o700))
	f, err := os.OpenFile(filepath.Join(dir, "agent-"+agent+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	s.Must(err)
	s.Must(json.NewEncoder(f).Encode(map[string]any{"time": time.Now(), "level": "INFO", "msg": "stderr", "component": "cub", "agent": agent, "claim": claim, "workflow": s.workflowOf(claim), "source": "tool", "line": line}))
	s.Must(err)
	s.Must(f.Close())
}

// workflowOf is the goal of a claim; of none another.
func (s *stage) workflowOf(claim string) string {
	if claim == "" {
		return newID()
	}
	c, err := s.board.Records.Snapshot(s.t.Context(), claim)
	s.Must(err)
	return c.Claim.WorkflowID
}

// TestRedrawn: a running tool and its last line stand at the bottom, whatever the
// terminal's width becomes, and are gone when the goal has ended.
func TestRedrawn(t *testing.T) {
	for name, vars := range map[string]map[string]string{"": nil, "no colour": {"NO_COLOR": "1"}} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.vars = vars
			goal := s.Goal("paint it")
			p := newTTY(t, 80)
			c := s.startAt(p, "watch", "--workflow", goal, "--exit-when-done", "--since", "all")
			claim := s.open(goal, s.all("writer", blackboard.BidExclusive)...)
			s.Grant(claim, blackboard.PhaseExclusive, "writer")
			s.begin(claim, "writer")
			p.await("writer is running (")
			s.said("writer", claim, "compiling \x1b[2J everything, which takes its time, and says so at some length")
			p.await(`compiling \x1b[2J everything, which takes`)
			if shown := seen(p.shown(), 80); !strings.Contains(shown, "\nwriter is running (") || wider(shown, 79) != "" {
				t.Errorf("shown\n%s", shown)
			}
			p.resize(40)
			p.await(`compilin…`)
			s.said("writer", claim, "linking")
			p.await("linking")
			s.Finish(claim, "writer", blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Done", Payload: "red"})
			s.Complete(claim)
			s.Must(c.wait())
			raw := p.closed()
			if (strings.Contains(raw, "\x1b[36m")) != (vars == nil) {
				t.Errorf("colours: %q", raw)
			}
			shown := raw[strings.LastIndex(raw, "\x1b[J"):]
			if strings.Contains(shown, "is running") {
				t.Errorf("it stays at the bottom:\n%s", shown)
			}
			has(t, strings.ReplaceAll(strings.Join(strings.Fields(raw), " "), "\x1b[0m", ""), "3 bids: writer exclusive")
		})
	}
}

// A simple terminal is not redrawn.
func TestNotRedrawn(t *testing.T) {
	s := newStage(t)
	s.vars = map[string]string{"TERM": "dumb"}
	goal := s.Goal("paint it")
	p := newTTY(t, 80)
	c := s.startAt(p, "watch", "--workflow", goal, "--exit-when-done", "--since", "all")
	claim := s.open(goal, s.all("writer", blackboard.BidExclusive)...)
	s.Grant(claim, blackboard.PhaseExclusive, "writer")
	s.begin(claim, "writer")
	p.await("waits")
	s.Finish(claim, "writer", blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Done", Payload: "red"})
	s.Complete(claim)
	s.Must(c.wait())
	if shown := p.closed(); strings.Contains(shown, "\x1b") || !strings.Contains(strings.Join(strings.Fields(shown), " "), "3 bids: writer exclusive") || wider(shown, 81) != "" {
		t.Errorf("shown\n%s", shown)
	}
}

// With --logs, what the goal's tools say stands among the ledger's entries; also the last line.
func TestForageLogs(t *testing.T) {
	s := newStage(t)
	for _, term := range []string{"", "dumb", "xterm"} {
		s.vars = map[string]string{"TERM": term, "NO_COLOR": "1"}
		var c *call
		shown := func() string { return c.err.String() }
		if term == "" {
			c = s.start("forage", "--wait", "--logs", "--goal", "paint it on x"+term)
		} else {
			p := newTTY(t, 80)
			c, shown = s.startAt(p, "forage", "--wait", "--logs", "--goal", "paint it on x"+term), p.shown
		}
		goal := ""
		s.Until("the goal", func() bool {
			all, err := s.board.Records.ListArtefacts(t.Context(), blackboard.Filter{Type: blackboard.TypeGoalDefined})
			s.Must(err)
			for _, a := range all {
				if a.Payload == strings.TrimSpace("paint it on x"+term) {
					goal = a.ID
				}
			}
			return goal != ""
		})
		claim := s.open(goal, s.all("writer", blackboard.BidExclusive)...)
		s.Grant(claim, blackboard.PhaseExclusive, "writer")
		_, err := s.board.Cub.Start(t.Context(), blackboard.StartRequest{Claim: claim, Agent: "writer", Holder: "i-writer", Ran: blackboard.Ran{Program: "sha256:0123456789abcdef"}})
		s.Must(err)
		s.said("writer", claim, "compiling "+goal)
		s.said("lint", "", "of another goal")
		s.Finish(claim, "writer", blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Done", Payload: "red"})
		s.Complete(claim)
		s.Must(c.wait())
		if text := shown(); strings.Count(text, " │ compiling "+goal) != 1 || strings.Contains(text, "another goal") {
			t.Errorf("TERM=%q: shown\n%s", term, text)
		} else if strings.Contains(text, "0123456789ab") != (term == "") {
			t.Errorf("TERM=%q: people are not told digests, and programs are:\n%s", term, text)
		}
	}
	s.refuses(role.Usage, "--logs belongs to --wait", "forage", "--logs", "--goal", "x")
}
