package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

func TestCancelClaim(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	goal := s.Goal("do it")
	claim := s.open(goal, blackboard.BidRequest{Agent: "writer", Bid: blackboard.BidClaim}, blackboard.BidRequest{Agent: "lint", Bid: blackboard.BidClaim},
		blackboard.BidRequest{Agent: "many", Bid: blackboard.BidIgnore})
	s.Grant(claim, blackboard.PhaseParallel, "writer", "lint")
	s.begin(claim, "writer")
	s.refuses(role.Usage, "missing argument WHY", "cancel", claim)
	s.refuses(role.Usage, "say why", "cancel", claim, " ")
	s.refuses(role.Usage, "longer than 1000", "cancel", claim, strings.Repeat("x", 1001))
	s.refuses(role.Usage, "not UTF-8", "cancel", claim, "\xff")
	s.refuses(role.NotFound, "has an id", "cancel", "zzzzzz", "why")
	c := s.start("watch", "--exit-when-done", "--workflow", goal)
	s.Until("it is watched", func() bool { return s.Server.Followers() == 1 })
	s.stdin = strings.NewReader("the wrong\n branch\n")
	stdout, stderr, err := s.run("cancel", claim, "-")
	s.Must(err)
	const reason = "cancelled by anna: the wrong branch"
	f := s.wrote(stdout, blackboard.Artefact{StructuralType: blackboard.Failure, Type: blackboard.TypeCancelled, SourceArtefacts: []string{goal}, ClaimID: claim, WorkflowID: goal,
		Payload: `{"reason":"` + reason + `","exit_code":-1,"stdout":"","stderr":"","stdout_size":0,"stderr_size":0}`})
	if f.Summary != reason {
		t.Errorf("summary %q", f.Summary)
	}
	has(t, stderr, "claim "+words.Short(claim)+" is cancelled, stopped: lint, writer; goal "+words.Short(goal)+" is failed\n", "retry "+words.Short(f.ID)+" tries it again")
	if err := c.wait(); role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "Cancelled, Failure of anna: "+reason) {
		t.Errorf("watched: %v", err)
	}
	has(t, c.out.String(), "cancelled: the wrong branch; stopped: lint, writer; goal failed")
	s.refuses(role.Failed, "it is terminated: "+reason, "cancel", claim, "again")
	stdout, _, err = s.run("show", goal)
	s.Must(err)
	has(t, stdout, "Cancelled, Failure "+words.Short(f.ID)+" of anna: "+reason, "terminated: "+reason)
	stdout, _, err = s.run("show", f.ID)
	s.Must(err)
	has(t, stdout, "human at ", "anna", reason)
}

func TestCancelGoal(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	goal, claim, question := s.asks("paint it", "which?")
	other := s.Goal("another")
	wait := s.start("forage", "--wait", "a", "third")
	third := wait.goalOf()
	s.refuses(role.NotFound, "cancel "+words.Short(claim)+` "why" cancels its claim, `, "cancel", question, "x")
	s.refuses(role.NotFound, "cancel "+words.Short(goal)+` "why" cancels its goal`, "cancel", question, "x")
	stdout, stderr, err := s.run("cancel", goal, "no longer needed")
	s.Must(err)
	f := s.wrote(stdout, blackboard.Artefact{StructuralType: blackboard.Failure, Type: blackboard.TypeCancelled, SourceArtefacts: []string{goal}, WorkflowID: goal,
		Payload: `{"reason":"cancelled by anna: no longer needed","exit_code":-1,"stdout":"","stderr":"","stdout_size":0,"stderr_size":0}`})
	has(t, stderr, "goal "+words.Short(goal)+" is cancelled, stopped: 1 claim, writer; goal "+words.Short(goal)+" is failed\n")
	s.refuses(role.Failed, "it has ended: failed", "cancel", goal, "again")
	s.refuses(role.Failed, "it ended the goal, not a claim", "retry", f.ID)
	s.refuses(role.Failed, "its goal was cancelled", "retry", claim)
	s.refuses(role.Failed, "goal cancelled by anna: no longer needed", "answer", question, "red")
	if w, err := s.board.Records.Workflow(t.Context(), other); err != nil || w.Status != blackboard.WorkflowActive {
		t.Errorf("another goal is %+v, %v", w, err)
	}
	_, stderr, err = s.run("cancel", "@last", "nor that")
	s.Must(err)
	has(t, stderr, "goal "+words.Short(third)+" is cancelled, nothing was running")
	if err := wait.wait(); role.CodeOf(err) != role.Failed || !strings.Contains(err.Error(), "cancelled by anna: nor that") {
		t.Errorf("who waits for it: %v", err)
	}
}

