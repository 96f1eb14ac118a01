package gateway

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sett/contract/env"
	"sett/roles/role/modeltest"
)

// TestCAFile: the certificates of a model's file are trusted for that model, besides the
// usual ones, and those of no other.
func TestCAFile(t *testing.T) {
	mock := modeltest.Start(t, modeltest.Text("fine"))
	mock.Key = providerKey
	to, err := url.Parse(mock.URL)
	if err != nil {
		t.Fatal(err)
	}
	secure := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(to))
	defer secure.Close()
	file := filepath.Join(t.TempDir(), "company.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(file, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(file string) reply {
		return newPlace(t, func(g *env.Gateway) {
			retries := 0
			g.Models[0].BaseURL, g.Models[0].CAFile, g.Models[0].Retries = secure.URL+"/v1", file, &retries
		}).ask(ask{})
	}
	if got := ask(""); got.status != http.StatusBadGateway || !strings.Contains(got.body, "certificate") {
		t.Errorf("without the file: %v", got)
	}
	if got := ask(file); got.status != http.StatusOK {
		t.Errorf("with the file: %v", got)
	}
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newUpstream(env.Model{Name: "smart", CAFile: file}, "", nil, usualPace()); err == nil || !strings.Contains(err.Error(), "no certificate is in it") {
		t.Errorf("with a file without certificates: %v", err)
	}
}
