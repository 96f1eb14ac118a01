package gateway

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"sett/blackboard"
	"sett/contract/model"
	"sett/roles/role"
)

// settle ends the call's account, once. It returns when the blackboard has it, or after
// some time, when it is tried on in the background.
func (c *call) settle() {
	if c.settled {
		return
	}
	c.settled = true
	usage, estimated := c.usage()
	if c.used.input {
		c.s.ratios.learn(c.id, int64(len(c.q.body)), c.used.Input+c.used.Cached+c.used.CacheWrite)
	}
	took := c.s.now().Sub(c.began)
	c.keep()
	outcome := cmp.Or(c.reason, "ok")
	if c.reason != "" && c.status < 400 {
		outcome = "broken"
	} else if c.reason != "" {
		outcome = "failed"
	}
	c.s.metrics.ended(c.id, usage, c.up.Price, took, outcome)
	c.s.log.Info("call ended", "model", c.id.Model, "agent", c.id.Agent, "claim", c.id.Claim, "attempt", c.id.Attempt, "status", c.status, "input", usage.Input,
		"cached", usage.Cached, "output", usage.Output, "estimated", estimated, "kept", c.kept, "took", took.Round(time.Millisecond).String(), "reason", c.s.mask.text(c.reason))
	if !c.reserved {
		return
	}
	end := blackboard.Settlement{Usage: usage, Estimated: estimated, Took: took, Status: c.status, Reason: c.s.mask.text(c.reason), Asked: c.up.Model.Model, Budgets: c.budgets}
	if said := c.s.mask.text(c.used.model); said != end.Asked {
		end.Answerer = said
	}
	if c.up.Price != nil {
		end.Cost, end.Priced = c.up.Price.Cost(usage), true
	}
	if c.answered && c.status < 400 && c.status > 0 {
		end.Answer = hex.EncodeToString(c.hash.Sum(nil))
	}
	c.s.settle(c.id, end)
}

// usage is the use of the call; estimated where the provider did not say.
func (c *call) usage() (u model.Usage, estimated bool) {
	lost := c.lost.Add(c.dropped)
	switch {
	case c.kept, c.q.free, !c.answered:
		return lost, lost.Tokens() > 0
	case c.unknown:
		return lost.Add(model.Usage{Input: c.input, Output: c.output}), true
	}
	u = c.used.Usage
	said := u.Tokens() > 0
	if !said || !c.used.input {
		u.Input, estimated = max(u.Input, c.input-u.Cached-u.CacheWrite), true
	}
	if !said || !c.used.output {
		u.Output, estimated = max(u.Output, min((c.text+2)/3, c.output)), true
	}
	return lost.Add(u), estimated || lost.Tokens() > 0
}

// settle has the blackboard settle a call. Without the blackboard it goes on in the
// background after some time.
func (s *server) settle(q blackboard.Call, end blackboard.Settlement) {
	defer s.room.wake()
	done := s.under.add(q.ID)
	ctx := context.Background()
	err := s.board.Settle(ctx, q, end)
	if err == nil {
		done()
		return
	}
	ended := make(chan struct{})
	s.settling.Go(func() {
		defer close(ended)
		defer done()
		for pause := 50 * time.Millisecond; errors.Is(err, blackboard.ErrUnavailable) && s.board.Reachable.Lost(err) == nil; pause = min(2*pause, time.Second) {
			time.Sleep(pause)
			if err = s.board.Settle(ctx, q, end); err == nil {
				s.board.Reachable.Back()
				s.room.wake()
				return
			}
		}
		s.log.Error("call not settled", "error", err, "call", q.ID, "claim", q.Claim, "agent", q.Agent)
	})
	select {
	case <-ended:
	case <-time.After(s.pace.settle):
	}
}

