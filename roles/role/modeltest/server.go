// Package modeltest is a language model for tests: a server that speaks the three APIs
// as the real ones do, streaming and not. A test gives it the answers, one step for each
// request, every fault included, and reads the requests that it got.
package modeltest

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sett/contract/model"
)

// Server answers on a port of the loopback interface.
type Server struct {
	URL string // http://127.0.0.1:PORT, without /v1

	// Fields that a test may set before the first request.
	Key    string        // the only key that is accepted; empty: any
	Models []string      // that there are; empty: any, and "test-model" is listed
	Pause  time.Duration // between the chunks of a stream, where the step has none
	Play   func(Request) Step

	tb       testing.TB
	addr     string
	http     *http.Server
	mu       sync.Mutex
	changed  *sync.Cond
	steps    []Step
	requests []*Request
}

// Request is a request as the server got it.
type Request struct {
	Method string
	Path   string
	API    model.API // empty: of the list of models
	Header http.Header
	Body   []byte
	Model  string
	Stream bool
	At     time.Time
	Gone   bool // the client went away before the answer was whole
	Done   bool // the answer is over, one way or another
}

// Start starts a server that plays the steps in order, and stops it with the test. After
// the last step, every request is refused with 400. A server with Play asks that instead.
func Start(tb testing.TB, steps ...Step) *Server {
	tb.Helper()
	s := &Server{tb: tb, steps: steps, addr: "127.0.0.1:0"}
	s.changed = sync.NewCond(&s.mu)
	s.Back()
	tb.Cleanup(s.Away)
	return s
}

// Away closes the port and every connection: the next one is refused.
func (s *Server) Away() {
	if s.http != nil {
		_ = s.http.Close()
		s.http = nil
	}
}

// Back opens the same port again.
func (s *Server) Back() {
	l, err := net.Listen("tcp", s.addr)
	if err != nil {
		s.tb.Fatalf("modeltest: listen: %v", err)
	}
	s.addr = l.Addr().String()
	s.URL = "http://" + s.addr
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func(h *http.Server) { _ = h.Serve(l) }(s.http)
}

// Then adds steps.
func (s *Server) Then(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, steps...)
}

// Left is the number of steps that were not played.
func (s *Server) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.steps)
}

// Requests returns the requests so far, in the order of their arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Request, len(s.requests))
	for i, r := range s.requests {
		all[i] = *r
	}
	return all
}

// Last returns the last request.
func (s *Server) Last() Request {
	s.tb.Helper()
	all := s.Requests()
	if len(all) == 0 {
		s.tb.Fatal("modeltest: no request yet")
	}
	return all[len(all)-1]
}

// Await waits until the requests fulfil the condition.
func (s *Server) Await(what string, done func([]Request) bool) {
	s.tb.Helper()
	late := time.AfterFunc(time.Minute, s.changed.Broadcast)
	defer late.Stop()
	for began := time.Now(); !done(s.Requests()); {
		if time.Since(began) > 59*time.Second {
			s.tb.Fatalf("modeltest: waited too long for %s", what)
		}
		s.mu.Lock()
		s.changed.Wait()
		s.mu.Unlock()
	}
}

// note changes the record of a request.
func (s *Server) note(change func()) {
	s.mu.Lock()
	change()
	s.mu.Unlock()
	s.changed.Broadcast()
}

// paths are the APIs by path.
var paths = map[string]model.API{
	"/v1/chat/completions": model.Chat, "/v1/messages": model.Messages, "/v1/messages/count_tokens": model.Messages, "/v1/responses": model.Responses,
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	q := &Request{Method: r.Method, Path: r.URL.Path, API: paths[r.URL.Path], Header: r.Header.Clone(), Body: body, At: time.Now()}
	var said struct {
		Model  string
		Stream bool
	}
	parsed := json.Unmarshal(body, &said)
	q.Model, q.Stream = said.Model, said.Stream
	s.note(func() { s.requests = append(s.requests, q) })
	defer s.end(q, r)
	switch {
	case err != nil:
		return
	case s.Key != "" && key(q.Header) != s.Key:
		fail(w, q.API, http.StatusUnauthorized, "authentication_error", "invalid_api_key", "invalid key "+key(q.Header))
	case r.Method == http.MethodGet && r.URL.Path == "/v1/models":
		s.list(w, r)
	case q.API == "" || r.Method != http.MethodPost:
		http.NotFound(w, r)
	case parsed != nil:
		fail(w, q.API, http.StatusBadRequest, "invalid_request_error", "", "the body is no JSON: "+parsed.Error())
	case missing(q) != "":
		fail(w, q.API, http.StatusBadRequest, "invalid_request_error", "", missing(q)+": field required")
	case len(s.Models) > 0 && !slices.Contains(s.Models, q.Model):
		noModel(w, q)
	case strings.HasSuffix(q.Path, "/count_tokens"):
		writeJSON(w, http.StatusOK, obj{"input_tokens": len(body) / 4})
	default:
		answer := &answer{w: w, r: r, q: q, step: s.step(*q), pause: s.Pause}
		answer.play()
	}
}

// end notes the end of an answer.
func (s *Server) end(q *Request, r *http.Request) {
	gone := r.Context().Err() != nil
	s.note(func() { q.Done, q.Gone = true, gone })
}

// step takes the first step that is for this request.
func (s *Server) step(q Request) Step {
	if s.Play != nil {
		return s.Play(q)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, step := range s.steps {
		if step.For == nil || step.For(q) {
			s.steps = slices.Delete(slices.Clone(s.steps), i, i+1)
			return step
		}
	}
	return Step{Fault: BadRequest, Text: "modeltest: no step is left for this request"}
}

// missing names a field that the API requires.
func missing(q *Request) string {
	var has map[string]json.RawMessage
	if err := json.Unmarshal(q.Body, &has); err != nil {
		return "an object"
	}
	want := map[model.API][]string{
		model.Chat: {"model", "messages"}, model.Messages: {"model", "messages", "max_tokens"}, model.Responses: {"model", "input"},
	}[q.API]
	for _, field := range want {
		if field == "max_tokens" && strings.HasSuffix(q.Path, "/count_tokens") {
			continue
		}
		if _, ok := has[field]; !ok {
			return field
		}
	}
	if q.API == model.Messages && q.Header.Get("Anthropic-Version") == "" {
		return "anthropic-version"
	}
	return ""
}

// key is the key of a request, in either form.
func key(h http.Header) string {
	if k := h.Get("X-Api-Key"); k != "" {
		return k
	}
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	names := s.Models
	if len(names) == 0 {
		names = []string{"test-model"}
	}
	var all []obj
	for _, n := range names {
		if r.Header.Get("Anthropic-Version") != "" {
			all = append(all, obj{"type": "model", "id": n, "display_name": n, "created_at": "2026-01-01T00:00:00Z"})
			continue
		}
		all = append(all, obj{"id": n, "object": "model", "created": 1767225600, "owned_by": "modeltest"})
	}
	if r.Header.Get("Anthropic-Version") != "" {
		writeJSON(w, http.StatusOK, obj{"data": all, "has_more": false, "first_id": names[0], "last_id": names[len(names)-1]})
		return
	}
	writeJSON(w, http.StatusOK, obj{"object": "list", "data": all})
}
