package role

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Health serves GET /healthz and GET /metrics. /healthz is 200 while the role's
// check succeeds, else 503 with the reason.
type Health struct {
	listener net.Listener
	server   *http.Server
}

// HealthOptions configure the server.
type HealthOptions struct {
	Check    func(context.Context) error // the cause of a 503; it gets two seconds
	Metrics  prometheus.Gatherer
	Instance string                  // requests may name the containers of this instance
	Routes   map[string]http.Handler // further handlers, by patterns of http.ServeMux
}

// Bounds of a request: a request for health is small and fast.
const (
	headerTime  = 5 * time.Second
	answerTime  = 30 * time.Second
	idleTime    = 2 * time.Minute
	headerBytes = 16 << 10

	// The requests that are answered at the same time: any tool on the agents' network
	// may send some, and each costs at least a call of the blackboard.
	mostAtOnce    = 64
	metricsAtOnce = 4
)

// ListenHealth opens the address. The error of a taken port says so.
func ListenHealth(addr string, o HealthOptions) (*Health, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, Fail(Environment, fmt.Errorf("listen for health checks: %w", err),
			"choose another address with SETT_HEALTH_ADDR (port 0 takes a free one, off takes none)")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		if err := o.Check(ctx); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
	mux.Handle("GET /metrics", MetricsHandler(o.Metrics))
	for pattern, handler := range o.Routes {
		mux.Handle(pattern, handler)
	}
	return &Health{l, &http.Server{
		Handler: Guard(o.Instance, Bounded(mostAtOnce, mux)), ReadHeaderTimeout: headerTime, ReadTimeout: headerTime, WriteTimeout: answerTime,
		IdleTimeout: idleTime, MaxHeaderBytes: headerBytes,
	}}, nil
}

// MetricsHandler serves metrics in Prometheus' text form.
func MetricsHandler(g prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(g, promhttp.HandlerOpts{MaxRequestsInFlight: metricsAtOnce})
}

// Addr returns the server's address, host:port.
func (h *Health) Addr() string { return h.listener.Addr().String() }

// Serve answers until the context ends.
func (h *Health) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = h.server.Close() })
	defer stop()
	if err := h.server.Serve(h.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve health checks: %w", err)
	}
	return nil
}

// Bounded answers most requests at the same time, and refuses any more at once.
func Bounded(most int, next http.Handler) http.Handler {
	slots := make(chan struct{}, most)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			next.ServeHTTP(w, r)
		default:
			http.Error(w, "too many requests at once", http.StatusServiceUnavailable)
		}
	})
}
