package orchestrator

import (
	"context"
	"errors"
	"strings"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/orchestrator/arbiter"
	"sett/roles/role/repository"
	"sett/roles/role/store"
)

// lander is a term's use of the role repository, to bring results to a branch.
type lander interface {
	Plan(ctx context.Context, q repository.Landing) (repository.LandingPlan, error)
	Land(ctx context.Context, q repository.Land) (repository.Landed, error)
	Hold(ctx context.Context, q repository.Hold) error
}

// landAll lands results, one goal after another in the order of their ends: each on the
// commit that the one before left. All that it has done so far is on the blackboard, and each request to
// the repository may be repeated.
func (t *term) landAll(ctx context.Context) error {
	every := time.NewTicker(t.pace.tick)
	defer every.Stop()
	for some := true; ; {
		if some || t.clan.get().Land != nil {
			var err error
			if some, err = t.landOpen(ctx); over(err) {
				return err
			} else if err != nil && ctx.Err() == nil {
				t.log.Warn("not landed yet", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		case <-t.toLand:
			some = true
		}
	}
}

// landOpen looks at the open landings, and says whether there are any. A goal whose branch cannot be moved
// until a person acts lets the others pass, and so does one that the role has trouble with.
func (t *term) landOpen(ctx context.Context) (some bool, err error) {
	ids, err := t.board.OpenLandings(ctx)
	if err != nil {
		return true, err
	}
	t.ailing.keep(ids)
	barred := map[string]string{} // reasons that were found anew, with the branch's commit then
	for _, id := range ids {
		if t.ailing.rests(id, t.clock.own()) {
			continue
		}
		for {
			next, err := t.landStep(ctx, id, barred)
			if errors.Is(err, errChanged) {
				break
			}
			if sick := (*trouble)(nil); errors.As(err, &sick) && ctx.Err() == nil {
				next, err = troubled(ctx, t, id, sick)
			}
			if err != nil || next == holds {
				return true, err
			}
			if next == passes {
				break
			}
		}
	}
	return len(ids) > 0, nil
}

// turn is the outcome of a step.
type turn int

const (
	goesOn turn = iota // there is another step at once
	holds              // agents are at work, and the others wait
	passes             // the next goal's turn has come
)

// errChanged says that a landing is no longer as a step expected it: the next look reads it anew.
var errChanged = errors.New("the landing has changed")

// landStep takes the landing of a goal one step further.
func (t *term) landStep(ctx context.Context, goal string, barred map[string]string) (turn, error) {
	w, err := t.board.Workflow(ctx, goal)
	if errors.Is(err, blackboard.ErrCorrupt) || errors.Is(err, blackboard.ErrNotFound) {
		t.log.Error("record is corrupt, left alone", "error", err)
		return passes, nil // it keeps no other goal from its turn
	}
	if err != nil || w.Landing == nil {
		return passes, err
	}
	s := landing{t: t, role: soundLander{t.lander}, policy: t.clan.get().Land, w: w, was: *w.Landing, l: *w.Landing}
	f := arbiter.LandingFacts{Landing: s.was, Outstanding: w.Outstanding, Failures: w.Failures, Ended: w.Status.Ended(), Branch: s.policy.Branch()}
	if s.was.State == blackboard.LandingVerifying {
		c, err := t.board.Snapshot(ctx, blackboard.BiddingClaimID(s.was.Verification))
		if err != nil && !errors.Is(err, blackboard.ErrNotFound) { // it has none yet
			return holds, ofRecord(err)
		}
		f.Verdict, f.Superseded, s.verification = c.Claim.Status, arbiter.Superseded(c), c
	}
	switch d := arbiter.DecideLanding(f); d.Kind {
	case arbiter.LandWait:
		return holds, nil
	case arbiter.LandPlan:
		if tip, known := barred[s.was.Reason]; known && s.was.State == blackboard.LandingBarred && t.barredOn[goal] == tip {
			return passes, nil
		}
		next, err := s.plan(ctx)
		if s.l.State == blackboard.LandingBarred {
			barred[s.l.Reason], t.barredOn[goal] = s.l.Tip, s.l.Tip
		} else {
			delete(t.barredOn, goal)
		}
		return next, err
	case arbiter.LandMove:
		return s.move(ctx)
	case arbiter.LandLook:
		return s.look(ctx)
	case arbiter.LandRefuse:
		return s.feedback(ctx)
	case arbiter.LandRework:
		return s.rework(ctx)
	default:
		s.l.State, s.l.Reason = blackboard.LandingNone, d.Reason
		return passes, s.end(ctx)
	}
}

// landing is a step of one goal's landing.
type landing struct {
	t            *term
	role         lander
	policy       *config.Land // nil: sett.yml has no land any more
	w            blackboard.Workflow
	was, l       blackboard.Landing
	verification blackboard.Snapshot // of the claim on the Landing
}

// record writes the landing as it is now.
func (s *landing) record(ctx context.Context, step blackboard.LandingStep) error {
	s.l.People = s.l.State == blackboard.LandingBarred
	if s.l.State != blackboard.LandingBarred && s.l.State != blackboard.LandingRefused && s.l.State != blackboard.LandingNone {
		s.l.Reason = ""
	}
	if s.l.Trouble == s.was.Trouble { // the step was done
		s.l.Trouble = ""
	}
	step.Epoch, step.Workflow, step.From, step.To = s.t.lead.Epoch, s.w.ID, s.was, s.l
	err := s.t.board.Land(ctx, step)
	switch {
	case errors.Is(err, blackboard.ErrNotLeader):
		return err
	case errors.Is(err, blackboard.ErrStale), errors.Is(err, blackboard.ErrRefused):
		s.t.log.Debug("landing has changed meanwhile", "workflow", s.w.ID, "error", err)
		return errChanged
	case err == nil && s.l != s.was:
		if s.l.Trouble == "" {
			s.t.ailing.well(s.w.ID)
		}
		s.t.log.Info("landing", "workflow", s.w.ID, "from", s.was.State, "to", s.l.State, "branch", s.l.Branch, "commit", s.l.Commit, "reason", s.l.Reason)
	}
	return err
}

// end ends the goal's landing, and so the goal.
func (s *landing) end(ctx context.Context) error {
	return s.record(ctx, blackboard.LandingStep{Over: true})
}

// plan finds the commit that the branch shall have.
func (s *landing) plan(ctx context.Context) (turn, error) {
	policy := s.policy
	result, err := s.result(ctx)
	if err != nil {
		return holds, err
	}
	s.l = blackboard.Landing{Artefact: result.ID, Branch: policy.Onto, Since: s.was.Since}
	if result.ID == "" {
		s.l.State, s.l.Reason = blackboard.LandingNone, "the goal has no commit"
		return passes, s.end(ctx)
	}
	p, err := s.role.Plan(ctx, repository.Landing{Goal: s.w.ID, Artefact: result.ID, Branch: policy.Onto, How: wayOf(policy), Subject: subjectOf(result)})
	switch {
	case errors.Is(err, repository.ErrMissing): // of an import, without its bundle
		p.Bars = err.Error()
	case err != nil:
		return holds, err
	}
	s.l.Tip, s.l.Commit, s.l.How = p.Tip, p.To, p.How
	switch {
	case p.Bars != "" && s.was.State == blackboard.LandingBarred && s.was.Reason == p.Bars && s.was.Artefact == result.ID && s.was.Trouble == "":
		s.l.State, s.l.Reason = s.was.State, s.was.Reason
		return passes, nil // as before
	case p.Bars != "":
		s.l.State, s.l.Reason, s.l.How = blackboard.LandingBarred, p.Bars, ""
		return passes, s.record(ctx, blackboard.LandingStep{})
	case len(p.Files) > 0:
		return goesOn, s.refuse(ctx, result, refusal{Files: p.Files, Hunks: p.Hunks}, "conflict with branch "+policy.Onto+" in "+few(p.Files))
	case p.How == store.Already:
		s.l.State = blackboard.LandingLanded
		return passes, s.end(ctx)
	case s.t.clan.get().Verifies():
		return holds, s.verify(ctx, result)
	}
	s.l.State = blackboard.LandingMoving
	return goesOn, s.record(ctx, blackboard.LandingStep{})
}

// wayOf is the store's word for a way of sett.yml.
func wayOf(l *config.Land) string {
	if l.How == config.LandFF {
		return store.FastForward
	}
	return l.How
}

// subjectOf is the subject of a new commit.
func subjectOf(a blackboard.Artefact) string {
	subject, _, _ := strings.Cut(strings.TrimSpace(a.Summary), "\n")
	if subject == "" {
		subject = "the result of " + a.ProducedByAgent
	}
	return subject
}

// outlines reads the goal's artefacts, oldest first, each of which may be lost.
func (s *landing) outlines(ctx context.Context) ([]blackboard.Outline, []error, error) {
	ids, err := s.t.board.WorkflowArtefacts(ctx, s.w.ID)
	if err != nil {
		return nil, nil, err
	}
	return s.t.board.Outlines(ctx, ids)
}

// result returns the artefact with the goal's commit; one without an id: it has none. One that is not as the ledger recorded it is
// not landed.
func (s *landing) result(ctx context.Context) (blackboard.Artefact, error) {
	all, each, err := s.outlines(ctx)
	if err != nil {
		return blackboard.Artefact{}, err
	}
	id := blackboard.ResultOf(all, each, s.w.TerminalID)
	if id == "" {
		return blackboard.Artefact{}, nil
	}
	a, err := s.t.board.Artefact(ctx, id)
	if err == nil {
		err = s.t.board.recorded(ctx, a)
	}
	return a, ofRecord(err)
}
