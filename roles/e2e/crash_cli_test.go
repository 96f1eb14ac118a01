package e2e

import (
	"os/exec"
	"syscall"
	"testing"
)

// killedAt runs a command that is killed at its n-th write.
func (g *ground) killedAt(client string, n int, when moment, args ...string) {
	g.t.Helper()
	var cmd *exec.Cmd
	started := make(chan struct{})
	g.proxy.arm(&trap{client: client, n: n, when: when, kill: func() {
		<-started
		if err := syscall.Kill(cmd.Process.Pid, syscall.SIGKILL); err != nil {
			g.t.Errorf("kill sett %v: %v", args, err)
		}
	}})
	cmd = g.command(args...)
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	close(started)
	err := cmd.Wait()
	if !g.proxy.disarm() {
		g.t.Fatalf("sett %v made no write %d: %v", args, n, err)
	}
}

// TestCrashOfCommands kills sett up, forage and down at the write that each of
// them makes; the same command again does what the first did not.
func TestCrashOfCommands(t *testing.T) {
	t.Parallel()
	for _, when := range []moment{before, after} {
		t.Run(string(when), func(t *testing.T) {
			t.Parallel()
			server := startRedis(t) // one that has learned its scripts through this proxy alone
			c := reviewed(drafter, "")
			p := newProxy(t, server.Addr())
			g := &ground{proxy: p, instance: prepare(t, options{clan: c, url: p.url(), boardURL: server.URL})}
			g.killedAt("sett-up", 1, when, "up") // the board's mark
			if when == before {
				g.killedAt("sett-up", 1, after, "up")
			}
			g.killedAt("sett-up", 2, when, "up") // the instance's state
			g.up()
			g.want = g.run()
			g.forage(when)
			g.killedAt("sett-down", 1, when, "down")
			g.must("down")
			g.up()
			if got := g.run(); got != g.want {
				t.Errorf("after down and up a goal ended otherwise:\n%s", diff(g.want, got))
			}
			g.atRest()
		})
	}
}

// forage kills `sett forage` at its write: the goal is there whole or not at all.
func (g *ground) forage(when moment) {
	g.t.Helper()
	known := len(g.goals())
	g.killedAt("sett-cli", 1, when, "forage", "--goal", "x")
	goals := g.goals()
	if want := map[moment]int{before: 0, after: 1}[when]; len(goals)-known != want {
		g.t.Fatalf("%d new goals, want %d", len(goals)-known, want)
	}
	if when == before {
		g.must("forage", "--goal", "x", "--wait=60s")
		goals = g.goals()
	}
	goal := goals[len(goals)-1]
	g.await(goal, enough)
	if got := g.outcome(goal); got != g.want {
		g.t.Errorf("ended otherwise:\n%s", diff(g.want, got))
	}
}
