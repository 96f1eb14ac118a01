package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"sett/contract/env"
)

// Endpoint is the address of an engine, and the source of that address.
type Endpoint struct {
	Host   string // unix://PATH or tcp://HOST:PORT
	From   string // the source, for people
	Socket string // the path of a unix:// Host, else empty
	TLS    *TLS   // nil: none

	config string   // folder of Docker's client's configuration, with the logins
	passed []string // the addresses tried before, each with the reason against it
}

// TLS names the files for a connection over TLS. Empty names are not used.
type TLS struct {
	CA, Cert, Key string
	SkipVerify    bool // the engine need not prove its name
}

// DefaultSocket is the usual socket of an engine.
const DefaultSocket = "/var/run/docker.sock"

// Find chooses the engine as Docker's own client does: DOCKER_HOST, then the context of
// DOCKER_CONTEXT or of config.json, then the first existing socket of Docker, rootless
// Docker, Docker Desktop and Podman. It connects to none. Without any, its error is an
// ErrEngine that lists all attempts.
func Find(lookup func(string) (string, bool)) (Endpoint, error) {
	s := search{get: func(name string) string { v, _ := lookup(name); return v }, stat: os.Stat}
	e, err := s.find()
	e.config = s.configDir()
	return e, err
}

// search is one run of Find.
type search struct {
	get    func(name string) string
	stat   func(path string) (fs.FileInfo, error)
	passed []string
}

func (s *search) pass(format string, args ...any) {
	s.passed = append(s.passed, fmt.Sprintf(format, args...))
}

func (s *search) find() (Endpoint, error) {
	if host := s.get("DOCKER_HOST"); host != "" {
		return s.fromHost(host)
	}
	s.pass("DOCKER_HOST is not set")
	name, from, err := s.contextName()
	if err != nil {
		return Endpoint{}, err
	}
	if name != "" && name != "default" {
		return s.fromContext(name, from)
	}
	return s.fromSockets()
}

// fromHost reads DOCKER_HOST and the variables for its TLS.
func (s *search) fromHost(host string) (Endpoint, error) {
	var t *TLS
	verify := s.get("DOCKER_TLS_VERIFY") != ""
	if verify || s.get("DOCKER_TLS") != "" {
		dir := s.get("DOCKER_CERT_PATH")
		if dir == "" {
			dir = s.configDir()
		}
		t = s.tlsIn(dir, !verify, verify)
	}
	return endpoint(host, "DOCKER_HOST", t)
}

// tlsIn names the files in dir that exist. Where the engine must prove its name, the
// authority's certificate is named in any case: without it, Open fails.
func (s *search) tlsIn(dir string, skipVerify, needCA bool) *TLS {
	t := &TLS{CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), SkipVerify: skipVerify}
	for _, f := range []*string{&t.CA, &t.Cert, &t.Key} {
		if _, err := s.stat(*f); errors.Is(err, fs.ErrNotExist) && !(f == &t.CA && needCA) {
			*f = ""
		}
	}
	return t
}

// fromSockets is the first existing socket of the usual ones.
func (s *search) fromSockets() (Endpoint, error) {
	runtimeDir, home := s.get("XDG_RUNTIME_DIR"), env.Home(s.get)
	for _, c := range []struct{ dir, path, of string }{
		{"/", DefaultSocket, "Docker's socket"},
		{runtimeDir, "docker.sock", "rootless Docker's socket"},
		{home, ".docker/run/docker.sock", "Docker Desktop's socket"},
		{runtimeDir, "podman/podman.sock", "rootless Podman's socket"},
		{"/", "/run/podman/podman.sock", "Podman's socket"},
	} {
		if c.dir == "" {
			continue
		}
		path := filepath.Join(c.dir, c.path)
		info, err := s.stat(path)
		switch {
		case err == nil && info.Mode().Type() == fs.ModeSocket:
			e, err := endpoint("unix://"+path, c.of, nil)
			e.passed = s.passed
			return e, err
		case err == nil:
			s.pass("%s is no socket", path)
		case errors.Is(err, fs.ErrNotExist):
			s.pass("%s, %s, is not there", path, c.of)
		default:
			s.pass("%s: %v", path, Cause(err))
		}
	}
	if runtimeDir == "" {
		s.pass("XDG_RUNTIME_DIR, where rootless engines listen, is not set")
	}
	return Endpoint{}, &engineError{
		text: "no container engine found",
		more: s.passed,
		hint: "install Docker or Podman and start it, or say where it is: DOCKER_HOST=unix:///path/to/socket",
	}
}

// forms is the hint for an address that is none.
const forms = "it looks like unix:///path/to/socket or tcp://HOST:PORT"

// endpoint reads an address in the form of DOCKER_HOST.
func endpoint(host, from string, t *TLS) (Endpoint, error) {
	bad := func(hint, format string, args ...any) (Endpoint, error) {
		return Endpoint{}, &engineError{text: fmt.Sprintf("engine %q of %s: %s", host, from, fmt.Sprintf(format, args...)), hint: hint}
	}
	full := host
	if !strings.Contains(full, "://") {
		full = "tcp://" + full
	}
	u, err := url.Parse(full)
	if err != nil {
		return bad(forms, "not an address")
	}
	switch u.Scheme {
	case "unix":
		path := strings.TrimPrefix(full, "unix://")
		if path == "" {
			path = DefaultSocket
		}
		if !filepath.IsAbs(path) {
			return bad("it looks like unix:///path/to/socket", "the socket's path is not absolute")
		}
		return Endpoint{Host: "unix://" + path, From: from, Socket: path}, nil
	case "tcp":
		name, port := u.Hostname(), u.Port()
		if name == "" {
			return bad(forms, "it names no host")
		}
		if port == "" {
			port = "2375" // registered for Docker without TLS
			if t != nil {
				port = "2376"
			}
			u.Host = strings.TrimSuffix(u.Host, ":") + ":" + port // which may end in the colon alone
		}
		return Endpoint{Host: "tcp://" + u.Host + u.Path, From: from, TLS: t}, nil
	case "ssh":
		return bad("forward its socket, ssh -nNT -L /tmp/engine.sock:/var/run/docker.sock "+strings.TrimPrefix(u.Host, "ssh://")+
			", then DOCKER_HOST=unix:///tmp/engine.sock", "sett opens no ssh connections")
	}
	return bad("unix:// and tcp:// are known", "unknown kind of address %q", u.Scheme)
}

// Cause is the error without the operation and path of a file, for messages that name
// them already.
func Cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
