//go:build bench

package bench

import (
	"os"
	"strings"
	"testing"

	"sett/runtime"
	"sett/runtime/docker/image"
)

// TestBenchDockerUp compares `sett up` of a fresh instance, from the process's
// start to its end, with what the engine's own client takes to make the network and
// to create and start the same containers one after another. The images are there,
// and the volume with the binary. Then it looks at what four agents more cost.
func TestBenchDockerUp(t *testing.T) {
	r := newRig(t)
	twins := r.clanTwins()
	var one, five, floor, bare, single series
	up := func(agents int, s *series) func() {
		return func() {
			b := r.newBox(agents, "")
			s.add(b.up())
			b.down()
		}
	}
	sides := []func(){up(1, &one), func() {
		all, last := r.sequence(r.client, twins)
		floor.add(all)
		single.add(last)
	}, up(5, &five)}
	if r.socket != "" {
		sides = append(sides, func() {
			all, _ := r.sequence(r.calls, twins)
			bare.add(all)
		})
	}
	inTurn(sides...)
	t.Logf("up with one agent %v, with five %v; the client one after another %v, of it the agent %v; by bare calls %v; %s",
		one, five, floor, single, bare, load())
	if r.socket != "" {
		t.Logf("one agent: sett up / bare calls: %s", one.spread(bare))
	}
	t.Logf("one agent: sett up / the client: %s", one.spread(floor))
	verdict(t, "one agent: sett up / containers one after another", one.over(floor), 1.5, "x")
	verdict(t, "four agents more: sett up / containers one after another",
		float64(five.median()-one.median())/float64(4*single.median()), 1, "x")
}

// clanTwins are the containers of an instance with one agent, in the order in which
// they start. What keeps the images and the volume with the binary is left behind.
func (r *rig) clanTwins() []twin {
	r.tb.Helper()
	b := r.newBox(1, "")
	b.up()
	network := floorName(r.id)
	agent := b.twin("agent-"+agentName(0), network, image.Binary, "pause")
	twins := []twin{
		b.twin(runtime.ComponentBlackboard, network, "redis-server", "--save", ""),
		b.twin(runtime.ComponentOrchestrator, network, "/sett", "pause"),
		agent,
	}
	r.pin(twins[1].of.Config.Image, agent)
	b.down()
	for _, t := range twins { // the folders that the originals saw went with them
		for _, m := range t.of.HostConfig.Mounts {
			if m.Type == "bind" && strings.HasPrefix(m.Source, b.root) {
				if err := os.MkdirAll(m.Source, 0o755); err != nil {
					r.tb.Fatal(err)
				}
			}
		}
	}
	return twins
}

// pin keeps the rig's image and the volume with its binary from being removed by
// others' sett down --purge.
func (r *rig) pin(control string, agent twin) {
	r.tb.Helper()
	args := []string{"create", "--name", floorName(r.id) + ".pin", "--label", labelBench + "=" + r.id, "--network", "none"}
	for _, m := range agent.of.HostConfig.Mounts {
		if m.Target == image.BinaryDir {
			args = append(args, "--mount", "type=volume,readonly,volume-nocopy,src="+m.Source+",dst="+m.Target)
		}
	}
	r.docker(append(args, control, "pause")...)
}
