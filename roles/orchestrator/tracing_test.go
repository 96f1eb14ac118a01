package orchestrator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sett/blackboard"
	"sett/roles/orchestrator/report"
	"sett/roles/role/otlp"
	"sett/roles/view"
)

// unreadable are goals whose records cannot be read for a reason.
type unreadable struct {
	view.Claims
	why error
}

func (u unreadable) Workflow(_ context.Context, id string) (w blackboard.Workflow, err error) {
	return w, fmt.Errorf("read goal %s: %w", id, u.why)
}

// A goal that is lost or corrupt must not stop the traces of those after it; a blackboard that is away
// does.
func TestTraceOfAnUnreadableGoal(t *testing.T) {
	for why, passed := range map[error]bool{blackboard.ErrNotFound: true, blackboard.ErrCorrupt: true, blackboard.ErrUnavailable: false} {
		tr := &tracer{log: slog.New(slog.DiscardHandler), board: view.Board{Claims: unreadable{why: why}}}
		if err := tr.send(t.Context(), otlp.Receiver{}, "goal", time.Time{}); (err == nil) != passed {
			t.Errorf("%v: %v", why, err)
		}
	}
}

// A change of the configuration between two rounds ends the next one: nobody of the round before takes it.
func TestTracesSeeEachChange(t *testing.T) {
	tr := &tracer{changed: make(chan struct{}, 1)}
	for range 1000 {
		_, end := tr.untilChanged(t.Context())
		end()
		wake(tr.changed)
		runtime.Gosched()
		during, end := tr.untilChanged(t.Context())
		select {
		case <-during.Done():
		case <-t.Context().Done():
		}
		end()
	}
}

// collector answers each request for spans as a test says, by the names of the spans.
type collector struct {
	*httptest.Server
	mu     sync.Mutex
	answer func(spans []string) (status int, body string)
	tries  int
	taken  map[string]bool
}

func newCollector(t *testing.T, answer func(spans []string) (int, string)) *collector {
	c := &collector{answer: answer, taken: map[string]bool{}}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	var body struct {
		ResourceSpans []struct {
			ScopeSpans []struct{ Spans []struct{ Name string } }
		}
	}
	_ = json.Unmarshal(text, &body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tries++
	var names []string
	for _, s := range body.ResourceSpans[0].ScopeSpans[0].Spans {
		names = append(names, s.Name)
	}
	status, says := c.answer(names)
	if status == http.StatusOK {
		for _, name := range names {
			c.taken[name] = true
		}
	}
	w.Header().Set("Location", "http://elsewhere.example")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, says)
}

// spansOf are a trace of as many spans as the names say, the first one that of the goal.
func spansOf(n int) (spans []otlp.Span) {
	for i := range n {
		spans = append(spans, otlp.Span{Trace: "0a", ID: strconv.Itoa(i), Name: strconv.Itoa(i)})
	}
	return spans
}

// newTracer is one that hardly waits, with its log.
func newTracer(patience time.Duration) (*tracer, *bytes.Buffer) {
	log := &bytes.Buffer{}
	return &tracer{log: slog.New(slog.NewTextHandler(log, nil)), metrics: report.NewMetrics(),
		pace: tracePace{retry: time.Millisecond, longest: 2 * time.Millisecond, patience: patience}}, log
}

