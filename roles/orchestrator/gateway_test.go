package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/env"
)

// serves starts what answers as an agent's cub would, and has the agent say so.
func (s *sett) serves(agent, incarnation, host string, h http.HandlerFunc) (port string) {
	s.Helper()
	server := httptest.NewServer(h)
	s.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	s.must(err)
	s.must(s.board.Cub.Hello(s.Context(), agent, blackboard.Presence{Incarnation: incarnation, Health: net.JoinHostPort(host, port), Mode: "standard"}, patience))
	return port
}

// watchedBy leads with a port for health, and returns where that is.
func (s *sett) watchedBy(o options) (url string) {
	s.Helper()
	if o.vars == nil {
		o.vars = map[string]string{}
	}
	o.vars[env.HealthAddr] = "127.0.0.1:0"
	return s.lead(o).address()
}

// What the port serves is listed at its root, and everything that is listed answers.
func TestGatewayContents(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "b")
	s.serves("a", newID(), "127.0.0.1", func(http.ResponseWriter, *http.Request) {})
	s.serves("b", newID(), "127.0.0.1", func(http.ResponseWriter, *http.Request) {})
	s.cfg.Models = []config.Model{{Name: "smart"}}
	s.write()
	part := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer part.Close()
	base := s.watchedBy(options{vars: map[string]string{env.RepositoryURL: part.URL, env.ModelGateway: part.URL}})
	var said struct {
		Instance string
		Serves   []struct{ Path, What string }
	}
	get := func(path string) (int, []byte) {
		res, err := http.Get(base + path)
		s.must(err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		s.must(err)
		return res.StatusCode, body
	}
	_, body := get("/")
	s.must(json.Unmarshal(body, &said))
	if said.Instance == "" || len(said.Serves) < 12 || !strings.Contains(string(body), `"/model-gateway/metrics"`) {
		t.Errorf("listed: %s", body)
	}
	for _, e := range said.Serves {
		if status, body := get(e.Path); status != http.StatusOK || e.What == "" {
			t.Errorf("%s, %q: %d %s", e.Path, e.What, status, body)
		}
	}
	if status, _ := get("/nothing"); status != http.StatusNotFound {
		t.Errorf("/nothing: %d", status)
	}
}

// The orchestrator's port answers for the cubs, as they answer.
func TestGateway(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "b")
	var well atomic.Bool
	s.serves("a", newID(), "127.0.0.1", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			fmt.Fprintf(w, "# of %s, asked by %q\nsett_x 1\n", r.URL, r.Header.Get("X-Secret"))
			return
		}
		if !well.Load() {
			http.Error(w, "no blackboard", http.StatusServiceUnavailable)
		}
	})
	repository := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "the repository's %s", r.URL) }))
	defer repository.Close()
	base := s.watchedBy(options{vars: map[string]string{env.RepositoryURL: repository.URL}})
	for path, want := range map[string]string{
		"/repository/healthz": "200 the repository's /healthz", "/repository/metrics": "200 the repository's /metrics", "/repository/agents": "404 404 page not found\n",
		"/agents/a/healthz": "503 no blackboard\n", "/agents/a/metrics": "200 # of /metrics, asked by \"\"\nsett_x 1\n",
		"/agents/b/healthz": "503 agent b: its address is not known\n", "/agents/b/metrics": "503 agent b: its address is not known\n",
		"/agents/c/healthz": "404 no such agent\n", "/agents/a/other": "404 404 page not found\n", "/agents/a/": "404 404 page not found\n",
		"/agents/..%2Fa/metrics": "404 no such agent\n", "/agents/a/metrics/../../x": "404 404 page not found\n",
		"/agents/a/metrics?x=1": "200 # of /metrics, asked by \"\"\nsett_x 1\n",
	} {
		if code, body := s.get(base + path); fmt.Sprintf("%d %s", code, body) != want {
			t.Errorf("%s: %d %q, want %q", path, code, body, want)
		}
	}
	well.Store(true)
	if code, body := s.get(base + "/agents/a/healthz"); code != http.StatusOK {
		t.Errorf("a well agent: %d %s", code, body)
	}
	for _, path := range []string{"/agents", "/targets", "/agents/a/metrics", "/agents/a/healthz", "/repository/metrics"} {
		res, err := http.Post(base+path, "text/plain", strings.NewReader("x"))
		s.must(err)
		s.must(res.Body.Close())
		if res.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %s", path, res.Status)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
		s.must(err)
		req.Host = "evil.example"
		res, err = http.DefaultClient.Do(req)
		s.must(err)
		s.must(res.Body.Close())
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("%s for evil.example: %s", path, res.Status)
		}
	}
}

