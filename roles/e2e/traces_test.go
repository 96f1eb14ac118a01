package e2e

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"sett/blackboard"
	"sett/contract/trace"
	"sett/runtime"
)

// receiver takes traces as a collector does, unless it is away.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	away  bool
	asked int
	spans map[string]receivedSpan // by id
	twice []string                // ids that came again
}

// receivedSpan is the part of a span that the tests read.
type receivedSpan struct {
	TraceID, SpanID, ParentSpanID, Name string
	StartTimeUnixNano, EndTimeUnixNano  string
	Attributes                          []struct {
		Key   string
		Value struct{ StringValue, IntValue string }
	}
}

func (s receivedSpan) fact(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.StringValue + a.Value.IntValue
		}
	}
	return ""
}

// receives starts a receiver on an address of this machine.
func receives(t *testing.T, host string) *receiver {
	r := &receiver{spans: map[string]receivedSpan{}}
	r.Server = httptest.NewUnstartedServer(r)
	l, err := net.Listen("tcp4", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Listener.Close()
	r.Listener = l
	r.Start()
	t.Cleanup(r.Close)
	return r
}

// endpoint is the receiver's address on this machine.
func (r *receiver) endpoint() string {
	_, port, _ := net.SplitHostPort(r.Listener.Addr().String())
	return "http://localhost:" + port
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	text, _ := io.ReadAll(q.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked++; r.away {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	var body struct {
		ResourceSpans []struct {
			ScopeSpans []struct{ Spans []receivedSpan }
		}
	}
	if q.URL.Path != "/v1/traces" || q.Header.Get("X-Key") != "T" || json.Unmarshal(text, &body) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, of := range body.ResourceSpans {
		for _, s := range of.ScopeSpans[0].Spans {
			if _, again := r.spans[s.SpanID]; again {
				r.twice = append(r.twice, s.SpanID)
			}
			r.spans[s.SpanID] = s
		}
	}
}

// set says whether the receiver is away from now on.
func (r *receiver) set(away bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away, r.asked = away, 0
}

// has says whether the whole trace of a goal is there.
func (r *receiver) has(goal string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.spans[trace.Root(goal)]
	return ok
}

// TestTraces: a goal that ended is a trace: one tree, in which the tool's own span has its
// place. While the receiver is away traces wait, also over an orchestrator's end, and none
// comes twice. Without otel nothing is sent.
func TestTraces(t *testing.T) {
	t.Parallel()
	testTraces(t, options{}, receives(t, "127.0.0.1"))
}

// TestDockerTraces: the orchestrator's container reaches a receiver on this machine by the
// engine's gateway.
func TestDockerTraces(t *testing.T) {
	t.Parallel()
	testTraces(t, options{docker: true}, receives(t, engineHost(t)))
}

func testTraces(t *testing.T, o options, r *receiver) {
	c := solo(`say Terminal Done "${TRACEPARENT-none}"`, "")
	c.extra = "otel: {endpoint: \"" + r.endpoint() + "\", headers: {X-Key: \"${GIT_AUTHOR_NAME}\"}}\n"
	o.clan = c
	in := start(t, o)
	goal := in.post("first")
	in.await(goal, enough)
	eventually(t, enough, "the trace", func() bool { return r.has(goal) })
	r.mu.Lock()
	names, runs := map[string]int{}, 0
	for id, s := range r.spans {
		first, _, _ := strings.Cut(s.Name, " ")
		names[first]++
		if parent, ok := r.spans[s.ParentSpanID]; s.TraceID != trace.ID(goal) || !ok && id != trace.Root(goal) ||
			ok && (s.StartTimeUnixNano < parent.StartTimeUnixNano || s.EndTimeUnixNano > parent.EndTimeUnixNano) {
			t.Errorf("span %+v does not lie in %+v", s, parent)
		}
		if first == "invoke_agent" {
			runs++
			claim := r.spans[r.spans[s.ParentSpanID].ParentSpanID].fact("sett.claim.id")
			if want := trace.Parent(goal, claim, "solo", 1); in.final(goal) != want || !strings.Contains(want, id) {
				t.Errorf("the tool got TRACEPARENT %s; want %s, the span %s", in.final(goal), want, id)
			}
		}
	}
	r.mu.Unlock()
	if names["goal"] != 1 || names["claim"] != 1 || names["grant"] != 1 || runs != 1 {
		t.Errorf("spans %v", names)
	}

	r.set(true)
	second := in.post("second")
	in.await(second, enough) // nothing waits for the receiver
	eventually(t, enough, "a try", func() bool { r.mu.Lock(); defer r.mu.Unlock(); return r.asked > 0 })
	in.kill(runtime.ComponentOrchestrator)
	r.set(false)
	eventually(t, enough, "the second trace", func() bool { return r.has(second) })
	if r.mu.Lock(); len(r.twice) > 0 {
		t.Errorf("spans came twice: %v", r.twice)
	}
	r.mu.Unlock()

	c.extra = ""
	in.reconfigure(c)
	r.set(false)
	third := in.post("third")
	in.await(third, enough)
	fourth := in.post("fourth")
	in.await(fourth, enough)
	if r.mu.Lock(); r.asked > 0 {
		t.Error("without otel the receiver is asked")
	}
	r.mu.Unlock()
	if got := in.final(fourth); got != "none" {
		t.Errorf("without otel the tool has TRACEPARENT %s", got)
	}
}

// final is the payload of a goal's Terminal.
func (in *instance) final(goal string) string {
	in.t.Helper()
	w, err := in.board.Records.Workflow(in.t.Context(), goal)
	if err == nil {
		var a blackboard.Artefact
		if a, err = in.board.Records.Artefact(in.t.Context(), w.TerminalID); err == nil {
			return a.Payload
		}
	}
	in.t.Fatal(err)
	return ""
}
