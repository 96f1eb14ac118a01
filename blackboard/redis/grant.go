package redis

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"sett/blackboard"
)

// GrantRef names a grant as one holder has it.
type GrantRef struct {
	Claim, Agent string
	Attempt      int
	Holder       string
}

// StartRequest asks for a queued grant to be run by this holder, with the
// workspace in this mode.
type StartRequest struct {
	Claim, Agent, Holder string
	Mode                 blackboard.WorkspaceMode
}

// Started is what a start brings: either the work, or what it waits for.
type Started struct {
	Grant    blackboard.Grant
	Claim    blackboard.Claim
	Artefact blackboard.Artefact
	// Blocked lists the grants, as claim:agent, that have the workspace or were
	// there before. When it is not empty the grant has not been started; a notice
	// to the agent follows when it may be tried again.
	Blocked []string
}

// Result is what a holder hands in.
type Result struct {
	GrantRef
	Artefact blackboard.Artefact
	Verdict  blackboard.Verdict // for a Review; see blackboard.VerdictOf
	ToolTime time.Duration
}

func startMove(q StartRequest) move {
	return move{"start", []string{q.Claim, q.Agent, q.Holder, string(q.Mode)}}
}

func finishMove(q Result) move {
	args := append([]string{q.Claim, q.Agent, strconv.Itoa(q.Attempt), q.Holder}, artefactArgs(q.Artefact)...)
	return move{"finish", append(args, string(q.Verdict), strconv.FormatInt(q.ToolTime.Microseconds(), 10))}
}

// Start begins to work on a grant. ErrRefused: it is not queued (any more);
// ErrStopping: the instance takes no new work.
func (b *Board) Start(ctx context.Context, q StartRequest) (Started, error) {
	r, err := b.do(ctx, "start", startMove(q).args...)
	if err != nil {
		return Started{}, fmt.Errorf("start claim %s: %w", q.Claim, err)
	}
	return decodeStarted(q, r)
}

// Finish hands in a result, which ends the grant (a Question suspends it).
// ErrRefused: the grant is no longer this holder's.
func (b *Board) Finish(ctx context.Context, q Result) error {
	m := finishMove(q)
	r, err := b.do(ctx, m.script, m.args...)
	if err == nil {
		err = refused(r)
	}
	if err != nil {
		return fmt.Errorf("hand in result of claim %s: %w", q.Claim, err)
	}
	return nil
}

// FinishAndStart hands in a result and takes the next grant, in this order and in
// one round trip. The first error is Finish's, the second Start's.
func (b *Board) FinishAndStart(ctx context.Context, done Result, next StartRequest) (Started, error, error) {
	rs, err := b.doAll(ctx, finishMove(done), startMove(next))
	if err != nil {
		err = fmt.Errorf("hand in result of claim %s: %w", done.Claim, err)
		return Started{}, err, err
	}
	finished := refused(rs[0])
	if finished != nil {
		finished = fmt.Errorf("hand in result of claim %s: %w", done.Claim, finished)
	}
	s, err := decodeStarted(next, rs[1])
	return s, finished, err
}

func decodeStarted(q StartRequest, r reply) (Started, error) {
	var s Started
	if r.status == "wait" {
		for i := range r.rest {
			s.Blocked = append(s.Blocked, r.text(i))
		}
		return s, nil
	}
	err := refused(r)
	if err == nil && len(r.rest) < 3 {
		err = blackboard.ErrCorrupt
	}
	if err == nil {
		s.Grant, err = decodeGrant(q.Claim, q.Agent, r.text(0))
	}
	if err == nil {
		s.Claim, err = decodeClaim(q.Claim, flat(r.rest[1]))
	}
	if err == nil {
		s.Artefact, err = decodeArtefact(s.Claim.ArtefactID, flat(r.rest[2]))
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

// NoteBase records the commit and branch at which a writer found the working
// tree, so that it can be put back there whoever dies.
func (b *Board) NoteBase(ctx context.Context, q GrantRef, commit, branch string) error {
	r, err := b.do(ctx, "base", q.Claim, q.Agent, q.Holder, commit, branch)
	if err == nil {
		err = refused(r)
	}
	if err != nil {
		return fmt.Errorf("note base of claim %s: %w", q.Claim, err)
	}
	return nil
}

// Requeue hands a running grant back to its queue, unfinished. It is no error
// when the grant is no longer this holder's. ErrRefused: it has been handed back
// that often, not counting when the instance was stopping, and still is running.
func (b *Board) Requeue(ctx context.Context, q GrantRef, most int, reason string) error {
	r, err := b.do(ctx, "requeue", q.Claim, q.Agent, strconv.Itoa(q.Attempt), q.Holder, reason, strconv.Itoa(most))
	if err == nil {
		err = refused(r)
	}
	if err != nil {
		return fmt.Errorf("hand back claim %s: %w", q.Claim, err)
	}
	return nil
}

// Release lets go of the workspace for a grant that has ended: after its
// cancelled tool was stopped (holder given), or after the tree that a dead writer
// left was put back (holder empty). leftovers names the ref that keeps what was
// found in the tree, if anything.
func (b *Board) Release(ctx context.Context, claim, agent, holder, leftovers string) error {
	_, err := b.do(ctx, "release", claim, agent, holder, leftovers)
	if err != nil {
		return fmt.Errorf("release workspace of claim %s: %w", claim, err)
	}
	return nil
}

// restorePatience is how long a dead writer's own agent is waited for before
// another one puts its tree back, and how long doing so may take.
const restorePatience = 30 * time.Second

// AdoptRestore says that an agent's incarnation sets out to put back the tree that
// the dead writer of a hold left. ErrRefused: somebody else does, or may still.
func (b *Board) AdoptRestore(ctx context.Context, u WorkspaceUse, agent, incarnation string) error {
	r, err := b.do(ctx, "adopt", u.Claim, u.Agent, agent, incarnation, micros(restorePatience))
	if err == nil {
		err = refused(r)
	}
	if err != nil {
		return fmt.Errorf("put back the tree of claim %s: %w", u.Claim, err)
	}
	return nil
}

// FailGrant ends the grant of a holder that died, with a Failure.
func (b *Board) FailGrant(ctx context.Context, epoch string, q GrantRef, reason string, failure blackboard.Artefact) error {
	return b.crash(ctx, epoch, q, "fail", reason, failure)
}

// RetryGrant queues the grant of a holder that died for a new attempt.
func (b *Board) RetryGrant(ctx context.Context, epoch string, q GrantRef, reason string) error {
	return b.crash(ctx, epoch, q, "retry", reason, blackboard.Artefact{})
}

func (b *Board) crash(ctx context.Context, epoch string, q GrantRef, mode, reason string, failure blackboard.Artefact) error {
	args := append([]string{epoch, q.Claim, q.Agent, strconv.Itoa(q.Attempt), q.Holder, mode, reason}, artefactArgs(failure)...)
	r, err := b.do(ctx, "crash", args...)
	if err == nil {
		err = refused(r)
	}
	if err != nil {
		return fmt.Errorf("%s grant of claim %s: %w", mode, q.Claim, err)
	}
	return nil
}
