package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/registry"
)

// pullStall is how long a registry may say nothing. While anything arrives the
// engine reports it.
const pullStall = 2 * time.Minute

var errStalled = errors.New("stalled")

// pull has the engine fetch an image. Its error is the reason for people, or an
// ErrEngine, or the context's.
func (e *Engine) pull(ctx context.Context, w Want, say Progress) error {
	say(w.Name, "pulling "+w.Ref)
	login, loginErr := e.at.credentials(ctx, registryOf(w.Ref))
	auth := ""
	if login != (registry.AuthConfig{}) {
		var err error
		if auth, err = registry.EncodeAuthConfig(login); err != nil {
			return err
		}
	}
	watched, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(e.stall(), func() { cancel(errStalled) })
	defer stall.Stop()
	body, err := e.api.ImagePull(watched, w.Ref, image.PullOptions{RegistryAuth: auth})
	if err == nil {
		defer body.Close()
		var p pulled
		err = readMessages(body, func(m message) {
			stall.Reset(e.stall())
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
		return fmt.Errorf("registry %s sent nothing for %s", registryOf(w.Ref), e.stall())
	case errors.Is(plain(err), ErrEngine):
		return plain(err)
	}
	reason := e.pullReason(err, w.Ref)
	if loginErr != nil {
		reason += " (" + loginErr.Error() + ")"
	}
	return errors.New(reason)
}

// stall is pullStall, or what a test has set.
func (e *Engine) stall() time.Duration {
	if e.patience > 0 {
		return e.patience
	}
	return pullStall
}

// pullReasons are what engines say when an image cannot be pulled, in order, and what
// it means. %s is the registry.
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

// pullReason is why an image cannot be pulled, short.
func (e *Engine) pullReason(err error, ref string) string {
	text := short(err)
	lower := strings.ToLower(text)
	if strings.Contains(lower, "no matching manifest") {
		return fmt.Sprintf("it has no variant for %s/%s", e.facts.OS, e.facts.Arch)
	}
	for _, r := range pullReasons {
		for _, sign := range r.signs {
			if !strings.Contains(lower, sign) {
				continue
			}
			if strings.Contains(r.reason, "%s") {
				return strings.Join(strings.Fields(fmt.Sprintf(r.reason, registryOf(ref))), " ") // a name may be a variable
			}
			return r.reason
		}
	}
	return text
}
