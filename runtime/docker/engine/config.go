package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sett/contract/env"
)

// configDir is the folder of Docker's client's configuration; empty without a home.
func (s *search) configDir() string {
	if dir := s.get("DOCKER_CONFIG"); dir != "" {
		return dir
	}
	if home := env.Home(s.get); home != "" {
		return filepath.Join(home, ".docker")
	}
	return ""
}

// contextName is the name of the context in use, and its source. Empty: none.
func (s *search) contextName() (name, from string, err error) {
	if name := s.get("DOCKER_CONTEXT"); name != "" {
		return name, "DOCKER_CONTEXT", nil
	}
	s.pass("DOCKER_CONTEXT is not set")
	dir := s.configDir()
	if dir == "" {
		s.pass("HOME is no absolute path, so there is no configuration of Docker's client")
		return "", "", nil
	}
	path := filepath.Join(dir, "config.json")
	var config struct {
		CurrentContext string `json:"currentContext"`
	}
	err = readJSON(path, &config)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", &engineError{text: err.Error()}
	}
	if config.CurrentContext == "" {
		s.pass("%s names no context", path)
	}
	return config.CurrentContext, path, nil
}

// fromContext reads a context of `docker context`, which stores it in a folder named
// for the digest of the context's name.
func (s *search) fromContext(name, from string) (Endpoint, error) {
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	from = fmt.Sprintf("context %q of %s", name, from)
	store := filepath.Join(s.configDir(), "contexts")
	var meta struct {
		Endpoints map[string]struct {
			Host          string
			SkipTLSVerify bool
		}
	}
	err := readJSON(filepath.Join(store, "meta", id, "meta.json"), &meta)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Endpoint{}, &engineError{text: from + " does not exist", hint: "docker context ls shows those there are"}
	case err != nil:
		return Endpoint{}, &engineError{text: from + ": " + err.Error()}
	}
	docker, ok := meta.Endpoints["docker"]
	if !ok {
		return Endpoint{}, &engineError{text: from + " has no endpoint for Docker"}
	}
	if docker.Host == "" {
		docker.Host = "unix://" + DefaultSocket
	}
	t := s.tlsIn(filepath.Join(store, "tls", id, "docker"), docker.SkipTLSVerify, false)
	if *t == (TLS{}) {
		t = nil
	}
	return endpoint(docker.Host, from, t)
}

// readJSON reads a configuration file. Its errors name the file.
func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, Cause(err))
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
