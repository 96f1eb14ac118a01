package ui

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sett/roles/cli/act"
	"sett/roles/view/diagram"
)

// Server serves the page and the API of an instance.
type Server struct {
	Run      act.Command
	Instance string
	Again    string // the command line that opens the page
	Keys     *Keys
	Users    []int // that may connect, besides root, where this system tells them: see Users

	port    int
	entered func()        // nil, or called when a printed address has opened the page
	streams chan struct{} // a place for each stream
	deeds   deeds
}

// Bounds of requests and answers. A stream has no end, and so no bound of its own.
const (
	headerTime  = 10 * time.Second
	bodyTime    = time.Minute
	idleTime    = 2 * time.Minute
	headerBytes = 16 << 10
	mostStreams = 64
)

// Listen opens a port on the loopback address: the one that is asked for, else that of
// the last server, else a free one.
func (s *Server) Listen(port int) (net.Listener, error) {
	open := func(port int) (net.Listener, error) {
		return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	first := port
	if first == 0 {
		first = s.Keys.Port()
	}
	l, err := open(first)
	if err != nil && port == 0 && first != 0 {
		l, err = open(0)
	}
	if err != nil {
		return nil, fmt.Errorf("listen for the page: %w", err)
	}
	s.port = l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // of a TCP listener
	if err := s.Keys.SetPort(s.port); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// Address returns an address that opens the page once, with a fragment for the page.
func (s *Server) Address(fragment string) (string, error) {
	token, err := s.Keys.issue(once)
	if err != nil {
		return "", err
	}
	at := fmt.Sprintf("http://127.0.0.1:%d/ui/?token=%s", s.port, token)
	if fragment != "" {
		at += "&at=" + fragment
	}
	return at, nil
}

// Serve answers until the context ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.streams = make(chan struct{}, mostStreams)
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, IdleTimeout: idleTime, MaxHeaderBytes: headerBytes,
		BaseContext: func(net.Listener) context.Context { return ctx }, ConnContext: withGuest,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the page: %w", err)
	}
	return nil
}

// policy is the page's: nothing but its own parts and the style of pictures, no text that
// becomes code, no frame.
var policy = sync.OnceValue(func() string {
	style := sha256.Sum256([]byte(diagram.Style))
	return fmt.Sprintf(rules, base64.StdEncoding.EncodeToString(style[:]))
})

const rules = "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-%s'; img-src 'self' data:; connect-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	for name, value := range map[string]string{
		"Content-Security-Policy": policy(), "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp",
		"Cache-Control": "no-store", "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
	} {
		h.Set(name, value)
	}
	if why := s.stranger(r.Context()); why != "" {
		s.refuse(w, http.StatusForbidden, why, "")
		return
	}
	if why := s.foreign(r); why != "" {
		s.refuse(w, http.StatusForbidden, why, "")
		return
	}
	switch path := r.URL.EscapedPath(); {
	case path == "/", path == "/ui":
		http.Redirect(w, r, "/ui/", http.StatusSeeOther)
	case path == "/ui/proof":
		s.prove(w, r)
	case strings.HasPrefix(path, "/ui/"):
		s.page(w, r, strings.TrimPrefix(path, "/ui/"))
	case strings.HasPrefix(path, "/api/v1/"):
		s.api(w, r, strings.TrimPrefix(path, "/api/v1/"))
	default:
		s.refuse(w, http.StatusNotFound, "there is no "+strconv.Quote(path), "GET /ui/")
	}
}

// foreign says why a request is none of this page's; empty: it may be. A name that was
// rebound to this machine is in Host, the page of another origin in Origin.
func (s *Server) foreign(r *http.Request) string {
	own := []string{"127.0.0.1", "localhost", "[::1]"}
	host, port, found := strings.Cut(r.Host, ":")
	if i := strings.LastIndex(r.Host, ":"); i >= 0 {
		host, port = r.Host[:i], r.Host[i+1:]
	}
	if !found || !slices.Contains(own, host) || port != strconv.Itoa(s.port) {
		return "the request is for another host"
	}
	if origin, there := r.Header["Origin"]; there && (len(origin) != 1 || origin[0] != "http://"+r.Host) {
		return "the request comes from another origin"
	}
	if from := r.Header.Get("Sec-Fetch-Site"); from != "" && from != "same-origin" && from != "none" && !strings.HasPrefix(r.URL.Path, "/ui") {
		return "the request comes from another site"
	}
	return ""
}

// page answers a request for the page or a part of it. The token of the printed address
// is exchanged for a cookie, which opens the empty page, and a key, which opens the API:
// it is in the fragment, which no browser sends on.
func (s *Server) page(w http.ResponseWriter, r *http.Request, name string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		s.refuse(w, http.StatusMethodNotAllowed, "the page is read with GET", "")
		return
	}
	if token := r.URL.Query().Get("token"); token != "" && name == "" {
		s.enter(w, r, token)
		return
	}
	if c, err := r.Cookie(s.cookie()); err != nil || !s.Keys.opens(shell, c.Value) {
		s.unknown(w)
		return
	}
	part, ok := parts()[name]
	if !ok {
		s.refuse(w, http.StatusNotFound, "the page has no part "+strconv.Quote(name), "")
		return
	}
	w.Header().Set("Content-Type", part.mime)
	_, _ = w.Write(bytes.ReplaceAll(part.body, []byte(instanceMark), []byte(html.EscapeString(s.Instance))))
}

// instanceMark stands for the instance's name in the page.
const instanceMark = "{instance}"

// prove shows an open page that this server knows its key's hash, before the page names the
// key: any program of this machine can take the port of a server that has ended. The port is
// in the proof, so that no other server can pass it on.
func (s *Server) prove(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	key, nonce := q.Get("key"), q.Get("nonce")
	if r.Method != http.MethodGet || len(key) != 16 || len(nonce) < 16 || len(nonce) > 100 {
		s.refuse(w, http.StatusBadRequest, "a proof is for a key and a nonce", "")
		return
	}
	proof := s.Keys.prove(key, nonce+":"+strconv.Itoa(s.port))
	if proof == "" {
		s.unknown(w)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, proof)
}

// enter exchanges the token of the printed address.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, token string) {
	if r.Method != http.MethodGet || !s.Keys.opens(once, token) {
		s.unknown(w)
		return
	}
	if s.entered != nil {
		s.entered()
	}
	cookie, err := s.Keys.issue(shell)
	if err != nil {
		s.refuse(w, http.StatusInternalServerError, err.Error(), "")
		return
	}
	key, err := s.Keys.issue(api)
	if err != nil {
		s.refuse(w, http.StatusInternalServerError, err.Error(), "")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: s.cookie(), Value: cookie, Path: "/ui/", HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: int(lives[shell].Seconds())})
	to := "/ui/#key=" + key
	if at := r.URL.Query().Get("at"); isWord(at) {
		to += "&goal=" + at
	}
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		w.Header().Set("Refresh", "0; url="+to) // after a redirect the browser would still hold the cookie back
		return
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}

// cookie is the cookie's name: other instances have pages on other ports, and a browser
// sends cookies to all of them.
func (s *Server) cookie() string { return "sett-" + s.Instance }

// unknown refuses a request without a token, and names the command that gives one.
func (s *Server) unknown(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="sett"`)
	s.refuse(w, http.StatusUnauthorized, "a token is missing, or it is over", s.Again)
}

// isWord says whether a text is an id or a part of one.
func isWord(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, r := range s {
		if (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return s == "@last" || s == "@result"
		}
	}
	return true
}
