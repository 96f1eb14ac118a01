//go:build bench

package bench

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
)

const freshPerCall = "    strategy: fresh_per_call\n"

// TestBenchDockerWorker compares the time from a grant to its tool with what the
// engine's own client needs until the same tool runs in a container that it creates
// and starts, hardened alike, on the instance's bridge.
func TestBenchDockerWorker(t *testing.T) {
	r := newRig(t)
	b := r.newBox(1, freshPerCall)
	b.up()
	c := b.clan()
	tool := b.workerTwin(c)
	var cold, floor, bare series
	sides := []func(){
		func() { cold.add(c.toTool(t, c.run(t))) },
		func() { floor.add(r.toTool(r.client, tool)) },
	}
	if r.socket != "" {
		sides = append(sides, func() { bare.add(r.toTool(r.calls, tool)) })
	}
	inTurn(sides...)
	b.down()
	t.Logf("from grant to tool %v; by the client %v; by bare calls %v; %s", cold, floor, bare, load())
	if r.socket != "" {
		t.Logf("worker: grant to tool / bare calls: %s", cold.spread(bare))
	}
	t.Logf("worker: grant to tool / the client: %s", cold.spread(floor))
	verdict(t, "worker: grant to tool / create and start", cold.over(floor), 0.5, "x")
}

// TestBenchDockerWarm measures the time from a grant to its tool while one worker
// waits.
func TestBenchDockerWarm(t *testing.T) {
	r := newRig(t)
	b := r.newBox(1, freshPerCall+"    warm: 1\n")
	b.up()
	c := b.clan()
	var warm series
	for range 3 * rounds {
		waiting := c.awaitStandby(t)
		id := c.run(t)
		warm.add(c.toTool(t, id))
		if g := c.grant(t, id); g.Holder != waiting {
			t.Errorf("%s worked, not %s, which waited", g.Holder, waiting)
		}
	}
	t.Logf("from grant to tool of a waiting worker: %v; %s", warm, load())
	verdict(t, "waiting worker: grant to tool, median", milliseconds(warm.median()), 20, "ms")
	t.Logf("waiting worker: grant to tool, 90th percentile %.2f ms", milliseconds(warm.percentile(90)))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// run has one goal worked on, and returns it.
func (c *clan) run(tb testing.TB) string {
	tb.Helper()
	id := c.post(tb, "x")
	c.drain(tb)
	return id
}

func (c *clan) grant(tb testing.TB, goal string) blackboard.Grant {
	tb.Helper()
	g, err := c.board.Records.Grant(context.Background(), blackboard.BiddingClaimID(goal), agentName(0))
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// toTool is the time from the grant to when its tool says that it began.
func (c *clan) toTool(tb testing.TB, goal string) time.Duration {
	tb.Helper()
	g := c.grant(tb, goal)
	result, err := c.board.Records.Artefact(context.Background(), g.ResultID)
	if err != nil {
		tb.Fatalf("result of %+v: %v", g, err)
	}
	return moment(tb, result.Payload).Sub(g.QueuedAt)
}

func moment(tb testing.TB, text string) time.Time {
	tb.Helper()
	ns, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		tb.Fatalf("the tool says %q: %v", text, err)
	}
	return time.Unix(0, ns)
}

// awaitStandby waits until a worker waits, and the orchestrator has had the time to
// see that it does, and returns its incarnation.
func (c *clan) awaitStandby(tb testing.TB) (incarnation string) {
	tb.Helper()
	const settled = 300 * time.Millisecond
	waitFor(tb, "a worker that waits", func() bool {
		all, err := c.board.Roster.Workers(context.Background(), agentName(0))
		for name, w := range all {
			if err == nil && w.Claim == "" {
				incarnation = name
				return true
			}
		}
		return false
	})
	<-time.After(settled)
	return incarnation
}

// workerTwin is a container like a worker's, on the instance's bridge, which runs
// the tool itself.
func (b *box) workerTwin(c *clan) twin {
	b.tb.Helper()
	hold := filepath.Join(b.repo, "hold")
	if err := os.WriteFile(hold, nil, 0o600); err != nil {
		b.tb.Fatal(err)
	}
	c.post(b.tb, "x")
	var unit string
	waitFor(b.tb, "a worker", func() bool {
		prefix := b.container("worker-")
		names, err := dockerSays("ps", "--format", "{{.Names}}", "--filter", "name="+prefix)
		unit = strings.TrimPrefix(names, b.container(""))
		return err == nil && unit != ""
	})
	t := b.twin(unit, "sett-"+b.name, "/.sett-pin/tool")
	if err := os.Remove(hold); err != nil {
		b.tb.Fatal(err)
	}
	c.drain(b.tb)
	t.name = floorName(b.id) + ".tool"
	return t
}

// toTool is the time from before a twin is created to when its tool says that it
// began.
func (r *rig) toTool(start func(twin), t twin) time.Duration {
	r.tb.Helper()
	began := time.Now()
	start(t)
	r.docker("wait", t.name)
	out := r.docker("logs", t.name)
	r.remove(t)
	_, rest, _ := strings.Cut(out, `"artefact_payload":"`)
	at, _, _ := strings.Cut(rest, `"`)
	return moment(r.tb, at).Sub(began)
}
