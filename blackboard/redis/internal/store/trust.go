package store

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/rueidis"

	"sett/runtime/roots"
)

// dialer opens the connections of a client. With a file of certificates it trusts those alone,
// and reads the file for each connection, so that a CA can be replaced while parts run.
type dialer struct {
	file string // PEM; empty: known authorities are trusted
	mu   sync.Mutex
	text []byte // of the file, when it was read last
	pool *x509.CertPool
}

// newDialer returns a dialer for a server, with TLS or without. The error is a CAFileError.
func newDialer(file string, secure bool) (*dialer, error) {
	switch {
	case !secure:
		file = ""
	case file == "":
		roots.TrustKnown()
	default:
		if _, err := authorities(file); err != nil {
			return nil, err
		}
	}
	return &dialer{file: file}, nil
}

// dial is that of rueidis.ClientOption.
func (d *dialer) dial(ctx context.Context, addr string, plain *net.Dialer, conf *tls.Config) (net.Conn, error) {
	if conf == nil {
		return plain.DialContext(ctx, "tcp", addr)
	}
	if d.file != "" {
		pool, err := d.trusted()
		if err != nil {
			return nil, err
		}
		conf = conf.Clone()
		conf.RootCAs = pool
	}
	return (&tls.Dialer{NetDialer: plain, Config: conf}).DialContext(ctx, "tcp", addr)
}

// trusted are the certificates of the file as it is now; while it cannot be read, those of before.
func (d *dialer) trusted() (*x509.CertPool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	text, err := os.ReadFile(d.file)
	if err == nil && d.pool != nil && bytes.Equal(text, d.text) {
		return d.pool, nil
	}
	pool, err := authorities(d.file)
	if err != nil && d.pool != nil {
		return d.pool, nil //nolint:nilerr // it is being replaced
	}
	d.text, d.pool = text, pool
	return pool, err
}

// CAFileError is the error about a file of certificates that cannot be used.
type CAFileError struct {
	File string
	Err  error
}

func (e *CAFileError) Error() string { return fmt.Sprintf("read CA file %s: %v", e.File, e.Err) }

// Unwrap returns the cause.
func (e *CAFileError) Unwrap() error { return e.Err }

// authorities reads a file of certificates.
func authorities(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if path := (*os.PathError)(nil); errors.As(err, &path) {
		err = path.Err
	}
	pool := x509.NewCertPool()
	if err == nil && !pool.AppendCertsFromPEM(pem) {
		err = errors.New("no certificate is in it")
	}
	if err != nil {
		return nil, &CAFileError{file, err}
	}
	return pool, nil
}

// errTLS says that a server without TLS in its URL wants it.
var errTLS = errors.New("that server speaks TLS at this port")

// speaksTLS says whether a server answers in TLS where it did not without. Nothing else is said to it.
func speaksTLS(ctx context.Context, opt rueidis.ClientOption) bool {
	ctx, cancel := context.WithTimeout(ctx, opt.Dialer.Timeout)
	defer cancel()
	plain := net.Dialer{Timeout: opt.Dialer.Timeout}
	at, err := plain.DialContext(ctx, "tcp", opt.InitAddress[0])
	if err != nil {
		return false
	}
	defer at.Close()
	err = tls.Client(at, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx) //nolint:gosec // nobody is trusted: the connection is closed
	_, told := alertOf(err)
	return err == nil || told
}

// alertOf returns the words of an alert that the other side sent. Go's type for it is not exported.
func alertOf(err error) (text string, is bool) {
	var from *net.OpError
	if !errors.As(err, &from) || from.Op != "remote error" {
		return "", false
	}
	return from.Err.Error(), true
}

// errClients says that a server takes no more clients.
var errClients = errors.New("that server has as many clients as its maxclients allows")

// tooMany is how a server greets a client above maxclients, before it closes the connection.
const tooMany = "max number of clients reached"

// greeting is how long a server may take to refuse a client that says nothing.
const greeting = 300 * time.Millisecond

// isFull says whether a server that closes connections has too many of them. The client says its first commands at once, and
// loses the server's words where the connection ends before all are answered. Here nothing is said. With TLS a server tells nothing.
func isFull(ctx context.Context, opt rueidis.ClientOption, err error) bool {
	if opt.TLSConfig != nil || !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, opt.Dialer.Timeout)
	defer cancel()
	at, err := opt.DialCtxFn(ctx, opt.InitAddress[0], &net.Dialer{Timeout: opt.Dialer.Timeout}, nil)
	if err != nil {
		return false
	}
	defer at.Close()
	_ = at.SetReadDeadline(time.Now().Add(greeting))
	said, _ := io.ReadAll(io.LimitReader(at, 128))
	return strings.Contains(string(said), tooMany)
}

// Refusal is the kind of a server's refusal, or of ours to trust it. It does not pass by itself.
type Refusal string

// The refusals.
const (
	RefusedNothing   Refusal = ""          // the error is another one
	RefusedLogin     Refusal = "login"     // the user or the password
	RefusedRight     Refusal = "right"     // a command or a key, to the user
	RefusedCAFile    Refusal = "ca_file"   // the file of certificates cannot be used
	RefusedAuthority Refusal = "authority" // nobody that is trusted signed the server's certificate
	RefusedName      Refusal = "name"      // its certificate is for other names
	RefusedDate      Refusal = "date"      // its certificate has expired, or is not valid yet
	RefusedOther     Refusal = "other"     // its certificate, for another reason
	RefusedPlain     Refusal = "plain"     // it speaks no TLS
	RefusedTLS       Refusal = "tls"       // it speaks TLS alone, and was spoken to without
	RefusedClient    Refusal = "client"    // it wants a certificate of its clients
	RefusedClients   Refusal = "clients"   // it has as many clients as it takes
)

// RefusalOf says which refusal an error is about.
func RefusalOf(err error) Refusal {
	var (
		caFile    *CAFileError
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		plain     tls.RecordHeaderError
		server    *rueidis.RedisError
	)
	alert, told := alertOf(err)
	switch {
	case errors.As(err, &caFile):
		return RefusedCAFile
	case errors.As(err, &authority):
		return RefusedAuthority
	case errors.As(err, &name):
		return RefusedName
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return RefusedDate
	case errors.As(err, &invalid):
		return RefusedOther
	case errors.As(err, &plain):
		return RefusedPlain
	case errors.Is(err, errTLS):
		return RefusedTLS
	case told && slices.Contains(wantCertificate, alert):
		return RefusedClient
	case errors.Is(err, errClients), errors.As(err, &server) && strings.Contains(server.Error(), tooMany):
		return RefusedClients
	case errors.As(err, &server):
		how, _ := denial(server.Error())
		return how
	}
	return RefusedNothing
}

// wantCertificate are the alerts of a server that wants a certificate of its clients (RFC 8446, section 6), in Go's words.
var wantCertificate = []string{"tls: handshake failure", "tls: bad certificate", "tls: certificate required"}