// figures are the metrics of traces.
func (t *tracer) figures() (refused, waiting float64) {
	all, _ := t.metrics.Registry.Gather()
	for _, f := range all {
		switch f.GetName() {
		case "sett_traces_refused_total":
			refused = f.GetMetric()[0].GetCounter().GetValue()
		case "sett_traces_waiting_oldest_age_seconds":
			waiting = f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return refused, waiting
}

// A fault of the address or the headers is none of the trace: it waits until that is mended, and
// the log says so once. Meanwhile the metrics say since when.
func TestTraceWaitsForTheConfiguration(t *testing.T) {
	for status, check := range map[int]string{401: "otel.headers", 403: "otel.headers", 404: "otel.endpoint", 405: "otel.endpoint", 301: "otel.endpoint", 307: "otel.endpoint", 503: ""} {
		tr, log := newTracer(time.Hour)
		var waiting float64
		c := newCollector(t, nil)
		c.answer = func([]string) (int, string) {
			if c.tries < 8 {
				return status, "no"
			}
			_, waiting = tr.figures()
			return http.StatusOK, "{}"
		}
		if err := tr.deliver(t.Context(), otlp.Receiver{URL: c.URL}, "goal", time.Now().Add(-time.Minute), spansOf(3)); err != nil || len(c.taken) != 3 {
			t.Errorf("%d: error %v, taken %v", status, err, c.taken)
		}
		refused, after := tr.figures()
		if waiting < 60 || waiting > 600 || after != 0 || refused != 0 {
			t.Errorf("%d: %v traces are refused, the oldest has waited for %v seconds, and in the end for %v", status, refused, waiting, after)
		}
		level, times := "ERROR", strings.Count(log.String(), "traces wait")
		if check == "" {
			level = "WARN"
		}
		if times != 1 || !strings.Contains(log.String(), "level="+level) || !strings.Contains(log.String(), check) {
			t.Errorf("%d: want %s once, with %q:\n%s", status, level, check, log)
		}
	}
}

// Spans that the receiver refuses are dropped, those of the same trace after them are not.
func TestTraceRefusedInPart(t *testing.T) {
	for _, status := range []int{400, 413, 500} {
		tr, log := newTracer(time.Hour)
		c := newCollector(t, func(spans []string) (int, string) {
			if spans[0] == strconv.Itoa(otlp.MostSpans) {
				return status, "bad"
			}
			return http.StatusOK, ""
		})
		if err := tr.deliver(t.Context(), otlp.Receiver{URL: c.URL}, "goal", time.Now(), spansOf(2*otlp.MostSpans+1)); err != nil || c.tries != 3 || len(c.taken) != otlp.MostSpans+1 {
			t.Errorf("%d: error %v, %d tries, %d spans taken", status, err, c.tries, len(c.taken))
		}
		if refused, waiting := tr.figures(); refused != 1 || waiting != 0 || !strings.Contains(log.String(), "level=ERROR") {
			t.Errorf("%d: %v refused, waiting %v\n%s", status, refused, waiting, log)
		}
	}
}

// Of spans that are taken in part the log says how many are not, and why.
func TestTraceTakenInPart(t *testing.T) {
	for says, rejects := range map[string]float64{`{"partialSuccess":{"rejectedSpans":"2","errorMessage":"two bad"}}`: 1, `{"partialSuccess":{"errorMessage":"two bad"}}`: 0} {
		tr, log := newTracer(time.Hour)
		c := newCollector(t, func([]string) (int, string) { return http.StatusOK, says })
		if err := tr.deliver(t.Context(), otlp.Receiver{URL: c.URL}, "goal", time.Now(), spansOf(3)); err != nil || c.tries != 1 {
			t.Errorf("%v, %d tries", err, c.tries)
		}
		if refused, _ := tr.figures(); refused != rejects || !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), `message="two bad"`) ||
			!strings.Contains(log.String(), "rejected_spans="+strconv.Itoa(int(2*rejects))) {
			t.Errorf("%v refused\n%s", refused, log)
		}
	}
}

// A trace that the receiver never manages to take is dropped after some time where the receiver takes its
// first span alone; while it takes none, or asks for fewer requests, the trace waits.
func TestTraceThatIsInTheWay(t *testing.T) {
	for what, c := range map[string]struct {
		status  int
		whole   bool // the first span alone fails, too
		dropped bool
	}{"a proxy fails with this body": {502, false, true}, "a receiver that is away": {502, true, false}, "too many requests": {429, false, false}, "a key that is wrong": {401, false, false}} {
		tr, log := newTracer(20 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		r := newCollector(t, nil)
		r.answer = func(spans []string) (int, string) {
			if r.tries > 100 && !c.dropped {
				cancel()
			}
			if len(spans) > 1 || c.whole {
				return c.status, "no"
			}
			return http.StatusOK, ""
		}
		err := tr.deliver(ctx, otlp.Receiver{URL: r.URL}, "goal", time.Now(), spansOf(3))
		cancel()
		if refused, _ := tr.figures(); (err == nil) != c.dropped || (refused == 1) != c.dropped || strings.Contains(log.String(), "trace not sent") != c.dropped || r.tries < 3 {
			t.Errorf("%s: error %v, %v refused, %d tries\n%s", what, err, refused, r.tries, log)
		}
	}
}
