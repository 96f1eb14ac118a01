package redis

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
	"sett/blackboard/redis/redistest"
)

// deadAddr is an address where nobody listens.
func deadAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// Without a server, Open tries as often as it was told and then names the address.
func TestOpenDeadServer(t *testing.T) {
	addr := deadAddr(t)
	for _, retries := range []int{-1, 3} {
		started := time.Now()
		_, err := Open(testContext(t), store.Options{URL: "redis://user:secret@" + addr, Retries: retries, Backoff: 10 * time.Millisecond})
		wantError(t, "open", err, blackboard.ErrUnavailable)
		if err != nil && (!strings.Contains(err.Error(), addr) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%v: want the address and no password", err)
		}
		least := time.Duration(0)
		if retries == 3 {
			least = 70 * time.Millisecond
		}
		if took := time.Since(started); took < least || took > 5*time.Second {
			t.Errorf("%d retries took %s", retries, took)
		}
	}
}

// A server that accepts and never answers is given up on in time.
func TestOpenSilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	started := time.Now()
	_, err = Open(testContext(t), store.Options{URL: "redis://" + l.Addr().String(), Retries: 1, Timeout: 100 * time.Millisecond})
	wantError(t, "open", err, blackboard.ErrUnavailable)
	if took := time.Since(started); took > 5*time.Second || !strings.Contains(err.Error(), "no connection within 100ms") {
		t.Errorf("took %s: %v", took, err)
	}
}

// Open ends with its context, however many retries are left.
func TestOpenCancelled(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := Open(ctx, store.Options{URL: "redis://" + deadAddr(t), Retries: 1000})
	wantError(t, "open", err, blackboard.ErrUnavailable)
}

func TestOpenWrongURL(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(empty, []byte("nothing"), 0o600))
	for _, o := range []store.Options{
		{URL: ""}, {URL: "localhost:6379"}, {URL: "http://localhost"}, {URL: "redis://:secret@host:port"},
		{URL: "redis://:secret@host/zero"}, {URL: "redis://:secret@host\x00"}, {URL: "redis:// :secret@host"},
		{URL: "redis://host?sentinel_password=secret"}, {URL: "redis://host?master_name=m&sentinel_password=secret"},
		{URL: "redis://:12/secret@localhost:7417"}, {URL: "redis://u:1?secret@localhost"}, {URL: "redis://u:1#secret@localhost"}, {URL: "redis://localhost?dial_timeout=secret"},
		{URL: "rediss://:secret@localhost", CAFile: "/nowhere/ca.pem"}, {URL: "rediss://:secret@localhost", CAFile: empty},
	} {
		_, err := Open(testContext(t), o)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", o.URL, err)
		}
	}
}

func TestRedact(t *testing.T) {
	for raw, want := range map[string]string{
		"redis://:secret@host:1/0":    "redis://:xxxxx@host:1/0",
		"redis://me:secret@host:1":    "redis://me:xxxxx@host:1",
		"redis://host:1":              "redis://host:1",
		"redis://:secret@host:nobody": "(unreadable URL)",
		"redis://:12/secret@host:1":   "(unreadable URL)",
		"redis://u:12?secret@host:1":  "(unreadable URL)",
		"unix://:secret@/run/redis":   "unix://:xxxxx@/run/redis",
	} {
		if got := store.Redact(raw); got != want {
			t.Errorf("%s: got %s, want %s", raw, got, want)
		}
	}
}

// with returns the URL with user, password and path.
func with(t *testing.T, raw string, user *url.Userinfo, path string) string {
	t.Helper()
	u, err := url.Parse(raw)
	must(t, err)
	u.User, u.Path = user, path
	return u.String()
}

// Password, user and database come from the URL; a wrong one is an error at once,
// not something to wait out.
func TestAuth(t *testing.T) {
	s := redistest.Start(t)
	admin := &world{TB: t, ctx: testContext(t), b: open(t, s.URL)}
	admin.raw("ACL", "SETUSER", "ann", "on", ">hers", "~*", "&*", "+@all")
	admin.raw("CONFIG", "SET", "requirepass", "p@ss/word")
	for name, u := range map[string]string{
		"password": with(t, s.URL, url.UserPassword("", "p@ss/word"), ""),
		"user":     with(t, s.URL, url.UserPassword("ann", "hers"), "/3"),
	} {
		b := open(t, u)
		must(t, b.People.PostGoal(testContext(t), goal(name), "ann"))
		must(t, b.Ping(testContext(t)))
	}
	b := open(t, with(t, s.URL, url.UserPassword("ann", "hers"), "/3"))
	goals, err := b.Index.Goals(testContext(t), 0)
	must(t, err)
	if len(goals) != 1 {
		t.Errorf("%d goals in database 3, want 1", len(goals))
	}
	for name, user := range map[string]*url.Userinfo{
		"none": nil, "wrong": url.UserPassword("", "wrong-secret"), "unknown user": url.UserPassword("bob", "wrong-secret"),
	} {
		started := time.Now()
		_, err := Open(testContext(t), store.Options{URL: with(t, s.URL, user, ""), Instance: "test", Backoff: time.Second})
		if err == nil || strings.Contains(err.Error(), "wrong-secret") || time.Since(started) > time.Second {
			t.Errorf("%s: %v after %s", name, err, time.Since(started))
		}
	}
}

// selfSigned writes a certificate for 127.0.0.1 and its key.
func selfSigned(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	must(t, err)
	keyDER, err := x509.MarshalECPrivateKey(private)
	must(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	must(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	must(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}), 0o600))
	return cert, key
}

