package cli

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/cli/status"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// applies puts the stage's settings in force, changed.
func (s *stage) applies(change func(*config.Config)) {
	s.t.Helper()
	change(s.config)
	s.Must(instance.WriteFile((&instance.Instance{Dir: filepath.Join(s.home, "sett", "stage")}).ConfigPath(), s.config))
}

// reviewed opens the claim on an artefact, on which lint has feedback.
func (s *stage) reviewed(artefact string) (claim, review string) {
	s.t.Helper()
	claim = s.open(artefact, s.all("lint", blackboard.BidReview)...)
	s.Grant(claim, blackboard.PhaseReview, "lint")
	s.begin(claim, "lint")
	return claim, s.Finish(claim, "lint", blackboard.Artefact{StructuralType: blackboard.Review, Type: "Review", Payload: "no"})
}

// Feedback that led to no rework is tried again only where it can lead to one now: with the limit raised, and with
// the agent in sett.yml.
func TestRetryAfterFeedback(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("write")
	claim, draft := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Draft", Payload: "x"})
	s.Complete(claim)
	claim, review := s.reviewed(draft)
	rework := blackboard.ReworkClaimID(claim)
	s.Must(s.board.Leader.TerminateClaim(t.Context(), s.Guard(claim), "feedback", nil, &blackboard.Rework{ClaimID: rework, Agent: "writer", Context: []string{review}}))
	s.begin(rework, "writer")
	second := s.Finish(rework, "writer", blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Draft", LogicalID: draft, Payload: "y"})
	s.Complete(rework)
	last, _ := s.reviewed(second)
	f := blackboard.Artefact{ID: newID(), StructuralType: blackboard.Failure, Type: blackboard.TypeReviewLimit, Payload: "{}", ProducedByRole: blackboard.RoleOrchestrator,
		ClaimID: last, WorkflowID: goal, SourceArtefacts: []string{second}}
	s.Must(s.board.Leader.TerminateClaim(t.Context(), s.Guard(last), "limit", &f, nil))

	s.applies(func(c *config.Config) { c.Orchestrator.MaxReviewIterations = 1 })
	s.refuses(role.Failed, "version 2 of Draft has used up max_review_iterations: 1", "retry", "@last")
	s.refuses(role.Failed, "raise orchestrator.max_review_iterations in sett.yml, then sett", "retry", f.ID)
	s.refuses(role.Failed, "its artefact is reworked", "retry", claim)
	s.applies(func(c *config.Config) { c.Orchestrator.MaxReviewIterations, c.Agents[0].Name = 2, "author" })
	s.refuses(role.Failed, "agent writer, which made Draft, is no longer in sett.yml", "retry", last)
	s.applies(func(c *config.Config) { c.Agents[0].Name = "writer" })
	stdout, stderr, err := s.run("retry", "@last", "a second", "look")
	s.Must(err)
	has(t, stderr, "claim "+words.Short(last)+" is tried again as claim "+words.Short(strings.TrimSpace(stdout)))
}

// At the limit a person is asked, where sett.yml says so: that can be tried again.
func TestRetryAfterFeedbackAsks(t *testing.T) {
	t.Parallel()
	limited := blackboard.Target{Version: 4, Agent: "writer"}
	for _, tc := range []struct {
		clan       []string
		iterations int
		asks       bool
		want       string
	}{
		{[]string{"writer"}, 3, false, blackboard.TypeReviewLimit},
		{[]string{"writer"}, 3, true, ""},
		{[]string{"writer"}, 4, false, ""},
		{[]string{"writer"}, 0, false, ""},
		{nil, 3, false, blackboard.TypeReviewLimit},
		{nil, 3, true, blackboard.TypeAgentRemoved},
		{nil, 0, false, blackboard.TypeAgentRemoved},
	} {
		if got := limited.ReworkBar(tc.clan, tc.iterations, tc.asks); got != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}

// A goal that failed in landing takes its turn anew, by its own id, as @last, or by its Failure's; that it will fail
// again is said.
func TestRetryLanding(t *testing.T) {
	s := newStage(t)
	s.by("anna")
	s.Must(s.board.Leader.SetLanding(t.Context(), s.Epoch, "released"))
	claim, result := s.work(s.Goal("write"), blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Release", Payload: "x"})
	goal := s.Snapshot(claim).Claim.WorkflowID
	s.Complete(claim)
	landingFails := func(kind string) (failure string) {
		t.Helper()
		w, err := s.board.Records.Workflow(t.Context(), goal)
		s.Must(err)
		f := blackboard.Artefact{ID: newID(), StructuralType: blackboard.Failure, Type: kind, Payload: `{"reason":"conflict"}`, ProducedByRole: blackboard.RoleOrchestrator, WorkflowID: goal, SourceArtefacts: []string{result}}
		s.Must(s.board.Leader.Land(t.Context(), blackboard.LandingStep{Epoch: s.Epoch, Workflow: goal, From: *w.Landing, To: blackboard.Landing{State: blackboard.LandingNone, Artefact: result}, Over: true, Artefact: &f}))
		return f.ID
	}
	first := landingFails(blackboard.TypeReviewLimit)
	s.refuses(role.Usage, "--budget is for one claim", "retry", goal, "--budget", "calls=3")
	stdout, stderr, err := s.run("retry", "@last", "the agent", "is mended")
	s.Must(err)
	has(t, stderr, "goal "+words.Short(goal)+" goes on: its result takes its turn to land\n")
	if stdout != "" || strings.Contains(stderr, "note:") {
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
	s.refuses(role.Failed, "it is tried again", "retry", first)
	s.refuses(role.NotFound, "anna had goal "+words.Short(goal)+" tried again, and it is active", "retry", goal)

	s.applies(func(c *config.Config) { c.Agents[0].Name = "author" })
	second := landingFails(blackboard.TypeAgentRemoved)
	_, stderr, err = s.run("retry", second)
	s.Must(err)
	has(t, stderr, "note: with a conflict or feedback it fails again: agent writer, which made Release, is no longer in sett.yml; put writer back into sett.yml, then ")
	stdout, _, err = s.run("graph", goal)
	s.Must(err)
	has(t, stdout, words.Short(first)+"  orchestrator  retried")
}

// A goal that max_artefacts ended goes on with a higher limit, and is refused with the same one.
func TestRetryAfterLimit(t *testing.T) {
	s := newStage(t)
	claim, draft := s.work(s.Goal("write"), blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Draft", Payload: "x"})
	goal := s.Snapshot(claim).Claim.WorkflowID
	s.Complete(claim)
	f := blackboard.Artefact{ID: newID(), StructuralType: blackboard.Failure, Type: blackboard.TypeWorkflowLimit, Payload: `{"reason":"too many"}`, ProducedByRole: blackboard.RoleOrchestrator, WorkflowID: goal, SourceArtefacts: []string{draft}}
	s.Must(s.board.Leader.RefuseClaim(t.Context(), s.Epoch, draft, "too many", f))
	s.applies(func(c *config.Config) { c.Orchestrator.MaxArtefacts = 1 })
	s.refuses(role.Failed, "its goal has 2 artefacts that count, and max_artefacts is 1", "retry", "@last")
	s.refuses(role.Failed, "raise orchestrator.max_artefacts in sett.yml, then sett", "retry", f.ID)
	s.applies(func(c *config.Config) { c.Orchestrator.MaxArtefacts = 2 })
	_, stderr, err := s.run("retry", "@last")
	s.Must(err)
	has(t, stderr, "goal "+words.Short(goal)+" goes on: its artefacts without a claim get one\n")
	w, err := s.board.Records.Workflow(t.Context(), goal)
	s.Must(err)
	if w.Status != blackboard.WorkflowActive || w.Outstanding != 1 {
		t.Errorf("%+v", w)
	}
	s.refuses(role.NotFound, "had goal "+words.Short(goal)+" tried again, and it is active", "retry", "@last")
}

// between are claims that somebody tries again just before they are read.
type between struct {
	view.Claims
	retry func()
}

// TryClaims has all tried again first.
func (b *between) TryClaims(ctx context.Context, ids []string) ([]blackboard.Claim, []error, error) {
	if b.retry != nil {
		b.retry()
		b.retry = nil
	}
	return b.Claims.TryClaims(ctx, ids)
}

// Of two retries at once, the later one does not say that a goal failed of which nothing failed.
func TestRetryBesideAnother(t *testing.T) {
	s := newStage(t)
	goal, claim, _ := s.fails()
	b := status.BoardOf(instance.BoardOf(s.board))
	b.Claims = &between{b.Claims, func() { s.Must(s.board.People.Retry(t.Context(), claim, newID(), "bob", "")) }}
	f, err := view.FailedOf(t.Context(), b, goal)
	s.Must(err)
	if !f.None() || f.Workflow.Status != blackboard.WorkflowActive {
		t.Errorf("%+v", f)
	}
}
