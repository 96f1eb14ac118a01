package cub

import (
	"context"
	"errors"
	"sync"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
)

// Why a running tool is ended before its time.
var (
	errCancelled = errors.New("grant cancelled")
	errStopping  = errors.New("cub is stopping")
)

// errOneClaimDone ends a worker: it has done its one claim.
var errOneClaimDone = errors.New("claim done")

// executor runs the agent's grants, one at a time.
type executor struct {
	*cub
	mu      sync.Mutex
	current string                  // the claim under way
	attempt int                     //
	stop    context.CancelCauseFunc // ends its tool
}

func newExecutor(c *cub) *executor { return &executor{cub: c} }

// noticed is told that something about a claim's grant changed. It says whether
// that claim is under way; then it looks whether it was cancelled.
func (x *executor) noticed(claim string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.current != claim {
		return false
	}
	go x.checkCancelled(claim, x.attempt, x.stop)
	return true
}

// recheck looks whether the claim under way was cancelled while notices were
// lost.
func (x *executor) recheck() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.current != "" {
		go x.checkCancelled(x.current, x.attempt, x.stop)
	}
}

func (x *executor) checkCancelled(claim string, attempt int, stop context.CancelCauseFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	g, err := x.board.Grant(ctx, claim, x.settings.Agent)
	if err == nil && (g.State != blackboard.GrantRunning || g.Attempt != attempt || g.Holder != x.settings.Incarnation) {
		stop(errCancelled)
	}
}

func (x *executor) begin(claim string, attempt int, stop context.CancelCauseFunc) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.current, x.attempt, x.stop = claim, attempt, stop
}

// run takes grants until the context ends; the tool under way then gets its
// grace.
func (x *executor) run(ctx context.Context) error {
	if x.mode == executeOnly {
		x.grants.add(x.claim)
	}
	var s *redis.Started // taken together with handing in the last result
	for {
		if s == nil {
			taken, err := x.take(ctx)
			if err != nil {
				return err
			}
			s = taken
		}
		next, err := x.execute(ctx, *s)
		if err != nil {
			return err
		}
		if x.mode == executeOnly {
			return errOneClaimDone
		}
		s = next
	}
}

// take waits for a grant that can be started, and starts it.
func (x *executor) take(ctx context.Context) (*redis.Started, error) {
	for {
		for ids := x.grants.take(1); len(ids) > 0; ids = x.grants.take(1) {
			s, err := x.board.Start(ctx, x.request(ids[0]))
			if s, err := x.started(ctx, ids[0], s, err); s != nil || err != nil {
				return s, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-x.grants.signal:
		}
	}
}

func (x *executor) request(claim string) redis.StartRequest {
	return redis.StartRequest{Claim: claim, Agent: x.settings.Agent, Holder: x.settings.Incarnation, Mode: x.settings.Mode}
}

// started reads the outcome of a start: the work, nil when there is none (now), or
// an error that ends the cub.
func (x *executor) started(ctx context.Context, claim string, s redis.Started, err error) (*redis.Started, error) {
	log := x.log.With("claim", claim)
	switch {
	case ctx.Err() != nil && s.Grant.State != blackboard.GrantRunning:
		return nil, ctx.Err()
	case s.Grant.State == blackboard.GrantRunning:
		// Also when its artefact could not be read: that becomes a Failure.
		return &s, nil
	case len(s.Blocked) > 0:
		log.Info("waiting for the workspace", "held_by", s.Blocked)
		return nil, nil
	case errors.Is(err, blackboard.ErrRefused):
		log.Debug("nothing to start", "error", err)
		if x.mode == executeOnly {
			log.Warn("nothing to execute", "error", err)
			return nil, errOneClaimDone
		}
		return nil, nil
	case errors.Is(err, blackboard.ErrStopping):
		log.Info("instance is stopping: left in the queue")
		return nil, nil
	case errors.Is(err, blackboard.ErrUnavailable):
		log.Warn("not started, trying again", "error", err)
		return nil, x.reachable.Lost(err)
	}
	log.Error("grant cannot be started", "error", err)
	return nil, nil
}