// rediss:// works with a CA file, and trusts nobody else.
func TestTLS(t *testing.T) {
	cert, key := selfSigned(t)
	_, port, err := net.SplitHostPort(deadAddr(t))
	must(t, err)
	s := redistest.Start(t, "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert,
		"--tls-auth-clients", "no")
	(&world{TB: t, ctx: testContext(t), b: open(t, s.URL)}).raw("CONFIG", "SET", "requirepass", "secret")
	u := "rediss://:secret@127.0.0.1:" + port
	ctx := testContext(t)
	b := openOptions(t, store.Options{URL: u, Instance: "test", CAFile: cert})
	g := goal("over TLS")
	must(t, b.People.PostGoal(ctx, g, "ann"))
	if a, err := b.Records.Artefact(ctx, g.ID); err != nil || a.Payload != "over TLS" {
		t.Errorf("read back %+v: %v", a, err)
	}
	must(t, openOptions(t, store.Options{URL: strings.Replace(u, port, port+"/", 1), Instance: "test", CAFile: cert}).Ping(ctx)) // a URL may end so
	other, _ := selfSigned(t)
	for name, c := range map[string]struct {
		o    store.Options
		want Refusal
	}{
		"the system's CA": {store.Options{URL: u}, RefusedAuthority}, "another CA": {store.Options{URL: u, CAFile: other}, RefusedAuthority},
		"another name": {store.Options{URL: strings.Replace(u, "127.0.0.1", "localhost", 1), CAFile: cert}, RefusedName},
		"no file":      {store.Options{URL: u, CAFile: cert + ".pem"}, RefusedCAFile}, "a password": {store.Options{URL: strings.Replace(u, "secret", "old", 1), CAFile: cert}, RefusedLogin},
	} {
		c.o.Instance, c.o.Retries, c.o.Timeout = "test", -1, 30*time.Second // a busy machine is slow
		if _, err := Open(ctx, c.o); RefusalOf(err) != c.want {
			t.Errorf("%s: %v (%s), want %s", name, err, RefusalOf(err), c.want)
		}
	}
}

// A file of certificates that is replaced counts from the next connection on; one that cannot be
// read for now changes nothing.
func TestTLSReplacedCA(t *testing.T) {
	cert, key := selfSigned(t)
	next, nextKey := selfSigned(t)
	_, port, err := net.SplitHostPort(deadAddr(t))
	must(t, err)
	s := redistest.Start(t, "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "no")
	admin := &world{TB: t, ctx: testContext(t), b: open(t, s.URL)}
	file := filepath.Join(t.TempDir(), "ca.pem")
	copyTo := func(from string) {
		text, err := os.ReadFile(from)
		must(t, err)
		must(t, os.WriteFile(file, text, 0o600))
	}
	copyTo(cert)
	b := openOptions(t, store.Options{URL: "rediss://127.0.0.1:" + port, Instance: "test", CAFile: file, Retries: 3})
	read := func() error {
		_, err := b.Index.Goals(testContext(t), 0)
		return err
	}
	must(t, os.WriteFile(file, nil, 0o600))
	admin.raw("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	must(t, read())
	admin.raw("CONFIG", "SET", "tls-cert-file", next, "tls-key-file", nextKey, "tls-ca-cert-file", next)
	admin.raw("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	if err := read(); RefusalOf(err) != RefusedAuthority {
		t.Errorf("the old CA vouches for the new server: %v", err)
	}
	copyTo(next)
	must(t, read())
}

// A server that lacks a right for its user says so, in a script too.
func TestRefusedRight(t *testing.T) {
	s := redistest.Start(t)
	admin := &world{TB: t, ctx: testContext(t), b: open(t, s.URL)}
	admin.raw("ACL", "SETUSER", "keys", "on", ">hers", "~other:*", "&*", "+@all")
	admin.raw("ACL", "SETUSER", "writes", "on", ">hers", "~*", "&*", "+@all", "-hset")
	admin.raw("ACL", "SETUSER", "scripts", "on", ">hers", "~*", "&*", "+@all", "-@scripting")
	for _, user := range []string{"keys", "writes", "scripts"} {
		b, err := Open(testContext(t), store.Options{URL: with(t, s.URL, url.UserPassword(user, "hers"), ""), Instance: "test"})
		if err == nil {
			err = b.People.PostGoal(testContext(t), goal("x"), "ann")
			b.Close()
		}
		if RefusalOf(err) != RefusedRight {
			t.Errorf("%s: %v", user, err)
		}
	}
}

// Ping says so at once when the server is gone; calls are bounded; both work again
// when it is back.
func TestServerGoesAndComes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		ctx := testContext(t)
		b := openOptions(t, store.Options{URL: s.url, Instance: "test", Retries: 2, Backoff: 5 * time.Millisecond, Timeout: 300 * time.Millisecond})
		g := goal("x")
		must(t, b.People.PostGoal(ctx, g, "ann"))
		must(t, b.Ping(ctx))
		s.kill()
		wantError(t, "ping", b.Ping(ctx), blackboard.ErrUnavailable)
		started := time.Now()
		wantError(t, "a write", b.People.PostGoal(ctx, goal("y"), "ann"), blackboard.ErrUnavailable)
		_, err := b.Records.Artefact(ctx, g.ID)
		wantError(t, "a read", err, blackboard.ErrUnavailable)
		if took := time.Since(started); took > 5*time.Second {
			t.Errorf("giving up took %s", took)
		}
		s.restart()
		a, err := b.Records.Artefact(ctx, g.ID)
		if err != nil || a.Payload != "x" {
			t.Errorf("after the restart: %+v %v", a, err)
		}
		must(t, b.People.PostGoal(ctx, goal("z"), "ann")) // by a server that has forgotten the scripts
	}, redistest.Durable...)
}
