package cub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sett/blackboard"
	"sett/contract/env"
	"sett/contract/tool"
	"sett/roles/cub/assemble"
	"sett/roles/cub/toolrun"
)

const (
	bidScripts       = 4                // at the same time
	bidScriptTimeout = 30 * time.Second // then the bid is ignore
)

// bid bids on claims. A bid by rule, from the facts of the notice, costs one round
// trip. For other claims the cub reads the claim first. A bid script runs per claim.
func (c *cub) bid(ctx context.Context, ids []string) error {
	unread, err := c.bidByHints(ctx, ids)
	if err != nil || len(unread) == 0 {
		return err
	}
	return c.bidByReading(ctx, unread)
}

// bidByHints bids on the claims with a hint, and returns the others: claims without a
// hint, and claims with a wrong one.
func (c *cub) bidByHints(ctx context.Context, ids []string) (unread []string, err error) {
	var now []blackboard.BidRequest
	for _, id := range ids {
		t := c.hints.use(id)
		if t == nil {
			unread = append(unread, id)
			continue
		}
		q, known := c.byRules(id, *t)
		if !known {
			unread = append(unread, id)
			continue
		}
		q.Relies = t
		now = append(now, q)
	}
	wrong, err := c.submit(ctx, now)
	return append(unread, wrong...), err
}

func (c *cub) bidByReading(ctx context.Context, ids []string) error {
	claims, each, err := c.board.records.TryClaims(ctx, ids)
	if err != nil {
		return err
	}
	var now []blackboard.BidRequest
	for i, claim := range claims {
		switch {
		case errors.Is(each[i], blackboard.ErrCorrupt):
			c.log.Error("claim ignored: it is corrupt", "claim", ids[i], "error", each[i])
		case each[i] != nil:
			c.log.Warn("notice ignored", "claim", ids[i], "error", each[i])
		case claim.Status != blackboard.PendingReview || !slices.Contains(claim.ExpectedBidders, c.settings.Agent):
		default:
			switch q, known := c.byRules(claim.ID, claim.Target); {
			case known:
				now = append(now, q)
			case len(c.settings.Bids) == 0 && len(c.settings.BidScript) > 0:
				c.askScript(ctx, claim)
			default:
				c.askModel(ctx, claim)
			}
		}
	}
	_, err = c.submit(ctx, now)
	return err
}

// submit makes the bids, and returns the claims of bids that relied on a wrong hint.
func (c *cub) submit(ctx context.Context, bids []blackboard.BidRequest) (wrong []string, err error) {
	if len(bids) == 0 {
		return nil, nil
	}
	each, err := c.board.submitBids(ctx, bids)
	if err != nil {
		return nil, err
	}
	for i, b := range bids {
		if errors.Is(each[i], blackboard.ErrStale) {
			wrong = append(wrong, b.Claim)
			continue
		}
		if each[i] != nil {
			c.log.Warn("bid refused", "claim", b.Claim, "bid", b.Bid, "error", each[i])
			continue
		}
		if !c.made.add(b.Claim) {
			continue // a repeated bid: the blackboard has it once
		}
		c.metrics.bids.WithLabelValues(string(b.Bid)).Inc()
		c.log.Info("bid submitted", "claim", b.Claim, "bid", b.Bid, "reason", b.Reason, "rule", b.Rule, "line", b.Line)
	}
	return wrong, nil
}

// byRules returns the bid of `bids:` in sett.yml; without them, exclusive. It is not known
// where the script or the model decides.
func (c *cub) byRules(claim string, t blackboard.Target) (q blackboard.BidRequest, known bool) {
	choice, known := c.bidder().TableBid(t)
	return blackboard.BidRequest{Claim: claim, Agent: c.settings.Agent, Bid: choice.Bid, Reason: choice.Reason, Rule: choice.Rule, Line: choice.Line}, known
}

// scripts are the running and waiting bid scripts, or questions to the model. A few run at
// the same time, and never two for one claim.
type scripts struct {
	running sync.WaitGroup
	slots   chan struct{}
	mu      sync.Mutex
	asked   map[string]bool // by claim
}

func newScripts() *scripts {
	return &scripts{slots: make(chan struct{}, bidScripts), asked: map[string]bool{}}
}

// enter says whether the claim's script may start: none is running for it.
func (s *scripts) enter(claim string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked[claim] {
		return false
	}
	s.asked[claim] = true
	return true
}

func (s *scripts) leave(claim string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asked, claim)
}

// start does the work for a claim, once there is room for it and unless it is done already.
func (s *scripts) start(ctx context.Context, claim string, work func()) {
	if !s.enter(claim) {
		return
	}
	s.running.Go(func() {
		defer s.leave(claim)
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		case <-ctx.Done():
			return // the next incarnation bids
		}
		work()
	})
}

