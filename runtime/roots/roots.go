// Package roots lets TLS work where the system has no certificates of known authorities: the
// control image holds nothing but sett, and an agent's image may have none either. It knows no
// certificate of a company; those are in files that sett.yml names.
package roots

import (
	"crypto/x509"
	"sync"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// TrustKnown lets all connections of this program trust Mozilla's roots where the system has
// none of its own. Each part calls it before its first connection to a server elsewhere, and
// no earlier: it reads all the system's certificates.
var TrustKnown = sync.OnceFunc(func() { x509.SetFallbackRoots(known()) })

// known are Mozilla's roots, of the day when sett was built.
func known() *x509.CertPool {
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
