package deploy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
)

const planValues = "runtime: process\nagents:\n  one: {command: [a], environment: ['A=x${KEY}']}\n  two: {command: [a], environment: [OTHER]}\n  three: {command: [a]}\n"

// withValues notes the values of a host in facts, as an up does.
func withValues(t *testing.T, f *facts, host map[string]string) map[string]string {
	t.Helper()
	for i := range f.desired.Agents {
		f.desired.Agents[i].Resolved = &config.Resolved{Sett: thisSett}
	}
	values, err := hostValues(f, func(name string) (string, bool) { v, set := host[name]; return v, set })
	if err != nil {
		t.Fatal(err)
	}
	noteValues(f, values)
	return values
}

// A new value of a host's variable restarts the agents that use it, and the orchestrator
// that hands it over; no file has the value.
func TestNewValue(t *testing.T) {
	before := planned(t, planValues)
	values := withValues(t, before, map[string]string{"KEY": "hush", "OTHER": "o", "UNUSED": "u"})
	if got := valuesEnviron(values); !slices.Equal(got, []string{`SETT_HOST_VALUES={"KEY":"hush","OTHER":"o"}`}) {
		t.Errorf("handed over: %q", got)
	}
	after := func(host map[string]string) *Plan {
		f := planned(t, planValues).running(t, planValues)
		f.before, f.state.ValuesKey = before.desired, before.state.ValuesKey
		for i, a := range f.before.Agents {
			f.units[3+i].Labels["sett.config"] = a.Digest()
		}
		withValues(t, f, host)
		for _, file := range []any{f.desired, f.state} {
			if text, err := json.Marshal(file); err != nil || strings.Contains(string(text), "hush") {
				t.Errorf("%s %v", text, err)
			}
		}
		return newPlan(f)
	}
	if p := after(map[string]string{"KEY": "hush", "OTHER": "o"}); !p.Idle() || p.replaces() || before.state.ValuesKey == "" {
		t.Errorf("the same values: %+v", p.Changes)
	}
	for name, host := range map[string]map[string]string{"another": {"KEY": "hush2", "OTHER": "o"}, "none": {"OTHER": "o"}, "an empty one": {"KEY": "", "OTHER": "o"}} {
		p := after(host)
		if !slices.Equal(p.Changes.Changed, []string{"one"}) || !p.replaces() || p.Idle() {
			t.Errorf("%s: %+v", name, p.Changes)
		}
		var parts []string
		for _, part := range p.Parts {
			parts = append(parts, part.Part+" "+part.Action)
		}
		if got := strings.Join(parts, ", "); got != "blackboard keep, orchestrator restart, keeper restart, agent-one restart, agent-two keep, agent-three keep, repository keep" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A new key of a model restarts the processes that keep it; containers read it in a file.
func TestNewKey(t *testing.T) {
	for run, want := range map[string]bool{config.RuntimeProcess: true, config.RuntimeDocker: false} {
		clan := func(digest string) *config.Config {
			c := &config.Config{Runtime: run, Models: []config.Model{{Name: "m"}}}
			c.Services.ModelGateway.Resolved = &config.Resolved{Values: digest}
			return c
		}
		if newValues(clan("a"), clan("a")) || newValues(clan("a"), clan("b")) != want {
			t.Errorf("%s: want new values %t", run, want)
		}
		j := &job{in: &instance.Instance{Dir: "/d"}, c: clan("a"), keys: map[string]string{"m": "hush"}}
		vars := strings.Join(modelEnviron(j, "http://h"), " ")
		if file := strings.Contains(vars, "SETT_MODEL_KEYS=/d/model-keys.json"); file == want || strings.Contains(vars, "hush") {
			t.Errorf("%s: %s", run, vars)
		}
		if got := keysEnviron(j); !slices.Equal(got, []string{`SETT_MODEL_SECRETS={"m":"hush"}`}) {
			t.Errorf("handed over: %q", got)
		}
	}
}

// The digest of values depends on the instance's key: who has it elsewhere cannot try values.
func TestValuesDigest(t *testing.T) {
	vars := []config.EnvVar{{Name: "A", Value: "${KEY}"}}
	digest := valuesDigest("k", vars, map[string]string{"KEY": "v"})
	for name, other := range map[string]string{
		"another key":    valuesDigest("l", vars, map[string]string{"KEY": "v"}),
		"another value":  valuesDigest("k", vars, map[string]string{"KEY": "w"}),
		"no value":       valuesDigest("k", vars, nil),
		"an empty value": valuesDigest("k", vars, map[string]string{"KEY": ""}),
	} {
		if other == digest || other == "" {
			t.Errorf("%s: %q", name, other)
		}
	}
	if d := valuesDigest("k", []config.EnvVar{{Name: "A", Value: "v$$"}}, nil); d != "" {
		t.Errorf("nothing of the host: %q", d)
	}
}

// What a value requires is missed before anything starts; values that no process takes are refused.
func TestHostValuesRefused(t *testing.T) {
	for yml, host := range map[string]map[string]string{
		"runtime: process\nagents:\n  one: {command: [a], environment: ['A=${KEY:?ask ann}']}\n": nil,
		planValues: {"KEY": strings.Repeat("x", maxValues)},
	} {
		_, err := hostValues(planned(t, yml), func(name string) (string, bool) { v, set := host[name]; return v, set })
		if role.CodeOf(err) != role.Usage {
			t.Errorf("%v", err)
		}
	}
}

// That values with a dollar are read otherwise now is told once.
func TestInterpolationIsTold(t *testing.T) {
	yml := strings.Replace(planOne, "[a]", "[a], environment: ['A=$$5']", 1)
	told := func(f *facts) bool {
		p := newPlan(f)
		return slices.ContainsFunc(p.atEnd, func(n string) bool { return strings.Contains(n, "until now such values were literal") }) && p.tells
	}
	f := planned(t, yml).running(t, yml)
	if !told(f) {
		t.Error("it is not told")
	}
	f.state.ToldValues = true
	if told(f) || told(planned(t, planOne)) {
		t.Error("it is told for nothing")
	}
	if p := newPlan(planned(t, yml)); told(planned(t, yml)) || !p.tells {
		t.Error("a first start is told what was before it, or the second will be")
	}
}
