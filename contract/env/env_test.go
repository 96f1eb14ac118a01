package env_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/env"
)

// lookup reads an environment as the system would.
func lookup(environ []string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, v := range environ {
			if n, value, _ := strings.Cut(v, "="); n == name {
				return value, true
			}
		}
		return "", false
	}
}

var least = []string{"SETT_INSTANCE_NAME=demo", "SETT_AGENT_NAME=writer", "REDIS_URL=redis://:secret@host:1/0", `SETT_AGENT_COMMAND=["/run.sh"]`}

// What a cub is started with comes back from its variables.
func TestCubRoundTrip(t *testing.T) {
	agent := config.Agent{
		Name: "writer", Role: "author", Command: []string{"/run.sh", "two words", `"é"=`}, BidScript: []string{"/bid.sh"},
		Bids:    []config.BidRule{{Type: "Code*", Bid: blackboard.BidReview}, {Type: "*", Bid: blackboard.BidIgnore}},
		Prompts: config.Prompts{Claim: "shall\nI?", Execution: "do = it"}, Strategy: config.StrategyFreshPerCall,
		Timeout: 90 * time.Second, Grace: 1500 * time.Millisecond, Workspace: config.Workspace{Mode: blackboard.ReadWrite, MaxSize: 1 << 20, MaxTree: 2 << 20, MinFree: 3 << 20},
		Network: config.NetworkNone, Commits: []string{"TerraformCode"},
		Adapter: config.Adapter{Kind: config.AdapterCheck, Makes: []string{"Checked"}, Terminal: true},
	}
	c := env.Of(agent)
	if !c.Fresh || c.ConfigDigest != agent.Digest() {
		t.Errorf("of the agent: %+v", c)
	}
	c.Instance, c.Workspace, c.Incarnation, c.Run, c.HealthAddr, c.Image = "demo", "/src", "i1", "r1", "off", "sha256:1f"
	c.RepositoryURL, c.TreeToken, c.Tree = "http://127.0.0.1:7070", "secret", "writer.2"
	c.Slots = []env.Slot{{Workspace: "/src/1", Tree: "writer.slot-1"}, {Workspace: "/src/2", Walls: &env.Walls{Write: []string{"/src/2"}, Tmp: "/src/tmp"}}}
	c.Redis = env.Redis{URL: "redis://:secret@host:1/0", Timeout: time.Second, Retries: 7, GiveUp: time.Minute, CAFile: "/ca.pem"}
	environ := c.Environ()
	got, err := env.ParseCub(lookup(environ))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, c) {
		t.Errorf("got\n%+v\nwant\n%+v", got, c)
	}
	if again := c.Environ(); !slices.Equal(again, environ) {
		t.Error("the order of the variables changes")
	}
}

// What is not set has its documented default.
func TestCubDefaults(t *testing.T) {
	got, err := env.ParseCub(lookup(least))
	want := env.Cub{
		Instance: "demo", Agent: "writer", Role: "writer", Command: []string{"/run.sh"}, Timeout: 5 * time.Minute, Grace: 10 * time.Second,
		Workspace: "/workspace", Mode: blackboard.NoWorkspace, Tree: "writer",
		Limits:     config.Workspace{Mode: blackboard.NoWorkspace, MaxSize: config.DefaultMaxSize, MaxTree: config.DefaultMaxTree, MinFree: config.DefaultMinFree},
		HealthAddr: ":8080", Network: config.NetworkFull,
		Redis: env.Redis{URL: "redis://:secret@host:1/0", Timeout: 2 * time.Second, Retries: 5, GiveUp: 5 * time.Minute},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v %v\nwant\n%+v", got, err, want)
	}
	if got := (env.Cub{}).Environ(); len(got) != 0 {
		t.Errorf("variables of nothing: %q", got)
	}
}

// Each variable that is missing is named, all at once, with what it should be.
func TestCubMissing(t *testing.T) {
	_, err := env.ParseCub(lookup(nil))
	want := []string{
		"SETT_INSTANCE_NAME is not set; want the instance's name, such as my-sett",
		"SETT_AGENT_NAME is not set; want the agent's name in sett.yml",
		"REDIS_URL is not set; want the blackboard, such as redis://:password@host:6379/0",
		`SETT_AGENT_COMMAND is not set; want a JSON array such as ["/app/run.sh"]`,
	}
	var all env.Errors
	if !errors.As(err, &all) || !slices.Equal(all, want) || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got %q", err)
	}
}

// A cub whose tool has a tree has to know the repository and its token there, which no
// tool gets.
func TestCubWithTree(t *testing.T) {
	for _, mode := range []string{"ro", "rw"} {
		_, err := env.ParseCub(lookup(append([]string{"SETT_WORKSPACE_MODE=" + mode}, least...)))
		want := env.Errors{
			"SETT_REPOSITORY_URL is not set; want the repository role, such as http://127.0.0.1:7070",
			"SETT_REPOSITORY_TOKEN is not set; want the agent's token of the repository role",
		}
		if got := (env.Errors)(nil); !errors.As(err, &got) || !slices.Equal(got, want) {
			t.Errorf("%s: got %v", mode, err)
		}
	}
	c, err := env.ParseCub(lookup(append([]string{"SETT_WORKSPACE_MODE=none", "SETT_REPOSITORY_URL=http://x", "SETT_REPOSITORY_TOKEN=secret"}, least...)))
	if err != nil || c.RepositoryURL != "" || c.TreeToken != "" {
		t.Errorf("without a tree: %+v %v", c, err)
	}
	if tool := env.ToolEnviron([]string{"SETT_REPOSITORY_TOKEN=secret", "A=1"}, env.ToolVars{}); !slices.Contains(tool, "A=1") || strings.Contains(strings.Join(tool, " "), "secret") {
		t.Errorf("a tool gets %q", tool)
	}
}

