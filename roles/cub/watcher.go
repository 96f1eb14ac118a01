package cub

import (
	"context"
	"errors"
	"sync"
	"time"

	"sett/blackboard"
)

// listen turns notices into entries of the inboxes. Notices can be lost, so the cub
// reads the agent's open work at every (re)connection and on a slow tick.
func (c *cub) listen(ctx context.Context) error {
	var reader sync.WaitGroup
	reader.Go(func() { c.reconcile(ctx) })
	defer reader.Wait()
	topics := []topic{grantTopic}
	switch {
	case c.mode == standby:
		topics = append(topics, assignmentTopic)
	case !c.mode.works():
		topics = append(topics, targetTopic)
	}
	return c.board.listen(ctx, topics, func() {
		c.reachable.Back()
		c.hears.Store(true)
		poke(c.look)
		poke(c.connected)
	}, c.notice, func(err error) {
		if !errors.Is(err, blackboard.ErrUnavailable) {
			c.log.Warn("no notices: the open work is read at every tick", "error", err)
			return
		}
		c.log.Warn("blackboard lost, reconnecting", "error", err)
		_ = c.reachable.Lost(err)
	})
}

// notice handles a message. Anybody with access to the blackboard may have sent it.
func (c *cub) notice(t topic, id string) {
	if t == assignmentTopic {
		if worker, _, ok := blackboard.ParseAssignment(id); ok && worker == c.settings.Incarnation {
			poke(c.look) // the blackboard has the assignment
		}
		return
	}
	switch n, ok := blackboard.ParseTarget(id); {
	case ok && t == targetTopic:
		if _, known := c.bidder().TableBid(n.Target); !n.Script || !known {
			c.hints.add(n.Claim, n.Target)
			c.due.add(n.Claim)
		}
	case t == targetTopic || !blackboard.ValidID(id):
		c.log.Warn("notice ignored: it names no id", "notice", id)
	default:
		c.granted(id)
	}
}

// granted handles the notice that a grant of this agent was queued, or ended by
// others.
func (c *cub) granted(claim string) {
	switch {
	case c.mode == bidderOnly:
	case c.mode.works() && claim != c.assignment.get(), c.crew.noticed(claim):
	default:
		c.grants.add(claim)
	}
}

// poke sends a request, unless one waits already.
func poke(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// reconcile reads the agent's open work, on request and on every tick.
func (c *cub) reconcile(ctx context.Context) {
	every := time.NewTicker(tick)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.look:
		case <-every.C:
		}
		if c.mode.works() {
			c.checkAssignment(ctx)
			continue
		}
		w, err := c.board.openWork(ctx, c.settings.Agent)
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
			c.crew.recheck()
		}
	}
}

// mostBids is the most bids of one round trip.
const mostBids = 64

// bidAll bids on every claim that waits for this agent's bid, also while a tool runs.
func (c *cub) bidAll(ctx context.Context) error {
	defer c.scripts.running.Wait()
	defer c.models.running.Wait()
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
