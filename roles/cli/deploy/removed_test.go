package deploy

import (
	"slices"
	"testing"

	"sett/blackboard"
	"sett/blackboard/boardtest"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role/words"
)

// The goals of an agent that left are those that fail at once, and those that fail when a result of the agent is sent
// back: one that waits for approval, in review, or for its turn to land. A goal is told of once, and no other one.
func TestWorkOfAgentsThatLeft(t *testing.T) {
	b := boardtest.Start(t, "x").Lead()
	b.Must(b.Moves.Leader.Enact(b.Ctx, b.Epoch, []string{"Plan"}, ""))
	b.Must(b.Moves.Leader.SetLanding(b.Ctx, b.Epoch, "released"))
	made := func(agent string, kind blackboard.StructuralType, of string) (goal, artefact string) {
		claim := b.Granted("a goal", agent)
		b.Begin(claim, agent, "i")
		artefact = b.Finish(claim, agent, blackboard.Artefact{StructuralType: kind, Type: of, Payload: "aabbccddeeff00112233445566778899aabbccdd"})
		b.Complete(claim)
		return b.Artefact(artefact).WorkflowID, artefact
	}
	works := b.Artefact(b.Snapshot(b.Granted("another", "left")).Claim.ArtefactID).WorkflowID
	gated, _ := made("left", blackboard.Standard, "Plan")
	reviewed, draft := made("left", blackboard.Standard, "Draft")
	b.Bid(b.Open(draft, "stays"), blackboard.BidRequest{Agent: "stays", Bid: blackboard.BidReview})
	lands, _ := made("left", blackboard.Terminal, blackboard.TypeCodeCommit)
	for _, kind := range []string{"Plan", blackboard.TypeCodeCommit} {
		made("stays", blackboard.Terminal, kind)
	}

	c := &config.Config{Land: &config.Land{Onto: "released"}}
	w := workOf(b.Ctx, instance.BoardOf(b.Moves), c, func(agent string) bool { return agent != "stays" })
	want := []string{reviewed, gated, lands}
	if len(w.open) != 1 || !slices.Equal(w.open["left"], []string{works}) || len(w.back) != 1 || !slices.Equal(w.back["left"], want) {
		t.Errorf("got %v, want %v and %v", w, works, want)
	}
	w.back["left"] = append(w.back["left"], works)
	s := words.Shorts(want)
	lines := []string{
		"warning: agent left is no longer in sett.yml, and has work of goal " + words.Short(works) + ", which then fails; with the agent in it again, sett retry " + words.Short(works) + " tries that again",
		"warning: agent left is no longer in sett.yml: each of the 3 goals " + s[0] + ", " + s[1] + ", " + s[2] +
			" fails if feedback or a conflict sends a result of the agent back; with the agent in it again, the agent reworks that",
	}
	if got := w.lines(); !slices.Equal(got, lines) {
		t.Errorf("got %q", got)
	}
}
