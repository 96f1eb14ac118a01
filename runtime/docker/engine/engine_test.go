package engine

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/registry"
	"github.com/docker/docker/api/types/system"

	"sett/blackboard/redis/redistest"
)

// machineEngine returns the machine's container engine. Without one, the test cannot run.
func machineEngine(t testing.TB) *Engine {
	t.Helper()
	ep, err := Find(os.LookupEnv)
	var e *Engine
	if err == nil {
		e, err = Open(t.Context(), ep)
	}
	if errors.Is(err, ErrEngine) {
		t.Skip(redistest.Unreached(err))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func TestOpen(t *testing.T) {
	e := machineEngine(t)
	f := e.Facts()
	if f.Version == "" || f.APIVersion == "" || f.OS != "linux" || f.CPUs < 1 || f.Memory < 1<<20 || f.Name != "Docker" && f.Name != "Podman" {
		t.Errorf("%+v", f)
	}
	if slices.Contains([]string{"x86_64", "aarch64", ""}, f.Arch) {
		t.Errorf("architecture %q is not in Go's words", f.Arch)
	}
	if e.Endpoint().Host == "" || e.Endpoint().From == "" {
		t.Errorf("%+v", e.Endpoint())
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	gone := filepath.Join(dir, "gone.sock")
	refused := filepath.Join(dir, "refused.sock")
	l, err := net.Listen("unix", refused)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	for _, tt := range []struct {
		ep   Endpoint
		want []string
	}{
		{Endpoint{Host: "unix://" + gone, Socket: gone, From: "DOCKER_HOST"}, []string{gone, "(DOCKER_HOST)", "no such socket"}},
		{Endpoint{Host: "unix://" + refused, Socket: refused, From: "Docker's socket", passed: []string{"DOCKER_HOST is not set"}},
			[]string{"connection refused", "\nDOCKER_HOST is not set", "is it running?"}},
		{Endpoint{Host: "tcp://127.0.0.1:1", From: "DOCKER_HOST"}, []string{"tcp://127.0.0.1:1", "connection refused"}},
		{Endpoint{Host: "tcp://127.0.0.1:1", TLS: &TLS{CA: gone}}, []string{"read " + gone, "no such file"}},
	} {
		_, err := Open(t.Context(), tt.ep)
		if !errors.Is(err, ErrEngine) {
			t.Fatalf("%s: got %v, want an ErrEngine", tt.ep.Host, err)
		}
		for _, w := range tt.want {
			if text := err.Error() + "\n" + Hint(err); !strings.Contains(text, w) {
				t.Errorf("%q is not in\n%s", w, text)
			}
		}
	}
}

// TestUnknownHost: an address whose host has no meaning is said to be that, with the place to correct it.
func TestUnknownHost(t *testing.T) {
	for _, c := range []struct {
		err             net.DNSError
		from, why, hint string
	}{
		{net.DNSError{Err: "no such host", Name: "garbage", Server: "10.0.0.1:53", IsNotFound: true}, "DOCKER_HOST", `its host "garbage" is not known`, "correct DOCKER_HOST"},
		{net.DNSError{Err: "no such host", Name: "far", IsNotFound: true}, `context "c" of DOCKER_CONTEXT`, `its host "far" is not known`, "docker context ls"},
		{net.DNSError{Err: "server misbehaving", Name: "far"}, "DOCKER_HOST", `the name of its host, "far", cannot be looked up: server misbehaving`, "correct DOCKER_HOST"},
	} {
		if why, hint := unknownHost(&c.err, c.from); why != c.why || !strings.HasPrefix(hint, c.hint) {
			t.Errorf("%s; %s", why, hint)
		}
	}
	// The resolver says of such a name by itself that it is none.
	_, err := Open(t.Context(), Endpoint{Host: "tcp://no..host:1", From: "DOCKER_HOST"})
	if !errors.Is(err, ErrEngine) || !strings.Contains(err.Error(), `does not answer: its host "no..host" is not known`) || !strings.HasPrefix(Hint(err), "correct DOCKER_HOST") {
		t.Errorf("got %v; %s", err, Hint(err))
	}
}

// An engine that takes the connection and says nothing, as behind a frozen virtual
// machine.
func TestOpenSilence(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ep := Endpoint{Host: "unix://" + path, Socket: path, From: "DOCKER_HOST"}
	began := time.Now()
	_, err = Open(t.Context(), ep)
	if !errors.Is(err, ErrEngine) || !strings.Contains(err.Error(), "no answer within 5s") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > 3*openTimeout {
		t.Errorf("it took %s", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, ep); !errors.Is(err, context.Canceled) || errors.Is(err, ErrEngine) {
		t.Errorf("interrupted: got %v", err)
	}
}

// fakeEngine answers the requests of Open, and no others.
func fakeEngine(info, version string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/_ping"):
			w.Header().Set("Api-Version", "1.41")
		case strings.HasSuffix(r.URL.Path, "/info"):
			w.Write([]byte(info))
		case strings.HasSuffix(r.URL.Path, "/version"):
			w.Write([]byte(version))
		default:
			http.NotFound(w, r)
		}
	})
}

func TestOpenTLS(t *testing.T) {
	s := httptest.NewTLSServer(fakeEngine(`{"OSType":"linux","ID":"x"}`, `{"Version":"5.1","Arch":"arm64","Components":[{"Name":"Podman Engine"}]}`))
	defer s.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	ep := Endpoint{Host: "tcp://" + s.Listener.Addr().String(), From: "DOCKER_HOST", TLS: &TLS{CA: ca}}
	e, err := Open(t.Context(), ep)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if f := e.Facts(); f.Name != "Podman" || f.Arch != "arm64" || f.APIVersion != "1.41" {
		t.Errorf("%+v", f)
	}
	ep.TLS = &TLS{}
	if _, err := Open(t.Context(), ep); !errors.Is(err, ErrEngine) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown authority: got %v", err)
	}
	ep.TLS = &TLS{SkipVerify: true}
	if e, err := Open(t.Context(), ep); err != nil {
		t.Error(err)
	} else {
		e.Close()
	}
}

