package cub

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
)

// scrape reads /metrics.
func (r *running) scrape() map[string]float64 {
	r.t.Helper()
	res, err := http.Get("http://" + r.log.await(r.t, "cub started").text("health") + "/metrics")
	must(r.t, err)
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	must(r.t, err)
	values := map[string]float64{}
	for line := range strings.Lines(string(b)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if f, err := strconv.ParseFloat(value, 64); ok && err == nil && !strings.HasPrefix(line, "#") {
			values[name] = f
		}
	}
	return values
}

// After a known sequence the metrics say exactly that.
func TestMetrics(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	script := `case "$SETT_TARGET_PAYLOAD" in
good) echo '` + good + `' ;;
ask) echo '{"structural_type":"Question","payload":"?"}' ;;
bad) exit 1 ;;
slow) exec sleep 300 ;;
esac`
	r := c.start("worker", vars{env.Command: shell(script), env.HealthAddr: "127.0.0.1:0", env.Timeout: "2s",
		env.Bids: `[{"type":"GoalDefined","bid":"claim"},{"type":"Code","bid":"review"}]`})
	for _, typ := range []string{"Code", "Code", "Poem"} {
		c.awaitBid(c.finished("other", typ, "worker"), "worker")
	}
	c.awaitBid(c.open(c.goal("bid").ID, "worker"), "worker")
	for _, w := range []struct {
		phase blackboard.Phase
		goal  string
	}{
		{blackboard.PhaseExclusive, "good"}, {blackboard.PhaseParallel, "good"}, {blackboard.PhaseReview, "good"},
		{blackboard.PhaseParallel, "ask"}, {blackboard.PhaseParallel, "bad"}, {blackboard.PhaseParallel, "slow"},
	} {
		c.result(c.work("worker", w.phase, w.goal), "worker")
	}
	want := map[string]float64{
		`sett_bids_total{bid="review"}`: 2, `sett_bids_total{bid="claim"}`: 1, `sett_bids_total{bid="ignore"}`: 1,
		`sett_grants_received_total{phase="exclusive"}`: 1, `sett_grants_received_total{phase="parallel"}`: 4,
		`sett_grants_received_total{phase="review"}`: 1,
		`sett_executions_total`:                      6, `sett_successes_total`: 4, `sett_failures_total`: 2, `sett_timeouts_total`: 1,
		`sett_artefacts_total{structural_type="Standard"}`: 2, `sett_artefacts_total{structural_type="Review"}`: 1,
		`sett_artefacts_total{structural_type="Question"}`: 1, `sett_artefacts_total{structural_type="Failure"}`: 2,
		`sett_tool_seconds_count`: 6, `sett_tool_seconds_bucket{le="+Inf"}`: 6,
	}
	var got map[string]float64
	until(t, "all is counted", func() bool { got = r.scrape(); return got["sett_failures_total"] == 2 })
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %v, want %v", name, got[name], value)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok && (strings.Contains(name, "_total{") && strings.HasPrefix(name, "sett_")) {
			t.Errorf("%s is %v, want none", name, got[name])
		}
	}
	if sum := got["sett_tool_seconds_sum"]; sum < 2 || sum > 60 {
		t.Errorf("tools took %v s", sum)
	}
}

// attributes lists a line's keys, without those every line has.
func attributes(r record) string {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(r)), func(k string) bool {
		return slices.Contains([]string{"time", "level", "msg", "component", "instance", "agent"}, k)
	})
	return strings.Join(keys, " ")
}

// The events of m2.3-work-execution.md, section 9.1, in their order, with keys
// that people's dashboards rely on.
func TestLogEvents(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	noise := strings.Repeat("n", 10_000)
	r := c.start("worker", vars{env.Command: shell(`read -r in; case "$in" in *'"bad"'*) printf ` + noise + `; echo oops >&2; exit 3;; esac
echo '` + good + `'`)})
	goodClaim := c.work("worker", blackboard.PhaseExclusive, "good")
	c.await(goodClaim, "worker", blackboard.GrantDone)
	badClaim := c.work("worker", blackboard.PhaseExclusive, "bad")
	c.await(badClaim, "worker", blackboard.GrantFailed)
	r.log.await(t, "failure recorded", "claim", badClaim)
	const of = "attempt claim "
	for claim, want := range map[string][]string{
		goodClaim: {
			"INFO work received: artefact " + of + "phase workflow",
			"INFO target fetched: artefact " + of + "context phase type version workflow",
			"INFO tool starting: " + of + "command phase stdin stdin_size workflow",
			"INFO tool ended: " + of + "duration exit_code phase signal stderr_size stdout_size workflow",
			"INFO artefact created: artefact " + of + "logical_id phase structural_type type verdict version workflow",
		},
		badClaim: {
			"INFO work received: artefact " + of + "phase workflow",
			"INFO target fetched: artefact " + of + "context phase type version workflow",
			"INFO tool starting: " + of + "command phase stdin stdin_size workflow",
			"INFO stderr: " + of + "line phase source workflow",
			"INFO tool ended: " + of + "duration exit_code phase signal stderr_size stdout_size workflow",
			"ERROR tool failed: " + of + "error exit_code phase stderr stdout workflow",
			"ERROR failure recorded: artefact " + of + "phase reason type workflow",
		},
	} {
		var got []string
		for _, msg := range []string{"work received", "target fetched", "tool starting", "stderr", "tool ended", "tool failed",
			"artefact created", "failure recorded"} {
			for _, line := range r.log.find(t, msg, "claim", claim) {
				got = append(got, line.text("level")+" "+msg+": "+attributes(line))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	failed := r.log.find(t, "tool failed", "claim", badClaim)[0]
	if out := failed.text("stdout"); len(out) > 5000 || !strings.Contains(out, " … (10000 bytes) … n") || failed.text("stderr") != "oops\n" {
		t.Errorf("logged %d bytes of stdout, stderr %q", len(out), failed.text("stderr"))
	}
	created := r.log.find(t, "artefact created", "claim", goodClaim)[0]
	a := c.result(goodClaim, "worker")
	if created.text("artefact") != a.ID || created.text("type") != a.Type || created.text("logical_id") != a.ID || created["version"] != 1.0 {
		t.Errorf("logged %v for %+v", created, a)
	}
}
