package deploy

import (
	"testing"

	"sett/blackboard"
	"sett/runtime"
)

// Only the grants of cubs that a sett down stopped are queued again: not that of one which its stop did not end, nor that
// of another host's.
func TestOfStopped(t *testing.T) {
	t.Parallel()
	unit := func(component, incarnation string, runs bool) runtime.Unit {
		return runtime.Unit{Running: runs, Labels: runtime.Labels{runtime.LabelComponent: component, runtime.LabelIncarnation: incarnation}}
	}
	alive := holders([]runtime.Unit{unit(runtime.ComponentAgent, "lives", true), unit(runtime.ComponentWorker, "stopped", false),
		unit(runtime.ComponentRepository, "stopped", true)})
	all := []blackboard.Running{{Claim: "1", Holder: "lives"}, {Claim: "2", Holder: "stopped"}, {Claim: "3", Holder: "elsewhere"}}
	if got := ofStopped(all, []string{"lives", "stopped"}, alive); len(got) != 1 || got[0].Claim != "2" {
		t.Errorf("%+v", got)
	}
}
