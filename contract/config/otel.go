package config

import (
	"net/url"
	"strings"
)

// Otel is where the traces of goals go.
type Otel struct {
	Endpoint string   `json:"endpoint"`          // of OTLP over HTTP, without /v1/traces: http://host:4318
	Headers  []EnvVar `json:"headers,omitempty"` // of each request, in file order; values may have references
	// Never in sett.yml: sett up finds them.
	Found OtelFacts `json:"found,omitzero"`
}

// OtelFacts are facts of an Otel that its file does not have.
type OtelFacts struct {
	Ambient bool   `json:"ambient,omitempty"` // it is from the person's OTEL_ variables
	Whole   bool   `json:"whole,omitempty"`   // the endpoint has the whole path
	Values  string `json:"values,omitempty"`  // keyed digest of the values of its headers
}

// The variables of the OpenTelemetry specification that Sett reads where sett.yml has no
// otel (opentelemetry.io/docs/specs/otel/protocol/exporter).
const (
	OtelEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	OtelTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	OtelHeaders        = "OTEL_EXPORTER_OTLP_HEADERS"
	OtelTracesHeaders  = "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
	OtelDisabled       = "OTEL_SDK_DISABLED"
	OtelExporter       = "OTEL_TRACES_EXPORTER"
)

// tracesPath follows the endpoint, as the protocol says.
const tracesPath = "/v1/traces"

// URL is the address to which traces are sent.
func (o *Otel) URL() string {
	if o.Found.Whole {
		return o.Endpoint
	}
	return strings.TrimRight(o.Endpoint, "/") + tracesPath
}

// OfThisMachine says whether the endpoint is a loopback address.
func (o *Otel) OfThisMachine() bool {
	if o == nil {
		return false
	}
	at, err := url.Parse(o.Endpoint)
	return err == nil && Loopback(at.Hostname())
}

// HeaderValues returns the headers of requests, with their values. A variable of the
// OpenTelemetry specification has several: name=value,name=value, percent-encoded.
func (o *Otel) HeaderValues(lookup func(string) (string, bool)) (headers [][2]string, err error) {
	all, _, err := Environ(o.Headers, lookup)
	if err != nil {
		return nil, err
	}
	for _, h := range all {
		name, value, _ := strings.Cut(h, "=")
		if name != OtelHeaders && name != OtelTracesHeaders {
			headers = append(headers, [2]string{name, value})
			continue
		}
		for pair := range strings.SplitSeq(value, ",") {
			name, value, ok := strings.Cut(pair, "=")
			name, value = strings.TrimSpace(name), strings.TrimSpace(value)
			if !ok || !headerName().MatchString(name) {
				continue
			}
			if plain, err := url.PathUnescape(value); err == nil && printable(plain) == plain {
				value = plain
			}
			headers = append(headers, [2]string{name, value})
		}
	}
	return headers, nil
}

// ObserveBy takes the endpoint from the person's OTEL_ variables, where sett.yml has none. It
// returns a sentence for a value that cannot be used, without the value.
func (c *Config) ObserveBy(lookup func(string) (string, bool)) (fault string) {
	if c.Otel != nil {
		return ""
	}
	c.Otel, fault = AmbientOtel(lookup)
	c.noteTraced()
	return fault
}

// AmbientOtel is the receiver that the person's OTEL_ variables name; nil: they name none. The
// fault is a sentence about a value that cannot be used, without the value.
func AmbientOtel(lookup func(string) (string, bool)) (o *Otel, fault string) {
	get := func(name string) string { value, _ := lookup(name); return value }
	if strings.EqualFold(get(OtelDisabled), "true") || get(OtelExporter) != "" && !strings.Contains(get(OtelExporter), "otlp") {
		return nil, ""
	}
	o = &Otel{Found: OtelFacts{Ambient: true}}
	from, headers := OtelEndpoint, OtelHeaders
	if o.Endpoint = get(OtelTracesEndpoint); o.Endpoint != "" {
		o.Found.Whole, from = true, OtelTracesEndpoint
	} else if o.Endpoint = get(OtelEndpoint); o.Endpoint == "" {
		return nil, ""
	}
	if wrong, hint := checkOtelURL(o.Endpoint); wrong != "" {
		return nil, from + ": " + wrong + "; want " + hint + "; no traces are sent"
	}
	if get(OtelTracesHeaders) != "" {
		headers = OtelTracesHeaders
	}
	if get(headers) != "" {
		o.Headers = []EnvVar{{Name: headers, Inherit: true}}
	}
	return o, ""
}

// noteTraced tells each agent whether its tools are part of traces.
func (c *Config) noteTraced() {
	for i := range c.Agents {
		c.Agents[i].Traced = c.Otel != nil
	}
}

func otelFields(r *reader) func(*Otel) []field {
	return func(o *Otel) []field {
		return []field{
			{"endpoint", "Of a receiver of OTLP over HTTP, without /v1/traces.", r.text(&o.Endpoint, otelURL)},
			{"headers", "Of each request. In a value ${NAME} stands for your machine's variable, and $$ for a dollar.", r.headers(&o.Headers)},
		}
	}
}

var otelURL = check{checkOtelURL, func(s *schema) { s.Pattern = "^https?://" }}

// checkOtelURL checks without repeating the URL, which may hold a key.
func checkOtelURL(s string) (fault, hint string) {
	hint = "http://host:4318"
	if fault := webFault(s); fault != "" {
		return fault, hint
	}
	return "", ""
}

// webFault says why a text is not the address of a server; empty: it is one.
func webFault(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil, u.Opaque != "":
		return "not a URL"
	case u.Scheme != "http" && u.Scheme != "https":
		return "the scheme must be http or https, not " + quote(u.Scheme)
	case u.User != nil:
		return "a user or a password in the URL"
	case u.Hostname() == "":
		return "the URL names no host"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "a query in the URL"
	}
	return ""
}

// otelRights are the address that learns of all goals, and the secrets that it gets.
func otelRights(c *Config, _ string) (all []Right) {
	if c.Otel == nil || c.Otel.Found.Ambient {
		return nil
	}
	all = append(all, Right{"otel.endpoint", "sends the times and names of all work to " + c.Otel.Endpoint})
	for _, h := range c.Otel.Headers {
		for _, name := range h.Uses() {
			all = append(all, Right{"otel.headers", "sends this machine's variable " + name + " to " + c.Otel.Endpoint})
		}
	}
	return all
}
