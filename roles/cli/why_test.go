package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"sett/blackboard"
	"sett/roles/cli/chart"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
	"sett/roles/view/lineage"
)

// why reads what sett why says in JSON.
func (s *stage) why(id string) lineage.Why {
	s.t.Helper()
	stdout, _, err := s.run("why", id, "-o", "json")
	s.Must(err)
	var v lineage.Why
	s.Must(json.Unmarshal([]byte(stdout), &v))
	return v
}

// way is the steps in short: the claim's origin and what it yielded.
func wayOf(v lineage.Why) []string {
	var all []string
	for _, s := range v.Steps {
		step := ""
		if s.Claim != nil {
			step = string(s.Claim.Origin)
		}
		if s.Artefact != nil {
			step += ">" + s.Artefact.ID
		}
		all = append(all, step)
	}
	return all
}

// The chain leads from the goal over the rejected version's claim and its rework.
func TestWhyRework(t *testing.T) {
	s := newStage(t)
	ids := s.tell()
	v := s.why(ids["terminal"])
	if want := []string{">" + ids["goal"], "artefact>" + ids["first"], "artefact", "rework>" + ids["second"], "artefact>" + ids["terminal"]}; !slices.Equal(wayOf(v), want) {
		t.Fatalf("the way is %v, want %v", wayOf(v), want)
	}
	if v.Kind != "artefact" || v.ID != ids["terminal"] || v.Goal != ids["goal"] || v.Took <= 0 {
		t.Errorf("got %+v", v)
	}
	made, rejected, rework, last := v.Steps[1].Claim, v.Steps[2].Claim, v.Steps[3].Claim, v.Steps[4].Claim
	if g := made.Grants; made.ArtefactID != ids["goal"] || made.Because != "for the goal" || len(made.Bids) != 3 || made.Bids[0].Bid != (blackboard.Bid{Agent: "writer", Type: blackboard.BidExclusive}) ||
		len(g) != 1 || g[0].Agent != "writer" || *g[0].Tool != 1.5 || *g[0].Queued < 0 || *made.BidsTook < 0 || *made.Took <= 0 || g[0].ResultID != ids["first"] || g[0].Says != "a draft" {
		t.Errorf("the first: %+v", made)
	}
	if g := rejected.Grants; rejected.ID != ids["claim"] || rejected.Status != blackboard.Terminated || rejected.Reason != "feedback by lint" || len(g) != 1 ||
		g[0].Verdict != blackboard.Feedback || g[0].Says != `{"say":"more"}` {
		t.Errorf("the rejected one: %+v", rejected)
	}
	if rework.ID != ids["rework"] || rework.Because != "after feedback by lint" || len(rework.Feedback) != 1 || rework.BidsTook != nil {
		t.Errorf("the rework: %+v", rework)
	}
	if sources := v.Steps[3].Sources; len(sources) != 1 || sources[0].StructuralType != blackboard.Review {
		t.Errorf("the rework's other sources: %+v", sources)
	}
	if g := last.Grants; last.Because != "for version 2 by writer" || len(g) != 2 || g[0].Phase != blackboard.PhaseReview || g[0].Verdict != blackboard.Approve || g[1].Phase != blackboard.PhaseExclusive {
		t.Errorf("the last: %+v", last)
	}
	for id, want := range map[string][]string{
		ids["asking"]: {">" + ids["asking"]}, ids["claim"]: {">" + ids["goal"], "artefact>" + ids["first"], "artefact"},
		ids["rework"]: {">" + ids["goal"], "artefact>" + ids["first"], "artefact", "rework"}, ids["question"]: {">" + ids["asking"], "artefact>" + ids["question"]},
	} {
		if v := s.why(id); !slices.Equal(wayOf(v), want) {
			t.Errorf("the way to %s is %v, want %v", id, wayOf(v), want)
		}
	}
	stdout, _, err := s.run("why", ids["second"], "-o", "jsonl")
	s.Must(err)
	if n := strings.Count(stdout, "\n"); n != 4 {
		t.Errorf("%d lines", n)
	}
	if _, _, err := s.run("why", "zzzzzz"); role.CodeOf(err) != role.NotFound {
		t.Errorf("an unknown id: %v", err)
	}
	stdout, _, err = s.run("why", ids["terminal"])
	s.Must(err)
	has(t, stdout, "goal "+words.Short(ids["goal"])+"\n", "claim "+words.Short(ids["claim"])+" on Draft "+words.Short(ids["first"])+"  terminated\n", "  review     lint rejects, queued ",
		"rework "+words.Short(ids["rework"])+" on Draft "+words.Short(ids["first"])+"  complete\n", "  context    Review ", "  also from  Review ", "  made       Draft v2 "+words.Short(ids["second"])+" by writer at ")
}

