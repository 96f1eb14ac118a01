package config

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden compares what each file in testdata reads as: the resolved
// configuration, or every problem as people see it.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yml")
	if err != nil || len(files) < 5 {
		t.Fatalf("files %v, error %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			if c, err := Parse("sett.yml", source); err != nil {
				got = err.Error() + "\n"
			} else {
				text, err := json.MarshalIndent(c, "", "  ")
				if err != nil {
					t.Fatal(err)
				}
				got = string(text) + "\n"
			}
			golden := strings.TrimSuffix(file, ".yml") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("differs from %s (go test -update rewrites it):\n%s", golden, got)
			}
		})
	}
}

func mustParse(t *testing.T, source string, options ...Option) *Config {
	t.Helper()
	c, err := Parse("sett.yml", []byte(source), options...)
	if err != nil {
		t.Fatalf("parse:\n%v", err)
	}
	return c
}

const minimal = "agents: {a: {image: i, command: [/run]}}\n"

func TestDefaults(t *testing.T) {
	want := &Config{
		Version: "1.0", Runtime: "docker", Approve: []string{},
		Agents: []Agent{{
			Name: "a", Role: "a", Image: "i", Command: []string{"/run"}, Replicas: 1, Concurrency: 1, Strategy: "reuse",
			Workspace: Workspace{Mode: blackboard.ReadOnly, MaxSize: 1 << 30, MaxTree: 10 << 30, MinFree: 1 << 30},
			Timeout:   5 * time.Minute, Grace: 10 * time.Second, Network: "full", ReadOnly: true,
		}},
		Services:     Services{Redis: RedisService{Image: "redis:7-alpine"}, Repository: RepositoryService{Image: "alpine/git:v2.49.1"}},
		Orchestrator: Orchestrator{Run: "container", MaxReviewIterations: 3, MaxArtefacts: 100, OnReviewLimit: "fail"},
		Redis:        Redis{GiveUp: 5 * time.Minute, Timeout: 2 * time.Second, Retries: 5},
	}
	if got := mustParse(t, minimal); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	// Sections whose keys are all commented out are as good as absent.
	empty := minimal[:len(minimal)-3] + ", prompts: , workspace: , environment: , resources: , health_check: , bids: }}\n" +
		"services:\napprove:\nnotify:\norchestrator:\nredis:\n"
	if got := mustParse(t, empty); !reflect.DeepEqual(got, want) {
		t.Errorf("with empty sections got %+v\nwant %+v", got, want)
	}
	h := mustParse(t, "agents: {a: {image: i, command: [/run], health_check: {}}}").Agents[0].HealthCheck
	if h == nil || *h != (HealthCheck{Interval: 30 * time.Second, Timeout: 30 * time.Second, Retries: 3}) {
		t.Errorf("health check %+v", h)
	}
}

// TestExtensions: keys with x- may stand in every section, and anchors in them are used.
func TestExtensions(t *testing.T) {
	c, err := Parse("sett.yml", []byte("x-base: &base {network: none, x-note: {a: [1]}}\nagents:\n  a:\n    <<: *base\n    image: i\n    command: [x]\n"+
		"    workspace: {mode: rw, x-why: it writes}\nredis: {x-anything: ~}\n"))
	if err != nil || c.Agents[0].Network != NetworkNone || c.Agents[0].Workspace.Mode != blackboard.ReadWrite {
		t.Fatalf("%+v %v", c, err)
	}
	if _, err := Parse("sett.yml", []byte(minimal+"xbase: {}\n")); err == nil {
		t.Error("any key is taken")
	}
}

func TestStrategyFollowsReplicas(t *testing.T) {
	for extra, fresh := range map[string]bool{
		"":                                       false,
		"replicas: 1":                            false,
		"replicas: 2":                            true,
		"strategy: fresh_per_call":               true,
		"replicas: 2, strategy: fresh_per_call":  true,
		"warm: 1, replicas: 2":                   true,
		"strategy: reuse, replicas: 1, warm: 0 ": false,
	} {
		c := mustParse(t, "agents: {a: {image: i, command: [/run], "+extra+"}}")
		if got := c.Agents[0].Fresh(); got != fresh {
			t.Errorf("%s: fresh is %v", extra, got)
		}
	}
}

