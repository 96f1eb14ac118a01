package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"sett/blackboard"
	"sett/roles/orchestrator/arbiter"
	"sett/roles/role/repository"
)

// unblock takes on the grants of a claim that wait for a Conflict: it is settled, its later side is
// sent back, or they fail. The end of every claim of the goal brings us back.
func unblock(ctx context.Context, t *term, s blackboard.Snapshot) error {
	for _, g := range s.Grants {
		if !g.Waiting() {
			continue
		}
		c := clash{t: t, of: s.Claim, grant: g}
		if err := c.read(ctx); err != nil {
			return err
		}
		if err := c.act(ctx); err != nil {
			return err
		}
	}
	return nil
}

// clash is a Conflict that a grant waits for.
type clash struct {
	t     *term
	of    blackboard.Claim // of the grant
	grant blackboard.Grant

	conflict      blackboard.Artefact
	payload       blackboard.Conflict
	later, latest blackboard.Artefact
	sent          string // of the ids of the next Review and rework: the version that they send back; empty: they are the first
	facts         arbiter.ConflictFacts
}

// read collects the facts.
func (c *clash) read(ctx context.Context) (err error) {
	if c.conflict, err = c.t.board.Artefact(ctx, c.grant.Conflict); err != nil {
		return err
	}
	ok := false
	if c.payload, ok = c.conflict.Conflict(); !ok {
		c.facts.Refused = true
		return nil
	}
	if c.later, err = c.t.board.Artefact(ctx, c.payload.Theirs.Artefacts[0]); err != nil {
		return err
	}
	if err := c.readVersions(ctx); err != nil || c.facts.Rework != nil || c.facts.Reworked {
		return err
	}
	if c.facts.Claim, err = c.lastTry(ctx, blackboard.BiddingClaimID(c.conflict.ID)); err != nil {
		return err
	}
	if c.facts.Claim == nil {
		return c.readUnclaimed(ctx)
	}
	return c.readResult(ctx)
}

// readVersions finds the latest version of the later side, and the rework of it. One that ended since that
// version was read made another.
func (c *clash) readVersions(ctx context.Context) error {
	for seen := ""; ; seen = c.latest.ID {
		newest, err := c.t.board.LatestVersions(ctx, []string{c.later.LogicalID})
		if err != nil {
			return err
		}
		if c.latest = c.later; newest[c.later.LogicalID] != c.later.ID {
			if c.latest, err = c.t.board.Artefact(ctx, newest[c.later.LogicalID]); err != nil {
				return err
			}
		}
		if c.latest.ID == seen {
			break
		}
		if err := c.readRework(ctx); err != nil {
			return err
		}
		if r := c.facts.Rework; r == nil || r.Status != blackboard.Complete {
			break
		}
	}
	c.facts.Later, c.facts.Latest, c.facts.Commits = c.later.ID, c.latest.ID, c.latest.CommitHash() != ""
	return nil
}

// readRework finds the rework of the latest version that the Conflict led to. The first one's id has no version, so that
// it is the same on older boards.
func (c *clash) readRework(ctx context.Context) error {
	c.sent, c.facts.Rework, c.facts.Reworked = "", nil, false
	r, err := c.lastTry(ctx, blackboard.ConflictReworkID(c.conflict.ID, ""))
	if err == nil && r != nil && r.Claim.ArtefactID != c.latest.ID {
		c.sent, c.facts.Reworked = c.latest.ID, true
		r, err = c.lastTry(ctx, blackboard.ConflictReworkID(c.conflict.ID, c.sent))
	}
	if r != nil {
		c.facts.Rework = &r.Claim
	}
	return err
}

// lastTry reads a claim, or the last one of those that try it again; nil: there is none.
func (c *clash) lastTry(ctx context.Context, id string) (*blackboard.Snapshot, error) {
	for {
		s, err := c.t.board.Snapshot(ctx, id)
		switch {
		case errors.Is(err, blackboard.ErrNotFound):
			return nil, nil
		case err != nil:
			return nil, err
		case s.Claim.RetriedAs == "":
			return &s, nil
		}
		id = s.Claim.RetriedAs
	}
}

// readUnclaimed tells a Conflict that waits for its claim, or for a person's approval, from one that
// was refused since its goal has too many artefacts.
func (c *clash) readUnclaimed(ctx context.Context) error {
	w, err := c.t.board.Workflow(ctx, c.of.WorkflowID)
	if err != nil || w.Gates > 0 {
		return err
	}
	open, err := c.t.board.openWork(ctx)
	if err != nil || slices.Contains(open.Unclaimed, c.conflict.ID) {
		return err
	}
	c.facts.Claim, err = c.lastTry(ctx, blackboard.BiddingClaimID(c.conflict.ID)) // opened meanwhile
	c.facts.Refused = err == nil && c.facts.Claim == nil
	if c.facts.Claim == nil {
		return err
	}
	return c.readResult(ctx)
}

