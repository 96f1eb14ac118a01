package ui

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"
)

// kind is the door that a secret opens.
type kind string

const (
	once  kind = "once"  // the page, one time: it is in the address that the command prints
	shell kind = "shell" // the empty page and its parts: a cookie
	api   kind = "api"   // the API
)

// lives is how long a secret of each kind is good for.
var lives = map[kind]time.Duration{once: 15 * time.Minute, shell: 24 * time.Hour, api: 24 * time.Hour}

// mostSecrets bounds the secrets that are remembered; the oldest go.
const mostSecrets = 200

// granted is a secret as it is remembered.
type granted struct {
	Hash  string    `json:"sha256"`
	Kind  kind      `json:"kind"`
	Who   string    `json:"who"` // the person
	Until time.Time `json:"until"`
}

// File keeps a value for the next server.
type File interface {
	Read(v any) error // fs.ErrNotExist: nothing was written yet
	Write(v any) error
}

// record is the content of the file.
type record struct {
	Port    int       `json:"port"` // of the last server, so that an open page finds the next one
	Secrets []granted `json:"secrets"`
}

// Keys issues and checks secrets. It remembers their hashes alone, so that no reader
// of the file can use it.
type Keys struct {
	Who     string // the person that they are for; those of others open nothing
	Now     func() time.Time
	Entropy io.Reader
	File    File

	mu    sync.Mutex
	known record
}

// Port is the port of the last server; 0: there was none.
func (k *Keys) Port() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.read()
	return k.known.Port
}

// SetPort remembers the server's port.
func (k *Keys) SetPort(port int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.read()
	k.known.Port = port
	return k.write()
}

// issue returns a new secret.
func (k *Keys) issue(of kind) (string, error) {
	raw := make([]byte, 32)
	if _, err := io.ReadFull(k.Entropy, raw); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	secret := base64.RawURLEncoding.EncodeToString(raw)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.read()
	k.known.Secrets = append(k.known.Secrets, granted{hash(secret), of, k.Who, k.Now().Add(lives[of])})
	return secret, k.write()
}

// opens says whether a secret opens something. One of kind once does so one time.
func (k *Keys) opens(of kind, secret string) bool {
	if secret == "" {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	at := k.find(of, secret)
	if at < 0 { // another server of this instance may have issued it
		k.read()
		at = k.find(of, secret)
	}
	if at < 0 {
		return false
	}
	if of == once {
		k.known.Secrets = slices.Delete(k.known.Secrets, at, at+1)
		return k.write() == nil
	}
	return true
}

// prove returns a proof that the hash of a key is known here, for a text; the key is named
// by the beginning of its hash. Empty: it is not known.
func (k *Keys) prove(beginning, text string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	known := func() int {
		return slices.IndexFunc(k.known.Secrets, func(g granted) bool {
			return g.Kind == api && g.Who == k.Who && k.Now().Before(g.Until) && strings.HasPrefix(g.Hash, beginning)
		})
	}
	at := known()
	if at < 0 {
		k.read()
		at = known()
	}
	if at < 0 {
		return ""
	}
	mac := hmac.New(sha256.New, []byte(k.known.Secrets[at].Hash))
	_, _ = io.WriteString(mac, text) // a hash takes all
	return hex.EncodeToString(mac.Sum(nil))
}

func (k *Keys) find(of kind, secret string) int {
	h := hash(secret)
	return slices.IndexFunc(k.known.Secrets, func(g granted) bool {
		return g.Hash == h && g.Kind == of && g.Who == k.Who && k.Now().Before(g.Until)
	})
}

// read takes the content of the file. A file that cannot be read is as good as none: its
// secrets open nothing.
func (k *Keys) read() {
	var r record
	if err := k.File.Read(&r); err == nil || errors.Is(err, fs.ErrNotExist) && len(k.known.Secrets) == 0 {
		k.known = r
	}
}

// write forgets secrets past their time, and keeps the rest.
func (k *Keys) write() error {
	k.known.Secrets = slices.DeleteFunc(k.known.Secrets, func(g granted) bool { return !k.Now().Before(g.Until) })
	if over := len(k.known.Secrets) - mostSecrets; over > 0 {
		k.known.Secrets = slices.Delete(k.known.Secrets, 0, over)
	}
	if err := k.File.Write(k.known); err != nil {
		return fmt.Errorf("keep the page's tokens: %w", err)
	}
	return nil
}

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
