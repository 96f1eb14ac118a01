package config

import (
	"slices"
	"strings"
	"testing"
)

// TestObserveBy: the person's OTEL_ variables count where sett.yml has no otel, as
// OpenTelemetry's specification has them.
func TestObserveBy(t *testing.T) {
	for _, c := range []struct {
		name  string
		vars  map[string]string
		url   string // empty: no traces
		fault string
	}{
		{name: "none", vars: nil},
		{name: "endpoint", vars: map[string]string{OtelEndpoint: "http://h:4318/"}, url: "http://h:4318/v1/traces"},
		{name: "of traces", vars: map[string]string{OtelEndpoint: "http://h:4318", OtelTracesEndpoint: "https://t/x"}, url: "https://t/x"},
		{name: "disabled", vars: map[string]string{OtelEndpoint: "http://h:4318", OtelDisabled: "TRUE"}},
		{name: "no exporter", vars: map[string]string{OtelEndpoint: "http://h:4318", OtelExporter: "none"}},
		{name: "several exporters", vars: map[string]string{OtelEndpoint: "http://h:4318", OtelExporter: "console,otlp"}, url: "http://h:4318/v1/traces"},
		{name: "no URL", vars: map[string]string{OtelEndpoint: "h:4318"}, fault: OtelEndpoint + ": not a URL"},
		{name: "a secret", vars: map[string]string{OtelEndpoint: "http://u:hunter2@h"}, fault: "a user or a password"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := &Config{Agents: []Agent{{Name: "a"}}}
			fault := cfg.ObserveBy(func(name string) (string, bool) { v, set := c.vars[name]; return v, set })
			if c.fault == "" && fault != "" || !strings.Contains(fault, c.fault) || strings.Contains(fault, "hunter2") {
				t.Errorf("fault %q; want %q", fault, c.fault)
			}
			switch {
			case c.url == "" && cfg.Otel != nil:
				t.Errorf("otel %+v; want none", cfg.Otel)
			case c.url != "" && (cfg.Otel == nil || cfg.Otel.URL() != c.url || !cfg.Agents[0].Traced):
				t.Errorf("otel %+v, traced %t; want %s", cfg.Otel, cfg.Agents[0].Traced, c.url)
			}
			if len(otelRights(cfg, ".")) > 0 {
				t.Error("a right is asked for that the person's own variable gives")
			}
		})
	}
	own := &Config{Otel: &Otel{Endpoint: "http://mine"}}
	own.ObserveBy(func(string) (string, bool) { return "http://other", true })
	if own.Otel.Endpoint != "http://mine" {
		t.Errorf("sett.yml says http://mine; used %s", own.Otel.Endpoint)
	}
}

// TestOtelHeaders: values come from the host, those of the specification's variable are
// several, and percent-encoded.
func TestOtelHeaders(t *testing.T) {
	host := map[string]string{"TOKEN": "hush", OtelHeaders: "api-key=a%20b, X=y=z,broken,b d=1,N=%0a"}
	lookup := func(name string) (string, bool) { v, set := host[name]; return v, set }
	o := Otel{Headers: []EnvVar{{Name: "Authorization", Value: "Bearer ${TOKEN}"}, {Name: OtelHeaders, Inherit: true}}}
	got, err := o.HeaderValues(lookup)
	want := [][2]string{{"Authorization", "Bearer hush"}, {"api-key", "a b"}, {"X", "y=z"}, {"N", "%0a"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("headers %v, error %v; want %v", got, err, want)
	}
	missing := Otel{Headers: []EnvVar{{Name: "A", Value: "${NOT_THERE:?say who}"}}}
	if _, err := missing.HeaderValues(lookup); err == nil || !strings.Contains(err.Error(), "say who") {
		t.Errorf("error %v", err)
	}
}

// TestOtelInFile: the settings are a right, and faults are named without their values.
func TestOtelInFile(t *testing.T) {
	const base = "agents: {a: {image: x, command: [y]}}\n"
	c, err := Parse("sett.yml", []byte(base+"otel: {endpoint: http://localhost:4318, headers: {Key: '${SECRET}'}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if !c.Otel.OfThisMachine() || !c.Agents[0].Traced {
		t.Errorf("otel %+v, agent %+v", c.Otel, c.Agents[0])
	}
	var keys []string
	for _, r := range c.Rights(".") {
		keys = append(keys, r.Key)
	}
	if want := []string{"otel.endpoint", "otel.headers"}; !slices.Equal(keys, want) {
		t.Errorf("rights %v; want %v", keys, want)
	}
	values, _, err := c.HostValues(func(name string) (string, bool) { return "v", name == "SECRET" })
	if err != nil || values["SECRET"] != "v" {
		t.Errorf("values %v, error %v", values, err)
	}
	off, err := Parse("sett.yml", []byte(base))
	if err != nil {
		t.Fatal(err)
	}
	if d := Diff(off, c); !d.Policy || !slices.Equal(d.Changed, []string{"a"}) {
		t.Errorf("changes %+v; want the policy, and the agent, whose tools learn of traces", d)
	}
	for text, want := range map[string]string{
		"otel: {}":                                     "otel has no endpoint",
		"otel: {endpoint: 'h:4318'}":                   "not a URL",
		"otel: {endpoint: 'grpc://h:4317'}":            "http or https",
		"otel: {endpoint: 'http://u:hunter2@h'}":       "a user or a password",
		"otel: {endpoint: 'http://h?api_key=hunter2'}": "a query",
	} {
		if _, err := Parse("sett.yml", []byte(base+text+"\n")); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v; want %q", text, err, want)
		}
	}
}
