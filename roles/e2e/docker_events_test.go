package e2e

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sett/blackboard"
	"sett/runtime"
)

// engineProxy stands between sett and the engine. It can hold back or cut the
// engine's events, and it can hide all that is not an instance's: so that a test
// may ask for everything there is, and harm nobody.
type engineProxy struct {
	socket string
	only   string // the one instance there is; empty: all

	mu      sync.Mutex
	stall   bool                // events come no more, and nobody says so
	refuse  bool                // nor can be asked for
	streams map[*stallable]bool // of events
}

func newEngineProxy(t testing.TB, only string) *engineProxy {
	t.Helper()
	needEngine(t)
	if static.at.Socket == "" {
		t.Skipf("no container engine with a socket: it is at %s", static.at.Host)
	}
	dir, err := os.MkdirTemp("", "sett-e2e-") // a socket's path has to be short
	if err != nil {
		t.Fatal(err)
	}
	p := &engineProxy{socket: filepath.Join(dir, "engine.sock"), only: only, streams: map[*stallable]bool{}}
	l, err := net.Listen("unix", p.socket)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", static.at.Socket)
	}}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { p.rewrite(r.Out) },
		ModifyResponse: p.watch, Transport: transport, FlushInterval: -1, ErrorHandler: p.failed, ErrorLog: log.New(io.Discard, "", 0),
	}}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() {
		p.cut(true)
		_ = server.Close()
		transport.CloseIdleConnections()
		_ = os.RemoveAll(dir)
	})
	return p
}

func (p *engineProxy) host() string { return "unix://" + p.socket }

// rewrite sends a request on. What lists anything lists the one instance's.
func (p *engineProxy) rewrite(r *http.Request) {
	r.URL.Scheme, r.URL.Host = "http", "engine"
	lists := strings.HasSuffix(r.URL.Path, "/containers/json") || strings.HasSuffix(r.URL.Path, "/networks") ||
		strings.HasSuffix(r.URL.Path, "/volumes") || strings.HasSuffix(r.URL.Path, "/images/json")
	if p.only == "" || r.Method != http.MethodGet || !lists {
		return
	}
	q := r.URL.Query()
	filters := map[string]map[string]bool{}
	if f := q.Get("filters"); f != "" && json.Unmarshal([]byte(f), &filters) != nil {
		r.URL = &url.URL{Scheme: "http", Host: "engine", Path: "/unknown-filters"}
		return
	}
	if filters["label"] == nil {
		filters["label"] = map[string]bool{}
	}
	filters["label"][runtime.LabelInstance+"="+p.only] = true
	f, _ := json.Marshal(filters)
	q.Set("filters", string(f))
	r.URL.RawQuery = q.Encode()
}

// watch keeps an eye on streams of events.
func (p *engineProxy) watch(r *http.Response) error {
	if !strings.HasSuffix(r.Request.URL.Path, "/events") {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse {
		_ = r.Body.Close()
		return io.ErrUnexpectedEOF
	}
	s := &stallable{p: p, ReadCloser: r.Body, over: make(chan struct{})}
	p.streams[s] = true
	r.Body = s
	return nil
}

func (*engineProxy) failed(w http.ResponseWriter, _ *http.Request, _ error) {
	w.WriteHeader(http.StatusBadGateway)
}

// cut ends all streams of events. New ones are refused, too, until told otherwise.
func (p *engineProxy) cut(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse, p.stall = refuse, false
	for s := range p.streams {
		s.end()
	}
	clear(p.streams)
}

// hold lets no more events through; nothing else is to be seen of it.
func (p *engineProxy) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stall = true
}

// stallable is a body that can be held back.
type stallable struct {
	io.ReadCloser
	p    *engineProxy
	once sync.Once
	over chan struct{}
}

func (s *stallable) Read(b []byte) (int, error) {
	n, err := s.ReadCloser.Read(b)
	s.p.mu.Lock()
	stalled := s.p.stall
	s.p.mu.Unlock()
	if stalled && err == nil {
		<-s.over
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

func (s *stallable) end() {
	s.once.Do(func() { close(s.over); _ = s.ReadCloser.Close() })
}

func (s *stallable) Close() error {
	s.end()
	return nil
}

// TestDockerEventsStop takes the engine's events away from an orchestrator on the
// host, in silence and with a cut, while an agent dies: it is noticed all the same.
func TestDockerEventsStop(t *testing.T) {
	t.Parallel()
	p := newEngineProxy(t, "")
	o := inContainers(solo(waits+finished, ""))
	o.onHost, o.host = true, p.host()
	in := start(t, o)
	for name, stop := range map[string]func(){
		"held back": p.hold, "cut": func() { p.cut(false) }, "cut and refused": func() { p.cut(true) },
	} {
		in.settled()
		goal := in.post(name)
		in.began(goal, "solo")
		in.logged("agent-solo", "last words of "+name)
		stop()
		began := time.Now()
		in.kill("agent-solo")
		in.await(goal, 15*time.Second)
		t.Logf("events %s: the death was known %s later", name, time.Since(began).Round(time.Millisecond))
		if a, report := in.failure(goal); a.Type != blackboard.TypeAgentCrashed || !strings.Contains(report.Stderr, "last words") {
			t.Errorf("failure: %s %+v", a.Type, report)
		}
		p.cut(false)
	}
	in.settled()
	goal := in.post("x")
	in.allow("")
	in.await(goal, enough)
	in.atRest()
}
