package cli

import (
	"testing"

	"sett/blackboard"
)

// What a hint names can be typed where the command was: with --name of an instance
// whose repository is elsewhere.
func TestTracingHintsNameTheInstance(t *testing.T) {
	s := newStage(t)
	ids := s.tell()
	first, _ := s.commits()
	ids["commit"] = s.codeCommit(first)
	ids["lost"] = s.codeCommit("deadbeef")
	_, ids["note"] = s.work(s.post("goal"), blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Note", Payload: "x"})
	for command, want := range map[string]string{
		"why {asking}":                   "show " + short(ids["asking"]) + " says how far it has come",
		"unearth {claim}":                "show " + short(ids["claim"]),
		"unearth {note} --diff":          "unearth " + short(ids["note"]),
		"unearth {lost}":                 "unearth " + short(ids["lost"]) + " --raw",
		"unearth {commit} --previous":    "unearth " + short(ids["commit"]) + " --diff",
		"unearth @last":                  "hoard --workflow @last lists what came of it",
		"try lint --artefact {question}": "hoard lists artefacts",
	} {
		_, stderr, err := s.run(named(command, ids)...)
		has(t, stderr+hint(err), "sett --name stage "+want)
	}
}
