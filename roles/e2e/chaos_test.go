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
	for range rounds {
		goals = append(goals, in.post("x"))
		in.afterEntries(goals[len(goals)-1], 1+random.IntN(12))
		for range 1 + random.IntN(3) {
			in.shootIfRunning(names[random.IntN(len(names))])
		}
		in.rescue()
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

// shootIfRunning kills a unit, which may just be dead.
func (in *instance) shootIfRunning(name string) {
	if u, ok := in.running(name); ok {
		if pid, err := strconv.Atoi(u.ID); err == nil && pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// rescue starts the instance again when keeper and orchestrator are dead at once:
// nobody else is left to do it.
func (in *instance) rescue() {
	in.t.Helper()
	_, keeper := in.running("keeper")
	_, orchestrator := in.running("orchestrator")
	if !keeper && !orchestrator {
		in.up()
	}
}
