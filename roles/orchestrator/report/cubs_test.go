package report

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"sett/blackboard"
	"sett/contract/config"
	"sett/runtime"
)

// place lists units.
type place map[string]runtime.Unit

func (p place) List(context.Context, runtime.Labels) ([]runtime.Unit, error) {
	return slices.Collect(maps.Values(p)), nil
}

// A container is where the place says, for as long as it is the same incarnation's;
// one that has joined its anchor's network is where the anchor is.
func TestWhereabouts(t *testing.T) {
	p := place{}
	a := config.Agent{Name: "a"}
	anchor := "net-full-b"
	c := NewCubs(nil, p, func(config.Agent) string { return anchor })
	put := func(name, component, incarnation, address string, running bool) {
		p[name] = runtime.Unit{Name: name, Address: address, Running: running, Labels: runtime.Labels{
			runtime.LabelAgent: "a", runtime.LabelComponent: component, runtime.LabelIncarnation: incarnation}}
	}
	find := func(what, incarnation, want string) {
		t.Helper()
		got, err := c.container(t.Context(), a, incarnation)
		if got != want || (err != nil) != (want == "") || err != nil && !errors.Is(err, errNoAddress) {
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
	anchor = ""
	find("with ports of its own", "i4", "")
	anchor = "net-full-a"
	find("joined to its anchor", "i4", "10.0.0.5")
	c.set("a", spot{})
	delete(p, "net-full-a")
	find("without its anchor", "i4", "")
	c = NewCubs(nil, nil, nil)
	if got, err := c.container(t.Context(), a, "i4"); got != "" || err != nil {
		t.Errorf("where there are no containers: %q, %v", got, err)
	}
}

// In a container, too, the port is all that counts of what a cub says, and it has to
// be one.
func TestHealthAddress(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ says, container, want string }{
		{"[::]:8080", "172.18.0.3", "172.18.0.3:8080"}, {"198.51.100.7:8080", "fd00::3", "[fd00::3]:8080"},
		{"127.0.0.1:8080", "", "127.0.0.1:8080"}, {"[::1]:8080", "", "[::1]:8080"}, {"[::1%lo]:8080", "", "[::1]:8080"},
		{"[::]:80@evil/DATA?x=", "172.18.0.3", ""}, {"[::]:", "172.18.0.3", ""}, {"[::]:0", "172.18.0.3", ""}, {":8080", "172.18.0.3", ""},
		{"[::]:8080", "evil.example", ""}, {"[::]:8080", "172.18.0.3/x", ""}, {"[::]:8080", "", ""}, {"off", "", ""}, {"", "172.18.0.3", ""},
	} {
		got, err := healthAddress(blackboard.Presence{Health: tc.says}, tc.container)
		if got != tc.want || (err == nil) == (tc.want == "") {
			t.Errorf("%q in %q: %q, %v, want %q", tc.says, tc.container, got, err, tc.want)
		}
	}
}
