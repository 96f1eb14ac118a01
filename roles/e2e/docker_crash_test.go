package e2e

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/runtime"
)

// point is where a process dies: at a kind of write, on one side of it.
type point struct {
	write
	when moment
}

// placesToDie are the kinds of writes that each kind of process makes between its
// start and the end of a goal of brigade.
var placesToDie = map[string][]string{
	"orchestrator": {"lead", "open", "grant", "assign", "forget", "terminate", "complete"},
	"cub-writer":   {"hello", "bid", "start", "finish"},
	"cub-r1":       {"hello", "bid", "worker", "start", "finish"},
	"cub-pack":     {"hello", "bid", "worker", "start", "finish"},
}

// brigade is the reviewed clan with an agent of each kind: writer stays, r1 has a
// worker per claim, and pack one that was started before.
func brigade() clan {
	c := reviewed(changer, "retries: 1\n")
	for i, a := range c.agents {
		switch a.name {
		case "r1":
			c.agents[i].more += "strategy: fresh_per_call\n"
		case "pack":
			c.agents[i].more += "strategy: fresh_per_call\nwarm: 1\n"
		}
	}
	return c
}

// TestDockerCrashAtEachMove kills each kind of process at each kind of write that
// it makes, before or after it in turn, where all are containers.
func TestDockerCrashAtEachMove(t *testing.T) {
	t.Parallel()
	host := engineHost(t)
	points := inTurn(placesToDie)
	t.Run("", func(t *testing.T) {
		for range 2 {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				g := containersBehindProxy(t, host, brigade().without()) // where each process writes at each move
				g.dieAt(points)
				g.crashTwice()
				g.settled()
				g.atRest()
			})
		}
	})
}

// peopledPlaces are the kinds of writes around what people do.
var peopledPlaces = map[string][]string{
	"orchestrator": {"open", "grant", "terminate", "complete"},
	"cub-writer":   {"start", "finish"},
	"cub-r1":       {"start", "finish"},
	"cub-slow":     {"start"},
}

// TestDockerCrashAmongPeople does so where people answer, reject, approve, cancel
// and retry.
func TestDockerCrashAmongPeople(t *testing.T) {
	t.Parallel()
	host := engineHost(t)
	c := peopled("retries: 1\n").without()
	for i, a := range c.agents {
		switch a.name {
		case "r1", "p1":
			c.agents[i].more += "strategy: fresh_per_call\n"
		case "pack":
			c.agents[i].more += "strategy: fresh_per_call\nwarm: 1\n"
		}
	}
	g := containersBehindProxy(t, host, c)
	g.dieAt(inTurn(peopledPlaces))
	g.settled()
	g.atRest()
}

// inTurn lists all points, each kind of process in its turn: so back-offs are short.
func inTurn(places map[string][]string) <-chan point {
	var all []point
	clients := slices.Sorted(maps.Keys(places))
	for i, found := 0, true; found; i++ {
		found = false
		for j, client := range clients {
			if scripts := places[client]; i < len(scripts) {
				found = true
				for _, when := range moments(i, j) {
					all = append(all, point{write{client, scripts[i]}, when})
				}
			}
		}
	}
	points := make(chan point, len(all))
	for _, at := range all {
		points <- at
	}
	close(points)
	return points
}

// containersBehindProxy starts a clan in containers that reach their blackboard
// through a proxy.
func containersBehindProxy(t testing.TB, host string, c clan) *ground {
	server := startRedis(t)
	p := newProxyAt(t, host, server.Addr())
	o := inContainers(c)
	o.url, o.boardURL = p.url(), server.URL
	g := &ground{proxy: p, instance: start(t, o)}
	g.want = g.run()
	return g
}

// dieAt tries points until there are none left.
func (g *ground) dieAt(points <-chan point) {
	for at := range points {
		g.settled()
		g.warm("pack")
		trap := g.trapAt(at)
		g.proxy.arm(trap)
		switch { // what it only does when it starts
		case at.script == "hello" || at.script == "lead":
			g.kill(strings.Replace(at.client, "cub-", "agent-", 1))
		case at.script == "worker" && at.client == "cub-pack":
			g.kill(g.workers()[0])
		}
		got := g.run()
		select {
		case <-trap.fired:
		case <-time.After(enough):
			g.t.Errorf("%s made no write %s", at.client, at.script)
		}
		g.proxy.disarm()
		if got != g.want {
			g.t.Errorf("%s died %s its %s, and it ended otherwise:\n%s", at.client, at.when, at.script, diff(g.want, got))
		}
		if g.t.Failed() {
			g.t.FailNow()
		}
	}
}

// trapAt kills whoever makes the write.
func (g *ground) trapAt(at point) *trap {
	t := &trap{client: at.client, script: at.script, n: 1, when: at.when}
	t.kill = func() {
		units, err := g.at.List(context.Background(), nil)
		if err != nil {
			g.t.Error(err)
		}
		name := strings.Replace(at.client, "cub-", "agent-", 1)
		for _, u := range units { // of an agent's processes, whose write it is
			if u.Labels[runtime.LabelAgent] == strings.TrimPrefix(at.client, "cub-") && u.Labels[runtime.LabelComponent] == runtime.ComponentWorker && slices.Contains(t.words, u.Labels[runtime.LabelIncarnation]) {
				name = u.Name
			}
		}
		g.shoot(name)
	}
	return t
}

// warm waits until an agent's worker waits for work.
func (in *instance) warm(agent string) {
	in.t.Helper()
	eventually(in.t, enough, "a warm worker of "+agent, func() bool {
		all, err := in.board.Roster.Workers(context.Background(), agent)
		waiting := 0
		for _, w := range all {
			if w.Claim == "" {
				waiting++
			}
		}
		return err == nil && waiting == 1 && len(all) == 1
	})
}

// crashTwice kills a worker that holds a grant, and then the orchestrator as it
// records that.
func (g *ground) crashTwice() {
	g.t.Helper()
	for _, when := range []moment{before, after} {
		g.settled()
		g.warm("pack")
		second := g.trapAt(point{write{"orchestrator", "crash"}, when})
		first := g.trapAt(point{write{"cub-r1", "start"}, after})
		kill := first.kill
		first.kill = func() { g.proxy.arm(second); kill() }
		g.proxy.arm(first)
		got := g.run()
		if !g.proxy.disarm() {
			g.t.Error("the orchestrator did not die when it recorded a worker's death")
		}
		if got != g.want {
			g.t.Errorf("the orchestrator died %s it recorded a worker's death, and it ended otherwise:\n%s", when, diff(g.want, got))
		}
	}
}
