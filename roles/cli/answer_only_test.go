package cli

import (
	"strings"
	"testing"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
)

// What waits alone needs no id; what does not is listed with the commands to type.
func TestAnswerWithoutID(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	s.refuses(role.NotFound, "no question waits for an answer", "answer", "red")
	goal, claim, question := s.asks("paint it", "which?")
	wrote := func(text string, args ...string) {
		t.Helper()
		stdout, _, err := s.run(args...)
		s.Must(err)
		s.wrote(stdout, blackboard.Artefact{StructuralType: blackboard.Answer, Type: "Answer", Payload: text, SourceArtefacts: []string{question}, ClaimID: claim, WorkflowID: goal})
		s.begin(claim, "writer")
		question = s.Finish(claim, "writer", blackboard.Artefact{StructuralType: blackboard.Question, Type: "Question", Payload: "which?"})
	}
	wrote("the red one", "answer", "the red one")
	wrote("the red one", "answer", "the", "red", "one")
	wrote("2", "answer", "2")                            // an id may end with it
	wrote("green", "answer", "green")                    // an id may consist of such letters
	wrote("2026", "answer", "2026")                      // and of digits
	wrote("from stdin", "answer", "-")                   // the stage's input
	wrote("red", "answer", words.Short(question), "red") // an id goes on being one
	wrote("red", "answer", question, "red")              // a whole one, too
	wrote("blue", "answer", words.Short(question)[4:], "blue")
	s.refuses(role.NotFound, "no artefact or claim has an id", "answer", "7XK2ABCD", "red") // mistyped, it is no text
	s.refuses(role.NotFound, "no artefact or claim has an id", "answer", "TQKCZBPY", "red") // nor without digits
	s.refuses(role.NotFound, "no artefact or claim has an id", "answer", "TQKCZBPYTQKCZBPYTQKCZBPYTQ", "red")
	wrote("ABSTRACT", "answer", "ABSTRACT")
	wrote("YESTERDAY we did", "answer", "YESTERDAY", "we", "did")
	wrote("TOMORROW we do", "answer", "TOMORROW", "we", "do") // no id has an O
	wrote("products first", "answer", "products", "first")
	s.refuses(role.NotFound, "is no question", "answer", goal, "red")
	s.refuses(role.NotFound, "is no question", "answer", "@last", "red")
	s.refuses(role.Usage, "nobody is at a terminal", "answer")

	_, _, other := s.asks("paint that", "how?")
	for _, args := range [][]string{{"answer", "red"}, {"answer"}, {"answer", "2"}} {
		s.refuses(role.Usage, "2 questions wait; say which one is meant\nwriter asks (Question "+words.Short(question)+"): which?\n  sett --name stage answer "+words.Short(question)+` "…"`, args...)
		s.refuses(role.Usage, `answer `+words.Short(other)+` "…"`, args...)
	}
}

func TestApproveWithoutID(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	for _, args := range [][]string{{"approve"}, {"approve", "--all"}, {"reject", "no changelog"}} {
		s.refuses(role.NotFound, "nothing waits for approval", args...)
	}
	goal, held := s.holds(blackboard.Standard)
	s.asks("paint it", "which?") // a question is no gate
	stdout, _, err := s.run("approve")
	s.Must(err)
	s.wrote(stdout, blackboard.Artefact{StructuralType: blackboard.Review, Type: "Review", Payload: "{}", SourceArtefacts: []string{held}, WorkflowID: goal})

	goal, held = s.holds(blackboard.Standard)
	s.refuses(role.Usage, "missing argument WHY", "reject")
	s.refuses(role.Usage, "missing argument WHY", "reject", words.Short(held))
	stdout, _, err = s.run("reject", "no", "changelog")
	s.Must(err)
	s.wrote(stdout, blackboard.Artefact{StructuralType: blackboard.Review, Type: "Review", Payload: "no changelog", SourceArtefacts: []string{held}, ClaimID: s.judged(held), WorkflowID: goal})

	_, first := s.holds(blackboard.Standard)
	_, second := s.holds(blackboard.Terminal)
	for _, args := range [][]string{{"approve"}, {"reject", "no changelog"}} {
		s.refuses(role.Usage, "2 artefacts wait for approval; say which one is meant\nRelease "+words.Short(first)+" of writer", args...)
		s.refuses(role.Usage, "approve "+words.Short(second)+"\n", args...)
	}
	s.refuses(role.NotFound, "no artefact or claim has an id", "reject", "TQKCZBPY", "the colour is wrong")
	s.refuses(role.Usage, "sett --name stage approve --all approves them all", "approve")
	if _, _, err := s.run("reject", "no changelog"); hint(err) != `sett --name stage reject ID "why" rejects one` {
		t.Errorf("several to reject: hint %q", hint(err))
	}
	stdout, _, err = s.run("approve", "--all")
	if err != nil || stdout != blackboard.GateReviewID(first)+"\n"+blackboard.GateReviewID(second)+"\n" {
		t.Errorf("all: %q, %v", stdout, err)
	}
}

// judged is the claim that a rejection of an artefact is about.
func (s *stage) judged(id string) string {
	s.t.Helper()
	a, err := s.board.Records.Artefact(s.t.Context(), blackboard.GateReviewID(id))
	s.Must(err)
	return a.ClaimID
}

// On a terminal, plain words take the place of ids.
func TestNoIDsOnATerminal(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	s.asks("paint it", "which?")
	_, held := s.holds(blackboard.Standard)
	s.holds(blackboard.Standard)
	for _, tc := range []struct {
		args []string
		says string
	}{
		{[]string{"answer", "red"}, "sett: answered; writer goes on\r\n"},
		{[]string{"approve", held}, "sett: Release of writer is approved; its claim opens\r\n"},
		{[]string{"reject", "no changelog"}, "sett: Release of writer is rejected; writer reworks it\r\n"},
		{[]string{"forage", "--goal", "paint that"}, "sett: the goal is posted; sett --name stage watch --workflow @last follows it\r\n"},
	} {
		shown := s.onTerminal(80, tc.args...)
		if !strings.HasSuffix(shown, tc.says) || strings.Count(shown, "\n") != strings.Count(tc.says, "\n")+strings.Count(shown, "warning") {
			t.Errorf("%v shows %q", tc.args, shown)
		}
	}
}
