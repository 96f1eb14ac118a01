package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/role"
)

// Bounds of what is passed on.
const (
	passTime    = 5 * time.Second // less than Prometheus waits
	passAtOnce  = 16              // of each question
	mostHealth  = 4 << 10
	mostMetrics = 2 << 20
)

// Where the orchestrator and agents' cubs serve what.
const (
	healthPath  = "/healthz"
	metricsPath = "/metrics"
)

// metricsType is what Prometheus' text is.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// gateway makes one port enough to watch an instance: the orchestrator's answers
// for the agents' cubs, too, whose addresses nobody else knows. It passes on two
// questions and no others.
type gateway struct{ *orchestrator }

func newGateway(o *orchestrator) *gateway { return &gateway{o} }

// routes are what is served besides the orchestrator's own health.
func (g *gateway) routes() map[string]http.Handler {
	return map[string]http.Handler{
		"GET /agents":                       http.HandlerFunc(g.agents),
		"GET /agents/{agent}" + healthPath:  g.pass(healthPath, mostHealth, "text/plain; charset=utf-8"),
		"GET /agents/{agent}" + metricsPath: g.pass(metricsPath, mostMetrics, metricsType),
		"GET /targets":                      http.HandlerFunc(g.targets),
	}
}

// agentRow is one agent as /agents shows it.
type agentRow struct {
	Agent       string `json:"agent"`
	Role        string `json:"role"`
	Ready       bool   `json:"ready"` // it has been heard of lately
	Mode        string `json:"mode"`
	Version     string `json:"version"`
	Since       string `json:"since"`
	HealthPath  string `json:"health_path"`
	MetricsPath string `json:"metrics_path"`
}

// agents lists the clan.
func (g *gateway) agents(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), passTime)
	defer cancel()
	present, err := g.board.Agents(ctx)
	now := time.Time{}
	if err == nil {
		now, err = g.board.ServerTime(ctx)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	rows := []agentRow{}
	for _, a := range g.clan.get().Agents {
		p := present[a.Name]
		rows = append(rows, agentRow{
			Agent: a.Name, Role: a.Role, Ready: p.Alive.After(now), Mode: p.Mode, Version: p.Version, Since: p.Since,
			HealthPath: agentPath(a.Name, healthPath), MetricsPath: agentPath(a.Name, metricsPath),
		})
	}
	writeJSON(w, struct {
		Instance string     `json:"instance"`
		Run      string     `json:"run"` // the `sett up` it belongs to
		Agents   []agentRow `json:"agents"`
	}{g.settings.Instance, g.settings.Run, rows})
}

func agentPath(agent, path string) string { return "/agents/" + agent + path }

// target is one of Prometheus' HTTP service discovery.
type target struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// targets says what there is to scrape in an instance, in the form of
// https://prometheus.io/docs/prometheus/latest/http_sd/: all of it here, wherever
// that is as seen by who asks.
func (g *gateway) targets(w http.ResponseWriter, r *http.Request) {
	here := []string{r.Host}
	all := []target{{here, map[string]string{
		"instance": g.settings.Instance, "role": blackboard.RoleOrchestrator, "__metrics_path__": metricsPath,
	}}}
	for _, a := range g.clan.get().Agents {
		all = append(all, target{here, map[string]string{
			"instance": g.settings.Instance, "agent": a.Name, "role": a.Role, "__metrics_path__": agentPath(a.Name, metricsPath),
		}})
	}
	writeJSON(w, all)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // who asked has gone, else
}

// pass answers what an agent's cub answers to a path.
func (g *gateway) pass(path string, most int, contentType string) http.Handler {
	return role.Bounded(passAtOnce, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agent, member := g.clan.get().Agent(r.PathValue("agent"))
		if !member {
			http.Error(w, "no such agent", http.StatusNotFound)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), passTime)
		defer cancel()
		status, body, err := g.askAgent(ctx, agent, path, most)
		switch {
		case errors.Is(err, errNotAsked) || errors.Is(err, blackboard.ErrUnavailable):
			http.Error(w, fmt.Sprintf("agent %s: %v", agent.Name, err), http.StatusServiceUnavailable)
		case err != nil:
			http.Error(w, fmt.Sprintf("agent %s: %v", agent.Name, err), http.StatusBadGateway)
		case status != http.StatusOK && status != http.StatusServiceUnavailable:
			http.Error(w, fmt.Sprintf("agent %s: it answers %d", agent.Name, status), http.StatusBadGateway)
		default:
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			_, _ = w.Write(body)
		}
	}))
}

// askAgent asks the cub of an agent's present incarnation.
func (g *gateway) askAgent(ctx context.Context, agent config.Agent, path string, most int) (int, []byte, error) {
	present, err := g.board.Agents(ctx)
	if err != nil {
		return 0, nil, err
	}
	p := present[agent.Name]
	container, err := g.container(ctx, agent, p.Incarnation)
	if err != nil {
		return 0, nil, err
	}
	address, err := healthAddress(p, container)
	if err != nil {
		return 0, nil, err
	}
	status, body, err := g.fetch(ctx, address, path, most)
	if err != nil {
		g.found.set(agent.Name, spot{}) // it may have moved
	}
	return status, body, err
}