func TestOpenWindows(t *testing.T) {
	s := httptest.NewServer(fakeEngine(`{"OSType":"windows"}`, `{}`))
	defer s.Close()
	_, err := Open(t.Context(), Endpoint{Host: "tcp://" + s.Listener.Addr().String(), From: "DOCKER_HOST"})
	if !errors.Is(err, ErrEngine) || !strings.Contains(err.Error(), "containers of windows") || Hint(err) == "" {
		t.Errorf("got %v", err)
	}
}

func TestFacts(t *testing.T) {
	got := factsOf(system.Info{OSType: "linux", NCPU: 3, MemTotal: 4, ID: "i", OperatingSystem: "Docker Desktop",
		SecurityOptions: []string{"name=seccomp,profile=default", "name=rootless", "name=userns", "name=selinux"}},
		types.Version{Version: "9", Arch: "amd64"})
	want := Facts{Name: "Docker", Version: "9", OS: "linux", Arch: "amd64", Rootless: true, UserNamespaces: true, SELinux: true, Desktop: true, CPUs: 3, Memory: 4, ID: "i"}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestShortfalls(t *testing.T) {
	whole := system.Info{MemoryLimit: true, SwapLimit: true, PidsLimit: true, CPUCfsQuota: true, Driver: "overlay2", SecurityOptions: []string{"name=seccomp,profile=builtin"}}
	if got := shortfallsOf(whole, Facts{}); len(got) > 0 {
		t.Errorf("of an engine that enforces all: %q", got)
	}
	for word, change := range map[string]func(*system.Info, *Facts){
		"without seccomp": func(i *system.Info, _ *Facts) { i.SecurityOptions = nil },
		"unconfined":      func(i *system.Info, _ *Facts) { i.SecurityOptions = []string{"name=seccomp,profile=unconfined"} },
		"use up":          func(i *system.Info, _ *Facts) { i.MemoryLimit, i.SwapLimit = false, false },
		"swap":            func(i *system.Info, _ *Facts) { i.SwapLimit = false },
		"fork bomb":       func(i *system.Info, _ *Facts) { i.PidsLimit = false },
		"processor":       func(i *system.Info, _ *Facts) { i.CPUCfsQuota = false },
		"vfs":             func(i *system.Info, _ *Facts) { i.Driver = "vfs" },
		"rootless":        func(_ *system.Info, f *Facts) { f.Rootless = true },
		"userns-remap":    func(_ *system.Info, f *Facts) { f.UserNamespaces = true },
		"SELinux":         func(_ *system.Info, f *Facts) { f.SELinux = true },
	} {
		i, f := whole, Facts{}
		change(&i, &f)
		if got := shortfallsOf(i, f); len(got) != 1 || !strings.Contains(got[0].Sentence, word) || !strings.HasSuffix(got[0].Sentence, ".") {
			t.Errorf("%s: got %q", word, got)
		}
	}
}

// TestEngineClock: the machine's own engine has this machine's clock.
func TestEngineClock(t *testing.T) {
	if f := machineEngine(t).Facts(); f.ClockSkew.Abs() > time.Second || f.StorageDriver == "" || f.RootDir == "" {
		t.Errorf("%+v", f)
	}
}

func TestHubLogin(t *testing.T) {
	l := logins{Auths: map[string]registry.AuthConfig{"https://index.docker.io/v1/": {Auth: "bWU6cHc="}}}
	a, err := l.of(t.Context(), "docker.io")
	if err != nil || a.Username != "me" || a.Password != "pw" {
		t.Errorf("%+v %v", a, err)
	}
	if len(l.all()) != 1 {
		t.Error(l.all())
	}
}

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		`Error response from daemon: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "/x": stat /x: no such file or directory: unknown`: `exec: "/x": stat /x: no such file or directory`,
		`Error response from daemon: driver failed programming external connectivity on endpoint sett-x.y (0123abcd): Bind for 127.0.0.1:1 failed: port is already allocated`:                               "the port is taken: Bind for 127.0.0.1:1 failed: port is already allocated",
		"Error response from daemon: mkdir /var/lib/docker/overlay2/x: no space left on device":                                                                                                             "mkdir /var/lib/docker/overlay2/x: no space left on device",
	} {
		if got := Plain(errors.New(text)); got.Error() != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for err, want := range map[error]error{context.Canceled: context.Canceled, fmt.Errorf("x: %w", io.EOF): ErrEngine, http.ErrServerClosed: nil,
		errors.New("Error response from daemon: can not get logs from container which is dead or marked for removal"): fs.ErrNotExist} {
		if got := Plain(err); want != nil && !errors.Is(got, want) || want == nil && errors.Is(got, err) {
			t.Errorf("%v became %v", err, got)
		}
	}
	if Plain(nil) != nil || os.ErrNotExist == nil {
		t.Error("nothing became something")
	}
}
