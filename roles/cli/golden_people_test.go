package cli

import (
	"strings"
	"testing"

	"sett/blackboard"
)

// goldenPeople are the commands that TestGoldenPeople runs, by the names that it gives.
var goldenPeople = []goldenCommand{
	{name: "people-questions", args: "questions"},
	{name: "people-goals", args: "goals"},
	{name: "people-hoard", args: "hoard"},
	{name: "people-held", args: "show {held}"},
	{name: "people-passed", args: "show {passed}"},
	{name: "people-rejected", args: "show {rejected}"},
	{name: "people-retried", args: "show {retried}"},
	{name: "people-reviewed", args: "show {reviewed}"},
	{name: "people-cancelled", args: "show {cancelled}"},
	{name: "people-watch-retried", args: "watch --since all --workflow {retried} --exit-when-done"},
	{name: "people-watch-cancelled", args: "watch --since all --workflow {cancelled} --exit-when-done", code: 1},
}

// TestGoldenPeople: what commands print of what people do, and have to do.
func TestGoldenPeople(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	does := func(args ...string) string {
		t.Helper()
		stdout, _, err := s.run(args...)
		s.Must(err)
		return strings.TrimSpace(stdout)
	}
	ids := map[string]string{}
	ids["asking"], _, _ = s.asks("choose a colour", "Which one:\nred or blue?")
	_, ids["held"] = s.holds(blackboard.Standard)

	// A claim that fails, is tried again and ends with what a person lets pass.
	goal, claim, failure := s.fails()
	ids["retried"], ids["failedClaim"], ids["failure"] = goal, claim, failure
	ids["again"] = does("retry", failure, "the disk is new")
	s.begin(ids["again"], "writer")
	ids["passed"] = s.Finish(ids["again"], "writer", blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Release", Payload: "v1.1"})
	s.Complete(ids["again"])
	does("approve", ids["passed"])

	// Two people review, one rejects at a gate, one has enough.
	ids["cancelled"] = s.Goal("write a page")
	claim = s.open(ids["cancelled"], blackboard.BidRequest{Agent: "writer", Bid: blackboard.BidClaim}, blackboard.BidRequest{Agent: "lint", Bid: blackboard.BidIgnore})
	ids["reviewed"] = claim
	does("review", claim, "--approve")
	s.by("bob")
	does("review", claim, "--feedback", "say more")
	does("cancel", ids["cancelled"], "no longer needed")
	goal, held := s.holds(blackboard.Standard)
	ids["rejecting"], ids["rejected"] = goal, held
	does("reject", held, "no changelog")

	s.golden(ids, goldenPeople)
}
