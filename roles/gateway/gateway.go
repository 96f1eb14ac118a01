// Package gateway is the role that stands between agents and models. It alone has the
// providers' keys and the way out. It passes the requests of three APIs to the model that
// the calling agent is configured for, as they are, reserves the
// most that a call may use before it, and settles the use after it.
//
// It translates nothing and decides nothing about claims. An agent's cub calls it with the
// agent's own token, and names the grant that each call is for: the account on the
// blackboard refuses a call of a grant that is not running.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"sett/blackboard"
	"sett/contract/env"
	"sett/roles/role"
	"sett/runtime/roots"
)

const help = `Pass agents' requests to models, with the keys and within the budgets.

Usage: sett model-gateway

It serves cubs over HTTP: chat completions, responses, messages, count_tokens
and models. Each agent reaches the one model that it is configured for, with the
token that its name and the instance's secret give.

The orchestrator starts it where sett.yml has "models". Environment:

  SETT_INSTANCE_NAME       the instance's name (required)
  SETT_MODEL_GATEWAY_ADDR  where to listen, such as 127.0.0.1:7071 (required)
  SETT_MODEL_GATEWAY_KEY   the secret that agents' tokens are made of (required)
  SETT_MODELS              models, agents and budgets, a JSON object (required)
  SETT_MODEL_SECRETS       the keys: a JSON object, by models' names, for a
                           process; default: those of SETT_MODEL_KEYS
  SETT_MODEL_KEYS          file with that object, for a container; default: no
                           model has a key
  SETT_MODEL_ANSWERS       directory for the answers of running grants, which a
                           new attempt gets at no cost; default: none are kept
  SETT_MODEL_ACCOUNT       own: it keeps the account itself, ends with stdin,
                           and prints the account then, as for sett try;
                           default: the blackboard keeps it
  REDIS_URL                the blackboard (required, unless the account is own):
                           redis://[user:password@]host:port[/db]
  SETT_REDIS_TIMEOUT, SETT_REDIS_RETRIES, SETT_REDIS_GIVE_UP, SETT_REDIS_CA_FILE
  SETT_HEALTH_ADDR         of /healthz and /metrics; default :8080; off: none
  SETT_LOG_FORMAT          json or text; default: text on a terminal
  SETT_LOG_LEVEL           debug, info (default), warn or error

Exit codes: sett --help
`

// Account is the account of all calls. Both moves may be repeated with the same call.
type Account interface {
	Reserve(ctx context.Context, q blackboard.Call, most blackboard.Reservation, budgets blackboard.Budgets) (blackboard.Room, error)
	Settle(ctx context.Context, q blackboard.Call, s blackboard.Settlement) error
}

// board is the part of the blackboard that the gateway uses.
type board struct {
	Account
	Pending   func(ctx context.Context) ([]blackboard.PendingCall, error)
	Ping      func(ctx context.Context) error
	Reachable *role.Reachable
}

// pace is the timing of a gateway. Tests that cannot wait pass their own.
type pace struct {
	pause    time.Duration // before the first repetition; it grows before each one after it
	busy     time.Duration // the same, where the provider says that it has too much to do
	longest  time.Duration // of those pauses
	patience time.Duration // the longest Retry-After that is waited for
	budget   time.Duration // a call waits so long for others to leave room
	poll     time.Duration // between two looks whether they do
	settle   time.Duration // an answer's end waits so long for its account
	header   time.Duration // until an answer's headers, where sett.yml says nothing
	idle     time.Duration // between two parts of an answer, likewise
	body     time.Duration // for a client to send its request
	bid      time.Duration // for all of a call for a bid
}

func usualPace() pace {
	return pace{
		pause: 750 * time.Millisecond, busy: 3 * time.Second, longest: 45 * time.Second, patience: time.Minute, budget: 10 * time.Minute, poll: time.Second, settle: 10 * time.Second,
		header: 10 * time.Minute, idle: 5 * time.Minute, body: time.Minute, bid: time.Minute,
	}
}

// server is the role's state while the process lives.
type server struct {
	settings  env.Gateway
	pace      pace
	mask      *mask
	upstreams map[string]*upstream
	board     board
	answers   *answers
	ratios    ratios
	room      signal // a call was settled
	under     underWay
	metrics   *metrics
	log       *slog.Logger
	now       func() time.Time
	settling  sync.WaitGroup // settlements that outlive their request
}

// collectEarly has garbage collected when the heap has grown by half: most of it are bodies
// that are used once.
const collectEarly = 50

