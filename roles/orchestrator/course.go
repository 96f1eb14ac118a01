package orchestrator

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/orchestrator/arbiter"
)

// courses puts on the blackboard the decisions that are known beforehand, each when it is
// needed for the first time. From then on the scripts of agents and people follow it
// without the orchestrator (see blackboard.OpeningCourse).
type courses struct {
	off   bool
	board coursesPut
	epoch string
	log   *slog.Logger

	mu   sync.Mutex
	said map[string]bool // the courses on the blackboard, as far as we know; by their subject
}

// first says whether the course is to be put on the blackboard now.
func (c *courses) first(subject string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.off || c.said[subject] {
		return false
	}
	if c.said == nil || len(c.said) >= blackboard.MaxCourses {
		c.said = map[string]bool{}
	}
	c.said[subject] = true
	return true
}

// forget has all courses put on the blackboard again when they are needed.
func (c *courses) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = nil
}

// opening has claims on artefacts like this one opened by scripts from now on.
func (c *courses) opening(ctx context.Context, cfg *config.Config, target blackboard.Target) {
	if matchesAny(cfg.Approve, target.Type) || !c.first("open "+target.Agent+" "+target.Type) {
		return
	}
	c.put(func() (bool, error) {
		return c.board.PutOpeningCourse(ctx, c.epoch, cfg.DecisionDigest(), openingOf(cfg, target))
	})
}

func matchesAny(patterns []string, artefactType string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return blackboard.Match(p, artefactType) })
}

// bids has claims with the same bids as this one decided about by scripts from now on.
func (c *courses) bids(ctx context.Context, cfg *config.Config, s blackboard.Snapshot) {
	var subject strings.Builder
	for _, b := range s.Bids {
		subject.WriteString(" " + b.Agent + "=" + string(b.Type))
	}
	if s.Claim.Origin != blackboard.OriginArtefact || len(s.Bids) != len(s.Claim.ExpectedBidders) || len(s.Bids) == 0 {
		return
	}
	course, ok := arbiter.Unroll(s, policyOf(cfg))
	if !ok || !c.first("bids"+subject.String()) {
		return
	}
	c.put(func() (bool, error) {
		return c.board.PutBidsCourse(ctx, c.epoch, cfg.DecisionDigest(), blackboard.BidsCourse{Bids: s.Bids, Steps: course.Text(freshOf(cfg))})
	})
}

// put does it. A course that is not there costs time, and nothing else.
func (c *courses) put(course func() (cleared bool, err error)) {
	cleared, err := course()
	switch {
	case cleared:
		c.forget()
		c.log.Debug("courses cleared: there were too many")
	case err != nil:
		c.forget()
		if !errors.Is(err, blackboard.ErrRefused) { // settings that came meanwhile
			c.log.Debug("course not put on the blackboard", "error", err)
		}
	default:
		c.log.Debug("course put on the blackboard")
	}
}

// openingOf returns the course of claims on the artefacts of a type and a producer.
func openingOf(cfg *config.Config, target blackboard.Target) blackboard.OpeningCourse {
	c := blackboard.OpeningCourse{Type: target.Type, Agent: target.Agent, MaxArtefacts: cfg.Orchestrator.MaxArtefacts, Bidders: cfg.Names()}
	s := blackboard.Snapshot{Claim: blackboard.Claim{Status: blackboard.PendingReview, Origin: blackboard.OriginArtefact,
		ExpectedBidders: c.Bidders, Target: target}}
	for _, a := range cfg.Agents {
		choice, known := a.TableBid(target)
		if !known {
			c.Due = append(c.Due, a.Name)
			continue
		}
		bid := blackboard.Bid{Agent: a.Name, Type: choice.Bid}
		s.Bids = append(s.Bids, bid)
		c.Bids = append(c.Bids, blackboard.TableBid{Bid: bid, Reason: choice.Reason, Rule: choice.Rule, Line: choice.Line})
	}
	if course, ok := arbiter.Unroll(s, policyOf(cfg)); ok {
		c.Steps = course.Text(freshOf(cfg))
	}
	c.Tell = cfg.Orchestrator.BidTimeout > 0
	return c
}

// freshOf says of agents whether their grants are left to the orchestrator, which starts a
// worker for each, in the order of its decisions.
func freshOf(cfg *config.Config) func(agent string) bool {
	return func(name string) bool {
		a, ok := cfg.Agent(name)
		return ok && a.Fresh()
	}
}
