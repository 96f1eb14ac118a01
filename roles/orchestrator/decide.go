package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/orchestrator/arbiter"
)

// look does what there is to do about a key. An error ends the term: it means
// that somebody else leads. Everything else is logged and tried again with the
// next notice or tick.
func (l *leadership) look(ctx context.Context, k key) error {
	var err error
	if k.kind == artefactKey {
		err = l.open(ctx, k.id)
	} else {
		err = l.settle(ctx, k)
	}
	switch {
	case err == nil || ctx.Err() != nil:
		return nil
	case errors.Is(err, redis.ErrNotLeader) || errors.Is(err, blackboard.ErrStale):
		return err
	case errors.Is(err, errHolderLives):
		l.log.Debug("not decided yet", "claim", k.id, "error", err)
	case errors.Is(err, blackboard.ErrNotFound):
		l.log.Warn("notice ignored", "error", err)
	case errors.Is(err, blackboard.ErrCorrupt):
		l.metrics.corrupt.Inc()
		l.log.Error("record is corrupt, left alone", "error", err)
	case errors.Is(err, blackboard.ErrUnavailable):
		// What brings us back may have been read while it came and went.
		l.later(k, l.now().Add(l.pace.retry))
		l.log.Debug("not decided yet", "claim", k.id, "error", err)
	default:
		l.log.Warn("not decided yet", "error", err)
	}
	return nil
}

// open opens the bidding claim of an artefact, or refuses it where its workflow
// has grown too large.
func (l *leadership) open(ctx context.Context, artefactID string) error {
	cfg := l.clan.get()
	o, claim, err := l.board.OpenClaim(ctx, l.lead.Epoch, artefactID, cfg.Names(), cfg.Orchestrator.MaxArtefacts)
	if err != nil {
		return err
	}
	switch o {
	case redis.Opened:
		if claim == nil {
			return nil // it was before
		}
		claim.OpenedAt = l.now() // near enough to wait for silent bidders by
		l.hints.open(claim)
		if t := cfg.Orchestrator.BidTimeout; t > 0 {
			// Until somebody bids nothing else would have us look at it in time.
			l.later(key{claimKey, claim.ID}, claim.OpenedAt.Add(t))
		}
		l.log.Debug("claim opened", "claim", claim.ID, "artefact", artefactID)
	case redis.OverLimit:
		return l.refuse(ctx, artefactID, cfg.Orchestrator.MaxArtefacts)
	}
	return nil
}

func (l *leadership) refuse(ctx context.Context, artefactID string, limit int) error {
	a, err := l.board.Artefact(ctx, artefactID)
	if err != nil {
		return err
	}
	reason := fmt.Sprintf("the workflow has more than %d artefacts (orchestrator.max_artefacts)", limit)
	failure := l.failure(failureOf{
		kind: blackboard.TypeWorkflowLimit, workflow: a.WorkflowID, source: a.ID, about: a.WorkflowID,
		report: blackboard.FailureReport{Reason: reason, ExitCode: -1},
	})
	l.log.Warn("claim refused", "artefact", artefactID, "workflow", a.WorkflowID, "reason", reason)
	return l.board.RefuseClaim(ctx, l.lead.Epoch, artefactID, reason, failure)
}

// settleSteps bounds how often one look at a claim decides anew, so that a record
// on which no decision ever takes costs a look per tick and no more.
const settleSteps = 32

// errHolderLives: a unit is ended before its grant is.
var errHolderLives = errors.New("the holder of the grant still runs")

// settle asks the arbiter about a claim and applies its answers until it says to
// wait.
func (l *leadership) settle(ctx context.Context, k key) error {
	for range settleSteps {
		s, hinted := l.hints.use(k.id)
		if !hinted {
			var err error
			if s, err = l.board.Snapshot(ctx, k.id); err != nil {
				return err
			}
		}
		d := arbiter.Decide(s, l.clan.policy(), l.now())
		if hinted && d.Kind != arbiter.GrantPhase && d.Kind != arbiter.Complete {
			continue // out of the ordinary: read it
		}
		l.later(k, d.AskAgain)
		if d.Kind == arbiter.Wait {
			l.offer(s)
			return nil
		}
		err := l.apply(ctx, s, d, hinted)
		if errors.Is(err, blackboard.ErrStale) && !errors.Is(err, redis.ErrNotLeader) && d.Kind != arbiter.FailGrant {
			continue // decided on an old state: look again
		}
		if err != nil {
			return err
		}
		l.record(s, d)
		switch d.Kind {
		case arbiter.Complete, arbiter.Terminate, arbiter.FailGrant:
			return nil // a notice brings us back if there is more to do
		case arbiter.GrantPhase:
			if !l.anyFresh(d.Agents) {
				return nil // nothing more to do until a result comes
			}
		}
	}
	return fmt.Errorf("decide about claim %s: it changes faster than it can be decided about", k.id)
}

