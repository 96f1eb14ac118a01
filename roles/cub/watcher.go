package cub

import (
	"context"
	"errors"
	"sync"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
)

// listen is the claim watcher's ear: notices become entries of the inboxes. Since
// notices can be lost, what is open for this agent is read at every
// (re)connection and on a slow tick.
func (c *cub) listen(ctx context.Context) error {
	var reader sync.WaitGroup
	reader.Go(func() { c.reconcile(ctx) })
	defer reader.Wait()
	channels := []redis.Channel{redis.AgentEvents(c.settings.Agent)}
	switch {
	case c.mode == standby:
		channels = append(channels, redis.StandbyEvents(c.settings.Agent))
	case !c.mode.works():
		channels = append(channels, redis.ClaimTargets, redis.ClaimEvents)
	}
	return c.board.Subscribe(ctx, channels, func() {
		c.reachable.Back()
		c.hears.Store(true)
		poke(c.look)
		poke(c.connected)
	}, c.notice, func(err error) {
		c.log.Warn("blackboard lost, reconnecting", "error", err)
		_ = c.reachable.Lost(err)
	})
}

// notice deals with a message from anybody who can reach the blackboard.
func (c *cub) notice(ch redis.Channel, id string) {
	if c.mode == standby && ch.Is(redis.StandbyEvents(c.settings.Agent)) {
		if who, _, ok := redis.ParseAssignment(id); ok && who == c.settings.Incarnation {
			poke(c.look) // what was assigned stands on the blackboard
		}
		return
	}
	switch claim, target, ok := redis.ParseTarget(id); {
	case ok && ch.Is(redis.ClaimTargets):
		c.hints.add(claim, target)
		c.due.add(claim)
	case ch.Is(redis.ClaimTargets) || !blackboard.ValidID(id):
		c.log.Warn("notice ignored: it names no id", "notice", id)
	case ch.Is(redis.ClaimEvents):
		if !c.hints.has(id) { // else it has been added
			c.due.add(id)
		}
	default:
		c.granted(id)
	}
}

// granted deals with the notice that a grant of this agent was queued or ended
// by others.
func (c *cub) granted(claim string) {
	switch {
	case c.mode == bidderOnly:
		if c.settings.Mode == blackboard.ReadWrite {
			poke(c.orphans) // a worker may have died
		}
	case c.mode.works() && claim != c.errand.get(), c.executor.noticed(claim):
	default:
		c.grants.add(claim)
	}
}

// poke asks for something that need not be asked for twice.
func poke(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// reconcile reads what is open for this agent, when told to and on every tick.
func (c *cub) reconcile(ctx context.Context) {
	every := time.NewTicker(tick)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.look:
		case <-c.orphans:
			c.restoreOrphans(ctx)
			continue
		case <-every.C:
		}
		if c.mode.works() {
			c.runErrand(ctx)
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
		if c.mode == standard {
			for _, id := range w.Grants {
				c.granted(id)
			}
			c.executor.recheck()
		}
		if c.settings.Mode == blackboard.ReadWrite {
			c.restoreOrphans(ctx)
		}
	}
}

// mostBids is how many bids are made in one round trip.
const mostBids = 64

// bidAll bids on every claim that awaits this agent's bid, also while a tool
// runs.
func (c *cub) bidAll(ctx context.Context) error {
	defer c.scripts.running.Wait()
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
