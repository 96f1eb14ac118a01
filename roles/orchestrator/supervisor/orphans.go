package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/runtime"
)

// settleAgain is the pause between attempts to record an end.
const settleAgain = 500 * time.Millisecond

// Grants ends the grants of dead holders.
type Grants interface {
	// Fail ends a grant with a Failure. done is false when it had ended already.
	Fail(ctx context.Context, c blackboard.Claim, g blackboard.Grant, r blackboard.FailureReport) (done bool, err error)
	// Retry queues a grant for another attempt.
	Retry(ctx context.Context, ref blackboard.GrantRef, reason string) error
	// Decide has a claim decided about again.
	Decide(claim string)
}

// Orphans deals with the grants of holders that died: each fails or is tried again.
type Orphans struct {
	Log          *slog.Logger
	Running      func(ctx context.Context) ([]blackboard.Running, error)
	Snapshot     func(ctx context.Context, claim string) (blackboard.Snapshot, error)
	Grants       Grants
	Config       func() *config.Config
	Crashed      func(agent string) // counts a grant
	Incarnations *Incarnations
}

// Settle deals with everything that a dead unit held. It tries for as long as the
// blackboard is away.
func (o *Orphans) Settle(ctx context.Context, e runtime.Exit) {
	holder := e.Unit.Labels[runtime.LabelIncarnation]
	for {
		err := o.settleAll(ctx, func(h string) (runtime.Exit, bool) { return e, h == holder })
		if ctx.Err() != nil || err == nil {
			return
		}
		o.Log.Warn("end of a holder not recorded", "holder", holder, "error", err)
		if !errors.Is(err, blackboard.ErrUnavailable) {
			o.Incarnations.owe(holder, e) // the next look for orphans tries again
			return
		}
		role.Pause(ctx, settleAgain)
	}
}

// look settles holders that ended while nobody led, no exit of which is delivered, and those whose
// end was not recorded.
func (o *Orphans) look(ctx context.Context, before time.Time) {
	owed := o.Incarnations.debts()
	err := o.settleAll(ctx, func(h string) (runtime.Exit, bool) { return o.Incarnations.gone(h, before) })
	if err != nil && ctx.Err() == nil {
		o.Log.Warn("orphaned grants not looked for", "error", err)
	}
	if err == nil {
		o.Incarnations.paid(owed)
	}
}

// settleAll deals with dead holders, at a cost that does not grow with the queue.
func (o *Orphans) settleAll(ctx context.Context, dead func(holder string) (runtime.Exit, bool)) error {
	all, err := o.Running(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, r := range all {
		if e, is := dead(r.Holder); is {
			failed = errors.Join(failed, o.settle(ctx, r, e))
		}
	}
	return failed
}

func (o *Orphans) settle(ctx context.Context, r blackboard.Running, e runtime.Exit) error {
	s, err := o.Snapshot(ctx, r.Claim)
	if err != nil && !errors.Is(err, blackboard.ErrCorrupt) && !errors.Is(err, blackboard.ErrNotFound) {
		return err
	}
	if g, ok := s.Grant(r.Agent); err == nil && ok && g.State == blackboard.GrantRunning && g.Holder == r.Holder {
		return o.crashed(ctx, s.Claim, g, e)
	}
	// Its grant has ended, or cannot be read: its entry goes.
	ref := blackboard.GrantRef{Claim: r.Claim, Agent: r.Agent, Attempt: r.Attempt, Holder: r.Holder}
	return o.Grants.Retry(ctx, ref, "holder died")
}

// NeverStarted deals with a worker that died before it took its grant. It counts like
// a death afterwards, or a worker that cannot start would be started for ever.
func (o *Orphans) NeverStarted(ctx context.Context, claim string, attempt int, e runtime.Exit) {
	s, err := o.Snapshot(ctx, claim)
	if err == nil {
		g, ok := s.Grant(e.Unit.Labels[runtime.LabelAgent])
		if !ok || g.State != blackboard.GrantQueued || g.Attempt != attempt {
			return
		}
		g.Holder = ""
		err = o.crashed(ctx, s.Claim, g, e)
	}
	if err != nil && ctx.Err() == nil {
		o.Log.Warn("end of a worker not recorded", "unit", e.Unit.Name, "error", err)
	}
}

// crashed fails a grant of a dead holder, or queues it for another attempt.
func (o *Orphans) crashed(ctx context.Context, c blackboard.Claim, g blackboard.Grant, e runtime.Exit) error {
	agent, member := o.Config().Agent(g.Agent)
	if !member {
		o.Grants.Decide(c.ID) // the decision gives the better reason for its failure
		return nil
	}
	end := "died"
	if e.Why != "" {
		end = "was ended"
	}
	reason := fmt.Sprintf("agent %s %s while it worked: %s", g.Agent, end, e.Told())
	if e.OOM {
		reason += " (out of memory)"
	}
	reason += gaveUp(o.Config(), agent, c.ID, g.Attempt, e)
	log := o.Log.With("claim", c.ID, "workflow", c.WorkflowID, "agent", g.Agent, "attempt", g.Attempt, "reason", reason)
	if g.Crashes < agent.Retries {
		ref := blackboard.GrantRef{Claim: c.ID, Agent: g.Agent, Attempt: g.Attempt, Holder: g.Holder}
		if err := o.Grants.Retry(ctx, ref, reason); err != nil {
			return err
		}
		log.Warn("grant queued again")
	} else {
		last := wordsOn(c.ID, g.Attempt, e.Tail)
		done, err := o.Grants.Fail(ctx, c, g, blackboard.FailureReport{Reason: reason, ExitCode: e.Code, Signal: signalOf(e),
			Stdout: last.stdout, StdoutSize: int64(len(last.stdout)), Stderr: last.stderr, StderrSize: int64(len(last.stderr)), Log: last.log,
			Agent: g.Agent, Attempt: g.Attempt})
		if err != nil || !done {
			return err
		}
		log.Error("grant failed")
	}
	o.Crashed(g.Agent)
	return nil
}

// gaveUp explains the end of a cub that waited for the blackboard for too long, and names the leftover of its work.
func gaveUp(cfg *config.Config, agent config.Agent, claim string, attempt int, e runtime.Exit) string {
	if e.Code != int(role.Environment) || !strings.Contains(e.Tail, role.GaveUp) {
		return ""
	}
	away := cfg.Redis.GiveUp
	_, told, _ := strings.Cut(e.Tail, role.GaveUp)
	told, _, _ = strings.Cut(told, ":")
	if measured, err := time.ParseDuration(told); err == nil {
		away = max(measured, away)
	}
	why := fmt.Sprintf(", since the blackboard did not answer for %s (redis.give_up: %s)", away, cfg.Redis.GiveUp)
	if agent.Workspace.Mode == blackboard.ReadWrite {
		why += fmt.Sprintf("; changes of its tool are leftover %s/%s-%d", words.Short(claim), agent.Name, attempt)
	}
	return why
}

// signalOf returns the name of the signal that ended a unit, such as SIGKILL. The
// place reports it in Go's words. Empty: no signal ended it.
func signalOf(e runtime.Exit) string {
	_, text, found := strings.Cut(e.Text, "signal: ")
	for n := unix.SIGHUP; found && n <= unix.SIGSYS; n++ {
		if strings.HasPrefix(text, n.String()) {
			return unix.SignalName(n)
		}
	}
	return ""
}
