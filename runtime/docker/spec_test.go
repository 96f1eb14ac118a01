package docker

import (
	"slices"
	"testing"

	"sett/contract/env"
	"sett/runtime"
)

// TestEnvironmentIsWhole: an image adds no variable of Sett's own to a container, whatever its
// component.
func TestEnvironmentIsWhole(t *testing.T) {
	t.Parallel()
	b := &shaper{}
	for _, component := range []string{
		runtime.ComponentAgent, runtime.ComponentWorker, runtime.ComponentAnchor, runtime.ComponentOrchestrator, runtime.ComponentBlackboard, runtime.ComponentNotifier,
	} {
		given := []string{"PATH=/bin", env.Agent + "=writer"}
		got := b.config(runtime.Spec{Name: "x", Env: given, Labels: runtime.Labels{runtime.LabelComponent: component}}).Env
		for _, name := range env.Names {
			want := name + "="
			if name == env.Agent {
				want = given[1]
			}
			if !slices.Contains(got, want) {
				t.Errorf("%s: no %q in %q", component, want, got)
			}
		}
		if len(got) != len(env.Names)+1 {
			t.Errorf("%s: %d variables, want %d: %q", component, len(got), len(env.Names)+1, got)
		}
	}
}
