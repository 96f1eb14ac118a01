// Package docker is the place where units are containers of an engine that speaks
// Docker's API: Docker, rootless or not, and Podman. Every container is hardened,
// carries the labels of its unit, and is found again by them alone; nothing else
// on the engine is ever touched.
//
// It knows no artefact, no claim and no sett.yml: what to run comes as a
// runtime.Spec. It is the only package that imports Docker's client.
package docker

import (
	"log/slog"
	"strings"
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
	Logs   string
	Logger *slog.Logger     // nil: nothing is logged
	Now    func() time.Time // nil: time.Now
}

// Runtime is a place where units run as containers. It is safe for concurrent use.
type Runtime struct {
	e   *Engine
	o   Options
	log *slog.Logger
	now func() time.Time
}

// New returns the place of one instance's units on the engine.
func New(e *Engine, o Options) *Runtime {
	r := &Runtime{e: e, o: o, log: o.Logger, now: o.Now}
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

// LedgerVolume holds the blackboard's data. It outlives the instance's containers.
func (r *Runtime) LedgerVolume() string { return "sett-" + r.o.Instance + ".ledger" }

// ControlVolume holds what the orchestrator's container reads and keeps: the
// configuration, the logs of removed containers. It outlives them, too.
func (r *Runtime) ControlVolume() string { return "sett-" + r.o.Instance + ".control" }

// BinaryDir is where a container sees the volume with the sett binary.
const BinaryDir = "/.sett"

// Binary is the program in it.
const Binary = BinaryDir + "/sett"
