package role

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// Whose name resolves to this machine is not who was meant: what a page in a
// browser asks for carries the page's name.
func TestHosts(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1:8080": true, "127.0.0.1": true, "[::1]:8080": true, "[::1]": true, "10.0.0.7:1": true, "localhost": true, "LocalHost:8080": true,
		"sett-demo.orchestrator:8080": true, "sett-demo.agent-coder:8080": true, "sett-demo.repository:8080": true,
		"": false, "evil.example:8080": false, "127.0.0.1.evil.example": false, "localhost.evil.example": false, "evil": false,
		"sett-demo.evil.example": false, "sett-demo.agent-x.evil.example": false, "sett-demo.com": false, "sett-other.orchestrator": false,
		"127.0.0.1:8080@evil.example": false, "evil.example:127.0.0.1": false, "0177.0.0.1": false, "127.1": false,
	} {
		if got := ours(host, "demo"); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
	}
	if ours("sett-.orchestrator", "") {
		t.Error("without an instance it has containers")
	}
}

// What is served besides is guarded like the rest, and only what is served answers.
func TestRoutes(t *testing.T) {
	h, err := ListenHealth("127.0.0.1:0", HealthOptions{
		Check: func(context.Context) error { return nil }, Metrics: prometheus.NewRegistry(), Instance: "demo",
		Routes: map[string]http.Handler{"GET /more": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "more") })},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { _ = h.Serve(ctx) }()
	for _, tc := range []struct {
		method, path, host string
		want               int
	}{
		{"GET", "/more", "", 200}, {"GET", "/healthz", "localhost:1", 200}, {"GET", "/metrics", "sett-demo.orchestrator:8080", 200},
		{"GET", "/more", "evil.example", 403}, {"GET", "/healthz", "evil.example", 403}, {"GET", "/metrics", "evil.example:80", 403},
		{"GET", "/else", "", 404}, {"GET", "/else", "evil.example", 403}, {"POST", "/more", "", 405}, {"DELETE", "/metrics", "", 405},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tc.method, "http://"+h.Addr()+tc.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = tc.host
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != tc.want || res.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %s for %q: %s, want %d", tc.method, tc.path, tc.host, res.Status, tc.want)
		}
	}
}

// stalled answers nothing before it is let go.
type stalled struct{ begun, leave chan struct{} }

func (s *stalled) ServeHTTP(http.ResponseWriter, *http.Request) { s.begun <- struct{}{}; <-s.leave }

func (s *stalled) Describe(chan<- *prometheus.Desc) {}

func (s *stalled) Collect(chan<- prometheus.Metric) { s.ServeHTTP(nil, nil) }

// However many ask, only so much is done at once. Who asks for more hears so at once,
// and is answered when there is room again.
func TestMostAtOnce(t *testing.T) {
	for path, most := range map[string]int{"/more": mostAtOnce, "/metrics": metricsAtOnce} {
		t.Run(path, func(t *testing.T) {
			s, client := &stalled{make(chan struct{}, most+1), make(chan struct{})}, &http.Client{Timeout: 10 * time.Second}
			metrics := prometheus.NewRegistry()
			metrics.MustRegister(s)
			h, err := ListenHealth("127.0.0.1:0", HealthOptions{
				Check: func(context.Context) error { return nil }, Metrics: metrics, Routes: map[string]http.Handler{"GET /more": s},
			})
			if err != nil {
				t.Fatal(err)
			}
			go func() { _ = h.Serve(t.Context()) }()
			get := func(path string) int {
				res, err := client.Get("http://" + h.Addr() + path)
				if err != nil {
					t.Error(err)
					return 0
				}
				_ = res.Body.Close()
				return res.StatusCode
			}
			var first sync.WaitGroup
			for range most {
				first.Go(func() {
					if code := get(path); code != http.StatusOK {
						t.Errorf("one of %d: %d", most, code)
					}
				})
				<-s.begun
			}
			if code := get(path); code != http.StatusServiceUnavailable {
				t.Errorf("one more: %d", code)
			}
			if code := get("/healthz"); (code == http.StatusOK) != (most < mostAtOnce) {
				t.Errorf("something else meanwhile: %d", code)
			}
			close(s.leave)
			first.Wait()
			if code := get("/healthz"); code != http.StatusOK {
				t.Errorf("afterwards: %d", code)
			}
		})
	}
}

func TestInfo(t *testing.T) {
	info := Build{Version: "v1.2.3", Commit: "abc"}.Info()
	r := prometheus.NewRegistry()
	r.MustRegister(info)
	all, err := r.Gather()
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	if problems, err := promlint.NewWithMetricFamilies(all).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	for _, want := range []string{`value:"v1.2.3"`, `value:"abc"`, "sett_build_info"} {
		if !strings.Contains(all[0].String(), want) {
			t.Errorf("no %s in %s", want, all[0])
		}
	}
}

// For how long the blackboard is away is known at any moment.
func TestAway(t *testing.T) {
	now := time.Now()
	r := NewReachable(func() time.Time { return now }, time.Hour)
	if r.Away() != 0 {
		t.Errorf("away for %s from the first", r.Away())
	}
	_ = r.Lost(io.EOF)
	now = now.Add(3 * time.Second)
	if r.Away() != 3*time.Second {
		t.Errorf("away for %s", r.Away())
	}
	r.Back()
	now = now.Add(time.Second)
	if r.Away() != 0 {
		t.Errorf("away for %s, though it is back", r.Away())
	}
}
