package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// host is a machine as Find sees it.
type host struct {
	env     map[string]string
	files   map[string]string // below HOME
	sockets []string
}

func (h host) find(t *testing.T) (Endpoint, error) {
	t.Helper()
	home := t.TempDir()
	for name, text := range h.files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := search{
		get: func(name string) string {
			if name == "HOME" {
				return home
			}
			return strings.ReplaceAll(h.env[name], "HOME", home)
		},
		stat: func(path string) (fs.FileInfo, error) {
			for _, socket := range h.sockets {
				if path == strings.ReplaceAll(socket, "HOME", home) {
					return fstest.MapFS{"s": {Mode: fs.ModeSocket}}.Stat("s")
				}
			}
			if strings.HasPrefix(path, home) {
				return os.Stat(path)
			}
			return nil, fs.ErrNotExist
		},
	}
	e, err := s.find()
	e.Socket, e.Host = strings.ReplaceAll(e.Socket, home, "HOME"), strings.ReplaceAll(e.Host, home, "HOME")
	e.From = strings.ReplaceAll(e.From, home, "HOME")
	return e, err
}

// meta is the path of a context's file.
func contextFile(kind, name, file string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(".docker", "contexts", kind, hex.EncodeToString(sum[:]), file)
}

var finds = []struct {
	name string
	host host
	want string // host, space, from
}{
	{"nothing but the default", host{sockets: []string{DefaultSocket, "/run/podman/podman.sock"}}, "unix:///var/run/docker.sock Docker's socket"},
	{"rootless", host{env: map[string]string{"XDG_RUNTIME_DIR": "/run/user/7"}, sockets: []string{"/run/user/7/docker.sock", "/run/user/7/podman/podman.sock"}},
		"unix:///run/user/7/docker.sock rootless Docker's socket"},
	{"desktop", host{sockets: []string{"HOME/.docker/run/docker.sock"}}, "unix://HOME/.docker/run/docker.sock Docker Desktop's socket"},
	{"rootless podman before podman", host{env: map[string]string{"XDG_RUNTIME_DIR": "/run/user/7"}, sockets: []string{"/run/user/7/podman/podman.sock", "/run/podman/podman.sock"}},
		"unix:///run/user/7/podman/podman.sock rootless Podman's socket"},
	{"podman", host{sockets: []string{"/run/podman/podman.sock"}}, "unix:///run/podman/podman.sock Podman's socket"},
	{"the variable wins", host{env: map[string]string{"DOCKER_HOST": "unix:///a", "DOCKER_CONTEXT": "b"}, sockets: []string{DefaultSocket}}, "unix:///a DOCKER_HOST"},
	{"tcp without port", host{env: map[string]string{"DOCKER_HOST": "tcp://far"}}, "tcp://far:2375 DOCKER_HOST"},
	{"no scheme", host{env: map[string]string{"DOCKER_HOST": "far:99"}}, "tcp://far:99 DOCKER_HOST"},
	{"six", host{env: map[string]string{"DOCKER_HOST": "tcp://[::1]:99"}}, "tcp://[::1]:99 DOCKER_HOST"},
	{"tls has a port of its own", host{env: map[string]string{"DOCKER_HOST": "tcp://far", "DOCKER_TLS_VERIFY": "1"}}, "tcp://far:2376 DOCKER_HOST"},
	{"default context of the variable", host{env: map[string]string{"DOCKER_CONTEXT": "default"}, sockets: []string{DefaultSocket},
		files: map[string]string{".docker/config.json": `{"currentContext":"other"}`}}, "unix:///var/run/docker.sock Docker's socket"},
	{"context of the variable", host{env: map[string]string{"DOCKER_CONTEXT": "c"},
		files: map[string]string{contextFile("meta", "c", "meta.json"): `{"Name":"c","Endpoints":{"docker":{"Host":"unix:///c.sock"}}}`}},
		`unix:///c.sock context "c" of DOCKER_CONTEXT`},
	{"context of the file", host{sockets: []string{DefaultSocket}, files: map[string]string{".docker/config.json": `{"currentContext":"c"}`,
		contextFile("meta", "c", "meta.json"): `{"Endpoints":{"docker":{"Host":"tcp://far:1","SkipTLSVerify":true}}}`}},
		`tcp://far:1 context "c" of HOME/.docker/config.json`},
	{"another folder", host{env: map[string]string{"DOCKER_CONFIG": "HOME/.docker"}, files: map[string]string{".docker/config.json": `{"currentContext":"c"}`,
		contextFile("meta", "c", "meta.json"): `{"Endpoints":{"docker":{}}}`}},
		`unix:///var/run/docker.sock context "c" of HOME/.docker/config.json`},
}

func TestFind(t *testing.T) {
	for _, tt := range finds {
		t.Run(tt.name, func(t *testing.T) {
			e, err := tt.host.find(t)
			if err != nil {
				t.Fatal(err)
			}
			if got := e.Host + " " + e.From; got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if path, ok := strings.CutPrefix(e.Host, "unix://"); ok && e.Socket != path || !ok && e.Socket != "" {
				t.Errorf("socket %q of %s", e.Socket, e.Host)
			}
		})
	}
}

