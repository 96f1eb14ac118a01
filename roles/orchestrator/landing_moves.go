package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sett/blackboard"
	"sett/roles/orchestrator/arbiter"
	"sett/roles/role/git"
	"sett/roles/role/repository"
)

// verify shows agents the commit that the branch would have.
func (s *landing) verify(ctx context.Context, result blackboard.Artefact) error {
	s.l.State = blackboard.LandingVerifying
	thread, known, err := s.named(ctx)
	if err != nil {
		return err
	}
	if known { // the branch went away and came back: it was verified
		return s.record(ctx, blackboard.LandingStep{})
	}
	if err := s.role.Hold(ctx, repository.Hold{Artefact: s.l.Verification, Commit: s.l.Commit}); err != nil {
		return err
	}
	payload := encoded(map[string]string{"branch": s.l.Branch, "tip": s.l.Tip, "commit": s.l.Commit, "how": s.l.How})
	return s.record(ctx, blackboard.LandingStep{Artefact: &blackboard.Artefact{
		ID: s.l.Verification, LogicalID: thread, StructuralType: blackboard.Standard, Type: blackboard.TypeLanding,
		Payload: payload, Commit: s.l.Commit, SourceArtefacts: []string{result.ID}, ProducedByRole: blackboard.RoleRepository, WorkflowID: s.w.ID,
		Summary: fmt.Sprintf("%s onto branch %s: %s", s.l.How, s.l.Branch, subjectOf(result)),
	}})
}

// named finds the id of the Landing of this commit, and says whether there is such a one. One whose verification
// was superseded counts no more.
func (s *landing) named(ctx context.Context) (thread string, known bool, err error) {
	thread = blackboard.LandingThread(s.w.ID)
	s.l.Verification = thread
	known, err = s.isThere(ctx)
	for tries := 0; known && err == nil; tries++ {
		s.l.Verification = blackboard.LandingID(s.w.ID, s.l.Commit, s.l.Since, tries)
		if known, err = s.isThere(ctx); !known || err != nil {
			break
		}
		c, err := s.t.board.Snapshot(ctx, blackboard.BiddingClaimID(s.l.Verification))
		if errors.Is(err, blackboard.ErrNotFound) || err == nil && !arbiter.Superseded(c) {
			return thread, true, nil
		}
		if err != nil {
			return thread, true, ofRecord(err)
		}
	}
	return thread, false, err
}

