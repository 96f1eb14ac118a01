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
	c.s.metrics.ended(c.id, usage, took, outcome)
	c.s.log.Info("call ended", "model", c.id.Model, "agent", c.id.Agent, "claim", c.id.Claim, "attempt", c.id.Attempt, "status", c.status, "input", usage.Input,
		"cached", usage.Cached, "output", usage.Output, "estimated", estimated, "kept", c.kept, "took", took.Round(time.Millisecond).String(), "reason", c.s.mask.text(c.reason))
	if !c.reserved {
		return
	}
	end := blackboard.Settlement{Usage: usage, Estimated: estimated, Took: took, Status: c.status, Reason: c.s.mask.text(c.reason)}
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
	switch {
	case c.kept, c.q.free, !c.answered:
		return c.lost, c.lost.Tokens() > 0
	case c.unknown:
		return c.lost.Add(model.Usage{Input: c.input, Output: c.output}), true
	}
	u = c.used.Usage
	said := u.Tokens() > 0
	if !said || !c.used.input {
		u.Input, estimated = max(u.Input, c.input-u.Cached-u.CacheWrite), true
	}
	if !said || !c.used.output {
		u.Output, estimated = max(u.Output, min((c.text+2)/3, c.output)), true
	}
	return c.lost.Add(u), estimated || c.lost.Tokens() > 0
}

// settle has the blackboard settle a call. Without the blackboard it goes on in the
// background after some time.
func (s *server) settle(q blackboard.Call, end blackboard.Settlement) {
	defer s.room.wake()
	ctx := context.Background()
	err := s.board.Settle(ctx, q, end)
	if err == nil {
		return
	}
	done := make(chan struct{})
	s.settling.Go(func() {
		defer close(done)
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
	case <-done:
	case <-time.After(s.pace.settle):
	}
}

// inherit settles the calls that a killed predecessor left under way, as if they had used
// all that was reserved. A call for a bid is left alone as long as the same call may come
// again.
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
			continue
		}
		s.settling.Go(func() {
			if sleep(ctx, s.pace.bid) {
				s.settle(p.Call, s.inherited(p))
			}
		})
	}
	return nil
}

func (s *server) inherited(p blackboard.PendingCall) blackboard.Settlement {
	u := s.upstreams[p.Model]
	return blackboard.Settlement{
		Usage: model.Usage{Input: p.Tokens}, Cost: p.Cost, Priced: u != nil && u.Price != nil, Estimated: true, Took: max(s.now().Sub(p.Since), 0),
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
		tokens = int64(float64(size)*ratio*spare) + 1
	}
	if context > 0 {
		tokens = min(tokens, context)
	}
	return tokens
}