var findErrors = []struct {
	name string
	host host
	want []string // in the text or the hint
}{
	{"none", host{env: map[string]string{"XDG_RUNTIME_DIR": "/run/user/7"}}, []string{
		"no container engine found", "DOCKER_HOST is not set", "DOCKER_CONTEXT is not set", ".docker/config.json names no context",
		"/var/run/docker.sock", "/run/user/7/docker.sock", "/run/user/7/podman/podman.sock", "/run/podman/podman.sock", "install Docker or Podman"}},
	{"ssh", host{env: map[string]string{"DOCKER_HOST": "ssh://me@far"}, sockets: []string{DefaultSocket}}, []string{`"ssh://me@far" of DOCKER_HOST`, "no ssh", "ssh -nNT -L"}},
	{"npipe", host{env: map[string]string{"DOCKER_HOST": "npipe:////./pipe/x"}}, []string{`"npipe"`, "unix:// and tcp://"}},
	{"relative", host{env: map[string]string{"DOCKER_HOST": "unix://x.sock"}}, []string{"not absolute"}},
	{"no such context", host{env: map[string]string{"DOCKER_CONTEXT": "nope"}, sockets: []string{DefaultSocket}}, []string{`context "nope" of DOCKER_CONTEXT does not exist`, "docker context ls"}},
	{"no endpoint", host{env: map[string]string{"DOCKER_CONTEXT": "c"}, files: map[string]string{contextFile("meta", "c", "meta.json"): `{}`}}, []string{"no endpoint for Docker"}},
	{"broken context", host{env: map[string]string{"DOCKER_CONTEXT": "c"}, files: map[string]string{contextFile("meta", "c", "meta.json"): `{`}}, []string{"meta.json is no valid JSON: it ends too early", "docker context use default"}},
	{"broken configuration", host{sockets: []string{DefaultSocket}, files: map[string]string{".docker/config.json": `x`}},
		[]string{".docker/config.json is no valid JSON: unexpected 'x' in line 1, column 1", "correct it or move it away"}},
	{"broken in the middle", host{files: map[string]string{".docker/config.json": "{\n  \"ä\": \"ä\", nope}"}}, []string{"is no valid JSON: unexpected 'n' in line 2, column 13"}},
	{"broken literal", host{files: map[string]string{".docker/config.json": "not json"}}, []string{"is no valid JSON: unexpected 'o' in line 1, column 2"}},
	{"empty configuration", host{files: map[string]string{".docker/config.json": "\n"}}, []string{"config.json is empty"}},
	{"configuration of another kind", host{files: map[string]string{".docker/config.json": `[]`}}, []string{"it is of the kind array, not object"}},
	{"context of another kind", host{files: map[string]string{".docker/config.json": `{"currentContext":7}`}}, []string{"currentContext is of the kind number"}},
	{"no address", host{env: map[string]string{"DOCKER_HOST": "tcp://"}}, []string{"names no host", "it looks like unix:///"}},
}

func TestFindErrors(t *testing.T) {
	for _, tt := range findErrors {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.host.find(t)
			if !errors.Is(err, ErrEngine) {
				t.Fatalf("got %v, want an ErrEngine", err)
			}
			text := err.Error() + "\n" + Hint(err)
			for _, w := range tt.want {
				if !strings.Contains(text, w) {
					t.Errorf("%q is not in\n%s", w, text)
				}
			}
		})
	}
}

func TestFindTLS(t *testing.T) {
	e, err := host{env: map[string]string{"DOCKER_CONTEXT": "c"}, files: map[string]string{
		contextFile("meta", "c", "meta.json"):    `{"Endpoints":{"docker":{"Host":"tcp://far","SkipTLSVerify":true}}}`,
		contextFile("tls", "c", "docker/ca.pem"): "x", contextFile("tls", "c", "docker/key.pem"): "x",
	}}.find(t)
	if err != nil || e.Host != "tcp://far:2376" || e.TLS == nil {
		t.Fatalf("%+v %v", e, err)
	}
	if e.TLS.CA == "" || e.TLS.Key == "" || e.TLS.Cert != "" || !e.TLS.SkipVerify {
		t.Errorf("%+v", e.TLS)
	}
	e, err = host{env: map[string]string{"DOCKER_HOST": "far", "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": "/certs"}}.find(t)
	if err != nil || e.TLS == nil || *e.TLS != (TLS{CA: "/certs/ca.pem"}) {
		t.Errorf("%+v %v: the authority has to be there, the others may be missing", e.TLS, err)
	}
}

// Files and variables may contain nonsense.
func FuzzFind(f *testing.F) {
	for _, tt := range finds {
		f.Add(tt.host.env["DOCKER_HOST"], tt.host.files[".docker/config.json"], tt.host.files[contextFile("meta", "c", "meta.json")])
	}
	f.Fuzz(func(t *testing.T, dockerHost, config, meta string) {
		e, err := host{env: map[string]string{"DOCKER_HOST": strings.ReplaceAll(dockerHost, "HOME", "")},
			files: map[string]string{".docker/config.json": config, contextFile("meta", "c", "meta.json"): meta}}.find(t)
		if err != nil {
			if !errors.Is(err, ErrEngine) {
				t.Fatal(err)
			}
			return
		}
		u, err := url.Parse(strings.ReplaceAll(e.Host, "%", "%25"))
		if e.Socket == "" && (err != nil || u.Scheme != "tcp" || u.Host == "") {
			t.Errorf("host %q: %v", e.Host, err)
		}
		if e.Socket != "" && e.Host != "unix://"+e.Socket {
			t.Errorf("socket %q of %q", e.Socket, e.Host)
		}
		api, err := connect(e)
		if err == nil {
			api.Close()
		} else if !errors.Is(err, ErrEngine) {
			t.Fatal(err)
		}
	})
}
