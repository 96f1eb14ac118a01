package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/roles/role"
)

// alter changes a field of an artefact's record behind Sett's back.
func (s *stage) alter(id string, fields ...string) {
	s.t.Helper()
	s.Send(append([]string{"HSET", "sett:{stage}:artifact:" + id}, fields...)...)
}

// isAltered checks that a command failed because of an altered artefact.
func isAltered(t *testing.T, id string, err error) {
	t.Helper()
	if role.CodeOf(err) != role.Failed || err == nil || !strings.Contains(err.Error(), "artefact "+id+" is not what the ledger recorded: ") {
		t.Errorf("it ended with %v", err)
	}
}

// TestLandAltered: a result whose record names another commit than the ledger recorded is not landed, compared or checked out,
// whichever id names it and whatever time the record was given.
func TestLandAltered(t *testing.T) {
	for name, more := range map[string][]string{"a commit": nil, "a commit and a time": {"created_at", "1700000000000000"}} {
		t.Run(name, func(t *testing.T) {
			s := landStage(t)
			base := s.commitFile("song", "one\n")
			evil := s.aside("evil", "evil\n")
			s.achieved(base, evil)
			good := s.aside("good", "good\n")
			goal, terminal := s.achieved(base, good)
			s.alter(terminal, append([]string{"payload", evil, "commit", evil}, more...)...)
			before := s.rev("main")
			look := filepath.Join(t.TempDir(), "look")
			for _, args := range [][]string{{"land"}, {"land", goal}, {"land", terminal}, {"land", terminal, "--dry-run"}, {"land", goal, "--onto", "other", "--merge"},
				{"diff", terminal}, {"diff", goal, "--stat"}, {"diff", goal, "-o", "json"}, {"checkout", goal, look}, {"checkout", terminal, "--branch", "mine"}} {
				out, _, err := s.run(args...)
				isAltered(t, terminal, err)
				if out != "" {
					t.Errorf("%q printed %q", args, out)
				}
			}
			if s.rev("main") != before || gitIn(t, s.root, "", "branch", "--list", "mine", "other") != "" {
				t.Error("a branch was made or moved")
			}
		})
	}
}

// TestDiffAlteredGoal: the commit that a change begins from is the goal's. A goal that names another one is told.
func TestDiffAlteredGoal(t *testing.T) {
	s := landStage(t)
	base := s.commitFile("song", "one\n")
	later := s.commitFile("song", "two\n")
	good := s.aside("good", "good\n")
	goal, _ := s.achieved(base, good)
	s.alter(goal, "metadata", `{"base": "`+later+`", "branch": "main"}`)
	_, _, err := s.run("diff")
	isAltered(t, goal, err)
}

// TestHistoryOfAltered: the commands that tell a goal's history say which of its artefacts are altered, in their lines too.
func TestHistoryOfAltered(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("write a poem")
	claim := s.open(goal, s.all("writer", blackboard.BidExclusive)...)
	s.Grant(claim, blackboard.PhaseExclusive, "writer")
	s.begin(claim, "writer")
	terminal := s.Finish(claim, "writer", blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Poem", Payload: "roses"})
	s.Complete(claim)
	commands := [][]string{{"why", terminal}, {"why", terminal, "-o", "json"}, {"show", goal}, {"show", goal, "-o", "json"}, {"show", claim}, {"report", goal}, {"report", goal, "-o", "md"},
		{"report", goal, "-o", "json"}, {"graph", goal}, {"graph", goal, "-o", "json"}, {"graph", goal, "-o", "mermaid"}, {"graph", goal, "-o", "dot"}}
	for _, args := range commands {
		out, stderr, err := s.run(args...)
		if err != nil || strings.Contains(strings.ToLower(out), "altered") {
			t.Errorf("%q of what is right: %v, %s, %s", args, err, stderr, out)
		}
	}
	s.alter(terminal, "payload", "FORGED")
	for _, args := range commands {
		out, _, err := s.run(args...)
		isAltered(t, terminal, err)
		if !strings.Contains(out, "ALTERED") {
			t.Errorf("%q printed no mark: %s", args, out)
		}
	}
	s.alter(goal, "summary", "FORGED, too", "created_at", "1700000000000000")
	for _, args := range commands[5:] {
		_, stderr, err := s.run(args...)
		both := stderr
		if err != nil {
			both += err.Error()
		}
		if role.CodeOf(err) != role.Failed || !strings.Contains(both, "artefact "+goal+" is not") || !strings.Contains(both, "artefact "+terminal+" is not") {
			t.Errorf("%q of two: %v, %s", args, err, stderr)
		}
	}
	out, _, _ := s.run("report", goal, "-o", "json")
	var r struct {
		Lacks   []string
		Outcome struct{ Altered bool }
	}
	s.Must(json.Unmarshal([]byte(out), &r))
	if !r.Outcome.Altered || len(r.Lacks) != 2 {
		t.Errorf("the report has %+v", r)
	}
}

// TestDecideOnAltered: nobody approves an altered artefact, reviews it well or answers an altered question; feedback is taken.
func TestDecideOnAltered(t *testing.T) {
	s := newStage(t)
	_, held := s.holds(blackboard.Standard)
	_, other := s.holds(blackboard.Standard)
	_, reviewed := s.work(s.Goal("note"), blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Note"})
	s.open(reviewed, s.all("lint", blackboard.BidReview)...)
	_, _, question := s.asks("paint it", "which?")
	for _, id := range []string{held, reviewed, question} {
		s.alter(id, "payload", "FORGED")
	}
	for id, args := range map[string][]string{held: {"approve", other, held}, reviewed: {"review", reviewed, "--approve"}, question: {"answer", question, "blue"}} {
		s.refuses(role.Failed, "artefact "+id+" is not what the ledger recorded", args...)
	}
	if _, _, err := s.run("reject", held, "it was altered"); err != nil {
		t.Errorf("reject: %v", err)
	}
}