// What Prometheus asks for names every part of the instance, at the place that it
// asked.
func TestTargets(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "b")
	id := newID()
	s.serves("a", id, "127.0.0.1", func(http.ResponseWriter, *http.Request) {})
	base := s.watchedBy(options{})
	port := base[strings.LastIndex(base, ":"):]
	for _, host := range []string{"127.0.0.1", "localhost"} {
		var got []struct {
			Targets []string
			Labels  map[string]string
		}
		_, body := s.get("http://" + host + port + "/targets")
		s.must(json.Unmarshal([]byte(body), &got))
		var seen []string
		for _, g := range got {
			seen = append(seen, fmt.Sprintf("%s %s %s %s %s", g.Targets, g.Labels["instance"], g.Labels["agent"], g.Labels["role"], g.Labels["__metrics_path__"]))
		}
		want := fmt.Sprintf("[%[1]s] test  orchestrator /metrics|[%[1]s] test a a-role /agents/a/metrics|[%[1]s] test b b-role /agents/b/metrics|[%[1]s] test  repository /repository/metrics", host+port)
		if strings.Join(seen, "|") != want {
			t.Errorf("got  %s\nwant %s", strings.Join(seen, "|"), want)
		}
	}
	res, err := http.Get(base + "/targets")
	s.must(err)
	defer func() { _ = res.Body.Close() }()
	if got := res.Header.Get("Content-Type"); got != "application/json" { // or Prometheus refuses it
		t.Errorf("it is %s", got)
	}
	var list struct {
		Instance string
		Agents   []struct {
			Agent, Role, Mode string
			Ready             bool
			HealthPath        string `json:"health_path"`
			MetricsPath       string `json:"metrics_path"`
		}
	}
	_, body := s.get(base + "/agents")
	s.must(json.Unmarshal([]byte(body), &list))
	if a := list.Agents; list.Instance != "test" || len(a) != 2 || !a[0].Ready || a[1].Ready || a[0].Mode != "standard" ||
		a[0].MetricsPath != "/agents/a/metrics" || a[0].HealthPath != "/agents/a/healthz" || a[0].Role != "a-role" {
		t.Errorf("agents: %s", body)
	}
	if strings.Contains(body, id) {
		t.Error("it tells by what the agent holds its grants")
	}
}

