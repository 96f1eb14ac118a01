package cub

import (
	"context"
	"errors"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
)

// listen is the claim watcher's ear: notices become entries of the inboxes. Since
// notices can be lost, what is open for this agent is read at every
// (re)connection and on a slow tick.
func (c *cub) listen(ctx context.Context) error {
	again := make(chan struct{}, 1)
	go c.reconcile(ctx, again)
	channels := []redis.Channel{redis.AgentEvents(c.settings.Agent)}
	if c.mode != executeOnly {
		channels = append(channels, redis.ClaimEvents)
	}
	return c.board.Subscribe(ctx, channels, func() {
		c.reachable.Back()
		select {
		case again <- struct{}{}:
		default:
		}
	}, func(ch redis.Channel, id string) {
		switch {
		case !blackboard.ValidID(id):
			c.log.Warn("notice ignored: it names no id", "notice", id)
		case ch.Is(redis.ClaimEvents):
			c.due.add(id)
		default:
			c.granted(id)
		}
	}, func(err error) {
		c.log.Warn("blackboard lost, reconnecting", "error", err)
		_ = c.reachable.Lost(err)
	})
}

// granted deals with the notice that a grant of this agent was queued or
// cancelled.
func (c *cub) granted(claim string) {
	if c.mode == executeOnly && claim != c.claim {
		return
	}
	if c.executor.noticed(claim) {
		return
	}
	c.grants.add(claim)
}

// reconcile reads what is open for this agent, when told to and on every tick.
func (c *cub) reconcile(ctx context.Context, again <-chan struct{}) {
	every := time.NewTicker(tick)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-every.C:
		}
		if c.mode == executeOnly {
			c.granted(c.claim)
			continue
		}
		w, err := c.board.OpenAgentWork(ctx, c.settings.Agent)
		if err != nil {
			if ctx.Err() == nil {
				c.log.Warn("open work not read", "error", err)
			}
			continue
		}
		c.reachable.Back()
		c.due.add(w.Due...)
		for _, id := range w.Grants {
			c.granted(id)
		}
		c.executor.recheck()
		if c.settings.Mode == blackboard.ReadWrite {
			c.restoreOrphans(ctx)
		}
	}
}

// restoreOrphans puts the working tree back where a dead incarnation, or a dead
// worker, of this agent found it.
func (c *cub) restoreOrphans(ctx context.Context) {
	uses, err := c.board.Workspace(ctx)
	if err != nil {
		return
	}
	for _, u := range uses {
		if !u.Restore || u.Agent != c.settings.Agent {
			continue
		}
		log := c.log.With("claim", u.Claim, "attempt", u.Attempt)
		kept, err := c.tree.Restore(ctx, u.Base, u.Branch, leftoverRef(u.Claim, u.Agent, u.Attempt), "left by a tool whose cub died")
		if err != nil {
			log.Error("working tree not put back, trying again", "error", err)
			continue
		}
		if err := c.board.Release(ctx, u.Claim, u.Agent, u.Holder, kept); err != nil {
			log.Warn("workspace not released", "error", err)
			continue
		}
		log.Info("working tree put back", "commit", u.Base, "branch", u.Branch, "leftovers", kept)
	}
}

// mostBids is how many bids are made in one round trip.
const mostBids = 64

// bidAll bids on every claim that awaits this agent's bid, also while a tool
// runs.
func (c *cub) bidAll(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.due.signal:
		}
		for ids := c.due.take(mostBids); len(ids) > 0; ids = c.due.take(mostBids) {
			if err := c.bid(ctx, ids); err != nil && ctx.Err() == nil {
				c.log.Warn("bids not submitted, trying again", "claims", len(ids), "error", err)
				if errors.Is(err, blackboard.ErrUnavailable) {
					if err := c.reachable.Lost(err); err != nil {
						return err
					}
				}
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
}
