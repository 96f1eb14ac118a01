package docker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"

	"sett/runtime"
)

// openTimeout is how long an engine may take for its first answers.
const openTimeout = 5 * time.Second

// Engine is a connection to a container engine. It is safe for concurrent use.
type Engine struct {
	api        *client.Client
	at         Endpoint
	facts      Facts
	shortfalls []Shortfall
	patience   time.Duration // with a silent registry; 0: pullStall
	repository string        // what control images are called, with whatever tag
}

// Facts are what an engine says of itself.
type Facts struct {
	Name           string // "Docker" or "Podman"
	Version        string
	APIVersion     string // the one spoken with it
	OS, Arch       string // in Go's words: linux, amd64
	Rootless       bool   // it runs without root: root in a container is its user outside
	UserNamespaces bool   // it maps users of containers to others (userns-remap)
	SELinux        bool   // it labels containers and what they may reach
	Desktop        bool   // Docker Desktop: it runs in a virtual machine
	CPUs           int
	Memory         int64 // bytes
	ID             string
	CgroupVersion  string // "1" or "2"; empty: it does not say
	StorageDriver  string // such as overlay2
	RootDir        string // where it keeps images and volumes, on its own host
	// ClockSkew is by how much its clock is ahead of this machine's, as far as the
	// time that the answer took cannot explain it. Where it says no time it is zero.
	ClockSkew time.Duration
}

// Open connects to the engine, agrees on an API version and asks what it is. It
// takes five seconds at most. Its error is an ErrEngine, which says where it was
// looked for and why there.
func Open(ctx context.Context, ep Endpoint) (*Engine, error) {
	api, err := connect(ep)
	if err != nil {
		return nil, err
	}
	e := &Engine{api: api, at: ep, repository: controlRepository}
	limited, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	err = e.learn(limited)
	if err == nil {
		return e, nil
	}
	_ = api.Close()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("open container engine: %w", ctx.Err())
	}
	var known *engineError
	if errors.As(err, &known) {
		return nil, err
	}
	retry, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return nil, unreachable(retry, ep, err)
}

// connect makes the client, which connects with its first request.
func connect(ep Endpoint) (*client.Client, error) {
	transport := &http.Transport{MaxIdleConns: 8, MaxIdleConnsPerHost: 8, IdleConnTimeout: 30 * time.Second}
	if ep.TLS != nil {
		t, err := ep.TLS.config()
		if err != nil {
			return nil, &engineError{text: fmt.Sprintf("container engine at %s (%s): %v", ep.Host, ep.From, err)}
		}
		transport.TLSClientConfig = t
	}
	api, err := client.NewClientWithOpts(
		client.WithHTTPClient(&http.Client{Transport: transport, CheckRedirect: client.CheckRedirect}),
		client.WithHost(ep.Host),
		client.WithAPIVersionNegotiation(),
		client.WithUserAgent("sett"),
	)
	if err != nil {
		return nil, &engineError{text: fmt.Sprintf("container engine at %q (%s): %v", ep.Host, ep.From, err)}
	}
	return api, nil
}

// config reads the files.
func (t *TLS) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: t.SkipVerify}
	if t.CA != "" && !t.SkipVerify {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", t.CA, cause(err))
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read %s: no certificate in it", t.CA)
		}
	}
	if t.Cert != "" || t.Key != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("read certificate %s: %w", t.Cert, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// learn asks the engine what it is.
func (e *Engine) learn(ctx context.Context) error {
	type versions struct {
		v   types.Version
		err error
	}
	asked := make(chan versions, 1)
	go func() {
		v, err := e.api.ServerVersion(ctx)
		asked <- versions{v, err}
	}()
	before := time.Now()
	info, err := e.api.Info(ctx)
	after := time.Now()
	v := <-asked
	if err == nil {
		err = v.err
	}
	if err != nil {
		return err
	}
	e.facts = factsOf(info, v.v)
	e.facts.APIVersion = e.api.ClientVersion()
	if at, err := time.Parse(time.RFC3339Nano, info.SystemTime); err == nil {
		e.facts.ClockSkew = runtime.Ahead(at, before, after)
	}
	e.shortfalls = shortfallsOf(info, e.facts)
	if e.facts.OS != "linux" {
		return &engineError{
			text: fmt.Sprintf("container engine at %s (%s) runs containers of %s, not of Linux", e.at.Host, e.at.From, e.facts.OS),
			hint: "switch it to Linux containers",
		}
	}
	return nil
}

func factsOf(info system.Info, v types.Version) Facts {
	f := Facts{
		Name: "Docker", Version: v.Version, OS: info.OSType, Arch: v.Arch,
		CPUs: info.NCPU, Memory: info.MemTotal, ID: info.ID,
		CgroupVersion: info.CgroupVersion, StorageDriver: info.Driver, RootDir: info.DockerRootDir,
		Rootless:       securityOption(info, "rootless") != nil,
		UserNamespaces: securityOption(info, "userns") != nil,
		SELinux:        securityOption(info, "selinux") != nil,
		Desktop:        info.OperatingSystem == "Docker Desktop" || strings.HasPrefix(v.Platform.Name, "Docker Desktop"),
	}
	for _, c := range v.Components {
		if strings.HasPrefix(c.Name, "Podman") {
			f.Name = "Podman"
		}
	}
	if f.OS == "" {
		f.OS = v.Os
	}
	return f
}

// securityOption returns the settings of one of the engine's security options,
// such as "name=seccomp,profile=default", and nil where the engine has it not.
func securityOption(info system.Info, name string) map[string]string {
	for _, o := range info.SecurityOptions {
		settings := map[string]string{}
		for field := range strings.SplitSeq(o, ",") {
			k, v, ok := strings.Cut(field, "=")
			if !ok {
				k, v = "name", field // as engines before 17.03 had it
			}
			settings[k] = v
		}
		if settings["name"] == name {
			return settings
		}
	}
	return nil
}

// Facts says what the engine is.
func (e *Engine) Facts() Facts { return e.facts }

// Endpoint says where it was reached.
func (e *Engine) Endpoint() Endpoint { return e.at }

// Close gives the connections back.
func (e *Engine) Close() error { return e.api.Close() }
