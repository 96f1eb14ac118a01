package cub

import (
	"context"
	"errors"
	"sync"
	"time"

	"sett/blackboard"
	"sett/roles/role"
)

// A worker works on one claim and ends. In mode execute-only it knows its claim from
// the start. In mode standby it waits, ready to work, for the assignment of a claim.

// assignment is a worker's one claim.
type assignment struct {
	mu    sync.Mutex
	claim string
	known chan struct{} // closed with the assignment
}

func newAssignment(claim string) *assignment {
	a := &assignment{known: make(chan struct{})}
	if claim != "" {
		a.set(claim)
	}
	return a
}

// set makes the claim known. The first one counts.
func (a *assignment) set(claim string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.claim == "" {
		a.claim = claim
		close(a.known)
	}
}

// get returns the claim; empty while it is not known.
func (a *assignment) get() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.claim
}

// works says whether this cub is a worker.
func (m mode) works() bool { return m == executeOnly || m == standby }

// awaitAssignment returns the worker's claim once it is known.
func (c *state) awaitAssignment(ctx context.Context) (string, error) {
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-c.assignment.known:
		return c.assignment.get(), nil
	}
}

// checkAssignment reads the worker's assignment; after it, the state of the claim: it
// may be ready to start, or cancelled.
func (c *cub) checkAssignment(ctx context.Context) {
	claim := c.assignment.get()
	if claim != "" {
		c.granted(claim)
		return
	}
	claim, err := c.board.assignment(ctx, c.settings.Agent, c.settings.Incarnation)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		c.log.Warn("assignment not read", "error", err)
	case claim != "":
		c.reachable.Back()
		c.log.Info("claim assigned", "claim", claim)
		c.assignment.set(claim)
	}
}

// beatWorker keeps the worker registered. A worker on standby registers only after it
// has begun to listen for its assignment. The orchestrator forgets a worker when its
// unit is gone.
func (c *cub) beatWorker(ctx context.Context) error {
	waiting := c.mode == standby
	return c.everyBeat(ctx, func(ctx context.Context) error {
		if waiting && !c.hears.Load() {
			return c.board.ping(ctx)
		}
		w := blackboard.Worker{Incarnation: c.settings.Incarnation, Claim: c.assignment.get(), Attempt: c.crew.underWay()}
		err := c.board.presence.HelloWorker(ctx, c.settings.Agent, w, aliveFor)
		if err == nil && waiting {
			waiting = false
			c.log.Info("waiting for a claim")
		}
		return err
	})
}

// everyBeat makes a call at every heartbeat, and at every return of the blackboard,
// which may have lost the registration. It ends when the blackboard is away too long, or
// is another one than before.
func (c *cub) everyBeat(ctx context.Context, call func(context.Context) error) error {
	every := time.NewTicker(beatEvery)
	defer every.Stop()
	for {
		soon, done := c.reachable.Bounded(ctx)
		err := call(soon)
		done()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, blackboard.ErrLost):
			c.log.Error("this is not the blackboard that the cub worked on: it ends", "error", err)
			return role.Fail(role.Environment, err, "sett list says what to do")
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
		case <-time.After(c.reachable.Left()):
		case <-c.connected:
		}
	}
}