// isThere says whether the Landing is on the blackboard.
func (s *landing) isThere(ctx context.Context) (bool, error) {
	_, err := s.t.board.Artefact(ctx, s.l.Verification)
	if errors.Is(err, blackboard.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// move moves the branch, which may be there already. One that somebody else moved has the
// landing planned anew.
func (s *landing) move(ctx context.Context) (turn, error) {
	if s.was.State != blackboard.LandingMoving {
		s.l.State = blackboard.LandingMoving
		return goesOn, s.record(ctx, blackboard.LandingStep{})
	}
	done, err := s.role.Land(ctx, repository.Land{Branch: s.l.Branch, From: s.l.Tip, To: s.l.Commit})
	switch {
	case err != nil:
		return holds, err
	case done.Done:
		if len(done.Lacking) > 0 {
			s.t.log.Warn("landed without content of git LFS, which is neither in the store nor in the repository: only the pointers came",
				"workflow", s.w.ID, "branch", s.l.Branch, "files", done.Lacking)
		}
		s.l.State = blackboard.LandingLanded
		return passes, s.end(ctx)
	case done.Bars != "":
		s.l.State, s.l.Reason = blackboard.LandingBarred, done.Bars
		return passes, s.record(ctx, blackboard.LandingStep{})
	}
	s.l = blackboard.Landing{State: blackboard.LandingQueued, Since: s.was.Since}
	return goesOn, s.record(ctx, blackboard.LandingStep{})
}

// look finds out whether the branch was moved before the goal was cancelled, or while it was. It is moved no more.
func (s *landing) look(ctx context.Context) (turn, error) {
	done, err := s.role.Land(ctx, repository.Land{Branch: s.l.Branch, From: s.l.Commit, To: s.l.Commit})
	if err != nil {
		return holds, err
	}
	if s.l.State = blackboard.LandingLanded; !done.Done {
		s.l.State, s.l.Reason = blackboard.LandingNone, arbiter.NotLanded().Reason
	}
	return passes, s.end(ctx)
}

// refusal is the payload of the Review that sends a result back.
type refusal struct {
	Reason  string     `json:"reason"`
	Branch  string     `json:"branch"`
	Tip     string     `json:"tip"`             // the branch's commit: the other side
	Files   []string   `json:"files,omitempty"` // of a conflict
	Hunks   []git.Hunk `json:"hunks,omitempty"`
	Reviews []string   `json:"reviews,omitempty"` // the feedback on the Landing
}

// refuse writes the Review. Its commit is the other side, which the result's maker sees.
func (s *landing) refuse(ctx context.Context, result blackboard.Artefact, r refusal, reason string) error {
	s.l.State, s.l.Review, s.l.Reason = blackboard.LandingRefused, blackboard.LandingReviewID(result.ID, s.l.Since), reason
	if err := s.role.Hold(ctx, repository.Hold{Artefact: s.l.Review, Commit: s.l.Tip}); err != nil {
		return err
	}
	r.Reason, r.Branch, r.Tip = reason, s.l.Branch, s.l.Tip
	return s.record(ctx, blackboard.LandingStep{Artefact: &blackboard.Artefact{
		ID: s.l.Review, StructuralType: blackboard.Review, Type: blackboard.TypeLandingReview, Payload: encoded(r), Commit: s.l.Tip,
		SourceArtefacts: append([]string{result.ID}, r.Reviews...), ProducedByRole: blackboard.RoleRepository, WorkflowID: s.w.ID, Summary: reason,
	}})
}

// feedback refuses a landing that reviewers or checks do not want.
func (s *landing) feedback(ctx context.Context) (turn, error) {
	result, err := s.t.board.Artefact(ctx, s.l.Artefact)
	if err != nil {
		return holds, ofRecord(err)
	}
	r := refusal{Reviews: feedbackOn(s.verification)}
	return goesOn, s.refuse(ctx, result, r, "feedback on landing on branch "+s.l.Branch)
}

// feedbackOn returns the Reviews of a claim that did not approve.
func feedbackOn(c blackboard.Snapshot) (reviews []string) {
	for _, g := range c.Grants {
		if g.Phase == blackboard.PhaseReview && g.Verdict != blackboard.Approve && g.ResultID != "" {
			reviews = append(reviews, g.ResultID)
		}
	}
	return reviews
}

// rework sends the result back to its maker, or ends the goal with the reason against that.
func (s *landing) rework(ctx context.Context) (turn, error) {
	result, err := s.t.board.Artefact(ctx, s.l.Artefact)
	if err != nil {
		return holds, ofRecord(err)
	}
	review, err := s.t.board.Artefact(ctx, s.l.Review)
	if err != nil {
		return holds, ofRecord(err)
	}
	all, each, err := s.outlines(ctx)
	if err != nil {
		return holds, err
	}
	// A rework that made no commit is a version, too: the one before it is landed again, and again in vain.
	version, count := blackboard.Reworked(all, each, result.LogicalID)
	target := result.Target()
	target.Version = version
	reviews := append([]string{review.ID}, review.SourceArtefacts[1:]...)
	cfg := s.t.clan.get()
	d := arbiter.SendBack(result.ID, target, policyOf(cfg), []string{blackboard.RoleRepository}, reviews)
	if most := cfg.Orchestrator.MaxArtefacts; d.Rework != nil && most > 0 && count > most {
		d = arbiter.Decision{FailureType: blackboard.TypeWorkflowLimit, Reason: overLimit(most)}
	}
	about := blackboard.Claim{ID: blackboard.LandingReworkID(result.ID, s.l.Since), ArtefactID: result.ID, WorkflowID: s.w.ID}
	if d.Rework == nil {
		s.l.State, s.l.Reason = blackboard.LandingNone, d.Reason
		about.ID = "" // there is no such claim
		f := failureOf(d.FailureType, review.ID, about, blackboard.FailureReport{Reason: review.Summary + "; " + d.Reason, ExitCode: -1})
		return passes, s.record(ctx, blackboard.LandingStep{Over: true, Artefact: &f})
	}
	r := &blackboard.LandingRework{Artefact: result.ID, Rework: blackboard.Rework{ClaimID: about.ID, Agent: d.Rework.Agent, Context: d.Rework.Context}}
	if d.Rework.Ask != "" {
		r.Question = questionOf(about, about.ID, d.Rework)
	}
	s.l.State = blackboard.LandingReworked
	return passes, s.record(ctx, blackboard.LandingStep{Rework: r})
}

// encoded writes values that always can be written as JSON.
func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "{}"
	}
	return string(text)
}

// few names the first files of a conflict.
func few(files []string) string {
	const most = 3
	if len(files) <= most {
		return strings.Join(files, ", ")
	}
	return fmt.Sprintf("%s and %d more files", strings.Join(files[:most], ", "), len(files)-most)
}
