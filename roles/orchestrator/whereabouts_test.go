package orchestrator

import (
	"errors"
	"testing"

	"sett/contract/config"
	"sett/runtime"
)

// A container is where the place says, for as long as it is the same incarnation's;
// one that has joined its anchor's network is where the anchor is.
func TestWhereabouts(t *testing.T) {
	p := newPlace()
	o := &orchestrator{settings: settings{Runtime: config.RuntimeDocker}, runtime: p, found: newWhereabouts()}
	a := member("a")
	a.Network = config.NetworkFull
	put := func(name, component, incarnation, address string, running bool) {
		p.units[name] = runtime.Unit{Name: name, Address: address, Running: running, Labels: runtime.Labels{
			runtime.LabelAgent: "a", runtime.LabelComponent: component, runtime.LabelIncarnation: incarnation}}
	}
	find := func(what, incarnation, want string) {
		t.Helper()
		got, err := o.container(t.Context(), a, incarnation)
		if got != want || (err != nil) != (want == "") || err != nil && !errors.Is(err, errNotAsked) {
			t.Errorf("%s: %q, %v, want %q", what, got, err, want)
		}
	}
	find("before it has said anything", "", "")
	put("agent-a", runtime.ComponentAgent, "i1", "10.0.0.1", true)
	put("worker-a", runtime.ComponentWorker, "i9", "10.0.0.9", true)
	find("another incarnation", "i2", "")
	find("a worker", "i9", "")
	find("at first", "i1", "10.0.0.1")
	put("agent-a", runtime.ComponentAgent, "i2", "10.0.0.2", true)
	find("started anew", "i2", "10.0.0.2")
	put("agent-a", runtime.ComponentAgent, "i3", "10.0.0.3", false)
	find("ended", "i3", "")
	put("agent-a", runtime.ComponentAgent, "i4", "", true)
	find("without an address", "i4", "")
	put("net-full-a", runtime.ComponentAnchor, "", "10.0.0.5", true)
	find("beside an anchor that is not its", "i4", "")
	a.Strategy = config.StrategyFreshPerCall
	a.IsolatedPorts = true
	find("with ports of its own", "i4", "")
	a.IsolatedPorts = false
	find("joined to its anchor", "i4", "10.0.0.5")
	o.found.set("a", spot{})
	delete(p.units, "net-full-a")
	find("without its anchor", "i4", "")
	o.settings.Runtime = config.RuntimeProcess
	if got, err := o.container(t.Context(), a, "i4"); got != "" || err != nil {
		t.Errorf("where there are no containers: %q, %v", got, err)
	}
}
