package cli

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

func TestApprove(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	goal, held := s.holds(blackboard.Standard)
	if stdout, _, err := s.run("show", held); err != nil || !strings.Contains(stdout, "approval         waits for a person") {
		t.Errorf("before: %v\n%s", err, stdout)
	}
	stdout, stderr, err := s.run("approve", words.Short(held))
	s.Must(err)
	review := s.wrote(stdout, blackboard.Artefact{StructuralType: blackboard.Review, Type: "Review", Payload: "{}", SourceArtefacts: []string{held}, WorkflowID: goal})
	has(t, stderr, "Release "+words.Short(held)+" is approved; its claim opens\n")
	s.refuses(role.Failed, "was approved by anna 0s ago", "approve", held)
	s.refuses(role.Failed, "was approved by anna 0s ago", "reject", held, "no")
	s.refuses(role.Failed, "has no claim yet", "review", held, "--approve")
	stdout, _, err = s.run("show", held)
	s.Must(err)
	has(t, stdout, "approval         approved by anna at ", "Review "+words.Short(review.ID))
	stdout, _, err = s.run("show", held, "-o", "json")
	s.Must(err)
	has(t, stdout, `"gate": {
    "state": "approved",
    "review_id": "`+review.ID+`",
    "by": "anna",`)

	claim := s.open(held, s.all("lint", blackboard.BidReview)...)
	s.refuses(role.NotFound, "is a claim", "approve", claim)
	_, other := s.holds(blackboard.Standard)
	_, free := s.work(s.Goal("note"), blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Note"})
	_, _, question := s.asks("paint it", "which?")
	s.refuses(role.NotFound, "does not wait for approval", "approve", other, free)
	s.refuses(role.NotFound, "answer "+words.Short(question), "reject", question, "no")
	s.open(free)
	s.refuses(role.NotFound, "review "+words.Short(free)+" --approve", "approve", free)
	s.refuses(role.NotFound, "has an id", "approve", "zzzzzz")
	s.refuses(role.Usage, "--all approves everything", "approve", "--all", other)
	_, third := s.holds(blackboard.Standard)
	stdout, _, err = s.run("approve", other, third)
	if err != nil || stdout != blackboard.GateReviewID(other)+"\n"+blackboard.GateReviewID(third)+"\n" {
		t.Errorf("several: %q, %v", stdout, err)
	}
}

// A goal that is followed waits for the person who lets its Terminal pass, which
// then ends it.
func TestApproveTerminal(t *testing.T) {
	s := newStage(t)
	s.Must(s.board.Leader.Enact(t.Context(), s.Epoch, []string{"Release"}, ""))
	c := s.start("forage", "--wait", "--goal", "release it")
	goal := c.goalOf()
	claim, held := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Release", Summary: "packed"})
	s.Complete(claim)
	err := c.wait()
	if role.CodeOf(err) != role.Waiting || hint(err) != "" { // what to type stands in it
		t.Errorf("a gate: %v, %s", err, hint(err))
	}
	has(t, err.Error(), "Release "+words.Short(held)+" of writer waits for approval: packed\n  sett --name stage unearth "+words.Short(held)+"\n  sett --name stage approve "+words.Short(held)+"\n  sett --name stage reject "+words.Short(held)+` "why"`)
	has(t, c.err.String(), "; waits for approval\n")
	if _, _, err := s.run("watch", "--exit-when-done", "--workflow", goal); role.CodeOf(err) != role.Waiting {
		t.Errorf("watched: %v", err)
	}
	if _, _, err := s.run("watch", "--exit-when-done"); role.CodeOf(err) != role.Waiting {
		t.Errorf("all watched: %v", err)
	}
	other := s.Goal("another")
	watch := s.start("watch", "--exit-when-done")
	s.Until("it is watched", func() bool { return s.Server.Followers() == 1 })
	_, stderr, err := s.run("approve", held)
	s.Must(err)
	has(t, stderr, "goal "+words.Short(goal)+" is achieved\n")
	s.Complete(s.open(other, s.all("", "")...))
	s.Must(watch.wait())
	has(t, watch.out.String(), "approves artefact "+words.Short(held)+"; goal achieved")
}

// A goal that is held is a person's turn from the start.
func TestForageHeldGoal(t *testing.T) {
	s := newStage(t)
	s.Must(s.board.Leader.Enact(t.Context(), s.Epoch, []string{"GoalDefined"}, ""))
	c := s.start("forage", "--wait", "--goal", "may I?")
	err := c.wait()
	if role.CodeOf(err) != role.Waiting || !strings.Contains(err.Error(), "GoalDefined "+words.Short(c.goalOf())+" of user waits for approval: may I?") {
		t.Errorf("%v", err)
	}
	s.by("anna")
	_, stderr, err := s.run("reject", c.goalOf(), "no")
	s.Must(err)
	has(t, stderr, "no agent made it, so the goal fails")
}

func TestReject(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	goal, held := s.holds(blackboard.Terminal)
	s.refuses(role.Usage, "missing argument WHY", "reject", held)
	s.refuses(role.Usage, "the reason is empty", "reject", held, " ")
	s.refuses(role.Usage, "not UTF-8", "reject", held, "\xff")
	s.refuses(role.Usage, "approve "+words.Short(held), "reject", held, " {} ")
	stdout, stderr, err := s.run("reject", held, "no", "changelog")
	s.Must(err)
	claim := blackboard.BiddingClaimID(held)
	review := s.wrote(stdout, blackboard.Artefact{StructuralType: blackboard.Review, Type: "Review", Payload: "no changelog", SourceArtefacts: []string{held}, ClaimID: claim, WorkflowID: goal})
	has(t, stderr, "Release "+words.Short(held)+" (final result) is rejected, claim "+words.Short(claim)+"; writer reworks it\n")
	s.refuses(role.Failed, "was rejected by anna", "approve", held)
	if g := s.grantOf(claim, "human:anna"); g.Verdict != blackboard.Feedback || g.ResultID != review.ID {
		t.Errorf("grant %+v", g)
	}
	rework := blackboard.ReworkClaimID(claim)
	s.Must(s.board.Leader.TerminateClaim(t.Context(), s.Guard(claim), "feedback by human:anna", nil, &blackboard.Rework{ClaimID: rework, Agent: "writer", Context: []string{review.ID}}))
	s.begin(rework, "writer")
	second := s.Finish(rework, "writer", blackboard.Artefact{LogicalID: held, StructuralType: blackboard.Terminal, Type: "Release", Payload: "v1.1"})
	s.Complete(rework)
	stdout, _, err = s.run("show", held)
	s.Must(err)
	has(t, stdout, "approval         rejected by anna at ", "versions:", "v1  "+words.Short(held), "reworked by writer under claim "+words.Short(rework), "v2  "+words.Short(second))
	stdout, _, err = s.run("show", second)
	s.Must(err)
	has(t, stdout, "approval         waits for a person")
	stdout, _, err = s.run("show", claim)
	s.Must(err)
	has(t, stdout, "review  anna  rejects", "no changelog")
}

func TestAfterFeedback(t *testing.T) {
	of := func(agent string, version int) blackboard.Artefact {
		return blackboard.Artefact{ProducedByAgent: agent, ProducedByRole: "r", Version: version}
	}
	for _, tc := range []struct {
		limit   int
		atLimit string
		a       blackboard.Artefact
		want    string
	}{
		{3, config.ReviewLimitFail, of("", 1), "the goal fails"},
		{3, config.ReviewLimitFail, of("writer", 3), "writer reworks it"},
		{3, config.ReviewLimitFail, of("writer", 4), "max_review_iterations is reached, so the goal fails"},
		{3, config.ReviewLimitAsk, of("writer", 4), "a question comes before writer reworks it"},
		{0, config.ReviewLimitFail, of("writer", 40), "writer reworks it"},
	} {
		c, err := config.Parse("sett.yml", []byte(clan))
		if err != nil {
			t.Fatal(err)
		}
		c.Orchestrator.MaxReviewIterations, c.Orchestrator.OnReviewLimit = tc.limit, tc.atLimit
		in := &instance.Instance{Dir: t.TempDir()}
		if err := instance.WriteFile(in.ConfigPath(), c); err != nil {
			t.Fatal(err)
		}
		if got := afterFeedback(in, tc.a, tc.a); !strings.Contains(got, tc.want) {
			t.Errorf("%+v: %q, want %q", tc, got, tc.want)
		}
	}
}

// Feedback on an artefact whose maker left sett.yml is refused, since nobody could rework it: at a gate, at that of a
// Landing, whose result goes back, and of a claim in review.
func TestFeedbackForAnAgentThatLeft(t *testing.T) {
	s := newStage(t)
	c := *s.config
	c.Agents = slices.DeleteFunc(slices.Clone(c.Agents), func(a config.Agent) bool { return a.Name == "writer" })
	left := func() {
		s.Must(instance.WriteFile((&instance.Instance{Dir: filepath.Join(s.home, "sett", "stage")}).ConfigPath(), &c))
	}
	back := func() {
		s.Must(instance.WriteFile((&instance.Instance{Dir: filepath.Join(s.home, "sett", "stage")}).ConfigPath(), s.config))
	}
	refused := func(goal, made string, args ...string) {
		t.Helper()
		left()
		defer back()
		_, _, err := s.run(args...)
		if role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "agent writer, which made "+made+", is no longer in sett.yml: the goal would fail") {
			t.Errorf("%v: %v", args, err)
		}
		has(t, hint(err), "put writer back into sett.yml, then sett up; or give the goal up: sett --name stage cancel "+words.Short(goal))
	}

	goal, held := s.holds(blackboard.Standard)
	refused(goal, "it", "reject", held, "no good")
	left()
	_, said, err := s.run("approve", held)
	s.Must(err)
	has(t, said, "is approved")
	back()

	s.open(held, s.all("lint", blackboard.BidReview)...)
	s.Grant(blackboard.BiddingClaimID(held), blackboard.PhaseReview, "lint")
	refused(goal, "it", "review", held, "--feedback", "no good")

	s.Must(s.board.Leader.SetLanding(t.Context(), s.Epoch, "released"))
	s.Must(s.board.Leader.Enact(t.Context(), s.Epoch, []string{blackboard.TypeLanding}, ""))
	goal = s.concluded(blackboard.Terminal)
	landing := s.verifies(goal)
	refused(goal, "its result", "reject", landing, "no good")
	_, said, err = s.run("reject", landing, "no good")
	s.Must(err)
	has(t, said, "; writer reworks its result\n")
}

