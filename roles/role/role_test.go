package role

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sett/blackboard"
)

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

func TestHealth(t *testing.T) {
	var gone atomic.Bool
	metrics := prometheus.NewRegistry()
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "sett_test_total", Help: "For this test."})
	metrics.MustRegister(counter)
	counter.Add(3)
	h, err := ListenHealth("127.0.0.1:0", HealthOptions{Metrics: metrics, Check: func(context.Context) error {
		if gone.Load() {
			return errors.New("redis is gone")
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx) }()
	base := "http://" + h.Addr()
	if code, body := get(t, base+"/healthz"); code != 200 || body != "ok\n" {
		t.Errorf("healthy: %d %q", code, body)
	}
	gone.Store(true)
	if code, body := get(t, base+"/healthz"); code != 503 || body != "redis is gone\n" {
		t.Errorf("unhealthy: %d %q", code, body)
	}
	if code, body := get(t, base+"/metrics"); code != 200 || !strings.Contains(body, "sett_test_total 3") {
		t.Errorf("metrics: %d %q", code, body)
	}
	if code, _ := get(t, base+"/"); code != 404 {
		t.Errorf("elsewhere: %d", code)
	}
	_, err = ListenHealth(h.Addr(), HealthOptions{Metrics: metrics})
	var e *Error
	if !errors.As(err, &e) || e.Code != Environment || !strings.Contains(err.Error(), h.Addr()) || !strings.Contains(e.Hint, "SETT_HEALTH_ADDR") {
		t.Errorf("a port in use: %v", err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
	broken, err := ListenHealth("127.0.0.1:0", HealthOptions{Metrics: metrics})
	if err != nil {
		t.Fatal(err)
	}
	_ = broken.listener.Close()
	if err := broken.Serve(context.Background()); err == nil {
		t.Error("a server without its listener ended well")
	}
}

func TestReachable(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := start
	r := NewReachable(func() time.Time { return now }, time.Minute)
	cause := errors.New("refused")
	if !r.SteadySince().Equal(start) {
		t.Errorf("steady since %s", r.SteadySince())
	}
	now = now.Add(time.Hour)
	r.Back()
	if !r.SteadySince().Equal(start) {
		t.Error("a call that succeeds is no return")
	}
	for _, step := range []time.Duration{0, 30 * time.Second, 29 * time.Second} {
		now = now.Add(step)
		if err := r.Lost(cause); err != nil || !r.SteadySince().IsZero() {
			t.Errorf("too early: %v, steady since %s", err, r.SteadySince())
		}
	}
	r.Back()
	if !r.SteadySince().Equal(now) {
		t.Errorf("back since %s, want %s", r.SteadySince(), now)
	}
	if err := r.Lost(cause); err != nil {
		t.Errorf("the count begins anew: %v", err)
	}
	now = now.Add(time.Minute)
	err := r.Lost(cause)
	if CodeOf(err) != Environment || !errors.Is(err, cause) || !strings.Contains(err.Error(), "1m0s") {
		t.Errorf("giving up: %v", err)
	}
}

// The blackboard is away from the first try without success, although a call fails only after several.
func TestReachableCountsTries(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := NewReachable(func() time.Time { return now }, 10*time.Second)
	tried := 0
	observe := r.Observing(func(time.Duration, bool) { tried++ })
	observe(0, true)
	now = now.Add(time.Hour)
	observe(0, false)
	observe(0, true)
	now = now.Add(6 * time.Second)
	observe(0, true)
	ctx, cancel := r.Bounded(t.Context())
	defer cancel()
	if end, _ := ctx.Deadline(); time.Until(end) > 4*time.Second {
		t.Errorf("a call may take %s more", time.Until(end))
	}
	if err := r.Lost(io.EOF); err != nil || r.Away() != 6*time.Second {
		t.Errorf("away for %s: %v", r.Away(), err)
	}
	now = now.Add(5 * time.Second)
	if err := r.Lost(context.DeadlineExceeded); err == nil || err.Error() != "blackboard unreachable for 11s: it does not answer" {
		t.Errorf("giving up: %v", err)
	}
	if tried != 4 {
		t.Errorf("%d tries were passed on", tried)
	}
}

func envOf(vars map[string]string, stderr io.Writer) Env {
	return Env{Stderr: stderr, Lookup: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }}
}

func TestLogger(t *testing.T) {
	var b bytes.Buffer
	log := envOf(nil, &b).Logger("cub")
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	log.Debug("not at this level")
	log.Info("started", "at", at, "took", 1500*time.Millisecond)
	var line map[string]any
	if err := json.Unmarshal(b.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, b.String())
	}
	if line["msg"] != "started" || line["component"] != "cub" || line["at"] != "2026-01-02T02:04:05Z" || line["took"] != "1.5s" ||
		!strings.HasSuffix(line["time"].(string), "Z") {
		t.Errorf("line %v", line)
	}
	for name, tc := range map[string]struct {
		vars        map[string]string
		text, debug bool
	}{
		"text":   {map[string]string{"SETT_LOG_FORMAT": "TEXT", "SETT_LOG_LEVEL": "debug"}, true, true},
		"json":   {map[string]string{"SETT_LOG_FORMAT": "json", "SETT_LOG_LEVEL": "error"}, false, false},
		"broken": {map[string]string{"SETT_LOG_FORMAT": "xml", "SETT_LOG_LEVEL": "loud"}, false, false},
	} {
		b.Reset()
		log := envOf(tc.vars, &b).Logger("cub")
		log.Error("x")
		if text := !strings.HasPrefix(b.String(), "{"); text != tc.text || log.Enabled(t.Context(), slog.LevelDebug) != tc.debug {
			t.Errorf("%s: %s", name, b.String())
		}
	}
}

func TestEnv(t *testing.T) {
	e := OS([]string{"a"}, Build{Version: "v1"})
	if id := e.NewID(); !blackboard.ValidID(id) || time.Since(blackboard.IDTime(id)).Abs() > time.Minute {
		t.Errorf("id %s", id)
	}
	t.Setenv("SETT_TEST_ROLE", "x")
	if e.Getenv("SETT_TEST_ROLE") != "x" || e.Getenv("SETT_TEST_NONE") != "" || e.Build.Version != "v1" {
		t.Error("environment")
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for _, w := range []any{&bytes.Buffer{}, null, file, nil} {
		if IsTerminal(w) {
			t.Errorf("%T is a terminal", w)
		}
	}
}

func TestArguments(t *testing.T) {
	for _, tc := range []struct {
		args    string
		done    bool
		printed string
		code    Code
	}{
		{"", false, "", OK},
		{"--help", true, "the page", OK},
		{"x -h", true, "the page", OK},
		{"help", true, "the page", OK},
		{"-help", true, "", Usage},
		{"now", true, "", Usage},
	} {
		var out bytes.Buffer
		done, err := Env{Args: strings.Fields(tc.args), Stdout: &out}.Arguments("part", "the page")
		if done != tc.done || CodeOf(err) != tc.code || out.String() != tc.printed {
			t.Errorf("%q: done %v, printed %q, error %v", tc.args, done, out.String(), err)
		}
		var known *Error
		if tc.code == Usage && (!errors.As(err, &known) || known.Hint != "sett part --help") {
			t.Errorf("%q: hint of %v", tc.args, err)
		}
	}
}
