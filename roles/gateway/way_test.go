package gateway

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sett/contract/env"
	line "sett/roles/role/gateway"
	"sett/roles/role/modeltest"
)

// secured is a server with TLS before another one. Its certificate is in a file.
type secured struct {
	*httptest.Server
	file  string
	tries atomic.Int64 // connections
}

// secure starts one; change may spoil its certificate or its settings.
func secure(t *testing.T, h http.Handler, change func(*x509.Certificate, *tls.Config)) *secured {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	settings := &tls.Config{}
	if change != nil {
		change(cert, settings)
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	settings.Certificates = []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}
	s := &secured{Server: httptest.NewUnstartedServer(h), file: filepath.Join(t.TempDir(), "ca.pem")}
	s.TLS, s.EnableHTTP2 = settings, true
	s.Config.ErrorLog = quiet
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.tries.Add(1)
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	if err := os.WriteFile(s.file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func toProvider(t *testing.T, mock *modeltest.Server) http.Handler {
	t.Helper()
	mock.Key = providerKey
	to, err := url.Parse(mock.URL)
	if err != nil {
		t.Fatal(err)
	}
	return httputil.NewSingleHostReverseProxy(to)
}

// TestHandshakes: a call whose connection fails before the request costs nothing. Where another try would fail the same way,
// there is none, and the words name the remedy.
func TestHandshakes(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*x509.Certificate, *tls.Config)
		distrust bool
		plain    bool
		want     []string
		tries    int64 // 0: one, or more where the connection was closed before the client had read why
	}{
		"expired":             {change: func(c *x509.Certificate, _ *tls.Config) { c.NotAfter = time.Now().Add(-time.Hour) }, want: []string{"has expired", "has to renew it"}, tries: 1},
		"another name":        {change: func(c *x509.Certificate, _ *tls.Config) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 9)} }, want: []string{"127.0.0.9, not 127.0.0.1", "base_url must name"}, tries: 1},
		"unknown authority":   {distrust: true, want: []string{"unknown authority", "ca_file"}, tries: 1},
		"wants a certificate": {change: func(_ *x509.Certificate, s *tls.Config) { s.ClientAuth = tls.RequireAnyClientCert }, want: []string{"certificate required", "no certificate of a client"}},
		"wants a certificate, TLS 1.2": {change: func(_ *x509.Certificate, s *tls.Config) {
			s.ClientAuth, s.MaxVersion = tls.RequireAnyClientCert, tls.VersionTLS12
		}, want: []string{"remote error: tls", "no certificate of a client"}, tries: 1},
		"old": {change: func(_ *x509.Certificate, s *tls.Config) {
			s.MinVersion, s.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		}, want: []string{"tls: ", "breaks the handshake off"}, tries: 1},
		"no TLS":         {plain: true, want: []string{"HTTP response to HTTPS client", "base_url"}, tries: 1},
		"cut handshakes": {change: func(_ *x509.Certificate, s *tls.Config) { s.GetConfigForClient = cut }, want: []string{"out of reach"}, tries: 4},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			mock := modeltest.Start(t, modeltest.Text("never asked for"))
			s := secure(t, toProvider(t, mock), c.change)
			base := s.URL
			if c.plain {
				base = strings.Replace(mock.URL, "http:", "https:", 1)
			}
			p := newPlace(t, func(g *env.Gateway) {
				g.Models[0].BaseURL = base + "/v1"
				if !c.distrust {
					g.Models[0].CAFile = s.file
				}
			})
			got := p.ask(ask{})
			if got.status != http.StatusBadGateway || got.refused() != line.Provider {
				t.Errorf("got %v", got)
			}
			for _, words := range c.want {
				if !strings.Contains(got.body, words) {
					t.Errorf("no %q in %s", words, got.body)
				}
			}
			if n := s.tries.Load(); !c.plain && n != c.tries && (c.tries > 0 || n == 0) {
				t.Errorf("%d tries, want %d", n, c.tries)
			}
			if n := len(mock.Requests()); n != 0 {
				t.Errorf("the provider got %d requests", n)
			}
			p.checkAccount(fault{usage: none, reason: "out of reach"})
		})
	}
}

