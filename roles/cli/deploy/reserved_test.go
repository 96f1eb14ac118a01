package deploy

import (
	"strings"
	"testing"

	"sett/contract/config"
	"sett/runtime"
)

// No agent has the name of a part of Sett: sett logs, restart and list could not tell them apart.
func TestPartsAreNoAgents(t *testing.T) {
	t.Parallel()
	for _, part := range []string{runtime.ComponentKeeper, runtime.ComponentBlackboard, runtime.ComponentOrchestrator, runtime.ComponentNotifier, runtime.ComponentRepository, runtime.ComponentModelGateway} {
		_, err := config.Parse("sett.yml", []byte("runtime: process\nagents:\n  "+part+": {command: [x], bids: {GoalDefined: claim}}\n"))
		if err == nil || !strings.Contains(err.Error(), "is Sett's own") {
			t.Errorf("an agent %q: %v", part, err)
		}
	}
}
