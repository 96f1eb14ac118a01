package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sett/blackboard"
	"sett/roles/orchestrator/arbiter"
)

// look opens a claim or decides about one. An error ends the term: another
// orchestrator leads. Every other failure is logged, and the next notice or tick tries
// again.
func (t *term) look(ctx context.Context, k key) error {
	var err error
	if k.kind == artefactKey {
		t.later(k, time.Time{})
		err = t.open(ctx, k.id)
	} else {
		err = t.settle(ctx, k)
	}
	switch {
	case err == nil || ctx.Err() != nil:
		return nil
	case over(err):
		return err
	case errors.Is(err, errHolderLives):
		t.log.Debug("not decided yet", "claim", k.id, "error", err)
	case errors.Is(err, blackboard.ErrNotFound):
		t.log.Warn("notice ignored", "error", err)
	case errors.Is(err, blackboard.ErrCorrupt):
		t.metrics.Corrupt.Inc()
		t.log.Error("record is corrupt, left alone", "error", err)
	case errors.Is(err, blackboard.ErrUnavailable):
		// The blackboard may come back without a notice that it did.
		t.later(k, t.now().Add(t.pace.retry))
		t.log.Debug("not decided yet", "claim", k.id, "error", err)
	default:
		t.log.Warn("not decided yet", "error", err)
	}
	return nil
}

// open opens the bidding claim of an artefact, or refuses it where its workflow
// has grown too large.
func (t *term) open(ctx context.Context, artefactID string) error {
	cfg := t.clan.get()
	o, claim, err := t.board.OpenClaim(ctx, t.lead.Epoch, artefactID, cfg.Names(), cfg.Orchestrator.MaxArtefacts)
	if err != nil {
		return err
	}
	switch o {
	case blackboard.Opened:
		if claim == nil {
			return nil // it was before
		}
		claim.OpenedAt = t.now() // near enough for the timeout of silent bidders
		t.hints.open(claim)
		if timeout := cfg.Orchestrator.BidTimeout; timeout > 0 {
			// No notice comes for silence.
			t.later(key{claimKey, claim.ID}, claim.OpenedAt.Add(timeout))
		}
		t.log.Debug("claim opened", "claim", claim.ID, "artefact", artefactID)
		t.courses.opening(ctx, cfg, claim.Target)
	case blackboard.OverLimit:
		return t.refuse(ctx, artefactID, cfg.Orchestrator.MaxArtefacts)
	}
	return nil
}

// overLimit is the reason against more work in a workflow that has grown too large.
func overLimit(limit int) string {
	return fmt.Sprintf("the workflow has more than %d artefacts that count (orchestrator.max_artefacts)", limit)
}

func (t *term) refuse(ctx context.Context, artefactID string, limit int) error {
	a, err := t.board.Artefact(ctx, artefactID)
	if err != nil {
		return err
	}
	reason := overLimit(limit)
	about := blackboard.Claim{ArtefactID: a.ID, WorkflowID: a.WorkflowID}
	t.log.Warn("claim refused", "artefact", artefactID, "workflow", a.WorkflowID, "reason", reason)
	for subject := a.WorkflowID; ; {
		failure := failureOf(blackboard.TypeWorkflowLimit, subject, about, blackboard.FailureReport{Reason: reason, ExitCode: -1})
		if err := t.board.RefuseClaim(ctx, t.lead.Epoch, artefactID, reason, failure); !errors.Is(err, blackboard.ErrRefused) {
			return err
		}
		subject = failure.ID // a person had that one tried again: this is the next
	}
}

// settleSteps bounds the decisions of one look at a claim: a record that changes with
// no decision costs one look per tick and no more.
const settleSteps = 32

// errHolderLives: a unit ends before its grant does.
var errHolderLives = errors.New("the holder of the grant still runs")

