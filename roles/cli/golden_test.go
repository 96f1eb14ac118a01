package cli

import (
	"encoding/json"
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

// goldenCommands are the commands that read, as they are typed after the story
// that tell sets up; {name} is the id that the story knows by that name. Each is
// run in every form, and the files testdata/golden/NAME.FORM hold what it prints;
// `go test ./roles/cli -run TestGolden -update` writes them.
var goldenCommands = []goldenCommand{
	{name: "config", args: "config"},
	{name: "plan", args: "plan"},
	{name: "plan-walked", args: "plan --walked"},
	{name: "goals", args: "goals"},
	{name: "hoard", args: "hoard"},
	{name: "list", args: "list"},
	{name: "show-goal", args: "show {goal}"},
	{name: "show-claim", args: "show {rework}"},
	{name: "show-artefact", args: "show {second}"},
	{name: "show-waiting", args: "show {asking}"},
	{name: "show-failure", args: "show {failure}"},
	{name: "show-state", args: "show {asking} --no-claims"},
	{name: "questions", args: "questions"},
	{name: "graph", args: "graph {goal}"},
	{name: "graph-artefact", args: "graph {terminal}"},
	{name: "result", args: "result {goal}"},
	{name: "unearth", args: "unearth {second}"},
	{name: "unearth-meta", args: "unearth {second} --meta"},
	{name: "version", args: "version"},
	{name: "why", args: "why {terminal}"},
	{name: "why-claim", args: "why {askingClaim}"},
	{name: "watch-goal", args: "watch --since all --workflow {goal} --exit-when-done"},
	{name: "watch-waiting", args: "watch --since all --workflow {asking} --exit-when-done --quiet", code: role.Waiting},
	{name: "wait", args: "wait {goal} --quiet"},
	{name: "wait-failed", args: "wait {failed} --quiet", code: role.Failed},
	{name: "wait-question", args: "wait {asking} --for question --quiet"},
	{name: "wait-person", args: "wait {asking} --quiet", code: role.Waiting},
	{name: "logs", args: "logs"},
	{name: "try", args: "try lint --goal hello"},
	{name: "try-ignore", args: "try many --goal hello"},
}

type goldenCommand struct {
	name string
	args string
	code role.Code // the exit code, which is the same in every form
}

// forms are what -o takes.
var forms = []string{"table", "json", "jsonl", "yaml"}

// tell plays a small history: a goal whose first draft is rejected, reworked and
// then approved, and which is achieved; one that failed; and one that waits for a
// person. It returns its ids by name.
func (s *stage) tell() map[string]string {
	s.t.Helper()
	ids := map[string]string{}
	ids["goal"], ids["first"], ids["second"] = s.reworkedTo("lint", func(second string) {
		claim := s.open(second, s.allBut("writer", blackboard.BidExclusive, "lint", blackboard.BidReview)...)
		s.Grant(claim, blackboard.PhaseReview, "lint")
		s.begin(claim, "lint")
		s.Finish(claim, "lint", blackboard.Artefact{StructuralType: blackboard.Review, Type: "Review", Payload: "{}", Summary: "reads well"})
		s.Grant(claim, blackboard.PhaseExclusive, "writer")
		s.begin(claim, "writer")
		ids["terminal"] = s.Finish(claim, "writer", blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Done", Payload: "it is done\n"})
		s.Complete(claim)
	})
	ids["claim"], ids["rework"] = blackboard.BiddingClaimID(ids["first"]), reworkID(ids["first"])
	ids["failed"] = s.Goal("try the impossible")
	report, err := json.Marshal(blackboard.FailureReport{Reason: "tool ended with exit code 3", ExitCode: 3, Stderr: "no way\n", StderrSize: 7})
	s.Must(err)
	ids["failedClaim"], ids["failure"] = s.work(ids["failed"], blackboard.Artefact{StructuralType: blackboard.Failure, Type: blackboard.TypeToolExecutionFailure, Payload: string(report)})
	s.Must(s.board.Leader.TerminateClaim(s.t.Context(), s.Guard(ids["failedClaim"]), "writer failed", nil, nil))
	ids["asking"] = s.Goal("choose a colour")
	ids["askingClaim"], ids["question"] = s.work(ids["asking"], blackboard.Artefact{StructuralType: blackboard.Question, Type: "Question", Payload: "Which one:\nred or blue?"})
	return ids
}

// reworkedTo plays a goal whose draft a reviewer rejects and its writer reworks,
// and lets the caller end it.
func (s *stage) reworkedTo(reviewer string, end func(second string)) (goal, first, second string) {
	s.t.Helper()
	goal = s.Goal("write a page\nabout badgers")
	claim, first := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Draft", Payload: "badgers: two\n", Summary: "a draft"})
	s.Complete(claim)
	claim = s.open(first, s.all(reviewer, blackboard.BidReview)...)
	s.Grant(claim, blackboard.PhaseReview, reviewer)
	s.begin(claim, reviewer)
	review := s.Finish(claim, reviewer, blackboard.Artefact{StructuralType: blackboard.Review, Type: "Review", Payload: `{"say":"more"}`})
	rework := blackboard.ReworkClaimID(claim)
	s.Must(s.board.Leader.TerminateClaim(s.t.Context(), s.Guard(claim), "feedback by "+reviewer, nil, &blackboard.Rework{ClaimID: rework, Agent: "writer", Context: []string{review}}))
	s.begin(rework, "writer")
	second = s.Finish(rework, "writer", blackboard.Artefact{LogicalID: first, StructuralType: blackboard.Standard, Type: "Draft", Payload: "badgers:\n  three\x1b[2J\n",
		Metadata: json.RawMessage(`{"words":2}`), SourceArtefacts: []string{review}})
	s.Complete(rework)
	end(second)
	return goal, first, second
}

// allBut are bids with which everybody has bid: two as given, the rest ignore.
func (s *stage) allBut(first string, firstBid blackboard.BidType, second string, secondBid blackboard.BidType) []blackboard.BidRequest {
	bids := s.all(first, firstBid)
	for i := range bids {
		if bids[i].Agent == second {
			bids[i].Bid = secondBid
		}
	}
	return bids
}

// TestGolden: what commands that read print is an interface, and held by files.
func TestGolden(t *testing.T) {
	s := newStage(t)
	ids := s.tell()
	s.logged()
	s.write("sett.yml", goldenClan) // which commands of the workspace read
	s.agree()
	s.golden(ids, goldenCommands)
}

// golden compares what commands print with their files.
func (s *stage) golden(ids map[string]string, commands []goldenCommand) {
	t := s.t
	t.Helper()
	mask := s.masking()
	for _, c := range commands {
		for _, form := range forms {
			args := append(named(c.args, ids), "-o", form)
			stdout, stderr, err := s.run(args...)
			if got := role.CodeOf(err); got != c.code {
				t.Errorf("%v ends with %d, want %d: %v", args, got, c.code, err)
			}
			if form != "table" && stderr != "" && !strings.HasPrefix(c.args, "watch") {
				t.Errorf("%v talks: %s", args, stderr)
			}
			golden(t, "golden/"+c.name+"."+strings.Replace(form, "table", "txt", 1), mask(stdout))
		}
	}
}

const goldenClan = `
runtime: process
agents:
  writer: {command: [x], workspace: {mode: rw}}
  lint: {command: [echo, '{"artefact_type":"Note","artefact_payload":"fine\nso far","summary":"a note"}']}
  many: {command: [x], replicas: 2, bids: {Draft: claim}}
`

// logged leaves logs behind.
func (s *stage) logged() {
	s.t.Helper()
	dir := filepath.Join(s.home, "sett", "stage", "logs")
	s.Must(os.MkdirAll(dir, 0o700))
	for name, text := range map[string]string{
		"agent-writer": `{"time":"2026-01-02T03:04:05.006Z","level":"WARN","msg":"tool ended","component":"cub","claim":"x","exit_code":3,"list":["a b"],"none":null}` + "\nno line of ours \x1b[2J\n",
		"orchestrator": line("06", "leads"),
	} {
		s.Must(os.WriteFile(filepath.Join(dir, name+".log"), []byte(text), 0o600))
	}
}

// named splits a command line and puts ids in the place of their names.
func named(line string, ids map[string]string) []string {
	args := strings.Fields(line)
	for i, arg := range args {
		for name, id := range ids {
			arg = strings.ReplaceAll(arg, "{"+name+"}", id)
		}
		args[i] = arg
	}
	return args
}

// masking returns what replaces in an output all that differs between runs: ids by
// their place in the history, times, durations, and where the test keeps its files.
func (s *stage) masking() func(string) string {
	s.t.Helper()
	var pairs []string
	artefacts, err := s.board.Records.ListArtefacts(s.t.Context(), blackboard.Filter{})
	s.Must(err)
	number := 0
	for i, a := range artefacts {
		pairs = append(pairs, a.ID, fmt.Sprintf("<artefact %02d>", i+1), words.Short(a.ID), fmt.Sprintf("artef-%02d", i+1))
		for _, claim := range []string{blackboard.BiddingClaimID(a.ID), reworkID(a.ID)} {
			for claim != "" {
				c, err := s.board.Records.Snapshot(s.t.Context(), claim)
				if err != nil {
					break
				}
				number++
				pairs = append(pairs, claim, fmt.Sprintf("<claim %02d>", number), words.Short(claim), fmt.Sprintf("claim-%02d", number))
				claim = c.Claim.RetriedAs
			}
		}
	}
	ids := strings.NewReplacer(append(pairs, s.root, "<workspace>", s.home, "<home>")...)
	return func(text string) string {
		text = ids.Replace(text)
		for _, m := range masks {
			text = m.pattern.ReplaceAllString(text, m.with)
		}
		return text
	}
}

// masks replace what differs between runs, and only that.
var masks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(`(\b\d{4}-\d\d-\d\d )?\b\d\d:\d\d:\d\d\.\d{3}\b`), "hh:mm:ss.sss"},
	{regexp.MustCompile(`\b01[0-9A-HJKMNP-TV-Z]{24}\b`), "<new id>"}, // made by the command itself
	{regexp.MustCompile(`GoalDefined [0-9A-HJKMNP-TV-Z]{8}\b`), "GoalDefined <new id>"},
	{regexp.MustCompile(`[^\s"]*/sett-try-\d+/`), "<scratch>/"},
	{regexp.MustCompile(`stdin    \d+ bytes`), "stdin    <n> bytes"},
	{regexp.MustCompile(`\b\d{13}-\d+\b`), "<position>"},
	{regexp.MustCompile(`("?\brecord"?: ?)"?[0-9a-f]{16}"?`), `${1}"<digest>"`},
	{regexp.MustCompile(`("?\b(?:\w+_)?seconds"?: ?)[0-9.e-]+`), "${1}0"},
	{regexp.MustCompile(`\b(took|after|queued) \d+(\.\d+)?m?s`), "$1 <span>"},
	{regexp.MustCompile(`\bfor \d+[sm]\b`), "for 0s"},
	{regexp.MustCompile(`([^.\d])\d+[sm] +`), "${1}0s   "},
	{regexp.MustCompile(`(unit_id"?: ?)"\d+"`), `$1"<pid>"`},
	{regexp.MustCompile(`\bpid +\d+, up \w+`), "pid <pid>, up 0s"},
	{regexp.MustCompile(`\bgo1\.[0-9.]+(-\w+)?`), "<go>"},
	{regexp.MustCompile(`\b(linux|darwin)/\w+`), "<platform>"},
}
