package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/view"
)

// hostileCommands are the commands that read, as they are typed where everything on
// the board is as hostile as TestHostile can make it; {name} is the id that
// s.hostile knows by that name.
var hostileCommands = []string{
	"goals",
	"hoard",
	"list",
	"questions",
	"wait {goal}",
	"wait {asking} --for question",
	"list -v",
	"why {result}",
	"why {review}",
	"why {rework}",
	"why {failure}",
	"why {question}",
	"graph {goal}",
	"graph {failed}",
	"graph {asking} --depth 1",
	"show {goal}",
	"show {claim}",
	"show {rework}",
	"show {result}",
	"show {review}",
	"show {failed}",
	"show {failure}",
	"show {asking}",
	"show {question}",
	"unearth {result} --meta",
	"unearth {result} -o table",
	"watch --since all --exit-when-done --workflow {goal}",
	"watch --since all --exit-when-done --workflow {failed}",
	"watch --since all --exit-when-done --workflow {asking}",
	"logs",
	"logs writer -n 1",
	"try many --artefact {result}",
	"try lint --artefact {result}",
	"try lint --artefact {result} -v -o table",
}

// nasty is what a tool may write: it clears the screen, sets the title, moves the
// cursor, rings, reverses the text, in seven and in eight bits, and is no UTF-8.
const nasty = "x\x1b[2J\x1b]0;title\x07\u009b31m\r\b\x7f\x00\u202eabc\u2066\u200f\u2028\u0085\ufeff\xff\xc3\x28\"\\<tag>"

// hostile plays a history in which everything that an agent can choose is nasty,
// and payloads are long, that of one artefact ten megabytes. It returns its ids by name.
func (s *stage) hostile() map[string]string {
	s.t.Helper()
	ctx, ids := s.t.Context(), map[string]string{}
	unit := nasty + "\n\tמימין לשמאל\n"
	big, large := strings.Repeat(unit, 10<<20/len(unit)+1), strings.Repeat(unit, 2*view.MaxShown/len(unit))
	metadata, err := json.Marshal(map[string]string{"k\x1b": strings.ToValidUTF8(nasty, "")})
	s.Must(err)
	raw := json.RawMessage(strings.Replace(string(metadata), "title", "\xff\u009b31m\u202e", 1))
	of := func(t blackboard.StructuralType, payload string) blackboard.Artefact {
		return blackboard.Artefact{StructuralType: t, Type: "T" + nasty, Payload: payload, Summary: nasty, Metadata: raw, ProducedByRole: "r" + nasty}
	}
	ids["goal"] = s.Goal(large)
	ids["claim"], ids["result"] = s.work(ids["goal"], of(blackboard.Standard, big))
	s.Must(s.board.Leader.CompleteClaim(ctx, s.Guard(ids["claim"]), nasty))
	claim := s.open(ids["result"], s.all("lint", blackboard.BidReview)...)
	s.Grant(claim, blackboard.PhaseReview, "lint")
	s.begin(claim, "lint")
	ids["review"] = s.Finish(claim, "lint", of(blackboard.Review, large))
	ids["rework"] = blackboard.ReworkClaimID(claim)
	s.Must(s.board.Leader.TerminateClaim(ctx, s.Guard(claim), nasty, nil, &blackboard.Rework{ClaimID: ids["rework"], Agent: "writer", Context: []string{ids["review"]}}))
	s.begin(ids["rework"], "writer")
	done := of(blackboard.Terminal, large)
	done.LogicalID = ids["result"]
	s.Finish(ids["rework"], "writer", done)
	s.Complete(ids["rework"])

	ids["failed"] = s.Goal(nasty)
	report, err := json.Marshal(blackboard.FailureReport{Reason: nasty, ExitCode: -1, Signal: nasty, Stdout: large, Stderr: nasty, Leftovers: nasty, StdoutSize: 10 << 20, StderrSize: 9})
	s.Must(err)
	claim, ids["failure"] = s.work(ids["failed"], of(blackboard.Failure, string(report)))
	s.Must(s.board.Leader.TerminateClaim(ctx, s.Guard(claim), nasty, nil, nil))

	ids["asking"] = s.Goal(nasty)
	_, ids["question"] = s.work(ids["asking"], of(blackboard.Question, large))
	return ids
}

// TestHostile: whatever is on the board, no command moves the cursor, or prints what
// is not the JSON or YAML that it should be, and each ends soon.
func TestHostile(t *testing.T) {
	s := newStage(t)
	ids := s.hostile()
	s.logged()
	s.write("sett.yml", goldenClan)
	s.agree()
	for _, command := range hostileCommands {
		for _, form := range forms {
			if strings.Contains(command, " -o ") && form != "table" {
				continue
			}
			stdout, stderr, err := s.runLong(append(named(command, ids), "-o", form)...)
			if err != nil {
				var report strings.Builder
				role.Report(&report, err)
				stderr += report.String()
			}
			if code := role.CodeOf(err); code == role.Usage || code == role.NotFound {
				t.Errorf("%s -o %s: %v", command, form, err)
			}
			tame(t, command+" -o "+form+": stdout", stdout)
			tame(t, command+" -o "+form+": stderr", stderr)
			if form == "json" || form == "jsonl" {
				parses(t, command+" -o "+form, stdout)
			}
		}
	}
}

// runLong runs a command that has much to print: it is bounded, but a busy machine
// that looks for races may take its time.
func (s *stage) runLong(args ...string) (stdout, stderr string, err error) {
	s.t.Helper()
	c := s.start(args...)
	select {
	case err = <-c.done:
	case <-time.After(5 * time.Minute):
		s.t.Fatalf("%v does not end", args)
	}
	return c.out.String(), c.err.String(), err
}

// tame fails the test where a text holds what a terminal would obey.
func tame(t *testing.T, what, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s is no UTF-8", what)
	}
	i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && role.Harmful(r) })
	if i >= 0 {
		t.Errorf("%s: %q", what, text[max(0, i-80):min(len(text), i+40)])
	}
}

// parses fails the test where a text is not one JSON value or more.
func parses(t *testing.T, what, text string) {
	t.Helper()
	dec, n := json.NewDecoder(strings.NewReader(text)), 0
	for {
		var v any
		err := dec.Decode(&v)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Errorf("%s: value %d: %v", what, n, err)
			return
		}
		n++
	}
	if n == 0 {
		t.Errorf("%s prints nothing", what)
	}
	if strings.Contains(what, "jsonl") && n != strings.Count(text, "\n") {
		t.Errorf("%s: %d values on %d lines", what, n, strings.Count(text, "\n"))
	}
}

// TestHostileLogs: lines of a log are no better.
func TestHostileLogs(t *testing.T) {
	t.Parallel()
	quoted, err := json.Marshal(nasty)
	if err != nil {
		t.Fatal(err)
	}
	e, _ := kept(t, map[string]string{
		"agent-one": fmt.Sprintf(`{"time":"2026-01-02T03:04:05Z","level":%s,"msg":%s,"k\u001b":%s,"raw":{"a":"%s"}}`, quoted, quoted, quoted, "\u009b\u202e\xff") + "\n" + nasty + "\n",
		"agent-two": strings.Repeat("long\x1b[2J ", 1<<20) + "\n",
	})
	for _, form := range forms {
		var out strings.Builder
		e.Stdout, e.Args = &out, []string{"--name", "kept", "logs", "-o", form}
		if err := Run(t.Context(), e); err != nil {
			t.Error(err)
		}
		tame(t, "logs -o "+form, out.String())
		if strings.HasPrefix(form, "json") {
			parses(t, "logs -o "+form, out.String())
		}
	}
}
