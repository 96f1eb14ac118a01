package engine

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/docker/docker/api/types/registry"
)

// hub is the registry of names without a host; hubLogin is the key of its login.
const (
	hub      = "docker.io"
	hubLogin = "https://index.docker.io/v1/"
)

// helperTimeout bounds a credential helper, which may wait for the user to unlock a
// keychain.
const helperTimeout = 30 * time.Second

// logins are the logins that `docker login` wrote to config.json.
type logins struct {
	Auths       map[string]registry.AuthConfig
	CredsStore  string            // the helper for all registries
	CredHelpers map[string]string // by registry
}

func (ep Endpoint) logins() logins {
	var l logins
	if ep.config != "" {
		// Find has reported an unreadable file; here it has no logins.
		_ = readJSON(filepath.Join(ep.config, "config.json"), &l)
	}
	return l
}

// Credentials returns the login for a registry, zero when there is none. An error means
// that a credential helper failed.
func (ep Endpoint) Credentials(ctx context.Context, host string) (registry.AuthConfig, error) {
	return ep.logins().of(ctx, host)
}

// LoginsFor returns the logins for a build: for these registries, and all in
// config.json.
func (ep Endpoint) LoginsFor(ctx context.Context, hosts []string) map[string]registry.AuthConfig {
	l := ep.logins()
	all := l.all()
	for _, host := range hosts {
		if a, err := l.of(ctx, host); err == nil && a != (registry.AuthConfig{}) {
			all[loginKey(host)] = a
		}
	}
	return all
}

// all returns the logins in config.json, without the logins in helpers.
func (l logins) all() map[string]registry.AuthConfig {
	all := map[string]registry.AuthConfig{}
	for server, a := range l.Auths {
		if a = decodeAuth(a); a != (registry.AuthConfig{}) {
			all[server] = a
		}
	}
	return all
}

// loginKey is the key of a registry's login.
func loginKey(host string) string {
	if host == hub || host == "index.docker.io" || host == "registry-1.docker.io" {
		return hubLogin
	}
	return host
}

func (l logins) of(ctx context.Context, host string) (registry.AuthConfig, error) {
	key := loginKey(host)
	helper := l.CredHelpers[key]
	if helper == "" {
		helper = l.CredHelpers[host]
	}
	if helper == "" {
		helper = l.CredsStore
	}
	if helper != "" {
		a, err := askHelper(ctx, helper, key)
		if err != nil || a != (registry.AuthConfig{}) {
			return a, err
		}
	}
	if a, ok := l.Auths[key]; ok {
		return decodeAuth(a), nil
	}
	for server, a := range l.Auths { // the key may be a whole address
		_, rest, ok := strings.Cut(server, "://")
		if ok && strings.SplitN(rest, "/", 2)[0] == host {
			return decodeAuth(a), nil
		}
	}
	return registry.AuthConfig{}, nil
}

// decodeAuth reads user and password from "auth".
func decodeAuth(a registry.AuthConfig) registry.AuthConfig {
	if text, err := base64.StdEncoding.DecodeString(a.Auth); err == nil && a.Auth != "" {
		user, password, _ := strings.Cut(string(text), ":")
		a.Username, a.Password, a.Auth = user, strings.TrimRight(password, "\x00"), ""
	}
	return a
}

// askHelper runs docker-credential-NAME, as Docker's client does: the registry on
// its stdin, user and secret as JSON on its stdout.
func askHelper(ctx context.Context, name, server string) (registry.AuthConfig, error) {
	ctx, cancel := context.WithTimeout(ctx, helperTimeout)
	defer cancel()
	program := "docker-credential-" + name
	cmd := exec.CommandContext(ctx, program, "get")
	cmd.WaitDelay = time.Second
	cmd.Stdin = strings.NewReader(server)
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(out.String())
		if strings.Contains(said, "credentials not found") {
			return registry.AuthConfig{}, nil
		}
		return registry.AuthConfig{}, fmt.Errorf("%s: %w %s", program, err, said)
	}
	var got struct{ Username, Secret string }
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		return registry.AuthConfig{}, fmt.Errorf("%s: %w", program, err)
	}
	if got.Username == "<token>" {
		return registry.AuthConfig{IdentityToken: got.Secret, ServerAddress: server}, nil
	}
	return registry.AuthConfig{Username: got.Username, Password: got.Secret, ServerAddress: server}, nil
}