// fails plays a goal whose writer fails.
func (s *stage) fails() (goal, claim, failure string) {
	s.t.Helper()
	goal = s.Goal("do it")
	claim, failure = s.work(goal, blackboard.Artefact{StructuralType: blackboard.Failure, Type: blackboard.TypeToolExecutionFailure, Payload: `{"reason":"no disk"}`})
	s.Must(s.board.Leader.TerminateClaim(s.t.Context(), s.Guard(claim), "writer failed", nil, nil))
	return goal, claim, failure
}

func TestRetry(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	goal, claim, failure := s.fails()
	stdout, stderr, err := s.run("retry", words.Short(failure), "the disk", "is new")
	s.Must(err)
	again := strings.TrimSpace(stdout)
	has(t, stderr, "claim "+words.Short(claim)+" is tried again as claim "+words.Short(again)+", by writer\n")
	if g := s.grantOf(again, "writer"); g.State != blackboard.GrantQueued {
		t.Errorf("grant %+v", g)
	}
	s.refuses(role.Failed, "it is tried again as claim "+again, "retry", claim)
	s.refuses(role.Failed, "it has not failed, it is pending_exclusive", "retry", again)
	history, err := s.board.Ledger.History(t.Context(), blackboard.Beginning, 1000)
	s.Must(err)
	if e := history[len(history)-1]; e.Kind != blackboard.EventRetry || e.Reason != "the disk is new" || e.Attributes["by"] != "anna" {
		t.Errorf("ledger %+v", e)
	}
	s.begin(again, "writer")
	draft := s.Finish(again, "writer", blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Draft", Payload: "x"})
	s.Complete(again)
	stdout, _, err = s.run("show", claim)
	s.Must(err)
	has(t, stdout, "tried again as claim "+words.Short(again))
	stdout, _, err = s.run("show", again)
	s.Must(err)
	has(t, stdout, "tries claim "+words.Short(claim)+" again", "retry "+words.Short(again)+" on GoalDefined "+words.Short(goal))
	stdout, _, err = s.run("show", goal)
	s.Must(err)
	if strings.Contains(stdout, "  ToolExecutionFailure, Failure") {
		t.Errorf("a Failure that was retried is the outcome:\n%s", stdout)
	}
	s.refuses(role.NotFound, "it is Draft", "retry", draft)
	s.refuses(role.NotFound, "anna had goal "+words.Short(goal)+" tried again, and it is active", "retry", goal)
	s.refuses(role.NotFound, "has an id", "retry", "zzzzzz")
	_, bidding, _ := s.asks("paint it", "which?")
	s.refuses(role.Failed, "it has not failed", "retry", bidding)
	s.staff()
	s.Must(s.board.SetInstance(t.Context(), blackboard.InstanceMove{State: blackboard.InstanceStopping, By: "test"}))
	_, claim, _ = s.failsLate(goal)
	s.refuses(role.NotFound, "is being stopped", "retry", claim)
}

// TestRetryGoal: a goal's id, and @last, mean all claims of the goal that failed.
func TestRetryGoal(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("do it")
	var bids []blackboard.BidRequest
	for _, name := range s.config.Names() {
		bids = append(bids, blackboard.BidRequest{Agent: name, Bid: blackboard.BidClaim})
	}
	claim := s.open(goal, bids...)
	s.Grant(claim, blackboard.PhaseParallel, s.config.Names()...)
	var drafts []string
	for _, name := range s.config.Names() {
		s.begin(claim, name)
		drafts = append(drafts, s.Finish(claim, name, blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Draft", Payload: name}))
	}
	s.Complete(claim)
	var failed []string
	for i, draft := range drafts {
		claim := s.open(draft, s.all("writer", blackboard.BidExclusive)...)
		if i >= 2 {
			s.Complete(claim)
			continue
		}
		f := blackboard.Artefact{ID: newID(), StructuralType: blackboard.Failure, Type: blackboard.TypeAgentRemoved, Payload: "{}", ProducedByRole: blackboard.RoleOrchestrator,
			ClaimID: claim, WorkflowID: goal, SourceArtefacts: []string{draft}}
		s.Must(s.board.Leader.TerminateClaim(t.Context(), s.Guard(claim), "removed", &f, nil))
		failed = append(failed, claim)
	}
	stdout, stderr, err := s.run("retry", "@last", "it is back")
	s.Must(err)
	again := strings.Fields(stdout)
	if len(again) != 2 {
		t.Fatalf("stdout %q", stdout)
	}
	for i, claim := range failed {
		has(t, stderr, "claim "+words.Short(claim)+" is tried again as claim "+words.Short(again[i]))
	}
	w, err := s.board.Records.Workflow(t.Context(), goal)
	s.Must(err)
	if w.Failures != 0 || w.Status != blackboard.WorkflowActive {
		t.Errorf("%+v", w)
	}
	s.refuses(role.NotFound, "had goal "+words.Short(goal)+" tried again, and it is active", "retry", words.Short(goal))
}

// failsLate has the writer fail on what it made, while the instance is stopping.
func (s *stage) failsLate(goal string) (g, claim, failure string) {
	s.t.Helper()
	all, err := s.board.Records.ListArtefacts(s.t.Context(), blackboard.Filter{Workflow: goal, Type: "Draft"})
	s.Must(err)
	claim = s.open(all[0].ID, s.all("writer", blackboard.BidExclusive)...)
	f := blackboard.Artefact{ID: newID(), StructuralType: blackboard.Failure, Type: blackboard.TypeAgentRemoved, Payload: "{}", ProducedByRole: blackboard.RoleOrchestrator,
		ClaimID: claim, WorkflowID: goal, SourceArtefacts: []string{all[0].ID}}
	s.Must(s.board.Leader.TerminateClaim(s.t.Context(), s.Guard(claim), "removed", &f, nil))
	return goal, claim, f.ID
}

// A retry may be followed like a goal that is posted.
func TestRetryWait(t *testing.T) {
	s := newStage(t)
	goal, _, failure := s.fails()
	c := s.start("retry", failure, "--wait")
	again := c.goalOf()
	s.begin(again, "writer")
	s.Finish(again, "writer", blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Done", Summary: "all well"})
	s.Complete(again)
	if err := c.wait(); err != nil {
		t.Errorf("%v", err)
	}
	has(t, c.err.String(), "tried again as claim "+words.Short(again), "goal achieved in", "all well")
	if c.out.String() != again+"\n" {
		t.Errorf("stdout %q", c.out.String())
	}
	_, _, failure = s.fails()
	s.refuses(role.Usage, "--wait=5m", "retry", failure, "--wait", "5m")
	_, _, err := s.run("retry", failure, "--wait", "--timeout", "50ms")
	if role.CodeOf(err) != role.TimedOut {
		t.Errorf("not in time: %v", err)
	}
	if w, err := s.board.Records.Workflow(t.Context(), goal); err != nil || w.Status != blackboard.WorkflowAchieved {
		t.Errorf("%+v, %v", w, err)
	}
}

// The versions of a thread are found through claims that were retried, the review's
// and the rework's.
func TestShowChainThroughRetries(t *testing.T) {
	s := newStage(t)
	ctx := t.Context()
	claim, first := s.work(s.Goal("write"), blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Draft", Payload: "x"})
	s.Complete(claim)
	claim = s.open(first, s.all("lint", blackboard.BidReview)...)
	s.Grant(claim, blackboard.PhaseReview, "lint")
	s.begin(claim, "lint")
	s.Finish(claim, "lint", blackboard.Artefact{StructuralType: blackboard.Failure, Type: blackboard.TypeToolExecutionFailure, Payload: `{"reason":"no"}`})
	s.Must(s.board.Leader.TerminateClaim(ctx, s.Guard(claim), "lint failed", nil, nil))
	retry := func(claim string) string {
		stdout, _, err := s.run("retry", claim)
		s.Must(err)
		return strings.TrimSpace(stdout)
	}
	review := retry(claim)
	s.begin(review, "lint")
	feedback := s.Finish(review, "lint", blackboard.Artefact{StructuralType: blackboard.Review, Type: "Review", Payload: "not like this"})
	rework := blackboard.ReworkClaimID(review)
	s.Must(s.board.Leader.TerminateClaim(ctx, s.Guard(review), "feedback", nil, &blackboard.Rework{ClaimID: rework, Agent: "writer", Context: []string{feedback}}))
	s.refuses(role.Failed, "it ended with feedback", "retry", review)
	s.begin(rework, "writer")
	s.Finish(rework, "writer", blackboard.Artefact{StructuralType: blackboard.Failure, Type: blackboard.TypeToolExecutionFailure, Payload: `{"reason":"no"}`})
	s.Must(s.board.Leader.TerminateClaim(ctx, s.Guard(rework), "writer failed", nil, nil))
	again := retry(rework)
	s.begin(again, "writer")
	second := s.Finish(again, "writer", blackboard.Artefact{LogicalID: first, StructuralType: blackboard.Standard, Type: "Draft", Payload: "y"})
	s.Complete(again)
	last := s.open(second)
	for _, id := range []string{first, second, claim, last} {
		stdout, _, err := s.run("show", id, "-o", "json")
		s.Must(err)
		var v struct {
			Chain []view.Version `json:"rework_chain"`
			Claim struct {
				Chain []view.Version `json:"rework_chain"`
			} `json:"claim"`
		}
		s.Must(json.Unmarshal([]byte(stdout), &v))
		chain := slices.Concat(v.Chain, v.Claim.Chain)
		want := []view.Version{
			{Artefact: first, Version: 1, Claim: review, Status: blackboard.Terminated, Rework: again, Agent: "writer"},
			{Artefact: second, Version: 2, Claim: last, Status: blackboard.PendingReview},
		}
		if len(chain) != 2 || chain[0] != want[0] || chain[1] != want[1] {
			t.Errorf("%s: got %+v", id, chain)
		}
	}
}
