// Package otlp sends spans to a receiver of OpenTelemetry, by OTLP over HTTP in its JSON
// form (opentelemetry.io/docs/specs/otlp). It is written by hand: the official exporter adds
// protobuf and gRPC to the binary, and keeps spans in memory until they are sent. Here the
// ledger keeps them.
package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"sett/runtime/roots"
)

// Span is a piece of work with a beginning and an end.
type Span struct {
	Trace      string      `json:"traceId"` // in hex, as the other names
	ID         string      `json:"spanId"`
	Parent     string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       Kind        `json:"kind"`
	Start      Nanos       `json:"startTimeUnixNano"`
	End        Nanos       `json:"endTimeUnixNano"`
	Attributes []Attribute `json:"attributes,omitempty"`
	Events     []Event     `json:"events,omitempty"`
	Links      []Link      `json:"links,omitempty"`
	Status     Status      `json:"status"`
}

// Kind says on which side of a call a span is.
type Kind int

// The kinds that Sett uses.
const (
	Internal Kind = 1
	Client   Kind = 3
)

// Nanos is a time, in nanoseconds since 1970. JSON has it as a text.
type Nanos time.Time

// MarshalJSON writes the text.
func (n Nanos) MarshalJSON() ([]byte, error) {
	return []byte(`"` + strconv.FormatInt(time.Time(n).UnixNano(), 10) + `"`), nil
}

// Attribute is a fact about a span.
type Attribute struct {
	Key   string `json:"key"`
	Value Value  `json:"value"`
}

// Value is a text or a number.
type Value struct {
	Text   *string `json:"stringValue,omitempty"`
	Number *string `json:"intValue,omitempty"`
}

// Text is an attribute that is a text.
func Text(key, value string) Attribute { return Attribute{key, Value{Text: &value}} }

// Number is an attribute that is a whole number.
func Number(key string, value int64) Attribute {
	digits := strconv.FormatInt(value, 10) // the protocol's form of 64 bits
	return Attribute{key, Value{Number: &digits}}
}

// Event is a moment in a span.
type Event struct {
	At         Nanos       `json:"timeUnixNano"`
	Name       string      `json:"name"`
	Attributes []Attribute `json:"attributes,omitempty"`
}

// Link is another span that this one follows from.
type Link struct {
	Trace string `json:"traceId"`
	ID    string `json:"spanId"`
}

// Status is how a span ended.
type Status struct {
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// Failed is the status of a span that ended in an error.
func Failed(why string) Status { return Status{2, why} }

// Receiver is where spans go.
type Receiver struct {
	URL     string
	Headers [][2]string
	Version string // of sett
	At      string // the host:port that is connected to in place of the URL's; empty: the URL's
	// Resource names the sender, beside the name and the version of the service.
	Resource []Attribute
}

// MostSpans is the most of one request: receivers refuse bodies above a few MiB.
const MostSpans = 500

const patience = 15 * time.Second

type body struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource   resource     `json:"resource"`
	ScopeSpans []scopeSpans `json:"scopeSpans"`
}

type resource struct {
	Attributes []Attribute `json:"attributes"`
}

type scopeSpans struct {
	Scope scope  `json:"scope"`
	Spans []Span `json:"spans"`
}

type scope struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// Send sends up to MostSpans spans. A *RefusedError says that they will not be taken, a *FaultError
// that none will be from this sender; any other error, that they may be taken later. Of spans that the receiver takes it
// may have something to say. Spans that a receiver gets twice are the same ones. Without spans it asks whether the
// receiver is there.
func (r Receiver) Send(ctx context.Context, spans []Span) (Remark, error) {
	about := append([]Attribute{Text("service.name", "sett"), Text("service.version", r.Version)}, r.Resource...)
	sent := body{[]resourceSpans{{resource{about}, []scopeSpans{{scope{"sett", r.Version}, spans}}}}}
	if len(spans) == 0 {
		sent.ResourceSpans = []resourceSpans{}
	}
	text, err := json.Marshal(sent)
	if err != nil {
		return Remark{}, fmt.Errorf("encode spans: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(text))
	if err != nil {
		return Remark{}, fmt.Errorf("send spans: %w", err)
	}
	for _, h := range r.Headers {
		q.Header.Set(h[0], h[1])
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("User-Agent", "sett/"+r.Version)
	if q.URL.Scheme == "https" {
		roots.TrustKnown()
	}
	a, err := r.client().Do(q)
	if err != nil {
		return Remark{}, fmt.Errorf("send spans: %w", err)
	}
	defer func() { _ = a.Body.Close() }()
	said, _ := io.ReadAll(io.LimitReader(a.Body, mostRead))
	_, _ = io.Copy(io.Discard, io.LimitReader(a.Body, 1<<20)) // so that the connection can be used again
	return verdict(a, said)
}

// client does not go elsewhere: headers may hold a key.
var client = &http.Client{CheckRedirect: stay}

func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func (r Receiver) client() *http.Client {
	if r.At == "" {
		return client
	}
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, r.At)
	}
	return &http.Client{CheckRedirect: stay, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
}
