package roots

import (
	"bytes"
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// isrg is a root of Let's Encrypt, valid until 2035.
const isrg = "ISRG Root X1"

func has(pool *x509.CertPool, name string) bool {
	for _, subject := range pool.Subjects() { //nolint:staticcheck // of a pool that is not the system's it is whole
		if bytes.Contains(subject, []byte(name)) {
			return true
		}
	}
	return false
}

// The roots that stand in for the system's are many, and a known one is among them.
func TestKnown(t *testing.T) {
	if !has(known(), isrg) {
		t.Errorf("%s is not among them", isrg)
	}
}

// bare marks the process of a machine without certificates.
const bare = "ROOTS_TEST_BARE"

// A program on a machine without certificates trusts the known roots.
func TestTrustKnown(t *testing.T) {
	if os.Getenv(bare) == "" {
		nowhere := filepath.Join(t.TempDir(), "nowhere")
		child := exec.Command(os.Args[0], "-test.run", "^TestTrustKnown$", "-test.v")
		child.Env = []string{bare + "=1", "SSL_CERT_FILE=" + nowhere, "SSL_CERT_DIR=" + nowhere}
		if out, err := child.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS")) {
			t.Errorf("without certificates: %v\n%s", err, out)
		}
		return
	}
	TrustKnown()
	TrustKnown() // a second time does no harm
	pool, err := x509.SystemCertPool()
	if err != nil || !has(pool, isrg) {
		t.Errorf("%s is not trusted: %v", isrg, err)
	}
}
