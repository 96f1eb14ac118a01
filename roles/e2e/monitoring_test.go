package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"sett/runtime"
)

// seen is a clan of which every kind of agent can be watched.
var seen = clan{agents: []agent{
	{name: "plain", bids: "GoalDefined: exclusive", tool: `say Standard Draft "x"`, more: "health_check: {interval: 100ms, timeout: 5s}\n"},
	{name: "fresh", bids: "Draft: exclusive", tool: `say Terminal Done "x"`, more: "strategy: fresh_per_call\n"},
}}

// healthURL is where health is, by the base address that sett list says; empty: nowhere.
func (in *instance) healthURL() string {
	in.t.Helper()
	var said struct {
		Instances []struct {
			Name      string `json:"name"`
			HealthURL string `json:"health_url"`
		} `json:"instances"`
	}
	if err := json.Unmarshal([]byte(in.must("list", "-o", "json")), &said); err != nil {
		in.t.Fatal(err)
	}
	for _, i := range said.Instances {
		if i.Name == in.name {
			if i.HealthURL == "" {
				return ""
			}
			return i.HealthURL + "/healthz"
		}
	}
	in.t.Fatalf("sett list has no %s", in.name)
	return ""
}

// page gets a page; the status is 0 when nobody answers.
func page(u string) (status int, body string) {
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get(u)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(b)
}

// target is one of those that Prometheus is told of.
type target struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// watch looks at an instance as Prometheus does, from one address, and returns what
// each part serves.
func (in *instance) watch(base string) map[string]string {
	in.t.Helper()
	_, body := page(base + "/targets")
	var all []target
	if err := json.Unmarshal([]byte(body), &all); err != nil {
		in.t.Fatalf("%s: %v", body, err)
	}
	served := map[string]string{}
	for _, g := range all {
		status, text := page("http://" + g.Targets[0] + g.Labels["__metrics_path__"])
		if status != http.StatusOK || g.Labels["instance"] != in.name {
			in.t.Errorf("%v: %d %s", g, status, text)
		}
		part := g.Labels["agent"]
		if g.Labels["role"] == runtime.ComponentRepository {
			part = runtime.ComponentRepository
		}
		served[part] = text
	}
	return served
}

// seeHealth brings an instance up and watches it through whatever comes.
func seeHealth(t *testing.T, o options) map[string]string {
	in := prepare(t, o)
	out := in.must("up", "--runtime", o.runtime())
	in.open()
	in.settled()
	at := in.healthURL()
	base := strings.TrimSuffix(at, "/healthz")
	if u, err := url.Parse(at); err != nil || u.Hostname() != "127.0.0.1" || base == at || !strings.Contains(out, "health and metrics at "+base+"\n") {
		t.Fatalf("sett list says %q, sett up\n%s", at, out)
	}
	for _, path := range []string{"/healthz", "/agents/plain/healthz", "/agents/fresh/healthz"} {
		eventually(t, enough, path, func() bool { status, body := page(base + path); return status == http.StatusOK && body == "ok\n" })
	}
	in.await(in.post("x"), enough)
	var served map[string]string
	for _, line := range []string{
		`sett_goals_ended_total{status="achieved"} 1`, `sett_results_total{agent="plain",structural_type="Standard"} 1`,
		`sett_results_total{agent="fresh",structural_type="Terminal"} 1`, `sett_agent_tool_seconds_count{agent="fresh"} 1`,
		`sett_agent_healthy{agent="plain"} 1`, "sett_leader 1", `sett_agent_up{agent="fresh"} 1`,
	} {
		eventually(t, enough, line, func() bool { served = in.watch(base); return strings.Contains(served[""], "\n"+line+"\n") })
	}
	if len(served) != 4 || !strings.Contains(served["repository"], "\nsett_repository_seconds_count{") || !strings.Contains(served["plain"], "\nsett_executions_total 1\n") || !strings.Contains(served["fresh"], "\nsett_bids_total{") {
		t.Errorf("%d parts are served; plain says %.300s", len(served), served["plain"])
	}
	stays := func(after string) {
		t.Helper()
		eventually(t, enough, "health after "+after, func() bool { status, _ := page(at); return status == http.StatusOK })
		if now := in.healthURL(); now != at {
			t.Errorf("after %s it is at %s, and was at %s", after, now, at)
		}
	}
	in.bounce("orchestrator")
	stays("a crash")
	if out := in.must("up", "--runtime", o.runtime()); !strings.Contains(out, "health and metrics at "+base+"\n") {
		t.Errorf("sett up again says\n%s", out)
	}
	in.bounce("agent-plain")
	in.settled()
	eventually(t, enough, "health of an agent that was started anew", func() bool {
		status, _ := page(base + "/agents/plain/healthz")
		return status == http.StatusOK
	})
	in.must("down")
	if got := in.healthURL(); got != "" {
		t.Errorf("of an instance that is down sett list says %q", got)
	}
	in.up()
	stays("down and up")
	in.must("down")
	in.yields(at)
	return served
}

