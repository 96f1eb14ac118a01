package orchestrator

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/orchestrator/report"
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
	pace       tracePace
	metrics    *report.Metrics
}

// tracePace is the timing of a tracer. Tests that cannot wait pass their own.
type tracePace struct {
	retry    time.Duration // the first pause before another try
	longest  time.Duration // the longest one
	patience time.Duration // after so long the trace itself may be the reason; and the log says again that traces wait
}

func usualTracePace() tracePace { return tracePace{time.Second, time.Minute, time.Hour} }

// traces are the ledger and the position in it.
type traces interface {
	Follow(ctx context.Context, from string, each func(blackboard.Event) error, lost func(error)) error
	History(ctx context.Context, after string, most int64) ([]blackboard.Event, error)
	Traced(ctx context.Context) (position string, err error)
	SetTraced(ctx context.Context, position string) error
}

// traceStride: the position is stored after so many entries without the end of a goal.
const traceStride = 1000

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
			role.Pause(during, t.pace.retry)
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
		role.Pause(ctx, t.pace.longest)
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
			if err := t.send(ctx, to, e.Workflow, e.Time); err != nil {
				return err
			}
		}
		passed = 0
		return t.ledger.SetTraced(ctx, e.ID)
	}, func(err error) { t.log.Debug("blackboard lost, reconnecting", "error", err) })
}

// send sends the trace of a goal that ended at a time, however long the receiver is away. A trace that
// it refuses, or that cannot be read, must not stop those after it.
func (t *tracer) send(ctx context.Context, to otlp.Receiver, goal string, ended time.Time) error {
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
	return t.deliver(ctx, to, goal, ended, trace.Of(h, models))
}

// deliver sends the spans of a goal, some at a time. Those after some that are refused are sent, too.
func (t *tracer) deliver(ctx context.Context, to otlp.Receiver, goal string, ended time.Time, spans []otlp.Span) error {
	defer t.metrics.TraceWaits(time.Time{})
	refused := false
	for some := range slices.Chunk(spans, otlp.MostSpans) {
		p := parcel{tracer: t, to: to, log: t.log.With("workflow", goal), ended: ended, spans: some, root: spans[0]}
		taken, err := p.deliver(ctx)
		if err != nil {
			return err
		}
		refused = refused || !taken
	}
	if refused {
		t.metrics.TracesRefused.Inc()
		return nil
	}
	t.log.Debug("trace sent", "workflow", goal, "spans", len(spans))
	return nil
}

// parcel are spans of one request.
type parcel struct {
	*tracer
	to    otlp.Receiver
	log   *slog.Logger
	ended time.Time // the goal did
	spans []otlp.Span
	root  otlp.Span // of their trace

	waits  bool
	fault  bool      // the last failure was one of sett.yml
	logged time.Time // the last failure that was
}

// deliver sends them until the receiver has taken or refused them. Where it has not been able to take them
// for long, and takes the trace's first span alone, it is they that are in the way: they are dropped. An
// empty request proves nothing, since receivers answer it before they do any work. A new leader, and a change of
// sett.yml, begin to wait anew.
func (p *parcel) deliver(ctx context.Context) (taken bool, err error) {
	begun := time.Now()
	for wait := p.pace.retry; ; wait = min(2*wait, p.pace.longest) {
		passes := time.Since(begun) > p.pace.patience && p.rootPasses(ctx)
		said, err := p.to.Send(ctx, p.spans)
		fault := otlp.Fault(err)
		switch {
		case err == nil:
			if p.waits {
				p.log.Info("the receiver of traces is back")
			}
			if said != (otlp.Remark{}) {
				p.log.Warn("the receiver took a trace, and complains", "rejected_spans", said.Rejected, "message", said.Says)
			}
			return said.Rejected == 0, nil
		case ctx.Err() != nil:
			return false, ctx.Err()
		case otlp.Refused(err):
			p.log.Error("trace not sent, or not whole: the receiver refuses it", "spans", len(p.spans), "error", err)
			return false, nil
		case passes && fault == nil && !otlp.TooMany(err):
			p.log.Error("trace not sent, or not whole: the receiver takes others, and has failed with this one for long", "spans", len(p.spans), "tried_for", time.Since(begun).Round(time.Second), "error", err)
			return false, nil
		case fault != nil:
			wait = p.pace.longest
		}
		p.failed(fault, err)
		role.Pause(ctx, max(wait, otlp.Wait(err)))
	}
}

// rootPasses says whether the receiver takes a span: that of the goal, with its time and nothing else.
func (p *parcel) rootPasses(ctx context.Context) bool {
	r := p.root
	_, err := p.to.Send(ctx, []otlp.Span{{Trace: r.Trace, ID: r.ID, Name: r.Name, Kind: r.Kind, Start: r.Start, End: r.End}})
	return err == nil
}

// failed notes that traces wait. The log has it at first, where the reason is another one, and now
// and then.
func (p *parcel) failed(fault *otlp.FaultError, err error) {
	p.metrics.TraceWaits(p.ended)
	if p.waits && p.fault == (fault != nil) && time.Since(p.logged) < p.pace.patience {
		return
	}
	p.waits, p.fault, p.logged = true, fault != nil, time.Now()
	if fault == nil {
		p.log.Warn("traces wait for their receiver", "error", err)
		return
	}
	check := "otel.endpoint"
	if fault.OfHeaders() {
		check = "otel.headers"
	}
	p.log.Error("traces wait: their receiver takes none as it is asked", "check", check, "error", err)
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