// Whatever answers in a cub's place leads nowhere else, and takes no time or memory
// that counts.
func TestGatewayIsBounded(t *testing.T) {
	t.Parallel()
	s := newSett(t, "moved", "endless", "odd", "slow", "away", "user", "path", "named", "high", "signed")
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it went elsewhere") }))
	defer elsewhere.Close()
	s.serves("moved", newID(), "127.0.0.1", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusFound)
	})
	s.serves("endless", newID(), "127.0.0.1", func(w http.ResponseWriter, _ *http.Request) {
		line := []byte(strings.Repeat("x", 1<<16))
		for {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	})
	port := s.serves("odd", newID(), "127.0.0.1", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<script>")
	})
	release := make(chan struct{})
	s.serves("slow", newID(), "127.0.0.1", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	// What it says of where it is counts for nothing, beside the port.
	s.serves("away", newID(), "198.51.100.7", func(http.ResponseWriter, *http.Request) {})
	// Nor does a port that is none, but more of a URL: that would lead anywhere.
	evil := strings.TrimPrefix(elsewhere.URL, "http://")
	for agent, health := range map[string]string{
		"user": "127.0.0.1:80@" + evil + "/x?y=", "path": "127.0.0.1:" + port + "/x?y=", "named": "localhost:" + port,
		"high": "127.0.0.1:65536", "signed": "127.0.0.1:+" + port,
	} {
		s.must(s.board.Cub.Hello(t.Context(), agent, blackboard.Presence{Incarnation: newID(), Health: health, Mode: "standard"}, patience))
	}
	base := s.watchedBy(options{})
	for agent, want := range map[string]string{
		"user": "503 agent user: its address is not known", "path": "503 agent path: its address is not known", "named": "503 agent named: its address is not known",
		"high": "503 agent high: its address is not known", "signed": "503 agent signed: its address is not known",
		"moved": "502 agent moved: it answers 302", "endless": "502 agent endless: its answer is longer", "away": "503 agent away: its address is not known",
		"slow": "502 agent slow: ",
	} {
		began := time.Now()
		code, body := s.get(base + "/agents/" + agent + "/metrics")
		if got := fmt.Sprintf("%d %s", code, body); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %.200s, want %s", agent, got, want)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s took %s", agent, took)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const atOnce = 16      // requests that the gateway passes on
	for range 2 * atOnce { // they ask again and again, so that it stays full
		go func() {
			for ctx.Err() == nil {
				req, _ := http.NewRequestWithContext(ctx, http.MethodGet, base+"/agents/slow/healthz", nil)
				if res, err := http.DefaultClient.Do(req); err == nil {
					_ = res.Body.Close()
				}
			}
		}()
	}
	s.until("nobody more to be let wait", func() bool {
		code, body := s.get(base + "/agents/away/healthz")
		return code == http.StatusServiceUnavailable && body == "too many requests at once\n"
	})
	cancel()
	res, err := http.Get(base + "/agents/odd/metrics")
	s.must(err)
	defer func() { _ = res.Body.Close() }()
	if h := res.Header; h.Get("Set-Cookie") != "" || h.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers %v", h)
	}
}

// A container is asked where the engine says that it is, and after it was started
// anew at its new place.
func TestGatewayOfContainers(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	s.resolve()
	base := s.watchedBy(inContainers(p, containerRedis))
	at := func(address string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		u := p.units["agent-a"]
		u.Address = address
		p.units["agent-a"] = u
	}
	first := s.incarnation(p, "agent-a")
	s.serves("a", first, "::", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "first") })
	if code, body := s.get(base + "/agents/a/healthz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "does not run") {
		t.Errorf("without an address: %d %s", code, body)
	}
	at("127.0.0.1")
	if code, body := s.get(base + "/agents/a/healthz"); code != http.StatusOK || body != "first" {
		t.Errorf("%d %s", code, body)
	}
	s.must(p.Stop(t.Context(), "agent-a", 0))
	second := s.incarnation(p, "agent-a", first)
	at("127.0.0.1")
	s.serves("a", second, "::", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "second") })
	if code, body := s.get(base + "/agents/a/healthz"); code != http.StatusOK || body != "second" {
		t.Errorf("after it was started anew: %d %s", code, body)
	}
}

// unlikely opens a port that nobody gets by chance: who asks for any free one is given
// one that is higher.
func (s *sett) unlikely() net.Listener {
	s.Helper()
	for range 100 {
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(10_000))); err == nil {
			return l
		}
	}
	s.Fatal("all ports are taken")
	return nil
}

// A port that somebody has does not keep an instance from working: it is taken as
// soon as it is free, also by who waits for the lead.
func TestHealthPortComesFree(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	taken := s.unlikely()
	o := inPlace(p)
	usual := o.pace
	o.pace = func(p *pace) { usual(p); p.standby = 10 * time.Millisecond }
	o.vars[env.HealthAddr], o.vars[env.StateDir] = taken.Addr().String(), t.TempDir()
	o.vars[env.Workspace] = t.TempDir()
	first := s.lead(o)
	first.leads()
	s.claimOf(s.goal("g")) // it works
	if !strings.Contains(first.log.String(), "health checks not served yet") {
		t.Errorf("it says %s", first.log)
	}
	s.must(taken.Close())
	url := first.address() + "/metrics"
	leads := func(want string) bool {
		_, body := s.get(url)
		return strings.Contains(body, "\nsett_leader "+want+"\n")
	}
	s.until("the leader to say so", func() bool { return leads("1") })
	second := s.lead(o)
	s.until("a second one to find the port taken", func() bool { return strings.Contains(second.log.String(), "health checks not served yet") })
	s.must(first.stop())
	second.address()
	s.until("the second one to lead, and to say so at the same place", func() bool { return leads("1") })
}
