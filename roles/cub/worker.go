package cub

import (
	"context"
	"sync"
	"time"

	"sett/blackboard/redis"
)

// A worker works on one claim and is gone. Execute-only it knows its claim from
// the start; on standby it waits, with all made ready, to be assigned one, and is
// execute-only from then on.

// errand is a worker's one claim.
type errand struct {
	mu    sync.Mutex
	claim string
	known chan struct{} // closed when the claim is known
}

func newErrand(claim string) *errand {
	e := &errand{known: make(chan struct{})}
	if claim != "" {
		e.set(claim)
	}
	return e
}

// set makes the claim known. The first one counts.
func (e *errand) set(claim string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.claim == "" {
		e.claim = claim
		close(e.known)
	}
}

// get returns the claim; empty while it is not known.
func (e *errand) get() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.claim
}

// works says whether this cub is a worker.
func (m mode) works() bool { return m == executeOnly || m == standby }

// awaitErrand returns the worker's claim once it is known.
func (c *cub) awaitErrand(ctx context.Context) (string, error) {
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-c.errand.known:
		return c.errand.get(), nil
	}
}

// runErrand reads what became of the worker's claim: whether it has one by now, and
// then whether it can be started, or has been cancelled.
func (c *cub) runErrand(ctx context.Context) {
	claim := c.errand.get()
	if claim != "" {
		c.granted(claim)
		return
	}
	claim, err := c.board.Assignment(ctx, c.settings.Agent, c.settings.Incarnation)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		c.log.Warn("assignment not read", "error", err)
	case claim != "":
		c.reachable.Back()
		c.log.Info("claim assigned", "claim", claim)
		c.errand.set(claim)
	}
}

// beatWorker keeps the worker registered. One on standby is registered only when
// it hears of what it is assigned. It is the orchestrator that forgets it, when
// its unit is gone.
func (c *cub) beatWorker(ctx context.Context) error {
	waiting := c.mode == standby
	return c.everyBeat(ctx, func() error {
		if waiting && !c.hears.Load() {
			return c.board.Ping(ctx)
		}
		w := redis.Worker{Incarnation: c.settings.Incarnation, Claim: c.errand.get(), Attempt: c.executor.underWay()}
		err := c.board.HelloWorker(ctx, c.settings.Agent, w, aliveFor)
		if err == nil && waiting {
			waiting = false
			c.log.Info("waiting for a claim")
		}
		return err
	})
}

// everyBeat makes a call at every heartbeat, and whenever the blackboard is back:
// it may have forgotten us. It ends when the blackboard is given up.
func (c *cub) everyBeat(ctx context.Context, call func() error) error {
	every := time.NewTicker(beatEvery)
	defer every.Stop()
	for {
		err := call()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			if err := c.reachable.Lost(err); err != nil {
				return err
			}
			c.log.Warn("heartbeat not sent", "error", err)
		default:
			c.reachable.Back()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		case <-c.connected:
		}
	}
}
