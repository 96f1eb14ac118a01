package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// asFile returns a configuration as sett config prints it.
func asFile(t *testing.T, c *Config) string {
	t.Helper()
	text, err := YAML(c.Sett())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sameAsFile holds a configuration to what it says of itself: printed as a file,
// it reads as the same. JSON is YAML, too.
func sameAsFile(t *testing.T, c *Config) {
	t.Helper()
	asJSON, err := json.Marshal(c.Sett())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{asFile(t, c), string(asJSON)} {
		if len(text) > MaxSource {
			return // aliases made it small
		}
		back, err := Parse("printed", []byte(text))
		if err != nil {
			t.Fatalf("%v\nin %s", err, text)
		}
		if !reflect.DeepEqual(unlined(c), unlined(back)) {
			t.Fatalf("went in as %+v\ncame out as %+v\nthrough %s", c, back, text)
		}
	}
}

// unlined is the configuration without the lines that its bids stand in.
func unlined(c *Config) *Config {
	same := *c
	same.Agents = slices.Clone(c.Agents)
	for i := range same.Agents {
		same.Agents[i].Bids = withoutLines(same.Agents[i].Bids)
	}
	return &same
}

// corpus is every valid and invalid sett.yml that the tests know, by name.
func corpus(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{"minimal": minimal}
	for _, pattern := range []string{"testdata/*.yml", "../../agents/*.yml", "../../agents/demo/repo/*.yml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all[file] = string(source)
		}
	}
	for _, c := range slices.Concat(problemCases, modelCases) {
		all[c.name] = c.source
	}
	for _, extra := range validAgents {
		all["valid agent "+extra] = agentLines(extra)
	}
	for _, extra := range validFiles {
		all["valid file "+extra] = minimal + extra
	}
	return all
}

// validAgents are lines of an agent, and validFiles of the top level, with which
// a file is valid.
var (
	validAgents = []string{
		"role: Users", "role: ' Humane '", "timeout: 1h2m3.5s", "timeout: +5m", "timeout: 1µs", "timeout: .5s", "stop_grace_period: 0",
		"stop_grace_period: '0'", "stop_grace_period: 0s", "resources: {limits: {cpus: '0.000000001', memory: 1.5g}}",
		"resources: {limits: {cpus: 999999.123456789, memory: 9223372036854775807, pids: 32}, reservations: {cpus: .5, memory: '4 MiB'}}",
		"environment: [A, B=, C=d=e, true]", "environment: {A: , B: '', C: 007, D: yes, E: 1.10, F: \"a\\nb\\e\"}", "environment: {}", "environment: []",
		"bids: {'a b': claim, '<<': review, \"x\\ny\": ignore, '~': exclusive, 5: claim}",
		"bid_script: ['-', '', '~', 'null', '0x1', \"\\u0085\", ' x ', '#', ': ', \"a\\tb\", 1e3, .inf, true]",
		"prompts: {claim: \"x\\n\\n  y\\n\", execution: 5}", "replicas: 2\n    warm: 3\n    isolated_ports: true", "concurrency: 256", "concurrency: 1\n    replicas: 2", "strategy: fresh_per_call\n    isolated_ports: true",
		"health_check: {}", "health_check: {interval: 1s, retries: 2}", "network: none\n    retries: 2147483647", "workspace: {}", "read_only: false",
	}
	validFiles = []string{
		"version: 1\n", "pin:\n", "pin: []\n", "pin: [agents, 5, a/b]\n", "version: 1.0\n", "version: '1'\n", "approve: []\n", "approve:\n", "approve: ['*', Code*, 5, yes]\n", "notify:\n",
		"notify: {command: [x]}\n", "notify: {command: [x, 1], environment: {A: 1}, timeout: 90s, image: a/b:c}\n",
		"orchestrator: {question_timeout: 0, on_review_limit: ask}\n", "orchestrator: {run: host, bid_timeout: 1h}\n",
		"runtime: process\n", "runtime: process\norchestrator: {run: host}\n", "redis: {url: 'redis://[::1]:6379/3'}\n",
		"models:\n", "models: {m: {api: chat, model: x, base_url: 'http://h'}}\nbudget: {cost: 0.25, tokens: 1.5M}\n", "models: {m: {api: responses, model: x, api_key_env: K, price: {input: 0, output: 0}}}\nbudget:\n",
		"models: {m: {api: messages, model: x, headers: {X-A: '${B}'}, retries: 0, temperature: 0}}\n",
		"redis: {url: 'rediss://u:p%40@h.example.com/0?x=y'}\n", "redis: {url: 'redis://:p@h:1/5'}\n", "services: {redis: {url: 'redis://h'}}\n",
		"services: {redis: {embedded: true, image: x}}\n", "services: {redis: {embedded: false, url: 'redis://h'}}\n",
	}
)