func TestReview(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	goal, claim, question := s.asks("paint it", "which?")
	s.refuses(role.Usage, "sett review "+goal+" --approve, or --feedback", "review", goal)
	s.refuses(role.Usage, "--approve, or --feedback", "review", goal, "--approve", "--feedback", "x")
	s.refuses(role.Failed, "it is not in review any more, its claim "+words.Short(claim)+" is pending_exclusive", "review", goal, "--approve")
	s.refuses(role.Failed, "is pending_exclusive", "review", claim, "--approve")
	s.refuses(role.NotFound, "a Question gets no claim", "review", question, "--approve")
	_, held := s.holds(blackboard.Standard)
	s.refuses(role.Failed, "approve "+words.Short(held), "review", held, "--approve")

	goal = s.Goal("write")
	s.refuses(role.Failed, "has no claim yet", "review", goal, "--approve")
	claim = s.open(goal, blackboard.BidRequest{Agent: "writer", Bid: blackboard.BidExclusive})
	s.refuses(role.Usage, "the feedback is empty", "review", goal, "--feedback", "")
	s.refuses(role.Usage, "--approve", "review", goal, "--feedback", "[]")
	stdout, stderr, err := s.run("review", goal, "--approve")
	s.Must(err)
	s.wrote(stdout, blackboard.Artefact{StructuralType: blackboard.Review, Type: "Review", Payload: "{}", SourceArtefacts: []string{goal}, ClaimID: claim, WorkflowID: goal})
	has(t, stderr, "GoalDefined "+words.Short(goal)+" is reviewed; after lint, many, the claim is decided about\n")
	s.refuses(role.Failed, "you have reviewed it: approve", "review", claim, "--feedback", "no")
	s.by("bob")
	s.stdin = strings.NewReader("too\nvague\n")
	stdout, stderr, err = s.run("review", claim, "--feedback", "-")
	s.Must(err)
	a, err := s.board.Records.Artefact(t.Context(), strings.TrimSpace(stdout))
	if err != nil || a.Payload != "too\nvague" {
		t.Errorf("%v, %+v", err, a)
	}
	has(t, stderr, "no agent made it, so the goal fails")
	stdout, _, err = s.run("show", claim)
	s.Must(err)
	has(t, stdout, "review  anna  approves", "review  bob   rejects", "too")
	stdout, _, err = s.run("show", claim, "-o", "json")
	s.Must(err)
	var v view.ClaimDetail
	s.Must(json.Unmarshal([]byte(stdout), &v))
	if len(v.Grants) != 2 || !blackboard.IsHuman(v.Grants[0].Agent) {
		t.Errorf("grants %+v", v.Grants)
	}
}

// A review finds the claim that tries another again.
func TestReviewOfRetry(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	goal := s.Goal("write")
	claim := s.open(goal, blackboard.BidRequest{Agent: "writer", Bid: blackboard.BidExclusive})
	_, _, err := s.run("cancel", claim, "wait")
	s.Must(err)
	s.refuses(role.Failed, "is terminated: cancelled by anna: wait", "review", goal, "--approve")
	again, _, err := s.run("retry", claim)
	s.Must(err)
	_, _, err = s.run("review", goal, "--approve")
	s.Must(err)
	if g := s.grantOf(strings.TrimSpace(again), "human:anna"); g.Verdict != blackboard.Approve {
		t.Errorf("grant %+v", g)
	}
}
