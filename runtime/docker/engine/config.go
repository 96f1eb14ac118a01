package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

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
		return "", "", &engineError{text: err.Error(), hint: "it is the configuration of Docker's client: correct it or move it away, or say where the engine is: DOCKER_HOST=unix://" + DefaultSocket}
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
		return Endpoint{}, &engineError{text: from + ": " + err.Error(), hint: "make the context anew, or leave it: docker context use default"}
	}
	docker, ok := meta.Endpoints["docker"]
	if !ok {
		return Endpoint{}, &engineError{text: from + " has no endpoint for Docker", hint: "docker context ls shows the endpoints"}
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
		return errors.New(path + " " + jsonFault(text, err))
	}
	return nil
}

// jsonFault says what is wrong with a text that is not the JSON it should be.
func jsonFault(text []byte, err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return "is empty, and no valid JSON"
	case errors.As(err, &syntax) && strings.HasPrefix(syntax.Error(), "unexpected end"):
		return "is no valid JSON: it ends too early"
	case errors.As(err, &syntax) && syntax.Offset > 0 && syntax.Offset <= int64(len(text)):
		before := text[:syntax.Offset-1]
		wrong, _ := utf8.DecodeRune(text[syntax.Offset-1:])
		return fmt.Sprintf("is no valid JSON: unexpected %q in line %d, column %d", wrong,
			bytes.Count(before, []byte("\n"))+1, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])+1)
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Sprintf("is not as Docker's client writes it: %s is of the kind %s", kind.Field, kind.Value)
	case errors.As(err, &kind):
		return fmt.Sprintf("is not as Docker's client writes it: it is of the kind %s, not object", kind.Value)
	}
	return "is no valid JSON: " + err.Error()
}