func TestSettRoundTrip(t *testing.T) {
	valid := 0
	for name, source := range corpus(t) {
		for _, runtime := range []string{"", RuntimeProcess} {
			c, err := Parse(name, []byte(source), WithRuntime(runtime))
			if err != nil {
				if strings.HasPrefix(name, "valid") {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			valid++
			sameAsFile(t, c)
			shown, _ := c.WithoutSecrets()
			if _, err := Parse("masked", []byte(asFile(t, shown))); err != nil {
				t.Errorf("%s, masked: %v", name, err)
			}
		}
	}
	if valid < 50 {
		t.Errorf("only %d of the files are valid", valid)
	}
}

func TestShortDuration(t *testing.T) {
	for s, want := range map[string]string{
		"0": "0s", "1h": "1h", "60m": "1h", "1h1s": "1h0m1s", "90m": "1h30m", "10m": "10m", "10s": "10s", "500ms": "500ms", "100h": "100h", "1.5s": "1.5s", "20m10s": "20m10s",
	} {
		d, err := time.ParseDuration(s)
		if got := shortDuration(d); err != nil || got != want {
			t.Errorf("%s: %q, want %q (%v)", s, got, want, err)
		}
	}
}

func TestWithoutSecrets(t *testing.T) {
	source := `
agents:
  a:
    build: {args: {NPM_TOKEN: hunter2, BASE: debian}}
    command: [/run, "--to=https://me:hunter2@host/x"]
    bid_script: [/bid, "ssh://me:hunter2@host"]
    prompts: {claim: "see https://me:hunter2@host and go"}
    environment:
      API_KEY: hunter2
      apikey: hunter2
      GITHUB_TOKEN: hunter2
      PGPASSWORD: hunter2
      MYSQL_PWD: hunter2
      PROXY_AUTH: hunter2
      DATABASE_URL: "postgres://me:x@hunter2@db"
      INHERITED_TOKEN:
      EMPTY_TOKEN: ""
      GIT_AUTHOR_NAME: Ann
      PWD: /work
      BYPASS: ok
      MONKEYS: many
notify: {command: [/n, "https://:hunter2@h"], environment: [WEBHOOK_SECRET=hunter2]}
redis: {url: "redis://me:hunter2@host:6379/0?master_set=m&sentinel_password=hunter2&addr=b:1"}
`
	c := mustParse(t, source)
	before := asFile(t, c)
	shown, some := c.WithoutSecrets()
	text := asFile(t, shown)
	if !some || strings.Contains(text, "hunter2") || strings.Count(before, "hunter2") != 15 {
		t.Errorf("%v, %d secrets before\n%s", some, strings.Count(before, "hunter2"), text)
	}
	for _, kept := range []string{"INHERITED_TOKEN: null", `EMPTY_TOKEN: ""`, "GIT_AUTHOR_NAME: Ann", "PWD: /work", "BYPASS: ok", "MONKEYS: many", "BASE: debian", "&addr=b:1"} {
		if !strings.Contains(text, kept) {
			t.Errorf("%q is gone from\n%s", kept, text)
		}
	}
	if after := asFile(t, c); after != before {
		t.Errorf("the original has changed:\n%s", after)
	}
	if _, some := mustParse(t, minimal).WithoutSecrets(); some {
		t.Error("secrets in the minimal file")
	}
}