// byPerson is an artefact as the command line makes it for somebody.
func (s *stage) byPerson(by string, st blackboard.StructuralType, typ, payload, claim, workflow string, sources ...string) blackboard.Artefact {
	return blackboard.Artefact{ID: newID(), StructuralType: st, Type: typ, Payload: payload, ProducedByRole: blackboard.RoleHuman, ClaimID: claim, WorkflowID: workflow,
		SourceArtefacts: sources, Metadata: json.RawMessage(fmt.Sprintf(`{"by":%q}`, by))}
}

// What people did is told with their names: who answered, approved, rejected,
// reviewed, retried and cancelled, and why.
func TestWhyPeople(t *testing.T) {
	s := newStage(t)
	ctx := t.Context()
	s.Must(s.board.Leader.Enact(ctx, s.Epoch, []string{"Plan"}, ""))
	goal := s.Goal("the goal")

	// writer asks, anna answers; a Plan that bert approves comes of it.
	claim, question := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Question, Type: "Question", Payload: "Which one?"})
	answer := s.byPerson("anna", blackboard.Answer, "Answer", "That one.", claim, goal, question)
	_, err := s.board.People.PostAnswer(ctx, question, answer, "anna")
	s.Must(err)
	s.begin(claim, "writer")
	plan := s.Finish(claim, "writer", blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Plan", Payload: "a plan", SourceArtefacts: []string{question, answer.ID}})
	s.Complete(claim)
	if g := s.why(plan).Steps[1].Gate; g == nil || !g.IsHeld() {
		t.Errorf("an open gate: %+v", g)
	}
	stdout, _, err := s.run("graph", goal)
	s.Must(err)
	has(t, stdout, "Plan "+words.Short(plan)+"  writer  waits for approval  a plan", "Question "+words.Short(question)+"  writer  answered  Which one?", "Answer "+words.Short(answer.ID)+"  anna  That one.")
	review := s.byPerson("bert", blackboard.Review, "Review", "{}", "", goal, plan)
	review.ID = blackboard.GateReviewID(plan)
	s.Must(s.board.People.Approve(ctx, plan, review, "bert"))

	// carla reviews the plan's claim; writer's work on it fails and dora has it retried.
	second := s.open(plan, s.all("writer", blackboard.BidExclusive)...)
	human := s.byPerson("carla", blackboard.Review, "Review", "[]", second, goal, plan)
	human.Summary = "fine with me"
	s.Must(s.board.People.Review(ctx, second, human, "carla"))
	s.Grant(second, blackboard.PhaseExclusive, "writer")
	s.begin(second, "writer")
	s.Finish(second, "writer", blackboard.Artefact{StructuralType: blackboard.Failure, Type: blackboard.TypeToolExecutionFailure, Payload: `{"reason":"no network"}`})
	s.Must(s.board.Leader.TerminateClaim(ctx, s.Guard(second), "writer failed", nil, nil))
	retry := newID()
	s.Must(s.board.People.Retry(ctx, second, retry, "dora", "the network is back"))

	// and emil cancels that.
	failure := s.byPerson("emil", blackboard.Failure, blackboard.TypeCancelled, `{"reason":"not needed"}`, retry, goal, plan)
	s.Must(s.board.People.CancelClaim(ctx, retry, failure, "emil", "not needed"))

	v := s.why(failure.ID)
	if want := []string{">" + goal, "artefact>" + plan, "artefact", "retry>" + failure.ID}; !slices.Equal(wayOf(v), want) {
		t.Fatalf("the way is %v, want %v", wayOf(v), want)
	}
	q := v.Steps[1].Claim.Grants[0].Questions
	if len(q) != 1 || q[0].Says != "Which one?" || q[0].Answer != "That one." || q[0].By != "anna" || q[0].Waited == nil || *q[0].Waited < 0 {
		t.Errorf("the question: %+v", q)
	}
	if g := v.Steps[1].Gate; g == nil || g.State != view.GateApproved || g.By != "bert" || g.ReviewID != review.ID || g.Waited == nil {
		t.Errorf("the gate: %+v", g)
	}
	if g := v.Steps[2].Claim.Grants; len(g) != 2 || g[0].By != "carla" || g[0].Verdict != blackboard.Approve || g[0].Says != "fine with me" || g[1].State != blackboard.GrantFailed || g[1].Says != "no network" {
		t.Errorf("the failed claim: %+v", g)
	}
	c := v.Steps[3].Claim
	if v.Steps[2].Claim.RetriedAs != retry || c.RetryOf != second || c.RetriedBy != "dora" || c.RetryWhy != "the network is back" || !c.Grants[0].Kept || c.Grants[1].Kept {
		t.Errorf("the retry: %+v", c)
	}
	if x := c.Cancelled; x == nil || x.By != "emil" || x.Why != "not needed" || x.FailureID != failure.ID {
		t.Errorf("the cancel: %+v", x)
	}
	stdout, _, err = s.run("why", failure.ID)
	s.Must(err)
	has(t, stdout, "  asked      "+words.Short(question)+": Which one?\n", "  answered   "+words.Short(answer.ID)+" by anna after ", ": That one.\n", "  approval   approved by bert after ",
		"carla approves: Review ", ": fine with me\n", "as a retry by dora of claim "+words.Short(second)+": the network is back\n", "  cancelled  ", " by emil: not needed\n")
	for _, line := range strings.Split(stdout, "\n") {
		if n := utf8.RuneCountInString(line); n > chart.WhyWidth {
			t.Errorf("a line of %d characters: %s", n, line)
		}
	}
	stdout, _, err = s.run("graph", goal)
	s.Must(err)
	has(t, stdout, "ToolExecutionFailure ", "  writer  retried  no network", "Cancelled, Failure "+words.Short(failure.ID)+"  emil  not needed")
}

