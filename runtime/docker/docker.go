// Package docker is the place where units are containers of an engine that speaks
// Docker's API: Docker, rootless or not, and Podman. Every container is hardened,
// carries the labels of its unit, and is found again by them alone; nothing else
// on the engine is ever touched.
//
// It knows no artefact, no claim and no sett.yml: what to run comes as a
// runtime.Spec. It is the only package that imports Docker's client.
package docker

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"sett/runtime"
)

// Options say whose containers a Runtime has to do with.
type Options struct {
	Instance string
	// Labels are put on whatever is made for the instance beside the unit's own:
	// containers, networks, volumes.
	Labels runtime.Labels
	// Logs is the directory that keeps what removed containers had written, a file
	// per unit. Empty: it goes with the container.
	Logs string
	// HostReach gives the host an address on the internal network, for where the
	// orchestrator is a process of the host and asks containers there for their
	// health. The price: what listens on all of the host's addresses can be reached
	// from that network. It counts when the network is made.
	HostReach bool
	Logger    *slog.Logger     // nil: nothing is logged
	Now       func() time.Time // nil: time.Now
}

// Runtime is a place where units run as containers. It is safe for concurrent use,
// and any number of values, in any number of processes, may work on one instance:
// the engine's containers are all that it knows.
type Runtime struct {
	e   *Engine
	o   Options
	log *slog.Logger
	now func() time.Time

	units    locks    // by unit: one Start, Stop or Revive at a time
	archives locks    // by unit: one writer of a log file at a time
	networks networks // those known to be there

	mu       sync.Mutex
	subs     map[*subscription]struct{}
	socketAt string // the engine's socket on its host, once the orchestrator's container has told
}

var (
	_ runtime.Runtime = (*Runtime)(nil)
	_ runtime.Logs    = (*Runtime)(nil)
)

// New returns the place of one instance's units on the engine.
func New(e *Engine, o Options) *Runtime {
	r := &Runtime{e: e, o: o, log: o.Logger, now: o.Now, subs: map[*subscription]struct{}{}}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if r.now == nil {
		r.now = time.Now
	}
	return r
}

// Names of what is made on the engine. A dot, which no instance's name has, ends
// the instance's name: two instances never share a name, whatever their units are
// called.

func (r *Runtime) containerName(unit string) string { return "sett-" + r.o.Instance + "." + unit }

// unitName is the inverse of containerName; false for what is not the instance's.
func (r *Runtime) unitName(container string) (string, bool) {
	return strings.CutPrefix(strings.TrimPrefix(container, "/"), "sett-"+r.o.Instance+".")
}

// networkName is the instance's bridge network, internalName the one without a
// way out.
func (r *Runtime) networkName() string  { return "sett-" + r.o.Instance }
func (r *Runtime) internalName() string { return "sett-" + r.o.Instance + ".internal" }

// ContainerName is what a unit's container is called on the engine.
func (r *Runtime) ContainerName(unit string) string { return r.containerName(unit) }

// Network is the name of the network that reach, one of package runtime's, leads to.
func (r *Runtime) Network(reach string) string { return r.networkFor(reach) }

// LedgerVolume holds the blackboard's data. It outlives the instance's containers.
func (r *Runtime) LedgerVolume() string { return "sett-" + r.o.Instance + ".ledger" }

// ControlVolume holds what the orchestrator's container reads and keeps: the
// configuration, the logs of removed containers. It outlives them, too.
func (r *Runtime) ControlVolume() string { return "sett-" + r.o.Instance + ".control" }

// BinaryDir is where a container sees the volume with the sett binary.
const BinaryDir = "/.sett"

// Binary is the program in it.
const Binary = BinaryDir + "/sett"

// refuseForeign refuses what has a name of this instance's and is not this
// instance's.
func (r *Runtime) refuseForeign(labels map[string]string) error {
	instance, workspace := labels[runtime.LabelInstance], labels[runtime.LabelWorkspace]
	mine := r.o.Labels[runtime.LabelWorkspace]
	switch {
	case instance == "":
		return fmt.Errorf("%w: it was not made by Sett", ErrForeign)
	case instance != r.o.Instance:
		return fmt.Errorf("%w: to instance %s", ErrForeign, instance)
	case mine != "" && workspace != "" && workspace != mine:
		return fmt.Errorf("%w: to the instance %s of %s", ErrForeign, instance, workspace)
	}
	return nil
}