// cut closes a connection in the middle of its handshake.
func cut(h *tls.ClientHelloInfo) (*tls.Config, error) {
	_ = h.Conn.Close()
	return nil, io.EOF
}

// TestStreamIsReset: a request that an HTTP/2 provider got and dropped counts.
func TestStreamIsReset(t *testing.T) {
	s := secure(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), nil)
	p := newPlace(t, func(g *env.Gateway) { g.Models[0].BaseURL, g.Models[0].CAFile = s.URL+"/v1", s.file })
	if got := p.ask(ask{}); got.status != http.StatusBadGateway {
		t.Errorf("got %v", got)
	}
	p.checkAccount(fault{usage: estimated, reason: "out of reach"})
}

const (
	proxyUser     = "ada"
	proxyPassword = "pw%1-x" // shorter than any key
)

// proxy is one that wants a user, and leads to the provider whatever host is asked for.
type proxy struct {
	provider string // host:port
	status   int    // of its refusals; 0: it leads on
	asked    atomic.Int64
}

func (x *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x.asked.Add(1)
	auth := r.Header.Get("Proxy-Authorization")
	if auth != "Basic "+base64.StdEncoding.EncodeToString([]byte(proxyUser+":"+proxyPassword)) {
		w.Header().Set("X-Seen", auth)
		http.Error(w, "no such user: "+auth, http.StatusProxyAuthRequired)
		return
	}
	if x.status != 0 {
		http.Error(w, "the user "+proxyUser+":"+proxyPassword+" may not, says "+auth, x.status)
		return
	}
	if r.Method != http.MethodConnect {
		r.URL.Host, r.RequestURI = x.provider, ""
		(&httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}}).ServeHTTP(w, r)
		return
	}
	to, err := net.Dial("tcp", x.provider)
	if err != nil {
		http.Error(w, "away", http.StatusBadGateway)
		return
	}
	from, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer from.Close()
	defer to.Close()
	_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(to, bufio.NewReader(buffered)); _ = to.Close() }()
	_, _ = io.Copy(from, to)
}

