// Package engine connects to a container engine that speaks Docker's API: it finds
// the engine as Docker's own client does, asks for its facts, and turns its errors
// into short ones. It starts nothing and makes nothing.
//
// API lends the connection to the packages below runtime/docker, and to no others.
package engine

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"

	"sett/runtime"
)

// openTimeout bounds the first answers of an engine.
const openTimeout = 5 * time.Second

// Engine is a connection to a container engine. It is safe for concurrent use.
type Engine struct {
	api        *client.Client
	at         Endpoint
	facts      Facts
	shortfalls []Shortfall
}

// Facts describe an engine.
type Facts struct {
	Name           string // "Docker" or "Podman"
	Version        string
	APIVersion     string // in use
	OS, Arch       string // in Go's words: linux, amd64
	Rootless       bool   // it runs without root: root in a container is the engine's user outside
	UserNamespaces bool   // it maps the users of containers to others (userns-remap)
	SELinux        bool   // it labels containers and their files
	Desktop        bool   // Docker Desktop: it runs in a virtual machine
	CPUs           int
	Memory         int64 // bytes
	ID             string
	CgroupVersion  string // "1" or "2"; empty: unknown
	StorageDriver  string // such as overlay2
	RootDir        string // of its images and volumes, on its own host
	// ClockSkew is the lead of its clock over this machine's, without the time that the
	// answer may have taken. Zero when it tells no time.
	ClockSkew time.Duration
}

// Open connects to the engine, agrees on an API version and reads the facts, in at most
// five seconds. Its error is an ErrEngine, which names the address and its source.
func Open(ctx context.Context, ep Endpoint) (*Engine, error) {
	api, err := connect(ep)
	if err != nil {
		return nil, err
	}
	e := &Engine{api: api, at: ep}
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

// connect makes the client, which connects at its first request.
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
			return nil, fmt.Errorf("read %s: %w", t.CA, Cause(err))
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

// learn reads the facts.
func (e *Engine) learn(ctx context.Context) error {
	var version types.Version
	var versionErr error
	var asked sync.WaitGroup
	asked.Go(func() { version, versionErr = e.api.ServerVersion(ctx) })
	before := time.Now()
	info, err := e.api.Info(ctx)
	after := time.Now()
	asked.Wait()
	if err := cmp.Or(err, versionErr); err != nil {
		return err
	}
	e.facts = factsOf(info, version)
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
// such as "name=seccomp,profile=default"; nil when the engine lacks the option.
func securityOption(info system.Info, name string) map[string]string {
	for _, o := range info.SecurityOptions {
		settings := map[string]string{}
		for field := range strings.SplitSeq(o, ",") {
			k, v, ok := strings.Cut(field, "=")
			if !ok {
				k, v = "name", field // the form of engines before 17.03
			}
			settings[k] = v
		}
		if settings["name"] == name {
			return settings
		}
	}
	return nil
}

// API returns the connection, for the packages below runtime/docker alone.
func (e *Engine) API() *client.Client { return e.api }

// Facts describes the engine.
func (e *Engine) Facts() Facts { return e.facts }

// Endpoint is its address.
func (e *Engine) Endpoint() Endpoint { return e.at }

// Close closes the connections.
func (e *Engine) Close() error { return e.api.Close() }