func TestRuntimeDecidesWhatMustBeThere(t *testing.T) {
	bare := "agents: {a: {command: [/run]}}\n"
	for name, source := range map[string]string{
		"before the agents": "runtime: process\n" + bare,
		"after the agents":  bare + "runtime: process\n",
	} {
		c := mustParse(t, source)
		if c.Runtime != RuntimeProcess || c.Orchestrator.Run != RunHost {
			t.Errorf("%s: %+v", name, c)
		}
		if _, err := Parse("f", []byte(source), WithRuntime(RuntimeDocker)); err == nil {
			t.Errorf("%s: overridden with docker, no image is missed", name)
		}
	}
	c := mustParse(t, bare+"orchestrator: {run: container}", WithRuntime(RuntimeProcess))
	if c.Runtime != RuntimeProcess || c.Orchestrator.Run != RunHost {
		t.Errorf("overridden: %+v", c)
	}
	if _, err := Parse("f", []byte(minimal), WithRuntime("dokcer")); err == nil ||
		!strings.Contains(err.Error(), `did you mean "docker"?`) {
		t.Errorf("unknown runtime: %v", err)
	}
}

func TestRedisURLFromEitherPlace(t *testing.T) {
	for _, extra := range []string{
		"redis: {url: 'redis://h:1/2'}",
		"services: {redis: {url: 'redis://h:1/2'}}",
		"redis: {url: 'redis://h:1/2'}\nservices: {redis: {url: 'redis://h:1/2'}}",
	} {
		c := mustParse(t, minimal+extra)
		if c.Redis.URL != "redis://h:1/2" || c.Services.Redis.URL != c.Redis.URL {
			t.Errorf("%s: %q and %q", extra, c.Redis.URL, c.Services.Redis.URL)
		}
	}
}

// Where there are only processes, sett's own server is what there is anyway; a
// file that is for both may say so.
func TestEmbedded(t *testing.T) {
	for _, runtime := range []string{RuntimeDocker, RuntimeProcess} {
		c := mustParse(t, minimal+"runtime: "+runtime+"\nservices: {redis: {embedded: true, image: x}}")
		if !c.Services.Redis.Embedded {
			t.Errorf("%s: not embedded", runtime)
		}
	}
	mustParse(t, minimal+"services: {redis: {embedded: false, url: 'redis://h'}}")
}

func TestImageReferences(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	for ref, ok := range map[string]bool{
		"alpine": true, "alpine:3.20": true, "team/writer": true, "registry.example.com:5000/team/writer:1.2" + digest: true,
		"localhost:5000/x": true, "my_writer": true, "sha256:" + strings.Repeat("0a", 32): true, "x" + digest: true,
		"": false, "-x": false, "a b": false, "a\n": false, "/x": false, "$(x)": false, "http://x y": false,
	} {
		if fault, _ := imageName.fault(ref); (fault == "") != ok {
			t.Errorf("%q: %q", ref, fault)
		}
	}
}

func TestLineBreaksAndMark(t *testing.T) {
	want := mustParse(t, minimal)
	for _, source := range []string{"\uFEFF" + minimal, strings.ReplaceAll(minimal, "\n", "\r\n"),
		"---\r\n" + minimal + "...\n", "agents:\r a:\r  image: i\r  command: [/run]\r"} {
		if got := mustParse(t, source); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v", source, got)
		}
	}
}

func TestLookUp(t *testing.T) {
	c := mustParse(t, "agents: {z: {image: i, command: [/z]}, b: {image: i, command: [/b]}}")
	if got := c.Names(); !reflect.DeepEqual(got, []string{"z", "b"}) {
		t.Errorf("names %v", got)
	}
	if a, ok := c.Agent("b"); !ok || a.Command[0] != "/b" {
		t.Errorf("b: %+v %v", a, ok)
	}
	if _, ok := c.Agent("x"); ok {
		t.Error("found x")
	}
}

