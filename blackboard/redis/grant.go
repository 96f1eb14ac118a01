package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// Cub makes the moves of an agent: it bids, works on its grants and says that it is
// alive.
type Cub struct{ c *store.Conn }

func startMove(q blackboard.StartRequest) store.Move {
	return store.Move{Script: "start", Args: []string{q.Claim, q.Agent, q.Holder,
		q.Ran.Image, q.Ran.Program, q.Ran.Config, q.Ran.Sett, q.Ran.Pin}}
}

func finishMove(q blackboard.Result) store.Move {
	args := append([]string{q.Claim, q.Agent, strconv.Itoa(q.Attempt), q.Holder}, store.Arguments(q.Artefact)...)
	return store.Move{Script: "finish", Args: append(args, string(q.Verdict), strconv.FormatInt(q.ToolTime.Microseconds(), 10), q.Base, strings.Join(q.Unmerged, " "))}
}

// Start begins to work on a grant. ErrRefused: it is not queued (any more);
// ErrStopping: the instance takes no new work.
func (b Cub) Start(ctx context.Context, q blackboard.StartRequest) (blackboard.Started, error) {
	r, err := b.c.Do(ctx, "start", startMove(q).Args...)
	if err != nil {
		return blackboard.Started{}, fmt.Errorf("start claim %s: %w", q.Claim, err)
	}
	return decodeStarted(q, r)
}

// Finish hands in a result, which ends the grant (a Question suspends it).
// ErrRefused: the grant is no longer this holder's.
func (b Cub) Finish(ctx context.Context, q blackboard.Result) error {
	m := finishMove(q)
	r, err := b.c.Do(ctx, m.Script, m.Args...)
	return store.Done(r, err, "hand in result of claim %s", q.Claim)
}

// FinishAndStart hands in a result and takes the next grant, in this order and in
// one round trip. The first error is Finish's, the second Start's.
func (b Cub) FinishAndStart(ctx context.Context, done blackboard.Result, next blackboard.StartRequest) (blackboard.Started, error, error) {
	rs, err := b.c.DoAll(ctx, finishMove(done), startMove(next))
	if err != nil {
		err = fmt.Errorf("hand in result of claim %s: %w", done.Claim, err)
		return blackboard.Started{}, err, err
	}
	finished := store.Done(rs[0], nil, "hand in result of claim %s", done.Claim)
	s, err := decodeStarted(next, rs[1])
	return s, finished, err
}

func decodeStarted(q blackboard.StartRequest, r store.Reply) (blackboard.Started, error) {
	var s blackboard.Started
	err := store.Refused(r)
	if err == nil && len(r.Rest) < 2 {
		err = blackboard.ErrCorrupt
	}
	if err == nil {
		s.Grant, err = store.ReadGrant(q.Claim, q.Agent, flat(r.Rest[0]))
	}
	if err == nil {
		s.Claim, err = store.DecodeClaim(q.Claim, flat(r.Rest[0]))
	}
	if err == nil {
		s.Artefact, err = store.DecodeArtefact(s.Claim.ArtefactID, flat(r.Rest[1]))
	}
	if err != nil {
		return s, fmt.Errorf("start claim %s: %w", q.Claim, err)
	}
	return s, nil
}

// flat reads a hash that a script returned as field, value, field, value…
func flat(m rueidis.RedisMessage) map[string]string {
	list, _ := m.AsStrSlice()
	fields := make(map[string]string, len(list)/2)
	for i := 0; i+1 < len(list); i += 2 {
		fields[list[i]] = list[i+1]
	}
	return fields
}

// Await records that a running grant waits for the repository, its model or the blackboard, and why, or
// (an empty kind) waits no longer. ErrRefused: the grant is no longer this holder's.
func (b Cub) Await(ctx context.Context, q blackboard.GrantRef, what blackboard.WaitKind, why string) error {
	r, err := b.c.Do(ctx, "await", q.Claim, q.Agent, strconv.Itoa(q.Attempt), q.Holder, string(what), why)
	return store.Done(r, err, "record a wait of claim %s", q.Claim)
}

// Requeue hands a running grant back to its queue. It is no error when the grant is no
// longer this holder's. ErrRefused: it has been handed back so often, and still is running.
func (b Cub) Requeue(ctx context.Context, q blackboard.HandBack) error {
	r, err := b.c.Do(ctx, "requeue", q.Claim, q.Agent, strconv.Itoa(q.Attempt), q.Holder, q.Reason, strconv.Itoa(q.Most), q.Base)
	return store.Done(r, err, "hand back claim %s", q.Claim)
}

// FailGrant ends the grant of a holder that died, with a Failure.
func (b Leader) FailGrant(ctx context.Context, epoch string, q blackboard.GrantRef, reason string, failure blackboard.Artefact) error {
	return b.crash(ctx, epoch, q, "fail", reason, failure)
}

// RetryGrant queues the grant of a holder that died for a new attempt.
func (b Leader) RetryGrant(ctx context.Context, epoch string, q blackboard.GrantRef, reason string) error {
	return b.crash(ctx, epoch, q, "retry", reason, blackboard.Artefact{})
}

func (b Leader) crash(ctx context.Context, epoch string, q blackboard.GrantRef, mode, reason string, failure blackboard.Artefact) error {
	args := append([]string{epoch, q.Claim, q.Agent, strconv.Itoa(q.Attempt), q.Holder, mode, reason}, store.Arguments(failure)...)
	r, err := b.c.Do(ctx, "crash", args...)
	return store.Done(r, err, "%s grant of claim %s", mode, q.Claim)
}
