package gateway

import (
	"bytes"
	"crypto/x509"
	"testing"
)

// isrg is a root of Let's Encrypt, valid until 2035.
const isrg = "ISRG Root X1"

// The roots that stand in for the system's are many, and a known one is among them.
func TestKnownRoots(t *testing.T) {
	pool := knownRoots()
	if pool.Equal(x509.NewCertPool()) {
		t.Fatal("there are none")
	}
	found := false
	for _, subject := range pool.Subjects() { //nolint:staticcheck // of a pool that is not the system's it is whole
		found = found || bytes.Contains(subject, []byte(isrg))
	}
	if !found {
		t.Errorf("%s is not among them", isrg)
	}
}
