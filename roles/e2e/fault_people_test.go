package e2e

import (
	"testing"
)

// TestFaultsAmongPeople strikes right before or right after every single word of a
// person, once it was acknowledged: neither the question nor the answer is lost,
// nor a gate, a cancellation or a retry, and the goal ends as without.
func TestFaultsAmongPeople(t *testing.T) {
	t.Parallel()
	for name, strike := range map[string]func(in *instance, agent string){
		"blackboard":   func(in *instance, _ string) { in.kill("blackboard") },
		"orchestrator": func(in *instance, _ string) { in.bounce("orchestrator") },
		"the agent":    func(in *instance, agent string) { in.shootIfRunning("agent-" + agent) },
		"everything":   func(in *instance, _ string) { in.killAll(); in.up() },
		"down and up":  func(in *instance, _ string) { in.must("down"); in.up() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := start(t, options{clan: peopled("retries: 1000\nstop_grace_period: 300ms\n")})
			first := in.post("x")
			in.seeThrough(first)
			want := in.outcome(first)
			words := 0
			for round := range 2 {
				n := 0
				in.onWord = func(said bool, agent string) {
					if said == (n%2 == round) { // each side of each word, in one of the rounds
						strike(in, agent)
						if words++; words%3 == 0 { // so that back-offs begin anew
							in.settled()
							in.bounce("keeper")
							in.bounce("orchestrator")
						}
					}
					if said {
						n++
					}
				}
				goal := in.post("x")
				in.seeThrough(goal)
				in.onWord = nil
				if got := in.outcome(goal); got != want {
					t.Errorf("it ended otherwise:\n%s", diff(want, got))
				}
			}
			if words < 14 {
				t.Errorf("struck at %d words only", words)
			}
			in.settled()
			in.atRest()
		})
	}
}
