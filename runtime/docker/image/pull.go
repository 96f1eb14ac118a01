package image

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/registry"

	"sett/runtime/docker/engine"
)

// pullStall is how long a registry may send nothing. The engine reports everything that
// arrives.
const pullStall = 2 * time.Minute

var errStalled = errors.New("stalled")

// pull has the engine pull an image. Its error is the reason for people, or an
// engine.ErrEngine, or the context's.
func (s *Store) pull(ctx context.Context, w Want, say Progress) error {
	say(w.Name, "pulling "+w.Ref)
	auth, loginErr := s.at.Credentials(ctx, registryOf(w.Ref))
	login, err := encode(auth)
	if err != nil {
		return err
	}
	watched, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(s.patience, func() { cancel(errStalled) })
	defer stall.Stop()
	body, err := s.api.ImagePull(watched, w.Ref, image.PullOptions{RegistryAuth: login})
	if err == nil {
		defer body.Close()
		var p pulled
		err = readMessages(body, func(m message) {
			stall.Reset(s.patience)
			if done, all, tell := p.see(m); tell {
				say(w.Name, fmt.Sprintf("pulled %d of %d layers", done, all))
			}
		})
	}
	switch {
	case err == nil:
		say(w.Name, "pulled "+w.Ref)
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(context.Cause(watched), errStalled):
		return fmt.Errorf("registry %s sent nothing for %s", registryOf(w.Ref), s.patience)
	case errors.Is(engine.Plain(err), engine.ErrEngine):
		return engine.Plain(err)
	}
	reason := s.pullReason(err, w.Ref)
	if loginErr != nil {
		reason += " (" + loginErr.Error() + ")"
	}
	return errors.New(reason)
}

// encode puts a login into the engine's form; empty without one.
func encode(login registry.AuthConfig) (string, error) {
	if login == (registry.AuthConfig{}) {
		return "", nil
	}
	return registry.EncodeAuthConfig(login)
}

// pullReasons are the reasons for a failed pull, each with its signs in engines'
// messages; the first match counts. %s is the registry.
var pullReasons = []struct {
	reason string
	signs  []string
}{
	{"registry %s cannot be reached", []string{
		"no such host", "connection refused", "connection reset", "i/o timeout", "network is unreachable", "no route to host",
		"handshake timeout", "client.timeout", "request canceled while waiting", "server misbehaving", "temporary failure in name resolution",
		"proxyconnect", "deadline exceeded", "unexpected eof", ": eof",
	}},
	{"registry %s allows no more pulls for now", []string{"toomanyrequests", "too many requests", "rate limit"}},
	{"no such image in registry %s, or it wants a login", []string{"repository does not exist", "requested access to the resource is denied"}},
	{"registry %s wants a login", []string{"unauthorized", "authentication required", "no basic auth credentials", "access denied", "denied:", "forbidden"}},
	{"no such image in registry %s", []string{"manifest unknown", "name unknown", "not found"}},
	{"the engine's disk is full", []string{"no space left"}},
}

// pullReason is the short reason for a failed pull.
func (s *Store) pullReason(err error, ref string) string {
	text := engine.Short(err)
	lower := strings.ToLower(text)
	if strings.Contains(lower, "no matching manifest") {
		return fmt.Sprintf("it has no variant for %s/%s", s.facts.OS, s.facts.Arch)
	}
	for _, r := range pullReasons {
		for _, sign := range r.signs {
			if !strings.Contains(lower, sign) {
				continue
			}
			if strings.Contains(r.reason, "%s") {
				return strings.Join(strings.Fields(fmt.Sprintf(r.reason, registryOf(ref))), " ") // the name may be a variable
			}
			return r.reason
		}
	}
	return text
}
