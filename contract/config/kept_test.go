package config

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// keptFile has each section whose keys may grow.
const keptFile = `version: "1.0"
runtime: docker
agents:
  a: {image: i, command: [x], bids: {GoalDefined: exclusive}, health_check: {interval: 5s}, llm: {model: smart}, budget: {calls: 3}}
  b: {build: {context: b}, command: [y], bids: {GoalDefined: review}}
models:
  smart: {api: chat, model: one, base_url: "https://example.org/v1", api_key_env: KEY}
budget: {calls: 50}
land: {onto: main}
notify: {command: [n]}
`

// A configuration of a sett that did not know a key yet changes no setting that has its default now.
func TestKeptByAnOlderSett(t *testing.T) {
	c := mustParse(t, keptFile)
	whole := asObject(c)
	if got, err := Kept(encoded(t, whole)); err != nil || !reflect.DeepEqual(got, c) {
		t.Fatalf("as this sett wrote it: %v\n got %+v\nwant %+v", err, got, c)
	}
	agent := whole["agents"].([]any)[0].(map[string]any) //nolint:forcetypeassert // the test's own
	model := whole["models"].([]any)[0].(map[string]any) //nolint:forcetypeassert // the test's own
	services := whole["services"].(map[string]any)       //nolint:forcetypeassert // the test's own
	redis, orchestrator := whole["redis"], whole["orchestrator"]
	drop(agent, "concurrency", "read_only", "retries", "isolated_ports")
	drop(agent["workspace"], "min_free", "max_tree")
	drop(agent["health_check"], "retries")
	drop(agent["llm"], "steps", "door")
	drop(model, "concurrency", "retries")
	drop(services, "repository")
	drop(redis, "give_up")
	drop(orchestrator, "max_artefacts", "question_timeout")
	drop(whole["notify"], "timeout")
	drop(whole["land"], "when")
	drop(whole["budget"], "on_budget")
	older, err := Kept(encoded(t, whole))
	if err != nil {
		t.Fatal(err)
	}
	if got := ChangedSettings(older, c); len(got) > 0 || older.SettingsDigest() != c.SettingsDigest() {
		t.Errorf("changed: %q", got)
	}
	touched := mustParse(t, strings.Replace(keptFile, "command: [x]", "command: [x], concurrency: 2, workspace: {min_free: 2GiB}", 1))
	if got := strings.Join(ChangedSettings(older, touched), " "); got != "agents.a.concurrency agents.a.workspace" {
		t.Errorf("with values of its own, changed: %q", got)
	}
	if _, err := Kept([]byte("{")); err == nil {
		t.Error("half a file was read")
	}
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
