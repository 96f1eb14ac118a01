package config

import (
	"errors"
	"reflect"
	"slices"
	"testing"
)

// Agents that share settings read as agents that say each of them.
func TestSharedSettings(t *testing.T) {
	for name, c := range map[string]struct{ shared, same string }{
		"nothing": {"defaults:\nagents: {a: {image: i, command: [x]}}", "agents: {a: {image: i, command: [x]}}"},
		"all an agent needs": {"defaults: {image: i, command: [x]}\nagents: {a: , b: {}}",
			"agents: {a: {image: i, command: [x]}, b: {image: i, command: [x]}}"},
		"an agent's own key": {"agents: {a: {image: j, command: [y], bids: {X: claim}, timeout: 1s}}\ndefaults: {image: i, command: [x, y], bids: {Y: review}, timeout: 5s, network: none}",
			"agents: {a: {image: j, command: [y], bids: {X: claim}, timeout: 1s, network: none}}"},
		"sections": {"defaults: {image: i, workspace: {mode: rw}, prompts: {claim: c, execution: e}, resources: {limits: {cpus: 2, memory: 2G}, reservations: {memory: 1G}}, health_check: {retries: 9}}\n" +
			"agents: {a: {command: [x], prompts: {claim: d}, resources: {limits: {cpus: 1}}, health_check: {interval: 1s}}}",
			"agents: {a: {image: i, workspace: {mode: rw}, command: [x], prompts: {claim: d, execution: e}, resources: {limits: {cpus: 1, memory: 2G}, reservations: {memory: 1G}}, health_check: {retries: 9, interval: 1s}}}"},
		"without a section": {"defaults: {image: i, health_check: {retries: 9}}\nagents: {a: {command: [x], health_check: }}", "agents: {a: {image: i, command: [x]}}"},
		"environment": {"defaults: {image: i, environment: {A: 1, B: 2}}\nagents: {a: {command: [x], environment: [B, C=3]}, b: {command: [x]}}",
			"agents: {a: {image: i, command: [x], environment: [A=1, B, C=3]}, b: {image: i, command: [x], environment: [A=1, B=2]}}"},
		"rivals":          {"defaults: {image: i, bids: {X: claim}}\nagents: {a: {build: ., command: [x], bid_script: [y]}}", "agents: {a: {build: ., command: [x], bid_script: [y]}}"},
		"rivals turned":   {"defaults: {build: ., bid_script: [y]}\nagents: {a: {image: i, command: [x], bids: {X: claim}}}", "agents: {a: {image: i, command: [x], bids: {X: claim}}}"},
		"rules over both": {"defaults: {image: i, adapter: check, makes: Y}\nagents: {a: {command: [x], bids: {GoalDefined: claim}}}", "agents: {a: {image: i, command: [x], adapter: check, makes: Y, bids: {GoalDefined: claim}}}"},
		"extensions":      {"defaults: {image: i, x-note: 1}\nagents: {a: {command: [x]}}", "agents: {a: {image: i, command: [x]}}"},
		"processes":       {"runtime: process\ndefaults: {command: [x]}\nagents: {a: {}}", "runtime: process\nagents: {a: {command: [x]}}"},
	} {
		if got, want := unlined(mustParse(t, c.shared)), unlined(mustParse(t, c.same)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, got.Agents, want.Agents)
		}
		root, ok := treeOf(c.shared)
		if err := validator(t).Validate(asValue(root)); !ok || err != nil {
			t.Errorf("%s: the schema refuses it: %v", name, err)
		}
	}
}

// A rule that a shared setting breaks names its place there.
func TestSharedSettingAtItsPlace(t *testing.T) {
	_, err := Parse("f", []byte("defaults:\n  image: i\n  fail_on: output\nagents:\n  a: {command: [x]}\n"))
	var faults *Errors
	if !errors.As(err, &faults) || faults.Problems[0].Line != 3 {
		t.Error(err)
	}
}

// Anchors, aliases and merge keys of YAML mean what YAML says.
func TestAnchors(t *testing.T) {
	c := mustParse(t, `
x-env: &env {LEVEL: info, REGION: eu}
x-base: &base
  image: &tools "tools:1"
  command: &run [bin/run, --all]
  environment: *env
  workspace: &rw {mode: rw}
x-slow: &slow {timeout: 1h, network: none}
agents:
  one: *base
  two:
    <<: *base
    network: internal
    environment: {<<: *env, LEVEL: debug}
  three:
    timeout: 5s
    <<: [*slow, *base]
  four: {image: *tools, command: *run, workspace: *rw, bids: {"*": ignore}}
defaults:
  <<: *slow
  timeout: 2m
`)
	type row struct {
		image, network, timeout, mode string
		environment                   []EnvVar
	}
	want := map[string]row{
		"one":   {"tools:1", "none", "2m0s", "rw", []EnvVar{{Name: "LEVEL", Value: "info"}, {Name: "REGION", Value: "eu"}}},
		"two":   {"tools:1", "internal", "2m0s", "rw", []EnvVar{{Name: "LEVEL", Value: "debug"}, {Name: "REGION", Value: "eu"}}},
		"three": {"tools:1", "none", "5s", "rw", []EnvVar{{Name: "LEVEL", Value: "info"}, {Name: "REGION", Value: "eu"}}},
		"four":  {"tools:1", "none", "2m0s", "rw", nil},
	}
	for _, a := range c.Agents {
		got := row{a.Image, a.Network, a.Timeout.String(), string(a.Workspace.Mode), a.Environment}
		if !reflect.DeepEqual(got, want[a.Name]) || !slices.Equal(a.Command, []string{"bin/run", "--all"}) {
			t.Errorf("%s: %+v %q", a.Name, got, a.Command)
		}
	}
}
