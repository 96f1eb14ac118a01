package instance

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"sett/contract/config"
	"sett/runtime"
	"sett/runtime/docker"
	"sett/runtime/process"
)

// Place runs the units of an instance: on the container engine or as processes.
type Place interface {
	runtime.Logs
	Start(ctx context.Context, s runtime.Spec) (runtime.Unit, error)
	Stop(ctx context.Context, name string, grace time.Duration) error
	List(ctx context.Context, selector runtime.Labels) ([]runtime.Unit, error)
	remains
}

// remains handles logs, networks and volumes that units leave behind.
type remains interface {
	// Gather copies logs from other places to the instance's directory.
	Gather(ctx context.Context) error
	// Clear removes the things that units shared. With purge it also removes the ledger
	// and all else that was made for the instance outside its directory. No unit may run.
	Clear(ctx context.Context, purge bool) error
}

// Place returns the place of an instance. A place of containers needs an engine.
func (l *Locator) Place(ctx context.Context, in *Instance) (Place, error) {
	if in.Runtime != config.RuntimeDocker {
		if in.Lost {
			return strays{Local{in.Processes()}}, nil
		}
		return Local{in.Processes()}, nil
	}
	e, err := l.Engine(ctx)
	if err != nil {
		return nil, err
	}
	return &Containers{
		Runtime: docker.New(e, docker.Options{
			Instance: in.Name, Labels: in.Labels(), Logs: in.LogsDir(), HostReach: in.Host,
			Warn: func(what string) { l.Sayf("sett: warning: %s\n", what) }, Logger: slog.New(slog.DiscardHandler), Now: l.Now,
		}),
		host: in.Processes(), in: in,
	}, nil
}

// Beside returns the place of the other runtime, where parts of the instance may run and a ledger of it may be; nil:
// nothing is there. Of an instance in containers these are processes that are no part of it, as after its state
// directory was lost; an instance of local mode that ran in containers may have left things on the engine.
func Beside(ctx context.Context, l *Locator, in *Instance) (Place, error) {
	if in.Runtime == config.RuntimeDocker {
		if names, err := Strayed(ctx, in); err != nil || len(names) == 0 {
			return nil, err
		}
		return strays{Local{in.Processes()}}, nil
	}
	if !in.OnEngine {
		return nil, nil
	}
	// The name alone may be that of another workspace's instance.
	if kept, err := KeptOnEngine(ctx, l, in); err != nil || len(kept.Units) == 0 && !kept.Ledger {
		return nil, err
	}
	return l.Place(ctx, contained(in))
}

// Strayed names the parts that run as processes, of an instance in containers, and are none of it.
func Strayed(ctx context.Context, in *Instance) (names []string, err error) {
	units, err := in.Processes().Strays(ctx)
	for _, u := range units {
		if u.Labels[runtime.LabelComponent] != "" && !(in.Host && MayBeProcess(u.Name)) {
			names = append(names, u.Name)
		}
	}
	return names, err
}

// contained is the instance as one of containers.
func contained(in *Instance) *Instance {
	other := *in
	other.Runtime, other.Host, other.External, other.Lost = config.RuntimeDocker, false, false, false
	return &other
}

// Restartable names the parts besides the agents that can be restarted alone: the notifier where there is one, the repository
// where agents have trees, and the model gateway where there are models.
func Restartable(c *config.Config) (parts []string) {
	if c.Notify != nil {
		parts = append(parts, runtime.ComponentNotifier)
	}
	if c.HasTrees() {
		parts = append(parts, runtime.ComponentRepository)
	}
	if len(c.Models) > 0 {
		parts = append(parts, runtime.ComponentModelGateway)
	}
	return parts
}

// Processes returns the runtime of the instance's processes on this machine. Its
// directory also has the locks of every start and stop.
func (in *Instance) Processes() *process.Runtime {
	return process.New(process.Options{Dir: in.Dir, Logger: slog.New(slog.DiscardHandler)})
}

