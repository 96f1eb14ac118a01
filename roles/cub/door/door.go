// Package door lets an agent's tool reach the agent's model while a grant runs: by a Unix
// socket, and by an address of this machine's loopback. Both want a token that is worth
// nothing elsewhere and nothing after the grant. A request is passed on to the model
// gateway with the grant's name and the agent's own token, which the tool never sees.
//
// The door holds no key of a provider, and changes neither requests nor answers.
package door

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"sett/blackboard"
	"sett/contract/env"
	"sett/roles/role"
	"sett/roles/role/gateway"
)

// Options of a Door.
type Options struct {
	Gateway  string          // URL of the model gateway
	Token    string          // the agent's token there
	Call     blackboard.Call // the grant; each request gets an ID of its own
	NewID    func() string
	Dir      string // for the socket; empty, or too long for one: the system's own for temporary files
	Loopback bool   // an address beside the socket; a tool without a network can use none
	Log      *slog.Logger

	// OverBudget is called once, in a goroutine of its own, after a call was refused for want of a budget: when the
	// other calls under way have ended, or after Drain (0: 2 min) at the latest. nil: nobody is to be told.
	OverBudget func(*gateway.OverBudget)
	Drain      time.Duration

	// A request waits so long for a gateway that is being started again; 0: 20 s.
	Patience time.Duration
}

// Door is open until Close.
type Door struct {
	o      Options
	token  string
	dir    string // of the socket
	addr   string // on the loopback; empty: none
	server *http.Server
	end    context.CancelFunc // of all requests
	out    *http.Transport

	life context.Context // of all requests; see end

	mu    sync.Mutex
	calls map[*http.Request]underWay
	over  *gateway.OverBudget // the first refusal for want of a budget; nil: there was none
}

// underWay is a call without an end.
type underWay struct {
	began time.Time
	ended chan struct{} // closed at its end
}

// drain is the longest wait for calls under way, once another was refused. They are paid for.
const drain = 2 * time.Minute

// Patience outlasts the restart of a gateway that was killed.
const Patience = 20 * time.Second

// Patient connects, and tries again while nobody listens. Nothing has been sent by then.
func Patient(most time.Duration) func(ctx context.Context, network, addr string) (net.Conn, error) {
	dialer := role.Dialer(5*time.Second, role.Silence)
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		again := time.NewTicker(100 * time.Millisecond)
		defer again.Stop()
		for end := time.Now().Add(most); ; {
			conn, err := dialer.DialContext(ctx, network, addr)
			if err == nil || time.Now().After(end) {
				return conn, err
			}
			select {
			case <-ctx.Done():
				return nil, err
			case <-again.C:
			}
		}
	}
}

// Bounds of requests. Bodies and answers are the gateway's affair.
const (
	headerTime = 10 * time.Second
	mostHeader = 64 << 10
)

// Open opens a door.
func Open(o Options) (*Door, error) {
	to, err := url.Parse(o.Gateway)
	if err != nil || to.Host == "" {
		return nil, errors.New("open the door to the model: the gateway has no address")
	}
	d := &Door{o: o, token: "sett-" + rand.Text(), calls: map[*http.Request]underWay{}, out: &http.Transport{
		DialContext: Patient(cmp.Or(o.Patience, Patience)), MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute, DisableCompression: true,
	}}
	listeners, err := d.listen()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the door to the model: %w", err), os.RemoveAll(d.dir))
	}
	d.life, d.end = context.WithCancel(context.Background())
	d.server = &http.Server{
		Handler: d.guard(d.proxy(to)), ReadHeaderTimeout: headerTime, MaxHeaderBytes: mostHeader, IdleTimeout: 2 * time.Minute,
		BaseContext: func(net.Listener) context.Context { return d.life }, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	for _, l := range listeners {
		go func() { _ = d.server.Serve(l) }() // it ends with Close
	}
	return d, nil
}

// longestSocket is the longest path of a socket, in bytes, that every system takes.
const longestSocket = 100

// listen makes the socket, in a folder of its own, and the address.
func (d *Door) listen() ([]net.Listener, error) {
	var err error
	if d.dir, err = os.MkdirTemp(d.o.Dir, "sett-door-"); err != nil { // made with mode 0700
		return nil, err
	}
	if len(d.socket()) > longestSocket {
		if err := os.Remove(d.dir); err != nil {
			return nil, err
		}
		if d.dir, err = os.MkdirTemp("/tmp", "sett-door-"); err != nil {
			return nil, err
		}
	}
	socket, err := net.Listen("unix", d.socket())
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(d.socket(), 0o600); err != nil {
		return nil, errors.Join(err, socket.Close())
	}
	if !d.o.Loopback {
		return []net.Listener{socket}, nil
	}
	address, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, socket.Close())
	}
	d.addr = address.Addr().String()
	return []net.Listener{socket, address}, nil
}

func (d *Door) socket() string { return filepath.Join(d.dir, "model.sock") }

// Close ends all requests and removes the socket. The token is worth nothing then.
func (d *Door) Close() {
	d.end()
	_ = d.server.Close() // the listeners have no other use
	d.out.CloseIdleConnections()
	if err := os.RemoveAll(d.dir); err != nil {
		d.o.Log.Debug("the door's folder is not removed", "error", err)
	}
}

