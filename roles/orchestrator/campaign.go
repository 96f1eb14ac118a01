package orchestrator

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sett/blackboard"
	"sett/contract/env"
	"sett/roles/orchestrator/report"
	"sett/roles/role"
	"sett/runtime"
)

// orchestrator is the role's state while the process lives.
type orchestrator struct {
	env       role.Env
	log       *slog.Logger
	settings  settings
	places    places
	pace      pace
	metrics   *report.Metrics
	report    report.Options
	holder    string
	clan      *clan
	reachable *role.Reachable
	board     board
	overruns  chan blackboard.Overrun // scripts that were ended on the blackboard, to be told of
	removed   removed
	saw       func() // the blackboard was compared with what we know of it, and fits

	listen     func(ctx context.Context, ready func(), notice func(string), lost func(error)) error
	repository sweeper // nil: there is none
	lander     lander  // nil: there is none
	tracer     *tracer

	stopping func(ctx context.Context) bool // the instance is being taken down: an end is no crash
	newStaff func(*term) *staff             // nil: somebody else runs the agents
}

// serve runs the actors; the first to return stops all.
func (o *orchestrator) serve(ctx context.Context) error {
	actors, err := report.Serve(ctx, o.report)
	if err != nil {
		return err
	}
	actors = append(actors, o.campaign)
	if o.places.host != nil {
		actors = append(actors, o.keepKeeper)
	}
	if err := role.Together(ctx, actors...); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// campaign takes the lead when it is free, leads until the lead is lost, and begins
// again. On a blackboard that is not the one of before it waits.
func (o *orchestrator) campaign(ctx context.Context) error {
	seat := o.seat() // for the first attempt only: later this process may have lost the seat
	said := ""       // about a blackboard that is lost, or who leads it
	for ctx.Err() == nil {
		soon, done := o.reachable.Bounded(ctx)
		lead, wait, err := o.board.TakeLead(soon, o.holder, seat, o.settings.Lease)
		done()
		if err == nil { // an answer to a waiting orchestrator counts, too
			o.reachable.Back()
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, blackboard.ErrLost):
			o.reachable.Back() // it answers
			if err.Error() != said {
				said = err.Error()
				o.log.Error("this is not the blackboard of before: nothing is granted", "error", err, "hint", "sett list says what to do")
			}
			wait = time.Second
		case err != nil:
			o.log.Warn("lead not taken", "error", err)
			if err := o.reachable.Lost(err); err != nil {
				return err
			}
			wait = time.Second
		case lead.Epoch != "":
			seat, said = "", ""
			o.saw()
			o.log.Info("leading", "epoch", lead.Number(), "version", o.env.Build.Version)
			o.metrics.Leader.Set(1)
			err := newTerm(o, lead).run(ctx)
			o.metrics.Leader.Set(0)
			if err != nil && ctx.Err() == nil && !over(err) {
				return err
			}
			o.log.Info("no longer leading", "epoch", lead.Number())
			continue
		case lead.Holder != said:
			said = lead.Holder
			o.log.Info("another orchestrator leads", "holder", lead.Holder, "for", wait)
		}
		role.Pause(ctx, min(wait, o.pace.standby))
	}
	return ctx.Err()
}

// seat begins the names of all orchestrators of which only one can run at a time;
// empty: there is no such limit.
func (o *orchestrator) seat() string {
	if o.places.agents == nil {
		return ""
	}
	return o.settings.Seat
}

// findKeeper waits for the keeper, which may have started us before its own start is on record.
func findKeeper(ctx context.Context, o *orchestrator) (runtime.Unit, error) {
	for pause := o.pace.retry; ; pause = min(2*pause, mostPause) {
		units, err := o.places.host.List(ctx, runtime.Labels{runtime.LabelComponent: runtime.ComponentKeeper})
		if len(units) > 0 {
			return units[0], nil
		}
		o.log.Debug("no keeper found", "error", err)
		if role.Pause(ctx, pause); ctx.Err() != nil {
			return runtime.Unit{}, ctx.Err()
		}
	}
}

// mostPause is the longest time between two looks for the keeper.
const mostPause = 10 * time.Second

// keepKeeper restarts the keeper, which restarts us: if either dies the other heals it.
func (o *orchestrator) keepKeeper(ctx context.Context) error {
	its, err := findKeeper(ctx, o)
	if err != nil {
		return err
	}
	spec := runtime.Spec{Name: its.Name, Args: []string{"keeper"}, Env: env.WithoutUnit(o.env.Environ()), Labels: its.Labels}
	for ctx.Err() == nil {
		if err := keep(ctx, o.places.host, spec, o.log, func() bool { return o.stopping(ctx) }); err != nil {
			return err
		}
		// sett down ends this process, unless a sett up comes first.
		o.log.Info("keeper left alone: the instance is stopping")
		for ctx.Err() == nil && o.stopping(ctx) {
			role.Pause(ctx, o.pace.tick)
		}
	}
	return ctx.Err()
}
