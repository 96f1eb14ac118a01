package store

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sett/blackboard"
)

// certificate makes a certificate for 127.0.0.1 and writes it to a file.
func certificate(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// serve handles each connection of a listener until the test ends.
func serve(t *testing.T, l net.Listener, handle func(net.Conn)) {
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go handle(c)
		}
	}()
}

// A server that wants a certificate of its clients says so in an alert, in TLS 1.2 within the handshake, in 1.3 behind it.
func TestRefusedClient(t *testing.T) {
	own, file := certificate(t)
	for name, version := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAnyClientCert, MaxVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			serve(t, l, func(c net.Conn) {
				_ = c.(*tls.Conn).HandshakeContext(context.Background())
				_, _ = io.Copy(io.Discard, c.(*tls.Conn).NetConn()) // a reset would drop the alert
				_ = c.Close()
			})
			_, err = Open(t.Context(), Options{URL: "rediss://" + l.Addr().String(), Instance: "test", CAFile: file, Retries: -1})
			if RefusalOf(err) != RefusedClient {
				t.Errorf("%q: %v", RefusalOf(err), err)
			}
			_, err = Open(t.Context(), Options{URL: "redis://" + l.Addr().String(), Instance: "test", Retries: -1, Timeout: 500 * time.Millisecond})
			if RefusalOf(err) != RefusedTLS {
				t.Errorf("without TLS %q: %v", RefusalOf(err), err)
			}
		})
	}
}

// A server above maxclients refuses a client as soon as it connects, and answers none of its commands. One that closes
// connections without a word is another case.
func TestRefusedClients(t *testing.T) {
	for says, want := range map[string]Refusal{"-ERR max number of clients reached\r\n": RefusedClients, "": RefusedNothing} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		serve(t, l, func(c net.Conn) {
			_, _ = io.WriteString(c, says)
			_ = c.(*net.TCPConn).CloseWrite()
			_, _ = bufio.NewReader(c).ReadString('\n')
			_ = c.Close()
		})
		_, err = Open(t.Context(), Options{URL: "redis://" + l.Addr().String(), Instance: "test", Name: "named", Retries: -1})
		if RefusalOf(err) != want || !errors.Is(err, blackboard.ErrUnavailable) {
			t.Errorf("%q: %q: %v", says, RefusalOf(err), err)
		}
	}
}
