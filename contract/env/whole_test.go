package env_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"sett/contract/env"
)

// TestWhole: a name that is not given is empty, which no reader takes for a value and no tool gets.
func TestWhole(t *testing.T) {
	given := []string{"PATH=/bin", env.Agent + "=writer", env.Role + "="}
	before := slices.Clone(given)
	got := env.Whole(given)
	if !slices.Equal(got[:len(given)], before) || !slices.Equal(given, before) {
		t.Errorf("%q became %q", before, got)
	}
	if len(got) != len(env.Names)+1 || !slices.Contains(got, env.ModelSocket+"=") || !slices.Contains(got, env.RedisURL+"=") {
		t.Errorf("%d variables: %q", len(got), got)
	}
	if tool := env.ToolEnviron(got, env.ToolVars{}); slices.ContainsFunc(tool, func(v string) bool {
		return strings.HasSuffix(v, "=") && strings.HasPrefix(v, "SETT_") && !strings.HasPrefix(v, "SETT_CLAIM_") && !strings.HasPrefix(v, "SETT_TARGET_")
	}) {
		t.Errorf("a tool gets %q", tool)
	}
}

// TestEmptyIsUnset: with all of Sett's variables empty but those that must be there, each part has
// the settings that it has without them.
func TestEmptyIsUnset(t *testing.T) {
	given := []string{
		env.Instance + "=i", env.Agent + "=a", env.Command + `=["x"]`, env.RedisURL + "=redis://h", env.ModelAddr + "=h:1", env.GatewayKey + "=k", env.Models + "={}",
		env.NotifyCommand + `=["x"]`, env.RepositoryAddr + "=h:1", env.RepositoryKey + "=k", env.Store + "=/s", env.Trees + "=/t",
	}
	lookup := func(all []string) func(string) (string, bool) {
		return func(name string) (string, bool) {
			for _, v := range all {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value, true
				}
			}
			return "", false
		}
	}
	for part, parse := range map[string]func(func(string) (string, bool)) (any, error){
		"cub":        func(l func(string) (string, bool)) (any, error) { return env.ParseCub(l) },
		"gateway":    func(l func(string) (string, bool)) (any, error) { return env.ParseGateway(l) },
		"notifier":   func(l func(string) (string, bool)) (any, error) { return env.ParseNotifier(l) },
		"repository": func(l func(string) (string, bool)) (any, error) { return env.ParseRepository(l) },
		"llm":        func(l func(string) (string, bool)) (any, error) { return env.ParseLLM(l) },
	} {
		want, err := parse(lookup(given))
		if err != nil {
			t.Errorf("%s: %v", part, err)
		}
		got, err := parse(lookup(env.Whole(given)))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", part, got, err, want)
		}
	}
}
