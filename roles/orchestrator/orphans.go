package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/runtime"
)

// buryAgain is the pause between attempts to record an end.
const buryAgain = 500 * time.Millisecond

// bury deals with everything that a dead holder had, for as long as it takes the
// blackboard to come back.
func (a *agents) bury(ctx context.Context, e runtime.Exit) {
	holder := e.Unit.Labels[runtime.LabelIncarnation]
	for {
		err := a.settleEstates(ctx, func(h string) (runtime.Exit, bool) { return e, h == holder })
		if ctx.Err() != nil || err == nil {
			return
		}
		a.log.Warn("end of a holder not recorded", "holder", holder, "error", err)
		if !errors.Is(err, blackboard.ErrUnavailable) {
			return // the next look around tries again
		}
		select {
		case <-ctx.Done():
		case <-time.After(buryAgain):
		}
	}
}

// lookForOrphans deals with what holders left that do not live and whose end
// nobody delivers: they ended while nobody led.
func (a *agents) lookForOrphans(ctx context.Context) {
	if a.looking {
		return
	}
	a.looking = true
	a.aside(ctx, func() func() {
		before := a.env.Now().Add(-a.pace.lookAround)
		e := runtime.Exit{Code: -1, Text: "ended while no orchestrator watched"}
		if !a.stopping(ctx) {
			err := a.settleEstates(ctx, func(h string) (runtime.Exit, bool) { return e, a.living.gone(h, before) })
			if err != nil && ctx.Err() == nil {
				a.log.Warn("orphaned grants not looked for", "error", err)
			}
		}
		return func() { a.looking = false }
	})
}

// settleEstates ends the running grants and the holds of the workspace of holders
// that are dead. A running grant always holds the workspace, so the holds name
// them all, at a cost that does not grow with what is queued.
func (a *agents) settleEstates(ctx context.Context, dead func(holder string) (runtime.Exit, bool)) error {
	uses, err := a.board.Workspace(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, u := range uses {
		if u.Waiting || u.Restore {
			continue
		}
		if e, ok := dead(u.Holder); ok {
			failed = errors.Join(failed, a.settleEstate(ctx, u, e))
		}
	}
	return failed
}

func (a *agents) settleEstate(ctx context.Context, u redis.WorkspaceUse, e runtime.Exit) error {
	s, err := a.board.Snapshot(ctx, u.Claim)
	if err != nil && !errors.Is(err, blackboard.ErrCorrupt) && !errors.Is(err, blackboard.ErrNotFound) {
		return err
	}
	if g, ok := s.Grant(u.Agent); err == nil && ok && g.State == blackboard.GrantRunning && g.Holder == u.Holder {
		return a.crashed(ctx, s.Claim, g, e)
	}
	// Its grant has ended, or cannot be read, but the holder died before it let go.
	ref := redis.GrantRef{Claim: u.Claim, Agent: u.Agent, Attempt: u.Attempt, Holder: u.Holder}
	return a.board.RetryGrant(ctx, a.lead.Epoch, ref, "holder died")
}

// crashed fails a grant whose holder died, or queues it for another attempt.
func (l *leadership) crashed(ctx context.Context, c blackboard.Claim, g blackboard.Grant, e runtime.Exit) error {
	agent, member := l.clan.get().Agent(g.Agent)
	if !member {
		l.queue.add(key{claimKey, c.ID}) // the arbiter knows better why it fails
		return nil
	}
	ref := redis.GrantRef{Claim: c.ID, Agent: g.Agent, Attempt: g.Attempt, Holder: g.Holder}
	reason := fmt.Sprintf("agent %s died while it worked: %s", g.Agent, e.Text)
	if e.OOM {
		reason += " (out of memory)"
	}
	log := l.log.With("claim", c.ID, "workflow", c.WorkflowID, "agent", g.Agent, "attempt", g.Attempt, "reason", reason)
	if g.Crashes < agent.Retries {
		if err := l.board.RetryGrant(ctx, l.lead.Epoch, ref, reason); err != nil {
			return err
		}
		log.Warn("grant queued again")
	} else {
		done, err := l.endWith(ctx, ref, reason, l.failure(failureOf{
			kind: blackboard.TypeAgentCrashed, workflow: c.WorkflowID, source: c.ArtefactID, claim: c.ID,
			about: c.ID + "/" + g.Agent + "/" + strconv.Itoa(g.Attempt),
			report: blackboard.FailureReport{Reason: reason, ExitCode: e.Code, Signal: signalOf(e), Stderr: e.Tail, StderrSize: int64(len(e.Tail)),
				Agent: g.Agent, Attempt: g.Attempt},
		}))
		if err != nil || !done {
			return err
		}
		log.Error("grant failed")
	}
	l.metrics.crashes.WithLabelValues(g.Agent).Inc()
	return nil
}

// signalOf is the name of the signal that ended a unit, SIGKILL for example, which
// a place tells in Go's words; empty when none did.
func signalOf(e runtime.Exit) string {
	_, text, found := strings.Cut(e.Text, "signal: ")
	for n := unix.SIGHUP; found && n <= unix.SIGSYS; n++ {
		if strings.HasPrefix(text, n.String()) {
			return unix.SignalName(n)
		}
	}
	return ""
}
