package gateway

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"

	"sett/contract/env"
	"sett/roles/role"
)

// handler serves health and metrics beside the models' APIs, so that one address of its
// container, or of local mode, is enough.
func (s *server) handler() http.Handler {
	health := role.Guard(s.settings.Instance, http.HandlerFunc(s.healthy))
	figures := role.Guard(s.settings.Instance, role.MetricsHandler(s.metrics.Registry))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet && r.URL.Path == "/healthz":
			health.ServeHTTP(w, r)
		case r.Method == http.MethodGet && r.URL.Path == "/metrics":
			figures.ServeHTTP(w, r)
		default:
			s.ServeHTTP(w, r)
		}
	})
}

// healthy tells sett up which instance has this gateway, while the blackboard answers.
func (s *server) healthy(w http.ResponseWriter, r *http.Request) {
	if err := s.board.Ping(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"instance": s.settings.Instance}) // it fails when the client has gone
}

// withHeaders adds the headers of a model that came with the keys, as MODEL/HEADER: they
// have values of the person's machine.
func withHeaders(m env.Model, keys map[string]string) env.Model {
	m.Headers = maps.Clone(m.Headers)
	for name, value := range keys {
		if header, ok := strings.CutPrefix(name, m.Name+"/"); ok && !env.IsProxyKey(name) {
			if m.Headers == nil {
				m.Headers = map[string]string{}
			}
			m.Headers[header] = value
		}
	}
	return m
}
