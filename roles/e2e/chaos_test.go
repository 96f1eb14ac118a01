package e2e

import (
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// TestChaos kills whatever runs, several at a time, in an order that a seed
// decides, while goals come in. In the end all have ended as they should.
func TestChaos(t *testing.T) {
	t.Parallel()
	seed, err := strconv.ParseUint(os.Getenv("SETT_E2E_SEED"), 10, 64)
	if err != nil {
		seed = 1
	}
	rounds := 12
	if full() {
		rounds = 100
	}
	random := rand.New(rand.NewPCG(seed, 0))
	c := reviewed(committer, "retries: 1000\n")
	in := start(t, options{clan: c})
	first := in.post("x")
	in.await(first, enough)
	want := in.outcome(first)
	names := []string{"keeper", "orchestrator", "blackboard"}
	for _, a := range c.agents {
		names = append(names, "agent-"+a.name)
	}
	var goals []string
	var guard keepers
	for range rounds {
		goals = append(goals, in.post("x"))
		in.afterEntries(goals[len(goals)-1], 1+random.IntN(12))
		for range 1 + random.IntN(3) {
			name := names[random.IntN(len(names))]
			if name == "keeper" || name == "orchestrator" {
				guard.wait(in)
			}
			if pid := in.shootIfRunning(name); pid != 0 && (name == "keeper" || name == "orchestrator") {
				guard = keepers{name, pid}
			}
		}
	}
	for _, goal := range goals {
		in.await(goal, 2*time.Minute)
		if got := in.outcome(goal); got != want {
			t.Errorf("seed %d: goal %s ended otherwise:\n%s", seed, goal, diff(want, got))
		}
	}
	in.settled()
	in.atRest()
	t.Logf("seed %d: %d goals", seed, len(goals))
}

// shootIfRunning kills a unit, which may just be dead: then it returns 0.
func (in *instance) shootIfRunning(name string) (pid int) {
	if u, ok := in.running(name); ok {
		pid = in.at.pid(u)
	}
	if pid <= 0 || syscall.Kill(pid, syscall.SIGKILL) != nil {
		return 0
	}
	return pid
}

// keepers remembers which of keeper and orchestrator was killed last. Each starts
// the other again; with both dead at once nobody is left to do it.
type keepers struct {
	name string
	pid  int
}

// wait waits until the one that was killed runs again.
func (k keepers) wait(in *instance) {
	in.t.Helper()
	if k.pid != 0 {
		in.restarted(k.name, k.pid)
	}
}
