package doctor

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sett/roles/cli/instance"
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
