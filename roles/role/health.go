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

// Health serves GET /healthz and GET /metrics. /healthz is 200 while check
// succeeds, else 503 with the reason.
type Health struct {
	listener net.Listener
	server   *http.Server
}

// ListenHealth opens the address. A port that is taken is an error that says so.
func ListenHealth(addr string, check func(context.Context) error, metrics prometheus.Gatherer) (*Health, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, Fail(Environment, fmt.Errorf("listen for health checks: %w", err),
			"choose another address with SETT_HEALTH_ADDR (port 0 takes a free one, off takes none)")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		if err := check(ctx); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	return &Health{l, &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}}, nil
}

// Addr returns where it listens, host:port.
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
