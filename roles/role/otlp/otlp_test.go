package otlp_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sett/roles/role/otlp"
)

// sent is the part of a request's body that the tests read.
type sent struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes []otlp.Attribute }
		ScopeSpans []struct {
			Spans []struct {
				TraceID, SpanID, StartTimeUnixNano, EndTimeUnixNano, Name string
				Kind                                                      int
			}
		}
	}
}

// TestSend: the body has the protocol's form, the headers are there, and many spans are
// several requests.
func TestSend(t *testing.T) {
	var bodies []sent
	var key, kind string
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		var b sent
		if err := json.Unmarshal(text, &b); err != nil {
			t.Errorf("body: %v", err)
		}
		bodies, key, kind = append(bodies, b), r.Header.Get("X-Key"), r.Header.Get("Content-Type")
	}))
	defer receiver.Close()
	to := otlp.Receiver{URL: receiver.URL + "/v1/traces", Headers: [][2]string{{"X-Key", "k"}}, Version: "v1"}
	at := otlp.Nanos(time.Unix(1, 5).UTC())
	spans := make([]otlp.Span, 1201)
	for i := range spans {
		spans[i] = otlp.Span{Trace: "0a", ID: "0b", Name: "n", Kind: otlp.Client, Start: at, End: at}
	}
	if err := to.Send(t.Context(), spans); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, b := range bodies {
		n += len(b.ResourceSpans[0].ScopeSpans[0].Spans)
	}
	s := bodies[0].ResourceSpans[0].ScopeSpans[0].Spans[0]
	if n != 1201 || len(bodies) != 3 || key != "k" || kind != "application/json" || s.StartTimeUnixNano != "1000000005" || s.TraceID != "0a" || s.Kind != 3 {
		t.Errorf("%d spans in %d bodies, key %q, type %q, the first %+v", n, len(bodies), key, kind, s)
	}
	if a := bodies[0].ResourceSpans[0].Resource.Attributes; *a[0].Value.Text != "sett" {
		t.Errorf("resource %+v", a)
	}
	bodies = nil
	if err := to.Send(t.Context(), nil); err != nil || len(bodies) != 1 || len(bodies[0].ResourceSpans) != 0 {
		t.Errorf("without spans: %v, bodies %+v", err, bodies)
	}
}

// TestSendFails: errors say whether the same can be sent again, and a redirect is not
// followed, since headers may hold a key.
func TestSendFails(t *testing.T) {
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	for _, c := range []struct {
		status  int
		after   string
		refused bool
		wait    time.Duration
	}{
		{503, "7", false, 7 * time.Second}, {429, "", false, 0}, {502, "999999999", false, time.Hour}, {504, "-3", false, 0},
		{400, "", true, 0}, {401, "", true, 0}, {404, "", true, 0}, {307, "", true, 0}, {500, "", true, 0},
	} {
		receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", c.after)
			w.Header().Set("Location", other.URL)
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, strings.Repeat("no ", 1000))
		}))
		err := otlp.Receiver{URL: receiver.URL}.Send(t.Context(), nil)
		receiver.Close()
		if err == nil || otlp.Refused(err) != c.refused || otlp.Wait(err) != c.wait || len(err.Error()) > 400 {
			t.Errorf("%d: error %v, refused %t, wait %s", c.status, err, otlp.Refused(err), otlp.Wait(err))
		}
	}
	if elsewhere > 0 {
		t.Error("a redirect was followed")
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	if err := (otlp.Receiver{URL: gone.URL}).Send(t.Context(), nil); err == nil || otlp.Refused(err) {
		t.Errorf("nobody listens: %v", err)
	}
}