// Environ returns an environment with the variables that lead to the door. Those that it
// has already stay: sett.yml's environment wins.
func (d *Door) Environ(environ []string) []string {
	out := slices.Clone(environ)
	add := func(name, value string) {
		if !slices.ContainsFunc(environ, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
			out = append(out, name+"="+value)
		}
	}
	add(env.ModelSocket, d.socket())
	if d.addr != "" {
		base := "http://" + d.addr
		add(env.OpenAIBase, base+"/v1")
		add(env.OpenAIOldBase, base+"/v1")
		add(env.AnthropicBase, base)
	}
	add(env.OpenAIKey, d.token)
	add(env.AnthropicKey, d.token)
	return out
}

// guard admits requests with the token, compared in constant time. What the gateway serves
// beside the APIs, its health and its metrics, is not for tools.
func (d *Door) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		admitted := 0
		for _, given := range []string{bearer, r.Header.Get("X-Api-Key")} {
			admitted |= subtle.ConstantTimeCompare([]byte(given), []byte(d.token))
		}
		if admitted == 0 {
			refuse(w, r, http.StatusUnauthorized, "authentication_error", "this door wants the token of OPENAI_API_KEY or ANTHROPIC_API_KEY, as the tool of the running grant has it")
			return
		}
		if !strings.HasPrefix(r.URL.Path, "/v1/") {
			refuse(w, r, http.StatusNotFound, "invalid_request_error", "this door has the paths of the models' APIs alone, below /v1/")
			return
		}
		// Otherwise the server closes a request's body with the first byte of an answer. One that comes
		// before the proxy has seen the body's end would break off then, and be paid for twice.
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			d.o.Log.Debug("answers may break off", "error", err)
		}
		if over := d.Over(); over != nil {
			over.Refusal.Write(w.Header())
			refuse(w, r, http.StatusTooManyRequests, "budget_exceeded", over.Error())
			return
		}
		defer d.began(r)()
		next.ServeHTTP(w, r)
	})
}

// began notes a call until it has ended.
func (d *Door) began(r *http.Request) (end func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ended := make(chan struct{})
	d.calls[r] = underWay{time.Now(), ended}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.calls, r)
		close(ended)
	}
}

// Over is the refusal for want of a budget after which no more calls are made; nil: there was none, or there is no door.
func (d *Door) Over() *gateway.OverBudget {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.over
}

// refused takes in a refusal for want of a budget. The first one ends the run, after the calls under way: their
// answers are paid for.
func (d *Door) refused(why gateway.Refusal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over != nil {
		return
	}
	d.over = &gateway.OverBudget{Refusal: why}
	if d.o.OverBudget == nil {
		return
	}
	var left []chan struct{} // with that of the refused call, which ends soon
	for _, c := range d.calls {
		left = append(left, c.ended)
	}
	go func(over *gateway.OverBudget) {
		late := time.NewTimer(cmp.Or(d.o.Drain, drain))
		defer late.Stop()
		for _, ended := range left {
			select {
			case <-ended:
				continue
			case <-late.C:
			case <-d.life.Done():
			}
			break
		}
		d.o.OverBudget(over)
	}(d.over)
}

// Waits is for how long the oldest call under way has had no end; 0: there is none, or there is no door.
func (d *Door) Waits() (longest time.Duration) {
	if d == nil {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.calls {
		longest = max(longest, time.Since(c.began))
	}
	return longest
}

// proxy passes requests on to the gateway as they come, and answers likewise.
func (d *Door) proxy(to *url.URL) http.Handler {
	return &httputil.ReverseProxy{
		Transport: d.out, FlushInterval: -1, ErrorLog: slog.NewLogLogger(d.o.Log.Handler(), slog.LevelDebug),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = to.Scheme, to.Host, to.Host
			for name := range r.Out.Header {
				if strings.HasPrefix(strings.ToLower(name), "sett-") {
					r.Out.Header.Del(name)
				}
			}
			for _, name := range []string{"Authorization", "X-Api-Key", "Cookie", "Proxy-Authorization"} {
				r.Out.Header.Del(name)
			}
			call := d.o.Call
			call.ID = d.o.NewID()
			gateway.SetCall(r.Out.Header, d.o.Token, call)
		},
		ModifyResponse: func(res *http.Response) error {
			if refusal, ok := gateway.ReadRefusal(res.Header); ok {
				d.o.Log.Warn("call of the model refused", "why", refusal.Why, "reason", refusal.Message)
				if refusal.Why == gateway.Budget {
					d.refused(refusal)
				}
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil {
				return // the tool has gone, or the grant has ended
			}
			d.o.Log.Warn("the model gateway is out of reach", "error", err)
			refuse(w, r, http.StatusServiceUnavailable, "api_error", "the model gateway of this instance is out of reach; sett logs model-gateway says why")
		},
	}
}

// refuse answers in the form of the API that was asked.
func refuse(w http.ResponseWriter, r *http.Request, status int, kind, message string) {
	type fault struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	var body any = map[string]any{"error": fault{Message: message, Type: kind}}
	if strings.HasPrefix(r.URL.Path, "/v1/messages") || r.Header.Get("Anthropic-Version") != "" {
		body = map[string]any{"type": "error", "error": map[string]string{"type": kind, "message": message}}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // it fails when the client has gone
}
