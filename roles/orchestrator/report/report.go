// Package report tells how an instance is doing: health checks, metrics of the
// blackboard and of the orchestrator's own work, and the answers of each agent's cub,
// all at one port. It changes nothing on the blackboard.
package report

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/role"
)

// Board is the part of the blackboard that is read when somebody asks.
type Board interface {
	Figures(ctx context.Context, agents []string) (blackboard.Figures, error)
	ServerTime(ctx context.Context) (time.Time, error)
	Ping(ctx context.Context) error
}

// Ledger is read from one position on.
type Ledger interface {
	Last(ctx context.Context) (position string, err error)
	History(ctx context.Context, after string, limit int64) ([]blackboard.Event, error)
}

// Options of a Report. All of them are required, but Repository where no agent has a
// tree, and ModelGateway where there are no models.
type Options struct {
	Instance, Run string
	Addr          string // host:port; "off": nothing is served or counted
	Patient       bool   // a port that is taken is tried again instead of being an error
	Tick          time.Duration
	Retry         time.Duration // between attempts to open the port

	Log       *slog.Logger
	Now       func() time.Time
	Config    func() *config.Config // the one in force
	Board     Board
	Presences Presences
	Ledger    Ledger
	Cubs      *Cubs

	Repository   string // host:port of the role that prepares the trees, as agents reach it
	ModelGateway string // host:port of the model gateway, as agents reach it
	Metrics      *Metrics
	Build        prometheus.Collector
}

// Serve opens the port and begins to count. It returns the actors to run.
func Serve(ctx context.Context, o Options) (actors []func(context.Context) error, err error) {
	if o.Addr == "off" {
		return nil, nil
	}
	after, err := o.Ledger.Last(ctx)
	if err != nil {
		after = "" // the tally asks again: our clock may differ from the ledger's
	}
	actors = append(actors, newTally(o, after).run)
	o.Metrics.Registry.MustRegister(newFigures(o), o.Build)
	o.Metrics.Introduce(o.Config().Names())
	served := role.HealthOptions{
		Check: o.Board.Ping, Metrics: o.Metrics.Registry, Instance: o.Instance, Routes: gateway{o}.routes(),
	}
	h, err := role.ListenHealth(o.Addr, served)
	switch {
	case err == nil:
		o.Log.Info("health checks served", "addr", h.Addr())
		return append(actors, h.Serve), nil
	case !o.Patient:
		return nil, err
	}
	// The port was free when `sett up` chose it, which may be long ago. Work does not
	// depend on it, and the leader that we wait to replace may have it.
	o.Log.Warn("health checks not served yet, trying again", "error", err)
	return append(actors, func(ctx context.Context) error { return serveLater(ctx, o, served) }), nil
}

// serveLater serves as soon as the port is free.
func serveLater(ctx context.Context, o Options, served role.HealthOptions) error {
	return role.Every(ctx, o.Retry, func(ctx context.Context) error {
		h, err := role.ListenHealth(o.Addr, served)
		if err != nil {
			return nil
		}
		o.Log.Info("health checks served", "addr", h.Addr())
		return h.Serve(ctx)
	})
}
