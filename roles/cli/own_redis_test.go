package cli

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sett/blackboard/redis/redistest"
	"sett/roles/role"
)

// signed writes a certificate for 127.0.0.1, signed by itself, and its key.
func signed(t *testing.T, until time.Time, names ...net.IP) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: until, IsCA: true, BasicConstraintsValid: true, IPAddresses: names}
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
	for name, block := range map[string]*pem.Block{certificate: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certificate, key
}

// secured starts a Redis with TLS, and returns its address there.
func secured(t *testing.T, certificate, key string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	redistest.Start(t, "--tls-port", port, "--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", certificate, "--tls-auth-clients", "no")
	return "rediss://127.0.0.1:" + port
}

// copyFile copies a file.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// saidBy runs a command and returns all that is said of it, with its code and hint.
func saidBy(t *testing.T, e role.Env, args ...string) (role.Code, string) {
	t.Helper()
	var said bytes.Buffer
	e.Stderr = &said
	out, err := invoke(t.Context(), e, args...)
	if err != nil {
		said.WriteString(err.Error() + "\n" + hint(err))
	}
	return role.CodeOf(err), said.String() + out
}

// TestOwnRedisCA: the file is named relative to sett.yml, or by the variable relative to the place
// of sett up, and each later command does without it, wherever it is typed. A faulty file or
// certificate has its hint, and an up that never reached its server leaves no note behind.
func TestOwnRedisCA(t *testing.T) {
	t.Parallel()
	tomorrow := time.Now().Add(24 * time.Hour)
	certificate, key := signed(t, tomorrow, net.IPv4(127, 0, 0, 1))
	expired, expiredKey := signed(t, time.Now().Add(-time.Hour), net.IPv4(127, 0, 0, 1))
	nameless, namelessKey := signed(t, tomorrow, net.IPv4(127, 0, 0, 9))
	at := secured(t, certificate, key)
	e, dir := workspace(t)
	repo := e.Args[1]
	beside := filepath.Join(filepath.Dir(repo), "ca.pem")
	yml := func(url, file string) {
		rewrite(t, e, fmt.Sprintf("runtime: process\nredis: {retries: 0, url: %q%s}\nagents:\n  one: {command: [/bin/cat]}\n", url, file))
	}
	for _, c := range []struct {
		url, file, says string
		code            role.Code
	}{
		{at, "", "redis.ca_file in sett.yml, or SETT_REDIS_CA_FILE", role.Environment},
		{secured(t, expired, expiredKey), ", ca_file: " + expired, "renew the certificate of that server", role.Environment},
		{secured(t, nameless, namelessKey), ", ca_file: " + nameless, "name that server in the URL as its certificate does", role.Environment},
		{at, ", ca_file: ../nowhere.pem", "redis.ca_file: " + filepath.Join(filepath.Dir(repo), "nowhere.pem") + ": no such file", role.Usage},
		{at, ", ca_file: sett.yml", "no certificate is in it", role.Usage},
	} {
		yml(c.url, c.file)
		code, said := saidBy(t, e, "up", "--yes")
		if code != c.code || !strings.Contains(said, c.says) || strings.Contains(said, "the URL right?") || strings.Contains(said, "what happened") {
			t.Errorf("%s%s: %d %s", c.url, c.file, code, said)
		}
	}
	copyFile(t, certificate, beside)
	yml(at, ", ca_file: ../ca.pem")
	if code, said := saidBy(t, e, "up", "--yes"); code != role.OK || strings.Contains(said, "what happened") {
		t.Fatalf("up: %d %s", code, said)
	}
	if err := os.Remove(beside); err != nil {
		t.Fatal(err)
	}
	elsewhere := e
	elsewhere.Args = []string{"-C", t.TempDir(), "--name", "clan"}
	if code, said := saidBy(t, elsewhere, "goals"); code != role.OK {
		t.Errorf("goals, without the file: %d %s", code, said)
	}
	if code, said := saidBy(t, e, "down"); code != role.OK {
		t.Fatalf("down: %d %s", code, said)
	}
	// A changed file takes the place of the copy while the instance runs.
	copyFile(t, certificate, beside)
	yml(at, "")
	named := with(e, "SETT_REDIS_CA_FILE", "../ca.pem")
	for range 2 {
		if code, said := saidBy(t, named, "up", "--yes"); code != role.OK {
			t.Fatalf("up with the variable: %d %s", code, said)
		}
		if code, said := saidBy(t, elsewhere, "goals"); code != role.OK {
			t.Errorf("goals, without the variable: %d %s", code, said)
		}
		more, _ := signed(t, tomorrow)
		text, _ := os.ReadFile(more)
		f, err := os.OpenFile(beside, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.Write(text)
			_ = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	kept, _ := os.ReadFile(filepath.Join(dir, "redis-ca", "ca.pem"))
	if strings.Count(string(kept), "BEGIN CERTIFICATE") != 2 {
		t.Errorf("the copy is that of before:\n%s", kept)
	}
	// Without the variable the copy vouches for the same server.
	for _, command := range []string{"up", "down", "up"} {
		if code, said := saidBy(t, e, command); code != role.OK {
			t.Errorf("%s, without the variable: %d %s", command, code, said)
		}
	}
	// An older sett kept no copy, and did not note the variable.
	for file, fields := range map[string]string{"instance.json": `\s*"(up_at|variable_ca)":[^\n]*`, "config.json": `\s*"(?i:ca_?file)":[^\n]*`} {
		path := filepath.Join(dir, file)
		text, err := os.ReadFile(path)
		older := regexp.MustCompile(fields).ReplaceAll(text, nil)
		if err == nil && bytes.Equal(older, text) {
			t.Fatalf("%s: %s", file, text)
		}
		if err == nil {
			err = os.WriteFile(path, older, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "redis-ca")); err != nil {
		t.Fatal(err)
	}
	if code, said := saidBy(t, named, "up", "--yes"); code != role.OK {
		t.Errorf("up over that of an older sett, with the variable: %d %s", code, said)
	}
}

// TestOwnRedisURL: the URL of the flag and of the variable is checked as that of sett.yml is, and
// no part of it is shown.
func TestOwnRedisURL(t *testing.T) {
	t.Parallel()
	e, _ := workspace(t)
	for _, url := range []string{"redis://:12/cret@localhost:7417", "redis://u:1?cret@localhost", "redis://u:1#cret@h", "redis://h/4/", "redis://h/cret", "redis://h?dial_timeout=cret"} {
		flag, said := saidBy(t, e, "up", "--dry-run", "--redis-url", url)
		variable, too := saidBy(t, with(e, "SETT_REDIS_URL", url), "up", "--yes")
		rewrite(t, e, fmt.Sprintf("runtime: process\nredis: {url: %q}\nagents:\n  one: {command: [/bin/cat]}\n", url))
		file, also := saidBy(t, e, "config")
		rewrite(t, e, "runtime: process\nagents:\n  one: {command: [/bin/cat]}\n")
		if flag != role.Usage || variable != role.Usage || file != role.Usage || strings.Contains(said+too, "cret") || strings.Contains(url, "@") && strings.Contains(also, "cret") {
			t.Errorf("%s: %d %d %d\n%s\n%s\n%s", url, flag, variable, file, said, too, also)
		}
		if !strings.HasPrefix(said, "--redis-url: ") || !strings.HasPrefix(too, "SETT_REDIS_URL: ") {
			t.Errorf("%s: %s\n%s", url, said, too)
		}
	}
}

// TestOwnRedisRefuses: a Redis that refuses the password, or a right, is the environment's fault in
// every command, with the hint for it.
func TestOwnRedisRefuses(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e, _ := workspace(t)
	as := func(login string) string { return strings.Replace(s.URL, "redis://", "redis://"+login+"@", 1) }
	acl := func(rule string) {
		t.Helper()
		if said := s.Send(append([]string{"ACL", "SETUSER"}, strings.Fields(rule)...)...); said != "OK" {
			t.Fatalf("%s: %s", rule, said)
		}
	}
	acl("lim on >hers ~app:* &* +@all")
	acl("ro on >hers ~* &* +@read +@connection")
	acl("all on >hers ~* &* +@all")
	for login, says := range map[string]string{"all:old": "are user and password in its URL right", "lim:hers": "ACL SETUSER lim ~", "ro:hers": "ACL SETUSER ro +eval"} {
		if code, said := saidBy(t, e, "up", "--redis-url", as(login)); code != role.Environment || !strings.Contains(said, says) || strings.Contains(said, "the URL right?") {
			t.Errorf("up as %s: %d %s", login, code, said)
		}
	}
	if code, said := saidBy(t, e, "up", "--redis-url", as("all:hers")); code != role.OK {
		t.Fatalf("up: %d %s", code, said)
	}
	for rule, says := range map[string]string{"resetpass >new": "are user and password in its URL right", ">hers resetkeys ~app:*": "sett doctor names those"} {
		acl("all " + rule)
		for _, command := range []string{"goals", "show", "hoard"} {
			args := []string{command}
			if command == "show" {
				args = append(args, "@last")
			}
			if code, said := saidBy(t, e, args...); code != role.Environment || !strings.Contains(said, says) {
				t.Errorf("%s after %s: %d %s", command, rule, code, said)
			}
		}
		acl("all >hers ~*")
	}
}
