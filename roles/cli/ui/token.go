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

// File keeps a value for the other servers of the instance, and for the next one.
type File interface {
	Lock() (unlock func(), err error) // against the other servers
	Read(v any) error                 // fs.ErrNotExist: nothing was written yet
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
	return k.change(func() { k.known.Port = port })
}

// issue returns a new secret.
func (k *Keys) issue(of kind) (string, error) {
	raw := make([]byte, 32)
	if _, err := io.ReadFull(k.Entropy, raw); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	secret := base64.RawURLEncoding.EncodeToString(raw)
	return secret, k.change(func() {
		k.known.Secrets = append(k.known.Secrets, granted{hash(secret), of, k.Who, k.Now().Add(lives[of])})
	})
}

// opens says whether a secret opens something. One of kind once does so one time.
func (k *Keys) opens(of kind, secret string) bool {
	if secret == "" {
		return false
	}
	if !k.knows(of, secret) {
		return false
	}
	if of != once {
		return true
	}
	spent := false
	err := k.change(func() {
		if at := k.find(of, secret); at >= 0 {
			k.known.Secrets, spent = slices.Delete(k.known.Secrets, at, at+1), true
		}
	})
	return spent && err == nil
}

// knows says whether a secret was issued and is still good.
func (k *Keys) knows(of kind, secret string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.find(of, secret) >= 0 {
		return true
	}
	k.read() // another server of this instance may have issued it
	return k.find(of, secret) >= 0
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

// change changes what is remembered, here and in the file. It goes by the file as it is
// now, and keeps the other servers from writing meanwhile: each would take away the
// secrets of the other.
func (k *Keys) change(do func()) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	unlock, err := k.File.Lock()
	if err != nil {
		return fmt.Errorf("keep the page's tokens: %w", err)
	}
	defer unlock()
	k.read()
	do()
	return k.write()
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
