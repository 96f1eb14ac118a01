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

// TestSend: the body has the protocol's form, and the headers are there.
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
	spans := make([]otlp.Span, otlp.MostSpans)
	for i := range spans {
		spans[i] = otlp.Span{Trace: "0a", ID: "0b", Name: "n", Kind: otlp.Client, Start: at, End: at}
	}
	if said, err := to.Send(t.Context(), spans); err != nil || said != (otlp.Remark{}) {
		t.Fatal(said, err)
	}
	n := len(bodies[0].ResourceSpans[0].ScopeSpans[0].Spans)
	s := bodies[0].ResourceSpans[0].ScopeSpans[0].Spans[0]
	if n != otlp.MostSpans || len(bodies) != 1 || key != "k" || kind != "application/json" || s.StartTimeUnixNano != "1000000005" || s.TraceID != "0a" || s.Kind != 3 {
		t.Errorf("%d spans in %d bodies, key %q, type %q, the first %+v", n, len(bodies), key, kind, s)
	}
	if a := bodies[0].ResourceSpans[0].Resource.Attributes; *a[0].Value.Text != "sett" {
		t.Errorf("resource %+v", a)
	}
	bodies = nil
	if _, err := to.Send(t.Context(), nil); err != nil || len(bodies) != 1 || len(bodies[0].ResourceSpans) != 0 {
		t.Errorf("without spans: %v, bodies %+v", err, bodies)
	}
}

// TestSendFails: errors say whether the same can be sent again, and a redirect is not
// followed, since headers may hold a key.
func TestSendFails(t *testing.T) {
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	date := func(in time.Duration) string { return time.Now().Add(in).UTC().Format(http.TimeFormat) }
	const later, refused, ofHeaders, ofAddress = "later", "refused", "of the headers", "of the address"
	for _, c := range []struct {
		status int
		after  string
		want   string
		wait   time.Duration
	}{
		{503, "7", later, 7 * time.Second}, {429, "", later, 0}, {502, "999999999", later, time.Hour}, {504, "-3", later, 0},
		{503, date(30 * time.Second), later, 30 * time.Second}, {429, date(48 * time.Hour), later, time.Hour},
		{503, date(-time.Hour), later, 0}, {503, "soon", later, 0},
		{400, "", refused, 0}, {413, "", refused, 0}, {422, "", refused, 0}, {500, "", refused, 0},
		{401, "", ofHeaders, 0}, {403, "", ofHeaders, 0},
		{404, "", ofAddress, 0}, {405, "", ofAddress, 0}, {301, "", ofAddress, 0}, {307, "", ofAddress, 0},
	} {
		receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", c.after)
			w.Header().Set("Location", other.URL)
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, strings.Repeat("no ", 1000))
		}))
		_, err := otlp.Receiver{URL: receiver.URL}.Send(t.Context(), nil)
		receiver.Close()
		got := later
		if fault := otlp.Fault(err); otlp.Refused(err) {
			got = refused
		} else if fault != nil && fault.OfHeaders() {
			got = ofHeaders
		} else if fault != nil {
			got = ofAddress
		}
		wait := otlp.Wait(err)
		if err == nil || got != c.want || wait > c.wait || wait < c.wait-2*time.Second || len(err.Error()) > 400 { // a date has whole seconds
			t.Errorf("%d, Retry-After %q: error %v, %s, wait %s", c.status, c.after, err, got, wait)
		}
		if c.status/100 == 3 && !strings.Contains(err.Error(), other.URL) {
			t.Errorf("%d: %v; want the address", c.status, err)
		}
	}
	if elsewhere > 0 {
		t.Error("a redirect was followed")
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	if _, err := (otlp.Receiver{URL: gone.URL}).Send(t.Context(), nil); err == nil || otlp.Refused(err) {
		t.Errorf("nobody listens: %v", err)
	}
}

// TestPage: a page for people is no receiver's answer. The spans wait until the address is right.
func TestPage(t *testing.T) {
	kind, said := "", ""
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, said)
	}))
	defer receiver.Close()
	for _, c := range []struct {
		kind, said string
		page       bool
	}{
		{"text/html; charset=utf-8", "<h1>Log in</h1>", true}, {"text/plain", "\n<!DOCTYPE html><title>x", true}, {"", "<HTML>", true},
		{"text/html", "", false}, {"application/json", "{}", false}, {"text/plain", "ok", false}, {"application/x-protobuf", "\x0a\x00", false},
	} {
		kind, said = c.kind, c.said
		_, err := otlp.Receiver{URL: receiver.URL}.Send(t.Context(), nil)
		if fault := otlp.Fault(err); (fault != nil) != c.page || otlp.Refused(err) || c.page && !strings.Contains(err.Error(), "a page for people") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestRemark: of a success the answer says how many spans were not taken, and why.
func TestRemark(t *testing.T) {
	said := ""
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, said) }))
	defer receiver.Close()
	for text, want := range map[string]otlp.Remark{
		"":                        {},
		"{}":                      {},
		"\x00<html>":              {},
		`{"partialSuccess":{}}`:   {},
		`{"partialSuccess":null}`: {},
		`{"partialSuccess":{"rejectedSpans":"2","errorMessage":"two bad"}}`:       {Rejected: 2, Says: "two bad"},
		`{"partialSuccess":{"rejectedSpans":3}}`:                                  {Rejected: 3},
		`{"partialSuccess":{"rejectedSpans":"-3"}}`:                               {},
		`{"partialSuccess":{"errorMessage":"use TLS"}}`:                           {Says: "use TLS"},
		`{"partialSuccess":{"errorMessage":"` + strings.Repeat("é", 9000) + `"}}`: {Says: strings.Repeat("é", 100)},
	} {
		said = text
		if got, err := (otlp.Receiver{URL: receiver.URL}).Send(t.Context(), nil); err != nil || got != want {
			t.Errorf("%.60s: %+v, %v; want %+v", text, got, err, want)
		}
	}
}
