package cub

import (
	"context"
	"errors"
	"sync"
	"time"

	"sett/blackboard"
	"sett/contract/env"
)

// Reasons to end a running tool early.
var (
	errCancelled = errors.New("grant cancelled")
	errStopping  = errors.New("cub is stopping")
	errHarmed    = errors.New("cub ends: its tool has harmed it")
)

// errOneClaimDone ends a worker after its one claim.
var errOneClaimDone = errors.New("claim done")

// executor runs the agent's grants in one slot, one at a time.
type executor struct {
	*state
	crew     *crew
	slot     int     // from 1
	settings env.Cub // the cub's, with the places of this slot
	trees    trees   // nil: the tool has no tree
	mu       sync.Mutex
	current  string                  // the running claim
	attempt  int                     //
	stop     context.CancelCauseFunc // ends its tool
}

// noticed handles the notice of a change to a claim's grant. It says whether that
// claim is running; then it also checks for a cancellation.
func (x *executor) noticed(claim string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.current != claim {
		return false
	}
	go x.checkCancelled(claim, x.attempt, x.stop)
	return true
}

// recheck checks whether the running claim was cancelled while notices were lost.
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
	g, err := x.board.records.Grant(ctx, claim, x.settings.Agent)
	if err != nil || g.State == blackboard.GrantRunning && g.Attempt == attempt && g.Holder == x.settings.Incarnation {
		return
	}
	stop(errCancelled)
	if g.State == blackboard.GrantQueued {
		x.grants.add(claim) // its notice came during the report of the last attempt
	}
}

// underWay returns the attempt of the running claim; 0 when there is none.
func (x *executor) underWay() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.attempt
}

func (x *executor) begin(claim string, attempt int, stop context.CancelCauseFunc) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.current, x.attempt, x.stop = claim, attempt, stop
}

// run takes grants until the context ends; a running tool then gets its grace.
func (x *executor) run(ctx context.Context) error {
	var w *work // started together with the report of the last result
	for {
		if w == nil {
			taken, err := x.take(ctx)
			if err != nil {
				return err
			}
			w = taken
		}
		next, err := x.execute(ctx, w)
		if err != nil {
			return err
		}
		if x.mode.works() {
			return errOneClaimDone
		}
		w = next
	}
}

// take waits for a grant that can start, and starts it. It does not interrupt a
// start: a grant that runs on the blackboard alone would count as a crash.
func (x *executor) take(ctx context.Context) (*work, error) {
	for {
		for ctx.Err() == nil {
			claim := x.crew.take()
			if claim == "" {
				break
			}
			s, err := x.board.work.Start(context.WithoutCancel(ctx), x.request(claim))
			if w, err := x.started(ctx, claim, s, err); w != nil || err != nil {
				return w, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-x.grants.signal:
		}
	}
}

func (x *executor) request(claim string) blackboard.StartRequest {
	return blackboard.StartRequest{
		Claim: claim, Agent: x.settings.Agent, Holder: x.settings.Incarnation,
		Ran: blackboard.Ran{
			Image: x.settings.Image, Program: x.program.Digest(), Config: x.settings.ConfigDigest, Sett: x.env.Build.Name(),
			Pin: x.settings.PinDigest,
		},
	}
}

// started reads the outcome of a start: the work, nil when there is none, or an
// error that ends the cub. Without work the slot leaves the claim.
func (x *executor) started(ctx context.Context, claim string, s blackboard.Started, err error) (w *work, end error) {
	defer func() {
		if w == nil {
			x.crew.leave(claim)
		}
	}()
	log := x.log.With("claim", claim)
	switch {
	case ctx.Err() != nil && s.Grant.State != blackboard.GrantRunning:
		return nil, ctx.Err()
	case s.Grant.State == blackboard.GrantRunning:
		return x.newWork(claim, s, err), nil
	case errors.Is(err, blackboard.ErrRefused):
		log.Debug("nothing to start", "error", err)
		if x.mode.works() {
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
	log.Error("grant not started", "error", err)
	return nil, nil
}
