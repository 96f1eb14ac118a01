package deploy

import (
	"slices"
	"strings"
	"testing"

	"sett/contract/config"
	"sett/runtime"
)

func notifying(command string) *config.Config {
	return &config.Config{Runtime: config.RuntimeProcess, Notify: &config.Notify{Command: []string{command},
		Environment: []config.EnvVar{{Name: "HERE", Inherit: true}, {Name: "GONE", Inherit: true}, {Name: "SET", Value: "x"}}}}
}

// The notifier's inherited variables get their values as agents' do.
func TestNotifierInherits(t *testing.T) {
	c := notifying("n")
	missing := InheritVariables(c, func(name string) (string, bool) { return "value of " + name, name == "HERE" })
	if want := []config.EnvVar{{Name: "HERE", Value: "value of HERE"}, {Name: "SET", Value: "x"}}; !slices.Equal(c.Notify.Environment, want) {
		t.Errorf("environment %+v", c.Notify.Environment)
	}
	if !slices.Equal(missing, []string{"notify: variable GONE"}) {
		t.Errorf("missing %q", missing)
	}
}

// A command that cannot be run is warned of at the start.
func TestNotifierThatCannotRun(t *testing.T) {
	missing := MissingTools(notifying("./nowhere"), t.TempDir())
	if len(missing) != 1 || !strings.Contains(missing[0], "notify: ./nowhere cannot be run: ") || !strings.Contains(missing[0], "no such file") {
		t.Errorf("missing %q", missing)
	}
	if missing := MissingTools(notifying("sh"), t.TempDir()); len(missing) != 0 {
		t.Errorf("missing %q", missing)
	}
}

// It is stopped with the agents: before the orchestrator, which would start it
// again, unless that is stopped first for want of a word to it.
func TestNotifierIsStoppedWithAgents(t *testing.T) {
	for _, told := range []bool{true, false} {
		for _, components := range stopOrder(told) {
			if slices.Contains(components, runtime.ComponentNotifier) != slices.Contains(components, runtime.ComponentAgent) {
				t.Errorf("told %v: %v", told, components)
			}
		}
	}
}
