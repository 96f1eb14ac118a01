package doctor

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role/provider"
)

// A secret of this machine goes nowhere because of a sett.yml that nobody agreed to.
func TestDoctorAsksNobodyUnagreed(t *testing.T) {
	t.Parallel()
	var asked []string
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Authorization"))
		_, _ = fmt.Fprint(w, `{"data":[{"id":"x"}]}`)
	}))
	defer provider.Close()
	at := workspace(t)
	lookup := at.Lookup
	at.Lookup = func(name string) (string, bool) {
		if name == "HOST_TOKEN" {
			return "hush", true
		}
		return lookup(name)
	}
	text := "agents:\n  one: {image: x, command: [/bin/cat]}\nmodels:\n  m: {api: chat, model: x, base_url: \"" + provider.URL + "\", api_key_env: HOST_TOKEN}\n"
	if err := os.WriteFile(filepath.Join(at.Flags.Directory, instance.ConfigName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	look := func() Finding {
		x := examOf(t, at)
		all := x.models(t.Context())
		return all[len(all)-1]
	}
	if f := look(); len(asked) > 0 || f.Status != Skipped || !strings.Contains(f.Finding, "sett up asks you") {
		t.Errorf("asked with %q: %+v", asked, f)
	}
	if err := instance.AgreeToOwn(at); err != nil {
		t.Fatal(err)
	}
	if f := look(); len(asked) != 1 || asked[0] != "Bearer hush" || f.Status != OK {
		t.Errorf("asked with %q: %+v", asked, f)
	}
}

// A certificate that nobody here trusts is told with the remedy, and a proxy without its password.
func TestDoctorNamesTheRemedy(t *testing.T) {
	t.Parallel()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no", http.StatusProxyAuthRequired)
	}))
	defer refusing.Close()
	at, err := url.Parse(strings.Replace(refusing.URL, "http://", "http://ada:hush@", 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{"http://models.example/v1", "https://models.example/v1"} {
		_, err = listModels(t.Context(), config.Model{Name: "m", BaseURL: base}, "key", provider.Way{Proxy: at})
		var unsent *provider.Unsent
		if !errors.As(err, &unsent) || unsent.Remedy != provider.NeedsUser || !strings.Contains(err.Error(), "through the proxy "+refusing.URL) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", base, err)
		}
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	where := workspace(t)
	text := "agents:\n  one: {image: x, command: [/bin/cat]}\nruntime: process\nmodels:\n  m: {api: chat, model: x, base_url: \"" + secure.URL + "\"}\n"
	if err := os.WriteFile(filepath.Join(where.Flags.Directory, instance.ConfigName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := instance.AgreeToOwn(where); err != nil {
		t.Fatal(err)
	}
	all := examOf(t, where).models(t.Context())
	if f := all[len(all)-1]; f.Status != Problem || !strings.Contains(f.Finding, "unknown authority") || !strings.Contains(f.Do, "ca_file") {
		t.Errorf("%+v", all)
	}
}

// TestProxyInReach: a proxy that listens on 127.0.0.1 alone is none for containers.
// A key that cannot be read does not hide that the gateway may have other ones.
func TestOtherKeys(t *testing.T) {
	if f := otherKeys("i", nil); f.Status != Warning || !strings.Contains(f.Finding, "another key") || !strings.Contains(f.Do, "sett retry") {
		t.Errorf("%+v", f)
	}
	if f := otherKeys("i", errors.New("models.m has no key")); f.Status != Warning || !strings.Contains(f.Finding, "cannot be told: models.m has no key") {
		t.Errorf("%+v", f)
	}
}

func TestProxyInReach(t *testing.T) {
	t.Parallel()
	alone := httptest.NewServer(http.NotFoundHandler())
	defer alone.Close()
	at, err := url.Parse(alone.URL)
	if err != nil {
		t.Fatal(err)
	}
	at.User = url.UserPassword("ada", "hush")
	if f := inReach(t.Context(), "m", at); f.Status != Warning || !strings.Contains(f.Finding, alone.URL) || strings.Contains(f.Finding, "hush") || f.Do == "" {
		t.Errorf("%+v", f)
	}
	if bridgeAddress() == "" {
		return
	}
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if f := inReach(t.Context(), "m", &url.URL{Scheme: "http", Host: "localhost:" + port}); f.Status != OK {
		t.Errorf("%+v", f)
	}
}
