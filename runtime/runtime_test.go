package runtime

import (
	"testing"
	"time"
)

func TestAhead(t *testing.T) {
	before := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	after := before.Add(time.Second)
	for at, want := range map[time.Duration]time.Duration{
		-3 * time.Second: -3 * time.Second, 0: 0, 500 * time.Millisecond: 0, time.Second: 0, 5 * time.Second: 4 * time.Second,
	} {
		if got := Ahead(before.Add(at), before, after); got != want {
			t.Errorf("%s after the question: %s, want %s", at, got, want)
		}
	}
}

func TestAgentUnit(t *testing.T) {
	if agent, ok := AgentOf(AgentUnit("writer")); !ok || agent != "writer" {
		t.Errorf("%q %v", agent, ok)
	}
	if _, ok := AgentOf(ComponentOrchestrator); ok {
		t.Error("the orchestrator is no agent")
	}
}

// TestAgentNetwork: an agent with a tool without network still reaches the blackboard.
func TestAgentNetwork(t *testing.T) {
	for _, c := range []struct {
		wanted string
		inside bool
		want   string
	}{
		{NetworkFull, true, NetworkFull}, {NetworkFull, false, NetworkFull}, {NetworkInternal, true, NetworkInternal},
		{"none", true, NetworkInternal}, {"none", false, NetworkFull},
	} {
		if got := AgentNetwork(c.wanted, c.inside); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