// TestProxies: a proxy is asked for the way, with its password, which is shown nowhere. Calls that it refuses cost nothing.
func TestProxies(t *testing.T) {
	const right, wrong = proxyUser + ":pw%251-x@", proxyUser + ":PW%251-Y@"
	for name, c := range map[string]struct {
		user, scheme, provider string
		refuses                int
		away, distrust         bool
		status                 int
		want                   []string
		asked                  int64
		served                 int
	}{
		"https":                 {user: right, provider: "https", status: 200, want: []string{"fine"}, asked: 1, served: 1},
		"http":                  {user: right, provider: "http", status: 200, want: []string{"fine"}, asked: 1, served: 1},
		"https proxy":           {user: right, scheme: "https", provider: "https", status: 200, want: []string{"fine"}, asked: 1, served: 1},
		"https proxy, unknown":  {user: right, scheme: "https", provider: "https", distrust: true, status: 502, want: []string{"through the proxy https://127.0.0.1:", "unknown authority", "ca_file"}},
		"https, no user":        {provider: "https", status: 502, want: []string{"through the proxy http://127.0.0.1:", "407 Proxy Authentication Required", "user and password"}, asked: 1},
		"https, wrong password": {user: wrong, provider: "https", status: 502, want: []string{"407", "user and password"}, asked: 1},
		"http, no user":         {provider: "http", status: 502, want: []string{"the proxy http://127.0.0.1:", "407", "user and password"}, asked: 1},
		"http, wrong password":  {user: wrong, provider: "http", status: 502, want: []string{"407"}, asked: 1},
		"https, forbidden":      {user: right, provider: "https", refuses: 403, status: 502, want: []string{"403 Forbidden", "NO_PROXY"}, asked: 1},
		"http, forbidden":       {user: right, provider: "http", refuses: 403, status: 403, want: []string{"may not"}, asked: 1},
		"https, 502":            {user: right, provider: "https", refuses: 502, status: 502, want: []string{"502 Bad Gateway", "does not reach the provider"}, asked: 4},
		"http, 502":             {user: right, provider: "http", refuses: 502, status: 502, want: []string{"may not"}, asked: 4},
		"https, away":           {user: right, provider: "https", away: true, status: 502, want: []string{"through the proxy http://127.0.0.1:", "connection refused", "is the proxy's variable right"}},
		"http, away":            {user: right, provider: "http", away: true, status: 502, want: []string{"through the proxy http://127.0.0.1:", "connection refused", "is the proxy's variable right"}},
		"no proxy speaks there": {user: right, scheme: "https", provider: "https", refuses: -1, status: 502, want: []string{"through the proxy https://127.0.0.1:", "the proxy's variable"}},
	} {
		t.Run(strings.NewReplacer(" ", "_", ",", "").Replace(name), func(t *testing.T) {
			mock := modeltest.Start(t, modeltest.Text("fine"))
			s := secure(t, toProvider(t, mock), func(c *x509.Certificate, _ *tls.Config) { c.DNSNames = []string{"models.example"} })
			x := &proxy{provider: s.Listener.Addr().String(), status: c.refuses}
			if c.provider == "http" {
				x.provider = strings.TrimPrefix(mock.URL, "http://")
			}
			at := httptest.NewUnstartedServer(x)
			at.Config.ErrorLog = quiet
			if at.TLS = s.TLS; c.scheme == "https" && c.refuses >= 0 {
				at.TLS = &tls.Config{Certificates: s.TLS.Certificates}
				at.StartTLS()
			} else {
				at.Start()
			}
			defer at.Close()
			host := at.Listener.Addr().String()
			if c.away {
				at.Close()
			}
			scheme := c.scheme
			if scheme == "" {
				scheme = "http"
			}
			keys, err := json.Marshal(map[string]string{"smart": providerKey, env.ProxyKey("smart"): scheme + "://" + c.user + host})
			if err != nil {
				t.Fatal(err)
			}
			p := newPlace(t, func(g *env.Gateway) {
				g.Secrets, g.Models[0].BaseURL = string(keys), c.provider+"://models.example/v1"
				if !c.distrust {
					g.Models[0].CAFile = s.file
				}
			})
			got := p.ask(ask{})
			if got.status != c.status {
				t.Errorf("got %v", got)
			}
			for _, words := range c.want {
				if !strings.Contains(got.body, words) {
					t.Errorf("no %q in %s", words, got.body)
				}
			}
			if n := x.asked.Load(); n != c.asked {
				t.Errorf("the proxy was asked %d times, want %d", n, c.asked)
			}
			if n := len(mock.Requests()); n != c.served {
				t.Errorf("the provider got %d requests", n)
			} else if n > 0 && mock.Last().Header.Get("Proxy-Authorization") != "" {
				t.Error("the provider got the proxy's password")
			}
			want := fault{usage: none}
			if c.served > 0 {
				want.usage = known
			}
			p.checkAccount(want)
			p.checkSecret(got)
			said := got.String() + p.log.String()
			for _, e := range p.board.Events("call") {
				said += e.Reason
			}
			for _, v := range got.header {
				said += strings.Join(v, " ")
			}
			for _, secret := range []string{proxyPassword, "PW%1-Y", "pw%251", "PW%251", base64.StdEncoding.EncodeToString([]byte(proxyUser + ":" + proxyPassword)),
				base64.StdEncoding.EncodeToString([]byte(proxyUser + ":PW%1-Y"))} {
				if strings.Contains(said, secret) {
					t.Errorf("the password is shown as %s: %s", secret, said)
				}
			}
		})
	}
}

// quiet is a server's log that nobody reads.
var quiet = log.New(io.Discard, "", 0)
