package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"sett/contract/config"
	"sett/runtime"
	"sett/runtime/docker"
	"sett/runtime/process"
)

// place is where an instance's units run, as far as commands have to do with it.
type place interface {
	runtime.Logs
	Start(ctx context.Context, s runtime.Spec) (runtime.Unit, error)
	Stop(ctx context.Context, name string, grace time.Duration) error
	List(ctx context.Context, selector runtime.Labels) ([]runtime.Unit, error)
	remains
}

// remains is what units leave behind.
type remains interface {
	// Gather brings home what was kept of logs elsewhere.
	Gather(ctx context.Context) error
	// Clear removes what units shared, but keeps the ledger. No unit may run.
	Clear(ctx context.Context) error
	// Purge is Clear, and removes the ledger and whatever was made for the instance
	// besides, outside its directory.
	Purge(ctx context.Context) error
}

// place returns the place of an instance. For containers that takes an engine.
func (a *app) place(ctx context.Context, in *instance) (place, error) {
	if in.Runtime != config.RuntimeDocker {
		return local{in.processes()}, nil
	}
	e, err := a.engine(ctx)
	if err != nil {
		return nil, err
	}
	return &containers{
		Runtime: docker.New(e, docker.Options{
			Instance: in.Name, Labels: in.labels(), Logs: in.logsDir(), HostReach: in.Host, Logger: quiet(), Now: a.Now,
		}),
		host: in.processes(), in: in,
	}, nil
}

// processes are the instance's units that are processes of this machine. Its
// directory also has the locks of every start and stop.
func (in *instance) processes() *process.Runtime {
	return process.New(process.Options{Dir: in.dir, Logger: quiet()})
}

// labels are those of all that is made for the instance on the engine.
func (in *instance) labels() runtime.Labels {
	l := runtime.Labels{runtime.LabelInstance: in.Name, runtime.LabelWorkspace: in.Workspace}
	if in.Run != "" {
		l[runtime.LabelRun] = in.Run
	}
	if !in.StartedAt.IsZero() {
		l[runtime.LabelStarted] = in.StartedAt.UTC().Format(time.RFC3339)
	}
	return l
}

// local is the place where all units are processes: what they leave behind is in
// the instance's directory.
type local struct{ *process.Runtime }

func (local) Gather(context.Context) error { return nil }
func (local) Clear(context.Context) error  { return nil }
func (local) Purge(context.Context) error  { return nil }

// containers is the place where units are containers, but for the keeper and the
// orchestrator of who wants no engine's socket in a container.
type containers struct {
	*docker.Runtime
	host *process.Runtime
	in   *instance
}

// Start starts a unit that names an image as a container, and any other as a
// process.
func (c *containers) Start(ctx context.Context, s runtime.Spec) (runtime.Unit, error) {
	if s.Container.Image == "" {
		return c.host.Start(ctx, s)
	}
	return c.Runtime.Start(ctx, s)
}

// mayBeProcess says whether a unit of that name can be one of the host's.
func mayBeProcess(name string) bool {
	return name == runtime.ComponentKeeper || name == runtime.ComponentOrchestrator
}

// Stop stops the unit wherever it is.
func (c *containers) Stop(ctx context.Context, name string, grace time.Duration) error {
	if !mayBeProcess(name) {
		return c.Runtime.Stop(ctx, name, grace)
	}
	return errors.Join(c.host.Stop(ctx, name, grace), c.Runtime.Stop(ctx, name, grace))
}

// List lists both kinds, by name.
func (c *containers) List(ctx context.Context, selector runtime.Labels) ([]runtime.Unit, error) {
	units, err := c.Runtime.List(ctx, selector)
	if err != nil {
		return nil, err
	}
	own, err := c.host.List(ctx, selector)
	if err != nil {
		return nil, err
	}
	units = append(units, own...)
	slices.SortStableFunc(units, func(x, y runtime.Unit) int { return strings.Compare(x.Name, y.Name) })
	return units, nil
}

// Logs reads the log of a process where there is one of that name.
func (c *containers) Logs(ctx context.Context, name string, o runtime.LogOptions) (io.ReadCloser, error) {
	if mayBeProcess(name) {
		own, err := c.host.List(ctx, nil)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(own, func(u runtime.Unit) bool { return u.Name == name }) {
			return c.host.Logs(ctx, name, o)
		}
	}
	return c.Runtime.Logs(ctx, name, o)
}

// Clear removes the networks and the volume of the orchestrator, whose logs are
// home by then.
func (c *containers) Clear(ctx context.Context) error {
	return errors.Join(c.Runtime.Clear(ctx), c.RemoveControl(ctx))
}