// run is the role's life with a blackboard.
func run(ctx context.Context, e role.Env, settings env.Gateway, b board, m *metrics) error {
	roots.TrustKnown()
	s, err := newServer(e, settings, b, m, usualPace())
	if err != nil {
		return err
	}
	debug.SetGCPercent(collectEarly)
	if err := role.ScrubEnv(env.Secret...); err != nil {
		s.log.Warn("the secrets are less protected than possible", "error", err)
	}
	if err := s.inherit(ctx); err != nil {
		return err
	}
	l, err := net.Listen("tcp", settings.Addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return role.Fail(role.Environment, fmt.Errorf("listen on %s: the port is in use by another program", settings.Addr), "sett down && sett up takes a free one")
	}
	if err != nil {
		return role.Fail(role.Environment, fmt.Errorf("listen on %s: %w", settings.Addr, err), "")
	}
	actors := []func(context.Context) error{func(ctx context.Context) error { return s.serve(ctx, l) }, s.keepInTouch, s.tidy, s.sweep}
	if settings.HealthAddr != "off" {
		h, err := role.ListenHealth(settings.HealthAddr, role.HealthOptions{Check: b.Ping, Metrics: m.Registry, Instance: settings.Instance})
		if err != nil {
			return errors.Join(err, l.Close())
		}
		actors = append(actors, h.Serve)
	}
	s.log.Info("model gateway serves", "addr", l.Addr().String(), "models", len(settings.Models), "pid", os.Getpid(), "version", e.Build.Version)
	if err := role.Together(ctx, actors...); err != nil && ctx.Err() == nil {
		return role.Fail(role.Environment, fmt.Errorf("serve the models: %w", err), "")
	}
	s.log.Info("model gateway stopped")
	return nil
}

func newServer(e role.Env, settings env.Gateway, b board, m *metrics, p pace) (*server, error) {
	keys, err := readKeys(settings)
	if err != nil {
		return nil, err
	}
	s := &server{
		settings: settings, pace: p, mask: newMask(keys), board: b, metrics: m, log: e.Logger("model-gateway").With("instance", settings.Instance), now: e.Now,
		upstreams: map[string]*upstream{}, answers: newAnswers(settings.Answers),
	}
	for _, model := range settings.Models {
		proxy, err := proxyIn(keys, model.Name)
		if err != nil {
			return nil, err
		}
		u, err := newUpstream(withHeaders(model, keys), keys[model.Name], proxy, p)
		if err != nil {
			return nil, err
		}
		s.upstreams[model.Name] = u
	}
	return s, nil
}

// readKeys reads the providers' keys.
func readKeys(settings env.Gateway) (map[string]string, error) {
	text := []byte(settings.Secrets)
	if len(text) == 0 {
		if settings.Keys == "" {
			return nil, nil
		}
		var err error
		if text, err = os.ReadFile(settings.Keys); err != nil {
			return nil, role.Fail(role.Environment, fmt.Errorf("read the models' keys: %w", err), "sett up writes the file that %s names", env.ModelKeys)
		}
	}
	keys, err := env.ParseModelKeys(text)
	if err != nil {
		return nil, role.Fail(role.Usage, fmt.Errorf("read the models' keys: %w", err), "")
	}
	return keys, nil
}

// proxyIn is the proxy to the provider of a model; nil: there is none.
func proxyIn(keys map[string]string, model string) (*url.URL, error) {
	text := keys[env.ProxyKey(model)]
	if text == "" {
		return nil, nil
	}
	proxy, err := url.Parse(text)
	if err != nil { // the cause might show a password
		return nil, role.Fail(role.Usage, fmt.Errorf("model %s: its proxy is no URL", model), "sett up hands it over")
	}
	return proxy, nil
}

// Bounds of requests and answers.
const (
	headerTime = 5 * time.Second
	mostHeader = 64 << 10
	mostBody   = 32 << 20
	mostAnswer = 64 << 20
	mostAtOnce = 1024
)

// lastRequests bounds the time in which calls under way may end when the role stops.
const lastRequests = 5 * time.Second

// serve answers cubs until the context ends; calls under way may end then.
func (s *server) serve(ctx context.Context, l net.Listener) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	server := &http.Server{
		Handler: role.Bounded(mostAtOnce, s.handler()), ReadHeaderTimeout: headerTime, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: mostHeader,
		BaseContext: func(net.Listener) context.Context { return life }, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		last, cancel := context.WithTimeout(life, lastRequests)
		defer cancel()
		_ = server.Shutdown(last)
		end()
		_ = server.Close()
	})
	err := server.Serve(l)
	if !stop() {
		<-ended
	}
	s.settling.Wait()
	if !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return ctx.Err()
}

// keepInTouch gives up when the blackboard has been away for too long.
func (s *server) keepInTouch(ctx context.Context) error {
	return role.Every(ctx, 2*time.Second, func(ctx context.Context) error {
		soon, done := s.board.Reachable.Bounded(ctx)
		err := s.board.Ping(soon)
		done()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return s.board.Reachable.Lost(err)
		}
		s.board.Reachable.Back()
		return nil
	})
}

// signal wakes all that wait for the next event of a kind.
type signal struct {
	mu sync.Mutex
	c  chan struct{}
}

func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		s.c = make(chan struct{})
	}
	return s.c
}

func (s *signal) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c != nil {
		close(s.c)
		s.c = nil
	}
}
