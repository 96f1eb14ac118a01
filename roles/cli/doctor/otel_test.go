package doctor

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sett/roles/cli/instance"
)

// TestTraces: the receiver that sett.yml names is asked once a person agreed to it; one
// of the person's own variables at once.
func TestTraces(t *testing.T) {
	asked, status := 0, http.StatusOK
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path != "/v1/traces" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.WriteHeader(status)
	}))
	defer receiver.Close()
	at := workspace(t)
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(at.Flags.Directory, instance.ConfigName), []byte("agents:\n  one: {image: x, command: [/bin/cat]}\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	look := func() Finding {
		all := examOf(t, at).traces(t.Context())
		if len(all) == 0 {
			return Finding{}
		}
		return all[len(all)-1]
	}
	write("")
	if f := look(); f.Finding != "" {
		t.Errorf("without otel: %+v", f)
	}
	write("otel: {endpoint: \"" + receiver.URL + "\"}\n")
	if f := look(); asked > 0 || f.Status != Skipped {
		t.Errorf("before anybody agreed, asked %d times: %+v", asked, f)
	}
	if err := instance.AgreeToOwn(at); err != nil {
		t.Fatal(err)
	}
	if f := look(); asked != 1 || f.Status != OK || !strings.Contains(f.Finding, "takes traces") {
		t.Errorf("asked %d times: %+v", asked, f)
	}
	status = http.StatusUnauthorized
	if f := look(); f.Status != Problem || !strings.Contains(f.Finding, "401") || !strings.Contains(f.Do, "otel.endpoint") {
		t.Errorf("refused: %+v", f)
	}
	write("")
	status = http.StatusOK
	lookup := at.Lookup
	at.Lookup = func(name string) (string, bool) {
		if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
			return receiver.URL, true
		}
		return lookup(name)
	}
	if f := look(); f.Status != OK {
		t.Errorf("by a variable: %+v", f)
	}
	x := examOf(t, at)
	x.traces(t.Context())
	if c := x.sheet.config; c.Otel != nil || c.Agents[0].Traced {
		t.Errorf("the check changed the configuration of all checks: %+v, traced %t", c.Otel, c.Agents[0].Traced)
	}
}