// release gives back what a call may have reserved whose reply was lost: it is not made.
func (s *server) release(q blackboard.Call) {
	done := s.under.add(q.ID)
	s.settling.Go(func() {
		defer done()
		err := s.board.Reachable.Patiently(context.Background(), s.log, nil, func() error {
			err := s.board.Settle(context.Background(), q, blackboard.Settlement{Reason: "the blackboard was out of reach"})
			if errors.Is(err, blackboard.ErrRefused) {
				return nil // nothing was reserved
			}
			return err
		})
		if err != nil {
			s.log.Error("call not released", "error", err, "call", q.ID, "claim", q.Claim, "agent", q.Agent)
		}
	})
}

// underWay are the calls that this process settles sooner or later.
type underWay struct {
	mu    sync.Mutex
	calls map[string]int
}

func (u *underWay) add(id string) (done func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.calls == nil {
		u.calls = map[string]int{}
	}
	u.calls[id]++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.calls[id]--; u.calls[id] == 0 {
			delete(u.calls, id)
		}
	}
}

func (u *underWay) has(id string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.calls[id] > 0
}

// inherit settles the calls that a killed predecessor left under way, as if they had used
// all that was reserved. A call for a bid is left alone, as the same call may come again.
func (s *server) inherit(ctx context.Context) error {
	var left []blackboard.PendingCall
	err := s.board.Reachable.Patiently(ctx, s.log, nil, func() (err error) {
		left, err = s.board.Pending(ctx)
		return err
	})
	if err != nil {
		return err
	}
	for _, p := range left {
		if !p.Bid() {
			s.settle(p.Call, s.inherited(p))
		}
	}
	return nil
}

// sweep settles, from time to time, calls that nobody makes any more: for bids that were
// not asked for again, and those of an imported ledger.
func (s *server) sweep(ctx context.Context) error {
	before := map[string]bool{}
	return role.Every(ctx, s.pace.bid, func(ctx context.Context) error {
		before = s.sweepOnce(ctx, before)
		return nil
	})
}

// sweepOnce settles the calls that nobody made at the sweep before, either, and returns
// the others that nobody makes.
func (s *server) sweepOnce(ctx context.Context, before map[string]bool) map[string]bool {
	all, err := s.board.Pending(ctx)
	if err != nil {
		return before // keepInTouch notices
	}
	idle := map[string]bool{}
	for _, p := range all {
		switch {
		case s.under.has(p.ID):
		case before[p.ID]:
			s.settle(p.Call, s.inherited(p))
		default:
			idle[p.ID] = true
		}
	}
	return idle
}

func (s *server) inherited(p blackboard.PendingCall) blackboard.Settlement {
	u := s.upstreams[p.Model]
	return blackboard.Settlement{
		Usage: model.Usage{Input: p.Tokens - p.Output, Output: p.Output}, Cost: p.Cost, Priced: u != nil && u.Price != nil, Estimated: true, Took: max(s.now().Sub(p.Since), 0),
		Reason: "the gateway ended during the call",
	}
}

// ratios have the tokens for each byte of the last request of each grant.
type ratios struct {
	mu  sync.Mutex
	all map[string]float64
}

// mostRatios bounds the grants that are remembered.
const mostRatios = 4096

func grantOf(q blackboard.Call) string { return q.Claim + " " + q.Agent }

// learn takes in the tokens that a provider counted.
func (r *ratios) learn(q blackboard.Call, size, tokens int64) {
	if size == 0 || tokens == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil || len(r.all) >= mostRatios {
		r.all = map[string]float64{}
	}
	r.all[grantOf(q)] = float64(tokens) / float64(size)
}

// estimate is an upper bound of the tokens in a request. The model's context, if it is
// known, bounds it too.
func (r *ratios) estimate(q blackboard.Call, size, context int64) int64 {
	r.mu.Lock()
	ratio, ok := r.all[grantOf(q)]
	r.mu.Unlock()
	tokens := (size + 2) / 3
	if ok {
		const spare = 1.1
		tokens = int64(min(float64(size)*ratio*spare, float64(model.MostCount))) + 1
	}
	if context > 0 {
		tokens = min(tokens, context)
	}
	return tokens
}
