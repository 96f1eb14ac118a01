// Package redis is the blackboard in Redis: the only package that talks to it.
// Every change is one Lua script under lua/, so that it happens whole or not at
// all; every script may be repeated. State is truth and messages are hints: see
// Subscribe for what a listener has to do about the ones it missed.
//
// It decides nothing. What to grant, to whom and when is the orchestrator's.
package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/redis/rueidis"

	"sett/blackboard"
)

// SchemaVersion is written to every instance; another one is refused.
const SchemaVersion = "1"

const maxBackoff = 2 * time.Second

// Options say where the blackboard is and how patient to be with it.
type Options struct {
	URL      string        // redis:// or rediss://, with user, password and database
	Instance string        // whose keys and channels
	Name     string        // what the connection is called on the server, for its operators
	Timeout  time.Duration // of one call; 0 means 2 s
	Retries  int           // of a call that could not be made; 0 means 5, negative none
	Backoff  time.Duration // before the first retry, then doubled up to 2 s; 0 means 50 ms
	CAFile   string        // PEM certificates to trust for rediss://; empty: the system's

	// Observe is told of every attempt of a call how long it took, and whether
	// Redis was not there for it. It may be called concurrently; nil: nobody is.
	Observe func(took time.Duration, lost bool)

	addr string
}

// Board is the blackboard of one instance. It is safe for concurrent use.
type Board struct {
	o       Options
	client  rueidis.Client
	keys    keys
	scripts map[string]script
	share   share
}

// Open connects. When Redis does not answer within the bounds of the options, the
// error wraps blackboard.ErrUnavailable and names the address.
func Open(ctx context.Context, o Options) (*Board, error) {
	o.Timeout = orDefault(o.Timeout, 2*time.Second)
	o.Backoff = orDefault(o.Backoff, 50*time.Millisecond)
	o.Retries = max(orDefault(o.Retries, 5), 0)
	opt, err := clientOption(o)
	if err != nil {
		return nil, err
	}
	o.addr = opt.InitAddress[0]
	b := &Board{o: o, keys: keysOf(o.Instance), scripts: loadScripts()}
	err = b.retry(ctx, "connect", func(ctx context.Context) error {
		if b.client, err = rueidis.NewClient(opt); err == nil {
			b.share.client = b.client
			err = b.client.Do(ctx, b.client.B().Ping().Build()).Error()
		}
		if err != nil && b.client != nil {
			b.client.Close()
		}
		return err
	})
	if err != nil {
		if !errors.Is(err, blackboard.ErrUnavailable) {
			err = fmt.Errorf("connect to %s: %w", o.addr, err)
		}
		return nil, err
	}
	return b, nil
}

func orDefault[T comparable](v, byDefault T) T {
	var zero T
	if v == zero {
		return byDefault
	}
	return v
}

// clientOption turns the options into rueidis'. Buffers are small, because there
// are many processes with little traffic each.
func clientOption(o Options) (rueidis.ClientOption, error) {
	u, err := url.Parse(o.URL)
	if err != nil || (u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "unix") {
		return rueidis.ClientOption{}, fmt.Errorf("parse blackboard URL %q: want redis://[user:password@]host[:port][/database] or rediss://…", Redact(o.URL))
	}
	opt, err := rueidis.ParseURL(o.URL)
	if err != nil {
		return opt, fmt.Errorf("parse blackboard URL %q: %w", Redact(o.URL), err)
	}
	if o.CAFile != "" && opt.TLSConfig != nil {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return opt, fmt.Errorf("read CA file: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return opt, fmt.Errorf("read CA file %s: no certificate in it", o.CAFile)
		}
		opt.TLSConfig.RootCAs = pool
		opt.TLSConfig.MinVersion = tls.VersionTLS12
	}
	opt.ClientName = o.Name
	opt.ClientSetInfo = rueidis.DisableClientSetInfo
	opt.DisableCache, opt.ForceSingleClient, opt.AlwaysRESP2 = true, true, true
	// A call writes and reads on a connection of its own, without the detour
	// through two goroutines that sharing one takes. What belongs together is
	// sent together by the moves themselves.
	opt.DisableAutoPipelining = true
	opt.DisableRetry = true // see retry, which bounds it
	opt.RingScaleEachConn, opt.PipelineMultiplex = 8, -1
	opt.ReadBufferEachConn, opt.WriteBufferEachConn = 16<<10, 16<<10
	opt.Dialer = net.Dialer{Timeout: o.Timeout, KeepAlive: 15 * time.Second}
	opt.ConnWriteTimeout = max(10*time.Second, o.Timeout)
	return opt, nil
}

// Redact returns the URL without its password.
func Redact(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(unreadable URL)"
	}
	return u.Redacted()
}

// Instance returns whose blackboard this is.
func (b *Board) Instance() string { return b.o.Instance }

// Addr returns the server's address.
func (b *Board) Addr() string { return b.o.addr }

// Close ends all connections. Calls under way fail.
func (b *Board) Close() { b.client.Close() }

// Ping says whether Redis answers now; it does not retry.
func (b *Board) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.o.Timeout)
	defer cancel()
	if err := b.client.Do(ctx, b.client.B().Ping().Build()).Error(); err != nil {
		return fmt.Errorf("ping: %w: %s: %w", blackboard.ErrUnavailable, b.o.addr, err)
	}
	return nil
}

// notFound turns Redis' nil into blackboard.ErrNotFound.
func notFound(err error, what, id string) error {
	if rueidis.IsRedisNil(err) || errors.Is(err, blackboard.ErrNotFound) {
		return fmt.Errorf("%s %s: %w", what, id, blackboard.ErrNotFound)
	}
	return err
}
