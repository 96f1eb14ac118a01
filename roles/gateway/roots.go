package gateway

import (
	"crypto/x509"
	"sync"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// trustKnownRoots lets connections to providers trust Mozilla's roots where the system has
// none of its own: the control image holds nothing but sett. A program does so once.
var trustKnownRoots = sync.OnceFunc(func() { x509.SetFallbackRoots(knownRoots()) })

// knownRoots are Mozilla's roots, of the day when sett was built.
func knownRoots() *x509.CertPool {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		switch cert, err := x509.ParseCertificate(root.Certificate); {
		case err != nil: // one that this Go does not know is trusted by nobody
		case root.Constraint != nil:
			pool.AddCertWithConstraint(cert, root.Constraint)
		default:
			pool.AddCert(cert)
		}
	}
	return pool
}
