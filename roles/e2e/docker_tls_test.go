package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sett/blackboard/redis/redistest"
	"sett/roles/role/modeltest"
)

// bridge is the address at which containers reach this machine.
func bridge(t *testing.T) net.IP {
	t.Helper()
	needEngine(t)
	out, err := dockerSays("network", "inspect", "bridge", "--format", "{{range .IPAM.Config}}{{.Subnet}} {{end}}")
	if err != nil {
		t.Fatal(err)
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, subnet := range strings.Fields(out) {
		_, among, err := net.ParseCIDR(subnet)
		for _, addr := range own {
			if at, ok := addr.(*net.IPNet); ok && err == nil && among.Contains(at.IP) {
				return at.IP
			}
		}
	}
	t.Skip("the engine's bridge (" + out + ") is no interface of this machine")
	return nil
}

// ownCA writes a certificate for an address, signed by itself, and its key.
func ownCA(t *testing.T, at net.IP) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{at}}
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certificate, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	file(t, certificate, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), 0o600)
	file(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})), 0o600)
	return certificate, key
}

// TestDockerRedisTLS: every part in a container reaches a Redis with a certificate of a CA of its
// own: orchestrator, cubs, workers, model gateway and notifier. A CA that is replaced, as the
// server's certificate is, counts after the next sett up, for the parts that run.
func TestDockerRedisTLS(t *testing.T) {
	t.Parallel()
	at := bridge(t)
	certificate, key := ownCA(t, at)
	next, nextKey := ownCA(t, at)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	server := redistest.Start(t, "--tls-port", port, "--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", certificate, "--tls-auth-clients", "no")
	_, outside, _ := net.SplitHostPort(strings.TrimPrefix(everywhere(t, "http://127.0.0.1:"+port), "http://"))
	provider := modeltest.Start(t)
	provider.Key, provider.Play = modelKey, func(modeltest.Request) modeltest.Step { return modeltest.Text("a word of the model") }
	for name, onHost := range map[string]bool{"orchestrator in a container": false, "orchestrator on the host": true} {
		t.Run(name, func(t *testing.T) {
			c := thinker(t, everywhere(t, provider.URL), asksByWget+`say Standard Step "$said"`, "", "notify: {command: ['false']}\n")
			c.agents = append(c.agents, agent{name: "fresh", bids: "Step: exclusive", tool: `say Terminal Done "$SETT_TARGET_PAYLOAD"`, more: "strategy: fresh_per_call"})
			t.Cleanup(func() { // once the instance is gone
				server.Send("CONFIG", "SET", "tls-cert-file", certificate, "tls-key-file", key, "tls-ca-cert-file", certificate)
			})
			o := inContainers(c)
			o.url, o.boardURL, o.onHost = "rediss://"+net.JoinHostPort(at.String(), outside), server.URL, onHost
			in := prepare(t, o)
			yml := filepath.Join(in.repo, "sett.yml")
			text, err := os.ReadFile(yml)
			if err != nil {
				t.Fatal(err)
			}
			file(t, yml, strings.Replace(string(text), "  url: ", "  ca_file: ca.pem\n  url: ", 1), 0o644)
			trust := func(from string) {
				text, err := os.ReadFile(from)
				if err != nil {
					t.Fatal(err)
				}
				file(t, filepath.Join(in.repo, "ca.pem"), string(text), 0o600)
				in.git("add", ".")
				in.git("commit", "-qm", "another CA")
			}
			trust(certificate)
			in.up()
			tells := func(payload string) {
				t.Helper()
				goal := in.post(payload)
				in.await(goal, enough)
				if got := in.payloadOf(goal, "Done"); got != "a word of the model" {
					t.Errorf("the result is %q", got)
				}
				eventually(t, enough, "word of the notifier", func() bool {
					n, err := in.board.Ledger.Notifier(context.Background())
					return err == nil && n.Untold != nil && n.Untold.Workflow != ""
				})
			}
			tells("one")
			server.Send("CONFIG", "SET", "tls-cert-file", next, "tls-key-file", nextKey, "tls-ca-cert-file", next)
			trust(next)
			in.must("up")
			server.Send("CLIENT", "KILL", "TYPE", "normal")
			in.open()
			tells("two")
		})
	}
}
