package cub

import (
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"sett/blackboard"
	"sett/contract/env"
)

// While the blackboard is away the metrics say so, and what waits for it.
func TestMetricsWithoutBlackboard(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	r := c.start("worker", vars{env.HealthAddr: "127.0.0.1:0", env.Command: shell(waiting), env.RedisRetries: "1"})
	awaits := func(what string, ok func(map[string]float64) bool) map[string]float64 {
		t.Helper()
		var got map[string]float64
		until(t, what, func() bool { got = r.scrape(); return ok(got) })
		return got
	}
	got := awaits("to be idle", func(m map[string]float64) bool { return m["sett_blackboard_call_seconds_count"] > 0 })
	for name, want := range map[string]float64{"sett_grant_start_timestamp_seconds": 0, "sett_results_held": 0, "sett_blackboard_away_seconds": 0,
		"sett_blackboard_calls_lost_total": 0} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("at rest %s is %v (%v), want %v", name, v, ok, want)
		}
	}
	before := float64(time.Now().UnixMilli()) / 1000
	claim := c.work("worker", blackboard.PhaseExclusive, "good")
	awaits("a grant under way", func(m map[string]float64) bool {
		since := m["sett_grant_start_timestamp_seconds"]
		return since >= before && since <= float64(time.Now().UnixMilli())/1000
	})
	r.awaitTool()
	c.server.Kill()
	r.letToolEnd()
	awaits("its result to be held", func(m map[string]float64) bool {
		return m["sett_results_held"] == 1 && m["sett_blackboard_away_seconds"] > 0 && m["sett_blackboard_calls_lost_total"] > 0
	})
	c.server.Restart()
	awaits("the result to be handed in", func(m map[string]float64) bool {
		return m["sett_results_held"] == 0 && m["sett_grant_start_timestamp_seconds"] == 0 && m["sett_blackboard_away_seconds"] == 0
	})
	c.await(claim, "worker", blackboard.GrantDone)
}

// The names follow Prometheus' conventions.
func TestMetricsLint(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	r := c.start("worker", vars{env.Command: shell("echo '" + good + "'"), env.HealthAddr: "127.0.0.1:0"})
	c.await(c.work("worker", blackboard.PhaseExclusive, "good"), "worker", blackboard.GrantDone)
	res, err := http.Get("http://" + r.log.await(t, "cub started").text("health") + "/metrics")
	must(t, err)
	defer func() { _ = res.Body.Close() }()
	problems, err := promlint.New(res.Body).Lint()
	must(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