// apply makes the decision true, in one script. One that was taken on hints has
// them checked there.
func (l *leadership) apply(ctx context.Context, s blackboard.Snapshot, d arbiter.Decision, hinted bool) error {
	guard := redis.Guard{Epoch: l.lead.Epoch, Claim: s.Claim.ID, Revision: s.Claim.Revision}
	if hinted {
		guard.Bids = s.Bids
	}
	switch d.Kind {
	case arbiter.RecordIgnores:
		return l.board.RecordIgnores(ctx, guard, d.Agents, d.Reason)
	case arbiter.GrantPhase:
		return l.board.GrantPhase(ctx, guard, d.Phase, d.Agents)
	case arbiter.Complete:
		return l.board.CompleteClaim(ctx, guard, d.Reason)
	case arbiter.FailGrant:
		return l.failGrant(ctx, s, d)
	case arbiter.Terminate:
		return l.terminate(ctx, guard, s, d)
	}
	return fmt.Errorf("apply decision: unknown kind %q", d.Kind)
}

func (l *leadership) failGrant(ctx context.Context, s blackboard.Snapshot, d arbiter.Decision) error {
	g, _ := s.Grant(d.Agents[0])
	f := l.failure(failureOf{
		kind: d.FailureType, workflow: s.Claim.WorkflowID, source: s.Claim.ArtefactID, claim: s.Claim.ID,
		about:  fmt.Sprintf("%s/%s/%d", s.Claim.ID, g.Agent, g.Attempt),
		report: blackboard.FailureReport{Reason: d.Reason, ExitCode: -1, Agent: g.Agent, Attempt: g.Attempt},
	})
	holder := ""
	if g.State == blackboard.GrantRunning {
		holder = g.Holder
		if l.living.runs(holder) {
			return errHolderLives // it is being stopped; its end brings us back
		}
	}
	ref := redis.GrantRef{Claim: s.Claim.ID, Agent: g.Agent, Attempt: g.Attempt, Holder: holder}
	done, err := l.endWith(ctx, ref, d.Reason, f)
	if done {
		l.log.Warn("grant failed", "claim", ref.Claim, "workflow", s.Claim.WorkflowID, "agents", d.Agents, "reason", d.Reason)
	}
	return err
}

// endWith ends a grant with a Failure, and says whether it did. Who decides about a
// grant on what he has read may find it answered, handed in or cancelled: then it
// stays as it is.
func (l *leadership) endWith(ctx context.Context, ref redis.GrantRef, reason string, failure blackboard.Artefact) (done bool, err error) {
	if err := l.board.FailGrant(ctx, l.lead.Epoch, ref, reason, failure); err != nil {
		return false, err
	}
	g, err := l.board.Grant(ctx, ref.Claim, ref.Agent)
	return err != nil || g.ResultID == failure.ID, nil
}

func (l *leadership) terminate(ctx context.Context, guard redis.Guard, s blackboard.Snapshot, d arbiter.Decision) error {
	var failure *blackboard.Artefact
	if d.FailureType != "" {
		f := l.failure(failureOf{
			kind: d.FailureType, workflow: s.Claim.WorkflowID, source: s.Claim.ArtefactID, claim: s.Claim.ID, about: s.Claim.ID,
			report: blackboard.FailureReport{Reason: d.Reason, ExitCode: -1},
		})
		failure = &f
	}
	var rework *redis.Rework
	if d.Rework != nil {
		rework = &redis.Rework{
			ClaimID: blackboard.ReworkClaimID(s.Claim.ID), Agent: d.Rework.Agent, Context: d.Rework.Context,
		}
		if d.Rework.Ask != "" {
			rework.Question = l.question(s.Claim, rework.ClaimID, d.Rework)
		}
	}
	return l.board.TerminateClaim(ctx, guard, d.Reason, failure, rework)
}

// record logs and counts a decision that has been applied. Of a grant that failed
// failGrant knows more.
func (l *leadership) record(s blackboard.Snapshot, d arbiter.Decision) {
	c, now := s.Claim, l.now()
	log := l.log.With("claim", c.ID, "workflow", c.WorkflowID)
	switch d.Kind {
	case arbiter.RecordIgnores:
		log.Warn("silence recorded as ignore", "agents", d.Agents, "reason", d.Reason)
	case arbiter.GrantPhase:
		if !slices.ContainsFunc(s.Grants, blackboard.Grant.OfAgent) {
			l.metrics.consensusWait.Observe(max(now.Sub(c.OpenedAt).Seconds(), 0))
		}
		l.metrics.grants.WithLabelValues(string(d.Phase)).Add(float64(len(d.Agents)))
		log.Info("phase granted", "phase", d.Phase, "agents", d.Agents, "from", c.Status, "to", d.Phase.Status())
	case arbiter.Complete:
		l.metrics.phaseWaits(s, now)
		log.Info("claim complete", "from", c.Status, "to", blackboard.Complete, "reason", d.Reason)
	case arbiter.Terminate:
		l.metrics.phaseWaits(s, now)
		log.Info("claim terminated", "from", c.Status, "to", blackboard.Terminated, "reason", d.Reason, "rework", d.Rework != nil)
	}
}

func (l *leadership) anyFresh(names []string) bool {
	cfg := l.clan.get()
	for _, n := range names {
		if a, ok := cfg.Agent(n); ok && a.Fresh() {
			return true
		}
	}
	return false
}

// offer hands queued grants of fresh_per_call agents to the worker pool.
func (l *leadership) offer(s blackboard.Snapshot) {
	if l.workers == nil || s.Claim.Status.Closed() {
		return
	}
	cfg := l.clan.get()
	for _, g := range s.Grants {
		if a, ok := cfg.Agent(g.Agent); ok && a.Fresh() && g.State == blackboard.GrantQueued {
			l.workers.offer(a, s.Claim.ID, g)
		}
	}
}
