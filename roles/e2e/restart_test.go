package e2e

import (
	"strings"
	"testing"
	"time"
)

// TestRestartWithoutOrchestrator: nobody would start the agent again, so it is not stopped, and that is
// said at once.
func TestRestartWithoutOrchestrator(t *testing.T) {
	t.Parallel()
	in := start(t, options{clan: solo(`say Terminal Done done`, "")})
	in.settled()
	in.kill("keeper")
	in.kill("orchestrator")
	began := time.Now()
	code, out := in.sett("restart", "solo")
	if code != 1 || !strings.Contains(out, "solo is not restarted: the orchestrator of "+in.name+" does not run") || !strings.Contains(out, "hint: sett up") || time.Since(began) > 30*time.Second {
		t.Errorf("exit code %d after %s: %s", code, time.Since(began), out)
	}
	if _, runs := in.running("agent-solo"); !runs {
		t.Error("the agent was stopped")
	}
	in.up()
	in.settled()
	in.must("restart", "solo")
}
