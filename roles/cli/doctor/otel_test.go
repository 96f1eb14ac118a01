package doctor

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sett/contract/config"
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
		if err := os.WriteFile(filepath.Join(at.Flags.Directory, instance.ConfigName), []byte("orchestrator: {run: host}\nagents:\n  one: {image: x, command: [/bin/cat]}\n"+text), 0o600); err != nil {
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
	const wait, dropped = "traces wait", "is dropped"
	for _, c := range []struct {
		status    int
		do, after string
	}{
		{401, "otel.headers", wait}, {403, "otel.headers", wait}, {404, "otel.endpoint", wait}, {301, "otel.endpoint", wait},
		{503, "otel.endpoint", wait}, {400, "otel.endpoint", dropped}, {500, "otel.endpoint", dropped},
	} {
		status = c.status
		if f := look(); f.Status != Problem || !strings.Contains(f.Finding, strconv.Itoa(status)) || !strings.Contains(f.Do, "check "+c.do) || !strings.HasSuffix(f.Do, c.after) {
			t.Errorf("refused: %+v; want %q, %q", f, c.do, c.after)
		}
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
	status = http.StatusForbidden
	if f := look(); !strings.HasPrefix(f.Do, "check the variable OTEL_EXPORTER_OTLP_HEADERS;") {
		t.Errorf("refused, by a variable: %+v", f)
	}
	x := examOf(t, at)
	x.traces(t.Context())
	if c := x.sheet.config; c.Otel != nil || c.Agents[0].Traced {
		t.Errorf("the check changed the configuration of all checks: %+v, traced %t", c.Otel, c.Agents[0].Traced)
	}
}

// TestTracesFromAContainer: a receiver of this machine is asked where the orchestrator's container reaches it, which is not
// 127.0.0.1.
func TestTracesFromAContainer(t *testing.T) {
	const there = "127.0.0.2" // stands for the bridge's
	l, err := net.Listen("tcp", there+":0")
	if err != nil {
		t.Skip("only 127.0.0.1 is the machine's own: ", err)
	}
	hosts := []string{}
	answers := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { hosts = append(hosts, r.Host) })
	open := &httptest.Server{Listener: l, Config: &http.Server{Handler: answers}}
	open.Start()
	defer open.Close()
	alone := httptest.NewServer(answers)
	defer alone.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	x := examOf(t, workspace(t))

	all := x.receiver(t.Context(), &config.Otel{Endpoint: "http://localhost:" + port}, true, there)
	if len(all) != 2 || all[0].Status != OK || all[1].Status != OK || !strings.Contains(all[0].Finding, there+":"+port) || len(hosts) != 1 || hosts[0] != "localhost:"+port {
		t.Errorf("%+v, asked at %v", all, hosts)
	}
	all = x.receiver(t.Context(), &config.Otel{Endpoint: alone.URL}, true, there)
	if len(all) != 1 || all[0].Status != Problem || !strings.Contains(all[0].Do, there) || !strings.Contains(all[0].Do, "not on 127.0.0.1 alone") || len(hosts) != 1 {
		t.Errorf("on 127.0.0.1 alone: %+v, asked at %v", all, hosts)
	}
	all = x.receiver(t.Context(), &config.Otel{Endpoint: alone.URL}, true, "")
	if len(all) != 2 || all[0].Status != OK || !strings.Contains(all[0].Finding, "not on 127.0.0.1 alone") || all[1].Status != OK {
		t.Errorf("where the address is not known: %+v", all)
	}
	all = x.receiver(t.Context(), &config.Otel{Endpoint: alone.URL}, false, "")
	if len(all) != 1 || all[0].Status != OK {
		t.Errorf("from the host: %+v", all)
	}
}