// settle asks the arbiter about a claim and applies its answers until it says to
// wait.
func (t *term) settle(ctx context.Context, k key) error {
	for range settleSteps {
		s, hinted := t.hints.use(k.id)
		if !hinted {
			var err error
			if s, err = t.board.Snapshot(ctx, k.id); err != nil {
				return err
			}
		}
		cfg := t.clan.get()
		d := arbiter.Decide(s, policyOf(cfg), t.timeFor(k))
		if hinted && d.Kind != arbiter.GrantPhase && d.Kind != arbiter.Complete {
			continue // out of the ordinary: read it
		}
		t.later(k, d.AskAgain)
		if d.Kind == arbiter.Wait {
			t.offer(s)
			return unblock(ctx, t, s)
		}
		err := t.apply(ctx, s, d, hinted)
		if errors.Is(err, blackboard.ErrStale) && !errors.Is(err, blackboard.ErrNotLeader) && d.Kind != arbiter.FailGrant {
			continue // decided on an old state: look again
		}
		if err != nil {
			return err
		}
		t.record(s, d)
		if len(s.Grants) == 0 {
			t.courses.bids(ctx, cfg, s)
		}
		switch d.Kind {
		case arbiter.Complete, arbiter.Terminate, arbiter.FailGrant:
			return nil // a notice brings us back if there is more to do
		case arbiter.GrantPhase:
			if !t.anyFresh(d.Agents) {
				return nil // nothing more to do until a result comes
			}
		}
	}
	return fmt.Errorf("decide about claim %s: it changes faster than it can be decided about", k.id)
}

// apply carries out the decision in one script, which also checks hints that the
// decision was taken on.
func (t *term) apply(ctx context.Context, s blackboard.Snapshot, d arbiter.Decision, hinted bool) error {
	guard := blackboard.Guard{Epoch: t.lead.Epoch, Claim: s.Claim.ID, Revision: s.Claim.Revision}
	if hinted {
		guard.Bids = s.Bids
	}
	switch d.Kind {
	case arbiter.RecordIgnores:
		return t.board.RecordIgnores(ctx, guard, d.Agents, d.Reason)
	case arbiter.GrantPhase:
		return t.board.GrantPhase(ctx, guard, d.Phase, d.Agents)
	case arbiter.Complete:
		return t.board.CompleteClaim(ctx, guard, d.Reason)
	case arbiter.FailGrant:
		return t.failGrant(ctx, s, d)
	case arbiter.Terminate:
		return t.terminate(ctx, guard, s, d)
	}
	return fmt.Errorf("apply decision: unknown kind %q", d.Kind)
}

func (t *term) failGrant(ctx context.Context, s blackboard.Snapshot, d arbiter.Decision) error {
	g, _ := s.Grant(d.Agents[0])
	if g.State != blackboard.GrantRunning {
		g.Holder = ""
	} else if t.staff != nil && t.staff.runs(g.Holder) {
		return errHolderLives // it is being stopped; its exit brings us back
	}
	done, err := t.fail(ctx, d.FailureType, s.Claim, g, blackboard.FailureReport{
		Reason: d.Reason, ExitCode: -1, Agent: g.Agent, Attempt: g.Attempt,
	})
	if done {
		t.log.Warn("grant failed", "claim", s.Claim.ID, "workflow", s.Claim.WorkflowID, "agents", d.Agents, "reason", d.Reason)
	}
	return err
}

// fail ends a grant with a Failure of a type, and says whether it did. A grant that
// was answered, handed in or cancelled since it was read stays as it is.
func (t *term) fail(ctx context.Context, kind string, c blackboard.Claim, g blackboard.Grant, r blackboard.FailureReport) (done bool, err error) {
	ref := blackboard.GrantRef{Claim: c.ID, Agent: g.Agent, Attempt: g.Attempt, Holder: g.Holder}
	f := failureOf(kind, fmt.Sprintf("%s/%s/%d", c.ID, g.Agent, g.Attempt), c, r)
	if err := t.board.FailGrant(ctx, t.lead.Epoch, ref, r.Reason, f); err != nil {
		return false, err
	}
	now, err := t.board.Grant(ctx, ref.Claim, ref.Agent)
	return err != nil || now.ResultID == f.ID, nil
}

