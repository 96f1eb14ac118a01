package e2e

import (
	"context"
	"testing"

	"sett/runtime"
)

// dockerChaos strikes the containers of the instance: they are killed, paused, and cut
// off its network. One agent works in containers of its own for each claim.
func dockerChaos(t testing.TB, cl clan) *chaos {
	for i := range cl.agents {
		if cl.agents[i].name == "p1" {
			cl.agents[i].more += "strategy: fresh_per_call\nwarm: 1\n"
		}
	}
	c := &chaos{instance: start(t, inContainers(cl))}
	names := append(c.parts("blackboard"), "orchestrator")
	for _, name := range names {
		c.faults = append(c.faults, killOf(name), pauseOf(name))
	}
	for _, name := range c.parts("blackboard") {
		c.faults = append(c.faults, disconnectOf(name))
	}
	c.faults = append(c.faults, fault{"kill a worker", "workers", (*chaos).killWorker})
	return c
}

// engineSays makes a call about a container that may be gone.
func engineSays(args ...string) bool {
	_, err := dockerSays(args...)
	return err == nil
}

func pauseOf(name string) fault {
	return fault{"pause " + name, name, func(c *chaos) func() {
		u, ok := c.running(name)
		if !ok || !engineSays("pause", u.ID) {
			return func() {}
		}
		return func() { engineSays("unpause", u.ID) }
	}}
}

// disconnectOf takes a container off the instance's network.
func disconnectOf(name string) fault {
	return fault{"disconnect " + name, name, func(c *chaos) func() {
		net := "sett-" + c.name
		u, ok := c.running(name)
		if !ok || !engineSays("network", "disconnect", net, u.ID) {
			return func() {}
		}
		connect := []string{"network", "connect"}
		if name == "blackboard" {
			connect = append(connect, "--alias", net+"-redis")
		}
		return func() { engineSays(append(connect, net, u.ID)...) }
	}}
}

// killWorker kills one of the workers that there are.
func (c *chaos) killWorker() func() {
	n := c.random.IntN(1 << 16)
	units, err := c.at.List(context.Background(), runtime.Labels{runtime.LabelComponent: runtime.ComponentWorker})
	if err != nil {
		c.t.Errorf("list workers: %v", err)
	}
	if len(units) > 0 {
		_ = c.at.kill(units[n%len(units)]) // or it has just ended
	}
	return func() {}
}