// readResult finds the result that has a commit: of the exclusive grant, else the last one of the others.
func (c *clash) readResult(ctx context.Context) error {
	if c.facts.Claim.Claim.Status != blackboard.Complete {
		return nil
	}
	for _, g := range c.facts.Claim.Grants {
		if g.Phase == blackboard.PhaseReview || g.State != blackboard.GrantDone || g.ResultID == "" {
			continue
		}
		a, err := c.t.board.Artefact(ctx, g.ResultID)
		if err != nil {
			return err
		}
		if a.CommitHash() != "" && (c.facts.Settled == "" || g.Phase == blackboard.PhaseExclusive) {
			c.facts.Settled = a.ID
		}
	}
	return nil
}

// act makes the next decision and carries it out.
func (c *clash) act(ctx context.Context) error {
	switch d := arbiter.DecideConflict(c.facts, c.grant.Settled); d.Kind {
	case arbiter.ConflictGoOn:
		c.t.log.Info("conflict settled", "conflict", c.conflict.ID, "claim", c.of.ID, "agent", c.grant.Agent, "settled", d.Settled)
		return c.t.board.Unclash(ctx, blackboard.Unclash{Epoch: c.t.lead.Epoch, Claim: c.of.ID, Agent: c.grant.Agent, Conflict: c.conflict.ID, Settled: d.Settled})
	case arbiter.ConflictRework:
		return c.sendBack(ctx)
	case arbiter.ConflictFail:
		return c.giveUp(ctx, d.Reason)
	}
	return nil
}

// giveUp ends the grant with a Failure.
func (c *clash) giveUp(ctx context.Context, why string) error {
	reason := c.conflict.Summary + ", Conflict " + blackboard.ShortID(c.conflict.ID) + ", is not settled: " + why
	_, err := c.t.fail(ctx, blackboard.TypeUnsettledConflict, c.of, c.grant, blackboard.FailureReport{
		Reason: reason, ExitCode: -1, Agent: c.grant.Agent, Attempt: c.grant.Attempt,
	})
	return err
}

// conflictRefusal is the payload of the Review that sends a side of a conflict back.
type conflictRefusal struct {
	Reason    string                    `json:"reason"`
	Conflict  string                    `json:"conflict"`
	With      []string                  `json:"with"` // the artefacts of the other side
	Commit    string                    `json:"commit"`
	Files     []string                  `json:"files"`
	Conflicts []blackboard.ConflictFile `json:"conflicts,omitempty"` // without names of files that only the Conflict's commit has
	Hunks     any                       `json:"hunks,omitempty"`
}

// sendBack has the later side reworked. Its maker sees the commit of the other side.
func (c *clash) sendBack(ctx context.Context) error {
	l := c.latest
	review := blackboard.Artefact{
		ID: blackboard.ConflictReviewID(c.conflict.ID, c.sent), StructuralType: blackboard.Review, Type: blackboard.TypeConflictReview,
		Commit: c.payload.Ours.Commit, SourceArtefacts: []string{l.ID, c.conflict.ID}, ProducedByRole: blackboard.RoleRepository,
		WorkflowID: c.of.WorkflowID, Summary: c.conflict.Summary,
	}
	reviews := []string{review.ID}
	if c.facts.Claim != nil {
		reviews = append(reviews, feedbackOn(*c.facts.Claim)...)
	}
	text, err := json.Marshal(conflictRefusal{
		Reason: c.conflict.Summary, Conflict: c.conflict.ID, With: c.payload.Ours.Artefacts, Commit: c.payload.Ours.Commit,
		Files: c.payload.Files, Conflicts: c.payload.Elsewhere(), Hunks: c.payload.Hunks,
	})
	if err != nil {
		return err
	}
	review.Payload = string(text)
	d := arbiter.SendBack(l.ID, l.Target(), policyOf(c.t.clan.get()), []string{blackboard.RoleRepository}, reviews)
	if d.Rework == nil {
		return c.giveUp(ctx, "no agent settled it; "+d.Reason)
	}
	if c.sent != "" && c.t.lander != nil { // the role holds the first Review's commit by itself
		if err := c.t.lander.Hold(ctx, repository.Hold{Artefact: review.ID, Commit: review.Commit}); err != nil {
			return err
		}
	}
	r := blackboard.ConflictRework{Epoch: c.t.lead.Epoch, Review: review, Artefact: l.ID, Rework: blackboard.Rework{
		ClaimID: blackboard.ConflictReworkID(c.conflict.ID, c.sent), Agent: d.Rework.Agent, Context: d.Rework.Context,
	}}
	if d.Rework.Ask != "" {
		about := blackboard.Claim{ID: r.ClaimID, ArtefactID: l.ID, WorkflowID: c.of.WorkflowID}
		r.Question = questionOf(about, about.ID, d.Rework)
	}
	switch err := c.t.board.ReworkConflict(ctx, r); {
	case errors.Is(err, blackboard.ErrRefused):
		c.t.log.Debug("not sent back yet", "artefact", l.ID, "error", err)
		return nil
	case err != nil:
		return err
	}
	c.t.log.Info("sent back because of a conflict", "artefact", l.ID, "conflict", c.conflict.ID, "agent", r.Agent)
	return nil
}
