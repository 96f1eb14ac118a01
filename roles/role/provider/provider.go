// Package provider is the connection to a model's provider, for the parts of Sett that ask one: its proxy, the
// certificates that it is checked with, and the reason and the remedy where it fails. It sends a request once. It knows
// no key, and nothing of the request.
package provider

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"sett/runtime"
)

const dialTime = 10 * time.Second

// Way is the way to a provider.
type Way struct {
	Proxy   *url.URL       // nil: there is none
	Trusted *x509.CertPool // nil: the usual certificates
}

// Client returns a client that goes this way, and follows no redirect: the new address would get the key.
func (w Way) Client() *http.Client {
	dialer := &net.Dialer{Timeout: dialTime, KeepAlive: dialTime}
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyURL(w.Proxy), OnProxyConnectResponse: admitted, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: dialTime, DisableCompression: true, TLSClientConfig: &tls.Config{RootCAs: w.Trusted},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// refusalError is the refusal of a proxy to lead to the provider.
type refusalError struct {
	status int
	text   string
}

func (e *refusalError) Error() string { return fmt.Sprintf("the proxy answers %s", e.text) }

func admitted(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	return &refusalError{answer.StatusCode, strings.TrimSpace(fmt.Sprintf("%d %s", answer.StatusCode, http.StatusText(answer.StatusCode)))}
}

// Unsent is the error of a request that the provider did not get.
type Unsent struct {
	Err     error
	Remedy  string // empty: none is known
	Lasting bool   // a repetition will not help
	Proxy   *url.URL
}

// Error is the cause with the proxy's name, and after it the remedy.
func (u *Unsent) Error() string {
	text := u.Cause()
	if u.Remedy != "" {
		text += "; " + u.Remedy
	}
	return text
}

// Cause is the cause alone, with the proxy's name.
func (u *Unsent) Cause() string {
	if u.Proxy == nil {
		return u.Err.Error()
	}
	return fmt.Sprintf("through the proxy %s: %v", Show(u.Proxy), u.Err)
}

func (u *Unsent) Unwrap() error { return u.Err }

// Do sends a request. The error is an *Unsent where the provider did not get it; none shows the address.
func (w Way) Do(c *http.Client, q *http.Request) (*http.Response, error) {
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{
		GetConn: func(string) { connected.Store(false) }, // also where a connection that had ended is replaced
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	}
	answer, err := c.Do(q.WithContext(httptrace.WithClientTrace(q.Context(), trace)))
	if err == nil {
		return answer, nil
	}
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	if connected.Load() && !isAlert(err) {
		return nil, err
	}
	u := &Unsent{Err: err, Proxy: w.Proxy}
	u.Remedy, u.Lasting = remedy(err, w.Proxy)
	return nil, u
}

// isAlert says whether a server broke the handshake off. By TLS 1.3 the client hears of it when it has sent the request.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error")
}

// remedy is the remedy of a failed connection, and whether a repetition would fail the same way.
func remedy(err error, proxy *url.URL) (do string, lasting bool) {
	var (
		op       *net.OpError
		refused  *refusalError
		unknown  x509.UnknownAuthorityError
		wrong    x509.HostnameError
		invalid  x509.CertificateInvalidError
		checked  *tls.CertificateVerificationError
		notTLS   tls.RecordHeaderError
		atProxy  = errors.As(err, &op) && op.Op == "proxyconnect"
		itsOwner = "the provider"
		key      = "base_url"
	)
	if atProxy {
		itsOwner, key = "the proxy's owner", "the proxy's variable"
	}
	switch {
	case errors.As(err, &refused):
		return refusalOf(refused.status), refused.status < 500 && refused.status != http.StatusTooManyRequests
	case errors.As(err, &unknown):
		return "if your company's authority signed it, ca_file in sett.yml names that authority's certificate", true
	case errors.As(err, &wrong):
		return key + " must name a host of that certificate", true
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return itsOwner + " has to renew it, if this machine's clock is right", true
	case errors.As(err, &checked):
		return "ca_file in sett.yml names certificates to trust besides the usual ones", true
	case errors.As(err, &notTLS), errors.Is(err, http.ErrSchemeMismatch):
		return "nothing speaks TLS there: is " + key + " right, with http or https and the port?", true
	case isAlert(err):
		return "it breaks the handshake off: Sett has no certificate of a client, and speaks TLS 1.2 and 1.3", true
	case atProxy && proxy.Hostname() == runtime.HostName:
		return "a container does not reach a proxy of this machine that listens on 127.0.0.1 alone", false
	case proxy != nil:
		return "is the proxy's variable right, and does that proxy reach the provider?", false
	}
	return "", false
}

// refusalOf is the remedy where a proxy refuses the way.
func refusalOf(status int) string {
	switch {
	case status == http.StatusProxyAuthRequired:
		return NeedsUser
	case status >= 500:
		return "it does not reach the provider: is base_url right?"
	}
	return "it does not lead to this provider: NO_PROXY names hosts that are asked without it"
}

// NeedsUser is the remedy where a proxy knows no user, or another password.
const NeedsUser = "its variable needs the right user and password: http://USER:PASSWORD@HOST:PORT"

// Show is a proxy without its user and password.
func Show(proxy *url.URL) string {
	return (&url.URL{Scheme: proxy.Scheme, Host: proxy.Host}).String()
}
