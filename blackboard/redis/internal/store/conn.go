// Package store is the ground of package redis and its archive: the connection, the
// calls of scripts, the names of the keys and the form of the records.
package store

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/rueidis"

	"sett/blackboard"
)

// SchemaVersion is written to every instance; another one is refused. convert.lua converts those
// of schema 1.
const SchemaVersion = "2"

// MaxBackoff is the longest wait before a call is made again.
const MaxBackoff = 2 * time.Second

// Options are the address of a blackboard and the bounds of a call.
type Options struct {
	URL      string        // redis:// or rediss://, with user, password and database
	Instance string        // owner of the keys and channels
	Name     string        // of the connection on the server, for its operators
	Sett     string        // the build of the leader, for the ledger
	Timeout  time.Duration // of one call; 0 means 2 s
	Retries  int           // of a call that could not be made; 0 means 5, negative none
	Backoff  time.Duration // before the first retry, then doubled up to 2 s; 0 means 50 ms
	CAFile   string        // PEM certificates that alone are trusted for rediss://, read for each connection; empty: those of known authorities

	// Find returns where the server is now, HOST:PORT, before each connection to it; empty, or nil: where the URL
	// says. A server that Sentinels name is not asked for.
	Find func() string

	// Convert opens a board of an older schema, too, which only redis.Board.Convert may use before
	// it is converted.
	Convert bool

	// Mend repairs a server after its start, before it gets the first script: see mend.go.
	// It needs the rights of an administrator, and is the orchestrator's.
	Mend bool

	// Overruns ends scripts without an end. It needs the rights of an administrator, and
	// is the orchestrator's.
	Overruns Overruns

	// Converting is told when the opening begins to wait until the records are converted, which
	// sett up does, and when it goes on. Only with Mend does it wait. nil: nobody is told.
	Converting func(waits bool)

	// Mark is the board as it was seen before. The moves of leaders and the signs of life
	// of agents are refused on another one. Zero: the first sight counts.
	Mark blackboard.Mark

	// Observe is told of every attempt of a call how long it took, and whether
	// Redis was not there for it. It may be called concurrently; nil: nobody is.
	Observe func(took time.Duration, lost bool)
}

// Conn is the connection that all parts of a board share.
type Conn struct {
	Addr    string // of the server
	set     string // the name that Sentinels have for it; empty: it is dialled by its address
	Options Options
	Client  rueidis.Client
	Keys    Keys
	Share   share
	mend    mend
	ending  sync.Mutex // held while a script without an end is being ended
	known   known
	opened  atomic.Bool // it was open once: the server took the user

	dialled, compared atomic.Int64 // connections there were, and when the board was compared last
}

// Open connects. When Redis does not answer within the bounds of the options, the
// error wraps blackboard.ErrUnavailable and names the address.
func Open(ctx context.Context, o Options) (*Conn, error) {
	o.Timeout = cmp.Or(o.Timeout, 2*time.Second)
	o.Backoff = cmp.Or(o.Backoff, 50*time.Millisecond)
	o.Retries = max(cmp.Or(o.Retries, 5), 0)
	opt, err := ClientOption(o)
	if err != nil {
		return nil, err
	}
	c := &Conn{Addr: opt.InitAddress[0], set: opt.Sentinel.MasterSet, Options: o, Keys: KeysOf(o.Instance)}
	c.known.mark, c.mend.due = o.Mark, o.Mend
	opt.Dialer.Control = func(string, string, syscall.RawConn) error {
		c.dialled.Add(1)
		return nil
	}
	var instance map[string]string
	err = c.Retry(ctx, connecting, func(ctx context.Context) error {
		client, hash, err := dial(ctx, opt, c.Keys.Instance())
		if client == nil || (err != nil && c.NoWrites(err) == nil) { // a server without room on its disk refuses PING, too
			if client != nil {
				client.Close()
			}
			return err
		}
		c.Client, c.Share.Client, instance = client, client, hash
		return nil
	})
	if err != nil {
		if denied := Denied(c, err); denied != nil {
			return nil, fmt.Errorf("connect: %w", denied)
		}
		if lacks := (*blackboard.CommandError)(nil); errors.As(err, &lacks) {
			return nil, lacks
		}
		if opt.TLSConfig == nil && speaksTLS(ctx, opt) {
			err = fmt.Errorf("%w: %w", err, errTLS)
		}
		if isFull(ctx, opt, err) {
			err = fmt.Errorf("connect: %w: %s: %w", blackboard.ErrUnavailable, c.Addr, errClients)
		}
		if !errors.Is(err, blackboard.ErrUnavailable) {
			err = fmt.Errorf("connect to %s: %w", c.Addr, err)
		}
		return nil, err
	}
	if err := checkSchema(ctx, c, instance); err != nil {
		c.Client.Close()
		return nil, err
	}
	c.opened.Store(true)
	return c, nil
}