// Fail ends the grant of a holder that died with a Failure. Done is false when the
// grant had ended already.
func (t *term) Fail(ctx context.Context, c blackboard.Claim, g blackboard.Grant, r blackboard.FailureReport) (done bool, err error) {
	return t.fail(ctx, blackboard.TypeAgentCrashed, c, g, r)
}

// Retry queues the grant of a holder that died for another attempt.
func (t *term) Retry(ctx context.Context, ref blackboard.GrantRef, reason string) error {
	return t.board.RetryGrant(ctx, t.lead.Epoch, ref, reason)
}

// Decide has a claim decided about again.
func (t *term) Decide(claim string) { t.queue.add(key{claimKey, claim}) }

func (t *term) terminate(ctx context.Context, guard blackboard.Guard, s blackboard.Snapshot, d arbiter.Decision) error {
	var failure *blackboard.Artefact
	if d.FailureType != "" {
		f := failureOf(d.FailureType, s.Claim.ID, s.Claim, blackboard.FailureReport{Reason: d.Reason, ExitCode: -1})
		failure = &f
	}
	var rework *blackboard.Rework
	if d.Rework != nil {
		rework = &blackboard.Rework{
			ClaimID: blackboard.ReworkClaimID(s.Claim.ID), Agent: d.Rework.Agent, Context: d.Rework.Context,
		}
		if d.Rework.Ask != "" {
			rework.Question = questionOf(s.Claim, rework.ClaimID, d.Rework)
		}
	}
	return t.board.TerminateClaim(ctx, guard, d.Reason, failure, rework)
}

// record logs and counts a decision that has been applied. failGrant records a grant
// that failed.
func (t *term) record(s blackboard.Snapshot, d arbiter.Decision) {
	c, now := s.Claim, t.now()
	log := t.log.With("claim", c.ID, "workflow", c.WorkflowID)
	switch d.Kind {
	case arbiter.RecordIgnores:
		log.Warn("silence recorded as ignore", "agents", d.Agents, "reason", d.Reason)
	case arbiter.GrantPhase:
		if !slices.ContainsFunc(s.Grants, blackboard.Grant.OfAgent) {
			t.metrics.ConsensusWait.Observe(max(now.Sub(c.OpenedAt).Seconds(), 0))
		}
		t.metrics.Grants.WithLabelValues(string(d.Phase)).Add(float64(len(d.Agents)))
		log.Info("phase granted", "phase", d.Phase, "agents", d.Agents, "from", c.Status, "to", d.Phase.Status())
	case arbiter.Complete:
		t.metrics.Closed(s, now)
		log.Info("claim complete", "from", c.Status, "to", blackboard.Complete, "reason", d.Reason)
	case arbiter.Terminate:
		t.metrics.Closed(s, now)
		log.Info("claim terminated", "from", c.Status, "to", blackboard.Terminated, "reason", d.Reason, "rework", d.Rework != nil)
	}
}

func (t *term) anyFresh(names []string) bool {
	cfg := t.clan.get()
	for _, n := range names {
		if a, ok := cfg.Agent(n); ok && a.Fresh() {
			return true
		}
	}
	return false
}

// offer hands queued grants of fresh_per_call agents to the worker pool.
func (t *term) offer(s blackboard.Snapshot) {
	if t.staff == nil || s.Claim.Status.Closed() {
		return
	}
	cfg := t.clan.get()
	for _, g := range s.Grants {
		if a, ok := cfg.Agent(g.Agent); ok && a.Fresh() && g.State == blackboard.GrantQueued && !g.Waiting() {
			t.staff.offer(a.Name, s.Claim.ID, g)
		}
	}
}