func TestRoundTrip(t *testing.T) {
	for _, file := range []string{"spec", "everything", "example-agent"} {
		source, err := os.ReadFile("testdata/" + file + ".yml")
		if err != nil {
			t.Fatal(err)
		}
		c := mustParse(t, string(source))
		roundTrip(t, c)
		before := c.Agents[0].Digest()
		c.Agents[0].Resolved = &Resolved{Image: "sha256:1", Binary: "volume"}
		roundTrip(t, c)
		if c.Agents[0].Digest() == before {
			t.Errorf("%s: the digest does not see what the container is made of", file)
		}
		if c.Notify == nil {
			continue
		}
		before = c.Notify.Digest()
		c.Notify.Resolved = &Resolved{Image: "sha256:2"}
		roundTrip(t, c)
		if c.Notify.Digest() == before {
			t.Errorf("%s: the digest does not see what the notifier's container is made of", file)
		}
	}
	for _, broken := range []string{
		`{"agents": [{"timeout": "soon"}]}`, `{"agents": [{"health_check": {"interval": "x"}}]}`,
		`{"orchestrator": {"bid_timeout": "x"}}`, `{"redis": {"give_up": "x"}}`,
		`{"orchestrator": {"question_timeout": "x"}}`, `{"notify": {"timeout": "x"}}`,
	} {
		if err := json.Unmarshal([]byte(broken), new(Config)); err == nil {
			t.Errorf("%s was read", broken)
		}
	}
}

func roundTrip(t *testing.T, c *Config) {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	back := new(Config)
	if err := json.Unmarshal(text, back); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if !reflect.DeepEqual(c, back) {
		t.Fatalf("went in as %+v\ncame out as %+v\nthrough %s", c, back, text)
	}
	for i := range c.Agents {
		if c.Agents[i].Digest() != back.Agents[i].Digest() {
			t.Fatalf("digest of %s changed", c.Agents[i].Name)
		}
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.yml")
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(source)
	}
	for _, c := range problemCases {
		if len(c.source) < 4096 { // the fuzzer would spend its time on making the large ones small
			f.Add([]byte(c.source))
		}
	}
	schema := validator(f)
	f.Fuzz(func(t *testing.T, source []byte) {
		c, err := Parse("f", source)
		if err == nil {
			roundTrip(t, c)
			sameAsFile(t, c)
			root, _ := treeOf(lineBreaks.Replace(strings.TrimPrefix(string(source), "\uFEFF")))
			if err := schema.Validate(asValue(root)); err != nil {
				t.Fatalf("only the schema refuses it: %v", err)
			}
			return
		}
		var problems *Errors
		if !errors.As(err, &problems) || len(problems.Problems) == 0 || c != nil {
			t.Fatalf("config %v, error %#v", c, err)
		}
		for _, p := range problems.Problems {
			if p.Line < 1 || p.Column < 1 || p.Message == "" || p.Excerpt == "" || strings.ContainsAny(p.Message+p.Hint, "\x1b\n") {
				t.Fatalf("bad problem %+v", p)
			}
		}
	})
}

// TestDefaultRuntime: what a file or a flag says goes before it, and what a file needs
// depends on it as on them.
func TestDefaultRuntime(t *testing.T) {
	bare := "agents: {a: {command: [x]}}\n"
	for _, c := range []struct {
		source  string
		options []Option
		want    string
	}{
		{bare, []Option{DefaultRuntime(RuntimeProcess)}, RuntimeProcess},
		{bare + "orchestrator: {run: container}", []Option{DefaultRuntime(RuntimeProcess)}, RuntimeProcess},
		{minimal, []Option{DefaultRuntime("")}, RuntimeDocker},
		{minimal + "\nruntime: docker", []Option{DefaultRuntime(RuntimeProcess)}, RuntimeDocker},
		{minimal, []Option{DefaultRuntime(RuntimeProcess), WithRuntime(RuntimeDocker)}, RuntimeDocker},
	} {
		if got := mustParse(t, c.source, c.options...); got.Runtime != c.want {
			t.Errorf("%s: got %s, want %s", c.source, got.Runtime, c.want)
		}
	}
}

// TestNoteRuntime: where the file says that agents run, in whatever form, and not a flag.
func TestNoteRuntime(t *testing.T) {
	for source, want := range map[string]string{
		minimal: "", minimal + "\nruntime: docker": RuntimeDocker, minimal + "\n\"runtime\": process": RuntimeProcess, minimal + "\n# runtime: process": "",
	} {
		for _, flag := range []string{"", RuntimeDocker, RuntimeProcess} {
			var said string
			if _, err := Parse("f", []byte(source), NoteRuntime(&said), WithRuntime(flag), DefaultRuntime(RuntimeProcess)); err != nil || said != want {
				t.Errorf("%q: %q: %v\n%s", flag, said, err, source)
			}
		}
	}
}