// ClientOption turns the options into rueidis'. Buffers are small, because there
// are many processes with little traffic each.
func ClientOption(o Options) (rueidis.ClientOption, error) {
	u, err := url.Parse(o.URL)
	if isSocket := err == nil && u.Scheme == "unix"; !isSocket {
		if fault, hint := blackboard.CheckURL(o.URL); fault != "" {
			return rueidis.ClientOption{}, fmt.Errorf("parse blackboard URL: %s; want %s", fault, hint)
		}
		if u.Path == "/" { // no database, as without it
			u.Path = ""
		}
	}
	query := u.Query()
	opt, err := rueidis.ParseURL(u.String())
	if err != nil {
		return opt, errors.New("parse blackboard URL: it is not one of a Redis") // the error repeats parts of the URL
	}
	if opt.TLSConfig != nil {
		opt.TLSConfig.ServerName = "" // of the server that is dialled, which need not be the URL's
	}
	if opt.DialCtxFn == nil {
		d, err := newDialer(o.CAFile, opt.TLSConfig != nil)
		if err != nil {
			return opt, err
		}
		opt.DialCtxFn = d.dial
	}
	if dial := opt.DialCtxFn; o.Find != nil && u.Scheme != "unix" && opt.Sentinel.MasterSet == "" {
		opt.DialCtxFn = func(ctx context.Context, addr string, plain *net.Dialer, conf *tls.Config) (net.Conn, error) {
			return dial(ctx, cmp.Or(o.Find(), addr), plain, conf)
		}
	}
	opt.ClientName = o.Name
	opt.ClientSetInfo = rueidis.DisableClientSetInfo
	opt.DisableCache, opt.ForceSingleClient, opt.AlwaysRESP2 = true, true, true
	// A call writes and reads on a connection of its own, without the detour
	// through two goroutines that sharing one takes. The moves
	// send their commands together themselves.
	opt.DisableAutoPipelining = true
	opt.DisableRetry = true // see retry, which bounds it
	opt.RingScaleEachConn, opt.PipelineMultiplex = 8, -1
	opt.ReadBufferEachConn, opt.WriteBufferEachConn = 16<<10, 16<<10
	opt.Dialer = net.Dialer{Timeout: o.Timeout, KeepAlive: 15 * time.Second}
	opt.ConnWriteTimeout = max(10*time.Second, o.Timeout)
	opt.Sentinel = rueidis.SentinelOption{
		MasterSet: opt.Sentinel.MasterSet, Username: query.Get("sentinel_username"), Password: query.Get("sentinel_password"),
		ClientName: o.Name, TLSConfig: opt.TLSConfig, Dialer: opt.Dialer, TopologyRefreshInterval: refreshed,
	}
	return opt, nil
}

// sentinelPassword finds the password for Sentinels in the query of a URL.
var sentinelPassword = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`((?:^|&)sentinel_password=)[^&]*`)
})

// Redact returns the URL without its passwords.
func Redact(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "unix" && misread(raw) {
		return "(unreadable URL)"
	}
	u.RawQuery = sentinelPassword().ReplaceAllString(u.RawQuery, "${1}xxxxx")
	return u.Redacted()
}

// misread says that parts of a password may stand elsewhere in a URL.
func misread(raw string) bool {
	fault, _ := blackboard.CheckURL(raw)
	return fault != ""
}

// NotFound turns Redis' nil into blackboard.ErrNotFound.
func NotFound(err error, what, id string) error {
	if rueidis.IsRedisNil(err) || errors.Is(err, blackboard.ErrNotFound) {
		return fmt.Errorf("%s %s: %w", what, id, blackboard.ErrNotFound)
	}
	return err
}
