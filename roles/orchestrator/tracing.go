package orchestrator

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/orchestrator/trace"
	"sett/roles/role"
	"sett/roles/role/otlp"
	"sett/roles/view"
	"sett/roles/view/lineage"
)

// tracer sends the trace of each goal once the goal has ended. It follows the ledger, which is
// its queue, too: where the receiver is away the traces wait there, and nothing else waits
// for them. The position of the last trace is on the blackboard, so that the next leader goes on from
// there; a trace that is sent twice is the same one.
type tracer struct {
	log        *slog.Logger
	clan       *clan
	changed    chan struct{} // the configuration did
	board      view.Board
	ledger     traces
	serverTime func(ctx context.Context) (time.Time, error)
	instance   string
	version    string
	values     map[string]string // of the host's variables
	inside     bool              // this process is a container
	retry      time.Duration     // the first pause before another try
}

// traces are the ledger and the position in it.
type traces interface {
	Follow(ctx context.Context, from string, each func(blackboard.Event) error, lost func(error)) error
	History(ctx context.Context, after string, most int64) ([]blackboard.Event, error)
	Traced(ctx context.Context) (position string, err error)
	SetTraced(ctx context.Context, position string) error
}

const (
	longestRetry = time.Minute
	traceStride  = 1000 // the position is stored after so many entries without the end of a goal
)

// run sends traces while sett.yml says where to. An error of the blackboard is no reason to
// end: the lead depends on other calls.
func (t *tracer) run(ctx context.Context) error {
	for ctx.Err() == nil {
		during, end := t.untilChanged(ctx)
		if o := t.clan.get().Otel; o == nil {
			t.forget(during)
			<-during.Done()
		} else if err := t.follow(during, o); err != nil && during.Err() == nil {
			t.log.Warn("traces wait for the blackboard", "error", err)
			role.Pause(during, t.retry)
		}
		end()
	}
	return ctx.Err()
}

// untilChanged returns a context that ends when the configuration changes. After end nobody waits for a
// change: the next one is left to the next round.
func (t *tracer) untilChanged(ctx context.Context) (during context.Context, end func()) {
	during, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-t.changed:
			stop()
		case <-during.Done():
		}
	}()
	return during, func() {
		stop()
		<-ended
	}
}

// forget removes the position: traces that are wanted again later begin at that time.
func (t *tracer) forget(ctx context.Context) {
	for ctx.Err() == nil {
		at, err := t.ledger.Traced(ctx)
		if err == nil && at != "" {
			err = t.ledger.SetTraced(ctx, "")
		}
		if err == nil {
			return
		}
		role.Pause(ctx, longestRetry)
	}
}

// follow sends the traces of goals that end from the stored position on.
func (t *tracer) follow(ctx context.Context, o *config.Otel) error {
	to, err := t.receiver(o)
	if err != nil {
		t.log.Error("no traces are sent", "error", err)
		<-ctx.Done()
		return nil
	}
	from, err := t.ledger.Traced(ctx)
	if err == nil && from == "" {
		var now time.Time
		if now, err = t.serverTime(ctx); err == nil {
			from = blackboard.PositionAt(now)
			err = t.ledger.SetTraced(ctx, from)
		}
	}
	if err != nil {
		return err
	}
	t.log.Info("goals are sent as traces", "position", from)
	passed := 0
	return t.ledger.Follow(ctx, from, func(e blackboard.Event) error {
		ended := e.GoalEnded() != "" && e.Workflow != ""
		if passed++; !ended && passed < traceStride {
			return nil
		}
		if ended {
			if err := t.send(ctx, to, e.Workflow); err != nil {
				return err
			}
		}
		passed = 0
		return t.ledger.SetTraced(ctx, e.ID)
	}, func(err error) { t.log.Debug("blackboard lost, reconnecting", "error", err) })
}

// send sends the trace of a goal, however long the receiver is away. A trace that it refuses,
// or that cannot be read, must not stop those after it.
func (t *tracer) send(ctx context.Context, to otlp.Receiver, goal string) error {
	h, err := lineage.ReadHistory(ctx, t.board, t.ledger, goal)
	if errors.Is(err, blackboard.ErrNotFound) || errors.Is(err, blackboard.ErrCorrupt) {
		t.log.Error("trace not sent: the goal cannot be read", "workflow", goal, "error", err)
		return nil
	} else if err != nil {
		return err
	}
	models := map[string]string{}
	for _, m := range t.clan.get().Models {
		models[m.Name] = m.Model
	}
	spans, waits := trace.Of(h, models), false
	for wait := t.retry; ; wait = min(2*wait, longestRetry) {
		err := to.Send(ctx, spans)
		switch {
		case err == nil:
			if waits {
				t.log.Info("the receiver of traces is back")
			}
			t.log.Debug("trace sent", "workflow", goal, "spans", len(spans))
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case otlp.Refused(err):
			t.log.Error("trace not sent", "workflow", goal, "error", err)
			return nil
		case !waits:
			waits = true
			t.log.Warn("traces wait for their receiver", "workflow", goal, "error", err)
		}
		role.Pause(ctx, max(wait, otlp.Wait(err)))
	}
}

// receiver is where traces go.
func (t *tracer) receiver(o *config.Otel) (otlp.Receiver, error) {
	at := o.URL()
	if t.inside {
		at = throughHost(at)
	}
	headers, err := o.HeaderValues(func(name string) (string, bool) { v, set := t.values[name]; return v, set })
	return otlp.Receiver{URL: at, Headers: headers, Version: t.version, Resource: []otlp.Attribute{otlp.Text("service.instance.id", t.instance), otlp.Text("sett.instance", t.instance)}}, err
}
