package role

import (
	"crypto/x509"
	"errors"
)

// Certificates returns the usual certificates of CAs and those of a PEM text. A text
// without one is an error.
func Certificates(pem []byte) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, err
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("no certificate is in it")
	}
	return pool, nil
}
