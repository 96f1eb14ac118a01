// Package docker runs units as containers of an engine that speaks Docker's API:
// Docker, rootless or not, and Podman. Every container is hardened and carries the
// labels of its unit, and is found again by its labels alone. The package touches
// nothing else on the engine.
//
// It knows no artefact, no claim and no sett.yml: a runtime.Spec describes each unit.
// Package engine below it connects to the engine, package image provides the images.
// Only these three import Docker's client.
package docker

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/docker/docker/client"

	"sett/runtime"
	"sett/runtime/docker/engine"
	"sett/runtime/docker/image"
)

// Options configure the place of one instance's units.
type Options struct {
	Instance string
	// Labels are put on everything that is made for the instance, besides the unit's
	// own: containers, networks, volumes.
	Labels runtime.Labels
	// Logs is the directory that keeps the logs of removed containers, a file per
	// unit. Empty: a log is removed with its container.
	Logs string
	// HostReach gives the host an address on the internal network, so that an
	// orchestrator outside containers can ask containers there for their health. The
	// price: that network can reach every program that listens on all of the host's
	// addresses. It counts when the network is made.
	HostReach bool
	Warn      func(string)     // is told what Clear leaves for the engine's own reasons; nil: the log is
	Logger    *slog.Logger     // nil: nothing is logged
	Now       func() time.Time // nil: time.Now
}

// owned returns the labels of everything that is made for the instance.
func (o Options) owned() map[string]string {
	all := map[string]string{}
	maps.Copy(all, o.Labels)
	all[runtime.LabelInstance] = o.Instance
	return all
}

// probes returns the labels of containers that never run. Clear finds what is left of them.
func (o Options) probes() map[string]string {
	all := o.owned()
	all[runtime.LabelComponent] = image.ComponentBinary
	return all
}

// Runtime is a place where units run as containers. It is safe for concurrent use,
// and any number of values, in any number of processes, may work on one instance:
// the engine holds all the state.
type Runtime struct {
	o      Options
	e      *engine.Engine
	api    *client.Client
	names  names
	units  *units
	shapes *shaper
	nets   *networks
	ends   *watchers
	logs   *logs
	files  files
	links  *links
}

// ErrForeign says that a name on the engine does not belong to this instance, but to
// somebody else, or to an instance of the same name in another workspace. The error's
// text names the owner.
var ErrForeign = errors.New("it belongs to somebody else")

var (
	_ runtime.Runtime = (*Runtime)(nil)
	_ runtime.Logs    = (*Runtime)(nil)
)

// New returns the place of one instance's units on the engine.
func New(e *engine.Engine, o Options) *Runtime {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Warn == nil {
		o.Warn = func(what string) { o.Logger.Warn(what) }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	u := &units{api: e.API(), names: names(o.Instance), workspace: o.Labels[runtime.LabelWorkspace]}
	return &Runtime{
		o: o, e: e, api: u.api, names: u.names, units: u,
		shapes: &shaper{o: o, names: u.names, facts: e.Facts(), sockets: &sockets{units: u, at: e.Endpoint(), desktop: e.Facts().Desktop}},
		nets:   &networks{o: o, units: u, facts: e.Facts()},
		ends:   &watchers{units: u, log: o.Logger, now: o.Now, subs: map[*subscription]struct{}{}},
		logs:   &logs{units: u, dir: o.Logs},
		files:  files{units: u, now: o.Now, rooted: e.Facts().Name == "Docker"},
		links:  &links{units: u, labels: o.probes()},
	}
}

// ContainerName is the name of a unit's container on the engine.
func (r *Runtime) ContainerName(unit string) string { return r.names.container(unit) }

// Network is the name of the network with this reach, NetworkInternal or NetworkFull.
func (r *Runtime) Network(reach string) string { return r.names.network(reach) }

// LedgerVolume holds the blackboard's data. It outlives the instance's containers.
func (r *Runtime) LedgerVolume() string { return r.names.ledger() }

// ControlVolume holds the files of the orchestrator's container: the configuration,
// and the logs of removed containers. It outlives the instance's containers, too.
func (r *Runtime) ControlVolume() string { return r.names.prefix() + "control" }

// List returns the instance's units that match. Only the engine's inspection knows
// the start of a unit, so it costs one call and one more for each unit.
func (r *Runtime) List(ctx context.Context, selector runtime.Labels) (list []runtime.Unit, err error) {
	defer engine.Wrap(&err, "list units")
	all, err := r.units.snapshot(ctx, selector)
	if err != nil {
		return nil, err
	}
	list = make([]runtime.Unit, 0, len(all))
	for _, c := range all {
		list = append(list, r.units.unit(c))
	}
	slices.SortFunc(list, func(a, b runtime.Unit) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Exits follows the engine's events, and lists the containers as well: at first,
// after every break of the stream of events, and every few seconds. So an end is
// usually delivered at once; it comes a few seconds late when events were lost, and
// without its exit code when the engine itself was gone or somebody else removed the
// container at that moment.
//
// A container that the engine restarts, or that Revive starts, ends once for each
// run. A container that was made and never started counts as ended after a while.
func (r *Runtime) Exits(ctx context.Context) (exits <-chan runtime.Exit, err error) {
	defer engine.Wrap(&err, "follow exits")
	return r.ends.subscribe(ctx)
}

// Logs returns the output of the unit: the kept logs of its former containers, then
// the log of its present container. The engine reads stdout and stderr side by side
// and decides their order. For kept logs, Since is as in package logfile.
//
// With Follow, the reader ends with io.EOF when the context does. It goes on when
// the unit is started again, in the same container or in another.
func (r *Runtime) Logs(ctx context.Context, name string, o runtime.LogOptions) (log io.ReadCloser, err error) {
	defer engine.Wrap(&err, "read log of %s", name)
	return r.logs.open(ctx, name, o)
}

// Write puts files into a unit's container, running or not, below a writable
// volume. They belong to the container's user. A file that exists is replaced; its
// readers meanwhile may find no file, or half of it. fs.ErrNotExist when there is no
// such unit.
func (r *Runtime) Write(ctx context.Context, name string, files []runtime.File) (err error) {
	defer engine.Wrap(&err, "write files of unit %s", name)
	return r.files.write(ctx, name, files)
}

// Archive returns a directory of a unit's container, running or ended, as a tar
// stream whose names begin with the directory's own. fs.ErrNotExist when there is
// no such unit, or no such directory in it.
func (r *Runtime) Archive(ctx context.Context, unit, dir string) (tar io.ReadCloser, err error) {
	defer engine.Wrap(&err, "read %s of unit %s", dir, unit)
	return r.files.read(ctx, unit, dir)
}