// Labels returns the labels of everything that is made for the instance on the engine.
func (in *Instance) Labels() runtime.Labels {
	l := runtime.Labels{runtime.LabelInstance: in.Name, runtime.LabelWorkspace: in.Workspace}
	if in.Run != "" {
		l[runtime.LabelRun] = in.Run
	}
	if !in.StartedAt.IsZero() {
		l[runtime.LabelStarted] = in.StartedAt.UTC().Format(time.RFC3339)
	}
	return l
}

// Local is the place where all units are processes. They leave files only in the
// instance's directory.
type Local struct{ *process.Runtime }

// Gather does nothing: the logs are in the instance's directory already.
func (Local) Gather(context.Context) error { return nil }

// Clear does nothing: processes leave nothing outside the instance's directory.
func (Local) Clear(context.Context, bool) error { return nil }

// strays is the place of an instance without a state directory: the processes' own marks
// tell the units.
type strays struct{ Local }

// List lists the units of which processes run.
func (s strays) List(ctx context.Context, selector runtime.Labels) ([]runtime.Unit, error) {
	units, err := s.Strays(ctx)
	return slices.DeleteFunc(units, func(u runtime.Unit) bool { return !u.Labels.Match(selector) }), err
}

// Containers is the place where units are containers. With orchestrator.run: host the
// keeper and the orchestrator are processes, so that no container needs the engine's
// socket.
type Containers struct {
	*docker.Runtime
	host *process.Runtime
	in   *Instance
}

// Start starts a unit that names an image as a container, and any other as a
// process.
func (c *Containers) Start(ctx context.Context, s runtime.Spec) (runtime.Unit, error) {
	if s.Container.Image == "" {
		return c.host.Start(ctx, s)
	}
	return c.Runtime.Start(ctx, s)
}

// MayBeProcess says whether a unit of that name can be a process of the host.
func MayBeProcess(name string) bool {
	return name == runtime.ComponentKeeper || name == runtime.ComponentOrchestrator
}

// Stop stops the unit, be it a container or a process.
func (c *Containers) Stop(ctx context.Context, name string, grace time.Duration) error {
	process, err := c.isProcess(ctx, name)
	if err != nil {
		return err
	}
	if !process && !MayBeProcess(name) {
		return c.Runtime.Stop(ctx, name, grace)
	}
	return errors.Join(c.host.Stop(ctx, name, grace), c.Runtime.Stop(ctx, name, grace))
}

// processes lists the units that are processes: of an instance without a state directory those whose marks tell.
func (c *Containers) processes(ctx context.Context, selector runtime.Labels) ([]runtime.Unit, error) {
	if c.in.Foreign { // those of its directory are another one's
		return nil, nil
	}
	if c.in.Lost {
		return strays{Local{c.host}}.List(ctx, selector)
	}
	return c.host.List(ctx, selector)
}

// isProcess says whether a unit that List lists is a process.
func (c *Containers) isProcess(ctx context.Context, name string) (bool, error) {
	own, err := c.processes(ctx, nil)
	return slices.ContainsFunc(own, func(u runtime.Unit) bool { return u.Name == name }), err
}

// List lists containers and processes, sorted by name.
func (c *Containers) List(ctx context.Context, selector runtime.Labels) ([]runtime.Unit, error) {
	units, err := c.Runtime.List(ctx, selector)
	if err != nil {
		return nil, err
	}
	own, err := c.processes(ctx, selector)
	if err != nil {
		return nil, err
	}
	units = append(units, own...)
	slices.SortStableFunc(units, func(x, y runtime.Unit) int { return strings.Compare(x.Name, y.Name) })
	return units, nil
}

// Logs reads the log of a process where there is one of that name.
func (c *Containers) Logs(ctx context.Context, name string, o runtime.LogOptions) (io.ReadCloser, error) {
	process, err := c.isProcess(ctx, name)
	if err != nil {
		return nil, err
	}
	if process {
		return c.host.Logs(ctx, name, o)
	}
	return c.Runtime.Logs(ctx, name, o)
}

// Clear removes the networks and the control volume, or everything. The caller must
// gather the logs of that volume first.
func (c *Containers) Clear(ctx context.Context, purge bool) error {
	if purge {
		return c.Purge(ctx)
	}
	return errors.Join(c.Runtime.Clear(ctx), c.RemoveControl(ctx))
}