// askScript runs the bid script for a claim, and submits its bid.
func (c *cub) askScript(ctx context.Context, claim blackboard.Claim) {
	c.scripts.start(ctx, claim.ID, func() {
		if err := c.bidByScript(ctx, claim); err != nil && ctx.Err() == nil {
			c.log.Warn("bid not submitted, trying again", "claim", claim.ID, "error", err)
		}
	})
}

// evaluated notes whether a bid could be evaluated. The next heartbeat tells it.
func (c *cub) evaluated(err error) {
	if err == nil {
		c.trouble.Store(nil)
		return
	}
	why := err.Error()
	c.trouble.Store(&why)
}

// troubleText is the reason that the newest bid could not be evaluated; empty: it could.
func (c *cub) troubleText() string {
	if why := c.trouble.Load(); why != nil {
		return *why
	}
	return ""
}

// check says whether the cub is healthy: it reaches the blackboard, and can bid.
func (c *cub) check(ctx context.Context) error {
	if why := c.troubleText(); why != "" {
		return fmt.Errorf("the newest bid could not be evaluated: %s", why)
	}
	return c.board.ping(ctx)
}

// bidByScript submits the script's bid. A failed script bids ignore, with the reason
// in the ledger, unless sett.yml requires a bid: then the claim waits. When the blackboard is away or the cub is stopping, it returns an
// error instead.
func (c *cub) bidByScript(ctx context.Context, claim blackboard.Claim) error {
	why := "bid script"
	bid, err := c.runBidScript(ctx, claim)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, blackboard.ErrUnavailable), errors.Is(err, errHarmed): // the next incarnation bids
		return err
	case err != nil:
		c.evaluated(err)
		c.log.Error("bid not evaluated", "claim", claim.ID, "error", err, "required", c.settings.BidsRequired)
		if c.settings.BidsRequired {
			return nil // the next look at the open work asks the script again
		}
		bid, why = blackboard.BidIgnore, err.Error()
	default:
		c.evaluated(nil)
	}
	_, err = c.submit(ctx, []blackboard.BidRequest{{Claim: claim.ID, Agent: c.settings.Agent, Bid: bid, Reason: why}})
	return err
}

func (c *cub) runBidScript(ctx context.Context, claim blackboard.Claim) (blackboard.BidType, error) {
	target, err := c.board.records.Artefact(ctx, claim.ArtefactID)
	if err != nil {
		return "", err
	}
	chain, _, err := assemble.Chain(ctx, c.board.records, target, claim.AdditionalContextIDs)
	if err != nil {
		return "", err
	}
	stdin, err := tool.EncodeBid(target, claim.ID, chain)
	if err != nil {
		return "", err
	}
	defer c.scriptTmp()()
	if err := makeDir(c.settings); err != nil {
		return "", err
	}
	res, err := c.runner.Run(ctx, toolrun.Command{
		Args: c.settings.BidScript, Dir: cmp.Or(c.settings.Pin, c.settings.Workspace), Stdin: stdin, Timeout: bidScriptTimeout, Limit: 64 << 10,
		Env:    env.ToolEnviron(c.toolEnviron(c.settings.Walls), toolVars(claim.ID, "", 0, target, chain)),
		Stderr: lineLogger{c.log.With("claim", claim.ID), "stderr", "bid script"}, NoNetwork: c.noNetwork(), Confine: confined(c.settings.Walls),
	})
	switch {
	case res.Harm != "":
		return "", c.harm(res.Harm)
	case err != nil:
		return "", err
	case res.TimedOut:
		return "", fmt.Errorf("bid script took longer than %s", bidScriptTimeout)
	case res.OutOfMemory:
		return "", errors.New("bid script was killed: out of memory")
	case res.ExitCode != 0 && res.MemoryKill != "":
		return "", fmt.Errorf("%s; bid script ended with exit code %d %s", res.MemoryKill.Text(), res.ExitCode, res.Signal)
	case res.ExitCode != 0:
		return "", fmt.Errorf("bid script ended with exit code %d %s", res.ExitCode, res.Signal)
	}
	if killed := res.MemoryKill.Text(); killed != "" {
		c.log.Warn("bid script: "+killed, "claim", claim.ID)
	}
	return tool.ParseBid(res.Stdout)
}

func toolVars(claim string, bid blackboard.BidType, attempt int, t blackboard.Artefact, chain []blackboard.Artefact) env.ToolVars {
	goal := assemble.Goal(t, chain)
	return env.ToolVars{
		GoalID: goal.ID, Goal: goal.Payload,
		ClaimID: claim, ClaimType: string(bid), TargetID: t.ID, TargetType: t.Type, TargetPayload: t.Payload,
		TargetVersion: t.Version, Attempt: attempt,
	}
}