// A rejected gate leads to a rework over the claim that was opened for it; a goal
// that is cancelled says by whom, at every claim that this ended.
func TestWhyRejectedAndCancelledGoal(t *testing.T) {
	s := newStage(t)
	ctx := t.Context()
	s.Must(s.board.Leader.Enact(ctx, s.Epoch, []string{"Plan"}, ""))
	goal := s.Goal("the goal")
	claim, plan := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Plan", Payload: "a plan"})
	s.Complete(claim)
	review := s.byPerson("bert", blackboard.Review, "Review", "too long", "", goal, plan, goal)
	review.ID = blackboard.GateReviewID(plan)
	rejected, err := s.board.People.Reject(ctx, plan, review, "bert")
	s.Must(err)
	v := s.why(rejected)
	if g := v.Steps[1].Gate; g == nil || g.State != view.GateRejected || g.By != "bert" || g.Says != "too long" {
		t.Errorf("the gate: %+v", g)
	}
	if g := v.Steps[2].Claim.Grants; len(g) != 1 || g[0].By != "bert" || g[0].Verdict != blackboard.Feedback {
		t.Errorf("the claim: %+v", g)
	}
	if v := s.why(review.ID); !slices.Equal(wayOf(v), []string{">" + goal, "artefact>" + plan, "artefact>" + review.ID}) {
		t.Errorf("the way to the review is %v", wayOf(v))
	}
	last := s.why(review.ID).Steps[2]
	if i := slices.IndexFunc(last.Sources, func(b view.Brief) bool { return b.ID == goal }); i < 0 || last.Sources[i].By != "ann" {
		t.Errorf("the goal among the sources: %+v", last.Sources)
	}
	failure := s.byPerson("emil", blackboard.Failure, blackboard.TypeCancelled, `{"reason":"not needed"}`, "", goal, goal)
	s.Must(s.board.People.CancelWorkflow(ctx, goal, failure, "emil", "not needed"))
	if x := s.why(rejected).Steps[2].Claim.Cancelled; x == nil || x.By != "emil" || x.Why != "not needed" {
		t.Errorf("the cancel: %+v", x)
	}
	if v := s.why(failure.ID); !slices.Equal(wayOf(v), []string{">" + goal, ">" + failure.ID}) {
		t.Errorf("the way to the failure is %v", wayOf(v))
	}
	stdout, _, err := s.run("graph")
	s.Must(err)
	has(t, stdout, "rejects  too long", "Cancelled, Failure "+words.Short(failure.ID)+"  emil  not needed")
}

