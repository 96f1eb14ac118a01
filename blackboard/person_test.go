package blackboard

import "testing"

func TestPersonName(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]string{HumanAgent("anna"): "anna", "writer": "", "human": "", "": ""} {
		if name, ok := PersonName(agent); name != want || ok != (want != "") || ok != IsHuman(agent) {
			t.Errorf("%q: %q, %v", agent, name, ok)
		}
	}
}
