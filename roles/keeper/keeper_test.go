package keeper

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sett/roles/role"
)

func world(vars map[string]string) role.Env {
	e := role.OS(nil, role.Build{})
	e.Stdout, e.Stderr = io.Discard, io.Discard
	e.Lookup = func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	e.Environ = func() []string {
		return []string{"PATH=/bin", "SETT_UNIT=mine", "SETT_HOST_VALUES={}", "SETT_MODEL_SECRETS={}"}
	}
	return e
}

func TestSpecs(t *testing.T) {
	own := specs(world(map[string]string{"SETT_BLACKBOARD_ADDR": "127.0.0.1:1", "SETT_RUN": "run", "SETT_WORKSPACE": "/repo"}), "clan")
	if len(own) != 2 || own[0].Name != "blackboard" || own[1].Name != "orchestrator" {
		t.Fatalf("an instance with a blackboard of its own: %+v", own)
	}
	for _, s := range own {
		vars := []string{"PATH=/bin"}
		if s.Name == "orchestrator" {
			vars = append(vars, "SETT_HOST_VALUES={}", "SETT_MODEL_SECRETS={}") // which gives programs their variables, and starts the model gateway
		}
		if !slices.Equal(s.Args, []string{s.Name}) || s.Labels["sett.instance"] != "clan" ||
			s.Labels["sett.component"] != s.Name || s.Labels["sett.run"] != "run" || s.Labels["sett.workspace"] != "/repo" || !slices.Equal(s.Env, vars) {
			t.Errorf("%+v", s)
		}
	}
	if other := specs(world(nil), "clan"); len(other) != 1 || other[0].Name != "orchestrator" {
		t.Errorf("an external blackboard is not ours to start: %+v", other)
	}
}

// TestStartsNothingWhileStopping: with the mark of sett down there, or the
// directory gone, the keeper ends by itself and has started nothing.
func TestStartsNothingWhileStopping(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "stopping"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(t.TempDir(), "gone")
	for _, dir := range []string{dir, gone} {
		vars := map[string]string{"SETT_STATE_DIR": dir, "SETT_INSTANCE_NAME": "clan", "REDIS_URL": "redis://127.0.0.1:1"}
		if err := Run(context.Background(), world(vars)); err != nil {
			t.Fatal(err)
		}
		if units, _ := filepath.Glob(filepath.Join(dir, "units", "*")); len(units) != 0 {
			t.Errorf("it started %q", units)
		}
	}
	if _, err := os.Stat(gone); !os.IsNotExist(err) {
		t.Error("it made a removed directory again")
	}
}

func TestUsage(t *testing.T) {
	err := Run(context.Background(), world(nil))
	if role.CodeOf(err) != role.Usage || !strings.Contains(err.Error(), "REDIS_URL is not set") {
		t.Errorf("nothing set: %v", err)
	}
	e := world(nil)
	e.Args = []string{"now"}
	if err := Run(context.Background(), e); role.CodeOf(err) != role.Usage {
		t.Errorf("an argument: %v", err)
	}
}
