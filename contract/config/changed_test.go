package config

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// The ledger names the settings that a sett up changes, and never a value.
func TestChangedSettings(t *testing.T) {
	const base = `version: "1.0"
runtime: process
agents:
  a: {command: ["tools/a"], bids: {GoalDefined: exclusive}, llm: {model: smart}, environment: [KEY=old]}
  b: {command: ["tools/b"], bids: {GoalDefined: review}}
models:
  smart: {api: chat, model: one, base_url: "https://example.org/v1", api_key_env: KEY, price: {input: 1, output: 1}}
budget: {calls: 50, cost: 10}
approve: [Release]
`
	read := func(from, to string) *Config {
		t.Helper()
		text := strings.Replace(base, from, to, 1)
		if from != "" && text == base {
			t.Fatalf("no %q in the file", from)
		}
		return mustParse(t, text)
	}
	before := read("", "")
	for _, tc := range []struct{ from, to, want string }{
		{"", "", ""},
		{"approve: [Release]\n", "", "approve"},
		{"calls: 50, cost: 10", "calls: 5000, cost: 1000", "budget.calls budget.cost"},
		{"budget: {calls: 50, cost: 10}\n", "", "budget"},
		{"model: one", "model: two", "models.smart.model"},
		{"KEY=old", "KEY=new", "agents.a.environment"},
		{"GoalDefined: review", "GoalDefined: claim", "agents.b.bids"},
		{"  b: {command", "  c: {command", "agents.b agents.c"},
		{"approve:", "orchestrator: {max_review_iterations: 1, on_review_limit: ask, question_timeout: 1s}\napprove:",
			"orchestrator.max_review_iterations orchestrator.on_review_limit orchestrator.question_timeout"},
	} {
		after := read(tc.from, tc.to)
		if got := strings.Join(ChangedSettings(before, after), " "); got != tc.want {
			t.Errorf("%q to %q: %q, want %q", tc.from, tc.to, got, tc.want)
		}
		if same := before.SettingsDigest() == after.SettingsDigest(); same != (tc.want == "") {
			t.Errorf("%q to %q: the same digest: %v", tc.from, tc.to, same)
		}
	}
	turned := read("", "")
	slices.Reverse(turned.Agents)
	if got := ChangedSettings(before, turned); !slices.Equal(got, []string{"agents"}) || turned.SettingsDigest() == before.SettingsDigest() {
		t.Errorf("another order: %q", got)
	}
	if got := ChangedSettings(nil, before); got != nil {
		t.Errorf("the first: %q", got)
	}
}

// The digest is that of sett.yml alone: a way through the instance's file and the facts of a machine leave it.
func TestSettingsDigestIsOfTheFile(t *testing.T) {
	const file = "version: \"1.0\"\nruntime: process\nagents:\n  a: {command: [x], bids: {GoalDefined: exclusive}}\n"
	c := mustParse(t, file)
	want := c.SettingsDigest()
	if got := mustParse(t, strings.Replace(file, "agents:", "# a line more\nagents:", 1)).SettingsDigest(); got != want {
		t.Error("a comment is no setting")
	}
	of := func(at string) *Config {
		own := *c
		own.Redis.URL, own.Services.Redis.URL = at, at
		return &own
	}
	one, other := of("redis://sett:secret@host:6379/0"), of("redis://sett:another@host:6379/0")
	if one.SettingsDigest() != other.SettingsDigest() || len(ChangedSettings(one, other)) > 0 || one.SettingsDigest() == want || one.Redis.URL != "redis://sett:secret@host:6379/0" {
		t.Error("the password of a Redis is part of the digest, or the URL is not")
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var again Config
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	again.Agents[0].Resolved = &Resolved{Values: "v", Pin: "p"}
	again.Services.ModelGateway.Resolved = &Resolved{Image: "i"}
	if got := again.SettingsDigest(); got != want || len(ChangedSettings(c, &again)) != 0 {
		t.Errorf("digest %s, want %s; changed %q", got, want, ChangedSettings(c, &again))
	}
}
