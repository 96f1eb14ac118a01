package deploy

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
)

// asked is the variable that makes the tests' binary print the keys that the variables of its environment give.
const asked = "TEST_BASE_URL"

func TestMain(m *testing.M) {
	if base := os.Getenv(asked); base != "" {
		c := &config.Config{Runtime: config.RuntimeProcess, Models: []config.Model{{Name: "m", BaseURL: base}}}
		c.Services.ModelGateway.Resolved = &config.Resolved{}
		u := &upRun{job: job{at: instance.New(&term.Terminal{Env: role.Env{Lookup: os.LookupEnv}}, instance.Flags{})}, facts: &facts{desired: c, file: "/sett.yml", root: "/", state: instance.State{ValuesKey: "k"}}}
		said := map[string]any{}
		if err := noteModels(u); err != nil {
			said["error"] = err.Error()
		}
		said["keys"], said["digest"] = u.keys, c.Services.ModelGateway.Resolved.Values
		if json.NewEncoder(os.Stdout).Encode(said) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestProxyOfEnvironment: the proxies of the shell that runs sett up hold for the models, as for Go's other programs, and a wrong one is
// told without a part of it.
func TestProxyOfEnvironment(t *testing.T) {
	const remote, local = "https://models.example/v1", "http://127.0.0.1:9/v1"
	for name, c := range map[string]struct {
		base  string
		vars  []string
		proxy string
		err   string
	}{
		"none":                      {base: remote},
		"https":                     {base: remote, vars: []string{"HTTPS_PROXY=http://u:hush@proxy:3128"}, proxy: "http://u:hush@proxy:3128"},
		"lower case":                {base: remote, vars: []string{"https_proxy=proxy:3128"}, proxy: "http://proxy:3128"},
		"upper case wins":           {base: remote, vars: []string{"https_proxy=http://other", "HTTPS_PROXY=http://proxy"}, proxy: "http://proxy"},
		"of the other scheme":       {base: remote, vars: []string{"HTTP_PROXY=http://proxy"}},
		"http":                      {base: "http://models.example/v1", vars: []string{"http_proxy=http://proxy", "HTTPS_PROXY=http://other"}, proxy: "http://proxy"},
		"no proxy":                  {base: remote, vars: []string{"HTTPS_PROXY=http://proxy", "NO_PROXY=.example, other"}},
		"no proxy, lower case":      {base: remote, vars: []string{"HTTPS_PROXY=http://proxy", "no_proxy=models.example"}},
		"no proxy for others":       {base: remote, vars: []string{"HTTPS_PROXY=http://proxy", "NO_PROXY=localhost,10.0.0.0/8"}, proxy: "http://proxy"},
		"this machine":              {base: local, vars: []string{"HTTP_PROXY=http://proxy", "HTTPS_PROXY=http://proxy"}},
		"this machine by name":      {base: "https://localhost/v1", vars: []string{"HTTPS_PROXY=http://proxy"}},
		"another name of it":        {base: "https://models.localhost/v1", vars: []string{"HTTPS_PROXY=http://proxy"}},
		"this machine, a bad one":   {base: local, vars: []string{"HTTP_PROXY=http://u:hu#sh@proxy"}},
		"a sign in the password":    {base: remote, vars: []string{"HTTPS_PROXY=http://u:hu#sh@proxy:3128"}, err: "the proxy in HTTPS_PROXY: it is no URL"},
		"a slash in the password":   {base: remote, vars: []string{"HTTPS_PROXY=http://u:1/hush@proxy:3128"}, err: "the proxy in HTTPS_PROXY: it is no URL"},
		"no scheme, but a user":     {base: remote, vars: []string{"HTTPS_PROXY=u:hush@proxy:3128"}, proxy: "http://u:hush@proxy:3128"},
		"an unknown scheme":         {base: remote, vars: []string{"https_proxy=socks4://u:hush@proxy"}, err: "the proxy in https_proxy: its scheme is none of"},
		"socks":                     {base: remote, vars: []string{"HTTPS_PROXY=socks5://u:hush@proxy:1080"}, proxy: "socks5://u:hush@proxy:1080"},
		"for all (not one of Go's)": {base: remote, vars: []string{"ALL_PROXY=http://proxy"}},
	} {
		said := keysIn(t, c.base, c.vars...)
		if said.Keys[env.ProxyKey("m")] != c.proxy || (said.Error == "") != (c.err == "") || !strings.Contains(said.Error, c.err) || strings.Contains(said.Error, "hu") {
			t.Errorf("%s: %+v", name, said)
		}
	}
}

// keysSaid are the keys and their digest, or the error.
type keysSaid struct {
	Keys          map[string]string
	Digest, Error string
}

func keysIn(t *testing.T, base string, vars ...string) (said keysSaid) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = slices.Concat(vars, []string{asked + "=" + base})
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	if err != nil {
		t.Fatalf("%s %q: %v: %s", base, vars, err, out)
	}
	return said
}

// TestNewProxy: another proxy, or only another password of it, is another digest, by which sett up restarts the model gateway.
func TestNewProxy(t *testing.T) {
	seen := map[string]string{}
	for _, proxy := range []string{"", "http://a:one@proxy", "http://a:two@proxy"} {
		said := keysIn(t, "https://models.example/v1", "HTTPS_PROXY="+proxy)
		if before, ok := seen[said.Digest]; ok || said.Digest == "" {
			t.Errorf("%q has the digest of %q: %+v", proxy, before, said)
		}
		seen[said.Digest] = proxy
	}
}

// TestProxyOfContainer: the gateway's container gets a proxy of this machine by the name that this machine has there, and sett up says that it may be
// out of reach.
func TestProxyOfContainer(t *testing.T) {
	f := &facts{}
	keys := map[string]string{"m": "key", env.ProxyKey("m"): "http://u:hush@127.0.0.1:3128", env.ProxyKey("n"): "http://u:hush@proxy:1", env.ProxyKey("o"): "http://localhost"}
	noteProxies(f, keys)
	proxiesForContainer(keys)
	if keys[env.ProxyKey("m")] != "http://u:hush@host.docker.internal:3128" || keys[env.ProxyKey("n")] != "http://u:hush@proxy:1" || keys[env.ProxyKey("o")] != "http://host.docker.internal" {
		t.Errorf("%q", keys)
	}
	if len(f.proxies) != 2 || !strings.Contains(f.proxies[0], "http://127.0.0.1:3128") || strings.Contains(strings.Join(f.proxies, ""), "hush") {
		t.Errorf("%q", f.proxies)
	}
}