// A claim whose record is corrupt is a step that cannot be read; the others are told,
// and the exit code says that it is not the whole.
func TestWhyOverCorruptClaim(t *testing.T) {
	s := newStage(t)
	ids := s.tell()
	first := blackboard.BiddingClaimID(ids["goal"])
	for what, corrupt := range map[string][]string{
		"a grant":   {"HSET", "sett:{stage}:claim:" + ids["claim"], "grant:lint", "{"},
		"the claim": {"HSET", "sett:{stage}:claim:" + first, "expected_bidders", "{"},
	} {
		s.Send(corrupt...)
		stdout, _, err := s.run("why", ids["terminal"], "-o", "json")
		if role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("%s: %v", what, err)
		}
		var v lineage.Why
		s.Must(json.Unmarshal([]byte(stdout), &v))
		unread := 0
		for _, step := range v.Steps {
			if step.Unreadable != "" {
				unread++
				if step.Claim != nil || !strings.Contains(step.Unreadable, "corrupt") {
					t.Errorf("%s: %+v", what, step)
				}
			}
		}
		if len(v.Steps) != 5 || unread == 0 || v.Steps[4].Artefact.ID != ids["terminal"] || v.Steps[1].Artefact.ID != ids["first"] {
			t.Errorf("%s: the way is %v, %d unreadable", what, wayOf(v), unread)
		}
	}
	stdout, _, err := s.run("why", ids["terminal"])
	if role.CodeOf(err) != role.Failed {
		t.Error(err)
	}
	has(t, stdout, "claim "+words.Short(first)+"  unreadable\n", "claim "+words.Short(ids["claim"])+"  unreadable\n", "made       Draft "+words.Short(ids["first"]))
}

// A claim that ended before its goal was cancelled was not cancelled, whatever its
// reason says.
func TestWhyNotCancelled(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("the goal")
	claim, plan := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Plan", Payload: "a plan"})
	s.Must(s.board.Leader.TerminateClaim(t.Context(), s.Guard(claim), "goal cancelled by nobody", nil, nil))
	open := s.open(plan)
	failure := s.byPerson("emil", blackboard.Failure, blackboard.TypeCancelled, `{"reason":"not needed"}`, "", goal, goal)
	s.Must(s.board.People.CancelWorkflow(t.Context(), goal, failure, "emil", "not needed"))
	v := s.why(open)
	if c := v.Steps[1].Claim; c.Cancelled != nil {
		t.Errorf("a claim that had ended: %+v", c.Cancelled)
	}
	if c := v.Steps[2].Claim; c.Cancelled == nil || c.Cancelled.By != "emil" {
		t.Errorf("an open claim: %+v", c.Cancelled)
	}
}
