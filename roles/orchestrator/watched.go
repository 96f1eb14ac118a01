package orchestrator

import (
	"context"

	"sett/roles/role"
)

// serveHealth begins to count, and opens the port where that is to be seen. It returns
// what there is to run.
func (o *orchestrator) serveHealth(ctx context.Context) (actors []func(context.Context) error, err error) {
	if o.settings.HealthAddr == "off" {
		return nil, nil
	}
	after, err := o.board.Last(ctx)
	if err != nil { // our clock may be another than the blackboard's: it is asked again later
		after = ""
	}
	actors = append(actors, newTally(o, after).run)
	o.metrics.registry.MustRegister(newFigures(o), o.env.Build.Info())
	options := role.HealthOptions{
		Check: o.board.Ping, Metrics: o.metrics.registry, Instance: o.settings.Instance, Routes: newGateway(o).routes(),
	}
	o.metrics.introduce(o.clan.get().Names())
	h, err := role.ListenHealth(o.settings.HealthAddr, options)
	switch {
	case err == nil:
		o.log.Info("health checks served", "addr", h.Addr())
		return append(actors, h.Serve), nil
	case o.settings.StateDir == "":
		return nil, err
	}
	// The port was free when `sett up` chose it, which may be long ago. Work does not
	// depend on it; and another orchestrator may have it, of which we wait to take over.
	o.log.Warn("health checks not served yet, trying again", "error", err)
	return append(actors, func(ctx context.Context) error { return o.serveLater(ctx, options) }), nil
}

// serveLater serves as soon as the port is free.
func (o *orchestrator) serveLater(ctx context.Context, options role.HealthOptions) error {
	return role.Every(ctx, o.pace.standby, func(ctx context.Context) error {
		h, err := role.ListenHealth(o.settings.HealthAddr, options)
		if err != nil {
			return nil
		}
		o.log.Info("health checks served", "addr", h.Addr())
		return h.Serve(ctx)
	})
}