// Each variable that is broken is named with its value and what it should be.
func TestCubBroken(t *testing.T) {
	for variable, want := range map[string]string{
		"SETT_INSTANCE_NAME=Not Valid":                   "a valid instance name",
		"SETT_AGENT_COMMAND=run.sh":                      `["/app/run.sh"]`,
		"SETT_AGENT_COMMAND=[]":                          `["/app/run.sh"]`,
		`SETT_AGENT_COMMAND=[""]`:                        `["/app/run.sh"]`,
		"SETT_AGENT_COMMAND=[1]":                         `["/app/run.sh"]`,
		"SETT_AGENT_ROLE=human":                          "a role other than",
		"SETT_AGENT_STRATEGY=sometimes":                  "reuse or fresh_per_call",
		"SETT_AGENT_BIDS={}":                             "a JSON array",
		"SETT_AGENT_BID_SCRIPT=x":                        "a JSON array",
		"SETT_AGENT_TIMEOUT=5":                           "a positive duration",
		"SETT_AGENT_TIMEOUT=-1s":                         "a positive duration",
		"SETT_STOP_GRACE_PERIOD=soon":                    "a positive duration",
		"SETT_WORKSPACE_MODE=w":                          "none, ro or rw",
		"SETT_TOOL_NETWORK=host":                         "full, internal or none",
		"SETT_REDIS_TIMEOUT=x":                           "a positive duration",
		"SETT_REDIS_RETRIES=many":                        "a number of retries",
		"SETT_REDIS_GIVE_UP=0s":                          "a positive duration",
		"SETT_INSTANCE_NAME=" + strings.Repeat("x", 500): "a valid instance name",
	} {
		name, value, _ := strings.Cut(variable, "=")
		_, err := env.ParseCub(lookup(append([]string{variable}, least...)))
		var all env.Errors
		if !errors.As(err, &all) || len(all) != 1 || !strings.HasPrefix(all[0], name+" is ") || !strings.Contains(all[0], want) {
			t.Errorf("%s: got %v, want %q", variable, err, want)
			continue
		}
		if len(value) < 100 && !strings.Contains(all[0], strings.ReplaceAll(value, `"`, `\"`)) {
			t.Errorf("%s: the value is missing: %v", variable, err)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: shows the blackboard's password", variable)
		}
	}
}

func TestReader(t *testing.T) {
	r := &env.Reader{Lookup: lookup([]string{"EMPTY=", "SET=x", "SPAN=90s"})}
	if r.Or("EMPTY", "default") != "default" || r.Or("SET", "default") != "x" || r.Span("SPAN", 0) != 90*time.Second ||
		r.Span("NONE", time.Hour) != time.Hour || r.Required("SET", "") != "x" {
		t.Error("reading")
	}
	if err := r.Err(); err != nil {
		t.Errorf("nothing is wrong: %v", err)
	}
	r.Required("EMPTY", "a value")
	if err := r.Err(); err == nil || err.Error() != "EMPTY is not set; want a value" {
		t.Errorf("got %v", err)
	}
}

// A problem with a variable that holds credentials does not show them.
func TestSecretsAreNotShown(t *testing.T) {
	for _, name := range env.Secret {
		r := &env.Reader{Lookup: lookup([]string{name + "=secret"})}
		r.OneOf(name, "a", "b")
		if err := r.Err(); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHome(t *testing.T) {
	for home, want := range map[string]string{"": "", ".": "", "rel": "", "./rel": "", "~": "", "/": "/", "/home/me": "/home/me"} {
		if got := env.Home(func(name string) string { return map[string]string{"HOME": home}[name] }); got != want {
			t.Errorf("HOME=%s: %q, want %q", home, got, want)
		}
	}
}

func TestInherited(t *testing.T) {
	host := []string{"PATH=/bin", "AWS_SECRET=x", "HOME=/root", "SETT_LOG_LEVEL=debug", "SETT_UNIT=u", "REDIS_URL=r", "LANG=C", "PATHS=x"}
	if got := env.Inherited(host); !slices.Equal(got, []string{"PATH=/bin", "HOME=/root", "SETT_LOG_LEVEL=debug", "LANG=C"}) {
		t.Errorf("inherited %q", got)
	}
	if got := env.Inherited([]string{"HOME=rel", "LANG=C", "HOME="}); !slices.Equal(got, []string{"LANG=C"}) {
		t.Errorf("a relative home is inherited: %q", got)
	}
	if got := env.WithoutUnit([]string{"A=1", "SETT_UNIT=u", "SETT_UNITS=x"}); !slices.Equal(got, []string{"A=1", "SETT_UNITS=x"}) {
		t.Errorf("without the unit: %q", got)
	}
}