// yields starts an instance whose port somebody has taken.
func (in *instance) yields(at string) {
	in.t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		in.t.Fatal(err)
	}
	l, err := net.Listen("tcp", u.Host)
	if err != nil {
		in.t.Fatal(err)
	}
	defer l.Close()
	in.up()
	now := in.healthURL()
	if status, body := page(now); now == at || status != http.StatusOK {
		in.t.Errorf("with its port taken it is at %s, and was at %s: %d %s", now, at, status, body)
	}
}

// Health and metrics of every part are reached from the host at one address, which
// stays. What monitors an instance by our example asks for nothing that is not there.
func TestHealthFromTheHost(t *testing.T) {
	t.Parallel()
	served := seeHealth(t, options{clan: seen})
	there := map[string]bool{"up": true} // which is Prometheus' own
	for _, text := range served {
		for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`).FindAllStringSubmatch(text, -1) {
			there[m[1]] = true
			if m[2] == "histogram" {
				for _, part := range []string{"_bucket", "_sum", "_count"} {
					there[m[1]+part] = true
				}
			}
		}
	}
	exprs := append(ruleExprs(t), panelExprs(t)...)
	if len(exprs) < 50 {
		t.Errorf("only %d expressions were found", len(exprs))
	}
	for _, e := range exprs {
		names := metricNames(e)
		if len(names) == 0 {
			t.Errorf("no metric in %s", e)
		}
		for _, name := range names {
			if !there[name] {
				t.Errorf("%s is served by nobody; it is in %s", name, e)
			}
		}
	}
}

func TestDockerHealthFromTheHost(t *testing.T) {
	t.Parallel()
	needEngine(t)
	onHost := inContainers(seen)
	onHost.onHost = true
	for name, o := range map[string]options{"container": inContainers(seen), "orchestrator on the host": onHost} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seeHealth(t, o)
		})
	}
}

// monitoring reads a file of the example.
func monitoring(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../testdata/monitoring", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func ruleExprs(t *testing.T) (exprs []string) {
	t.Helper()
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For string
				Labels           map[string]string
				Annotations      map[string]string
			}
		}
	}
	if err := yaml.UnmarshalWithOptions(monitoring(t, "rules.yml"), &rules, yaml.DisallowUnknownField()); err != nil {
		t.Fatal(err)
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			exprs = append(exprs, r.Expr)
			severity := []string{"info", "warning", "critical"}
			if !strings.HasPrefix(r.Alert, "Sett") || !slices.Contains(severity, r.Labels["severity"]) || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("alert %+v", r)
			}
		}
	}
	var prometheus map[string]any
	if err := yaml.Unmarshal(monitoring(t, "prometheus.yml"), &prometheus); err != nil || fmt.Sprint(prometheus["rule_files"]) != "[rules.yml]" {
		t.Errorf("prometheus.yml: %v, %v", prometheus, err)
	}
	return exprs
}

func panelExprs(t *testing.T) (exprs []string) {
	t.Helper()
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(monitoring(t, "dashboard.json"), &board); err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.Title == "" || len(p.Targets) == 0 {
			t.Errorf("panel %+v", p)
		}
		ids[p.ID] = true
		for _, g := range p.Targets {
			exprs = append(exprs, g.Expr)
		}
	}
	return exprs
}

var (
	quoted = regexp.MustCompile(`"[^"]*"`)
	scopes = regexp.MustCompile(`\{[^}]*\}|\[[^\]]*\]|\b(by|on|unless on)\s*\([^)]*\)`)
	words  = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*(\s*\()?`)
)

// metricNames returns the metrics that an expression names: what is neither a
// function nor a label nor an operator.
func metricNames(expr string) (names []string) {
	expr = scopes.ReplaceAllString(quoted.ReplaceAllString(expr, ""), " ")
	for _, w := range words.FindAllString(expr, -1) {
		if !strings.HasSuffix(w, "(") && !slices.Contains([]string{"and", "or", "unless", "sum", "max", "min", "e5"}, w) {
			names = append(names, w)
		}
	}
	return names
}

func TestMetricNames(t *testing.T) {
	got := metricNames(`sum by (instance, le) (rate(sett_x_bucket{a="sett_no",b=~"$c"}[5m])) / sett_y > 0.5 unless on (z) (sett_z > 3)`)
	if !slices.Equal(got, []string{"sett_x_bucket", "sett_y", "sett_z"}) {
		t.Errorf("%q", got)
	}
}
