package report

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
	"sett/runtime"
)

// Bounds of an answer that is passed on.
const (
	passTime    = 5 * time.Second // less than Prometheus waits
	passAtOnce  = 16              // requests of one route
	mostHealth  = 4 << 10
	mostMetrics = 2 << 20
)

// The paths that the orchestrator and agents' cubs serve.
const (
	healthPath  = "/healthz"
	metricsPath = "/metrics"
)

// metricsType is the content type of Prometheus' text format.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// gateway makes one port enough to watch an instance: the orchestrator's port answers
// for the agents' cubs too, and only the orchestrator knows their addresses. It passes
// on requests for health and for metrics and no others.
type gateway struct{ Options }

// routes are served beside the orchestrator's own health.
func (g gateway) routes() map[string]http.Handler {
	return map[string]http.Handler{
		"GET /{$}":                          http.HandlerFunc(g.contents),
		"GET /agents":                       http.HandlerFunc(g.agents),
		"GET /agents/{agent}" + healthPath:  g.pass(healthPath, mostHealth, "text/plain; charset=utf-8"),
		"GET /agents/{agent}" + metricsPath: g.pass(metricsPath, mostMetrics, metricsType),
		"GET /repository" + healthPath:      g.passPart(g.repository(), healthPath, mostHealth, "text/plain; charset=utf-8"),
		"GET /repository" + metricsPath:     g.passPart(g.repository(), metricsPath, mostMetrics, metricsType),
		"GET /model-gateway" + healthPath:   g.passPart(g.models(), healthPath, mostHealth, "text/plain; charset=utf-8"),
		"GET /model-gateway" + metricsPath:  g.passPart(g.models(), metricsPath, mostMetrics, metricsType),
		"GET /targets":                      http.HandlerFunc(g.targets),
	}
}

// contents lists what the port serves.
func (g gateway) contents(w http.ResponseWriter, _ *http.Request) {
	type entry struct {
		Path string `json:"path"`
		What string `json:"what"`
	}
	all := []entry{
		{healthPath, "200 while the orchestrator's blackboard answers, else 503 with the reason"},
		{metricsPath, "the orchestrator's metrics, for Prometheus"},
		{"/agents", "the agents, and whether they are ready"},
		{"/targets", "all metrics of the instance, for Prometheus' service discovery"},
	}
	for _, a := range g.Config().Agents {
		all = append(all, entry{agentPath(a.Name, healthPath), "health of agent " + a.Name}, entry{agentPath(a.Name, metricsPath), "metrics of agent " + a.Name})
	}
	if g.Config().HasTrees() {
		all = append(all, entry{"/repository" + healthPath, "health of the repository"}, entry{"/repository" + metricsPath, "metrics of the repository"})
	}
	if g.models().wanted(g.Config()) {
		all = append(all, entry{"/model-gateway" + healthPath, "health of the model gateway"}, entry{"/model-gateway" + metricsPath, "metrics of the model gateway: calls of models, tokens and cost"})
	}
	writeJSON(w, struct {
		Instance string  `json:"instance"`
		Serves   []entry `json:"serves"`
	}{g.Instance, all})
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
func (g gateway) agents(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), passTime)
	defer cancel()
	present, err := g.Presences.Agents(ctx)
	now := time.Time{}
	if err == nil {
		now, err = g.Board.ServerTime(ctx)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	rows := []agentRow{}
	for _, a := range g.Config().Agents {
		p := present[a.Name]
		rows = append(rows, agentRow{
			Agent: a.Name, Role: a.Role, Ready: blackboard.Lives(p.Alive, now), Mode: p.Mode, Version: p.Version, Since: p.Since,
			HealthPath: agentPath(a.Name, healthPath), MetricsPath: agentPath(a.Name, metricsPath),
		})
	}
	writeJSON(w, struct {
		Instance string     `json:"instance"`
		Run      string     `json:"run"` // the `sett up` it belongs to
		Agents   []agentRow `json:"agents"`
	}{g.Instance, g.Run, rows})
}

func agentPath(agent, path string) string { return "/agents/" + agent + path }

// target is one of Prometheus' HTTP service discovery.
type target struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// targets lists an instance's targets for Prometheus, in the form of
// https://prometheus.io/docs/prometheus/latest/http_sd/: all of them at the address
// that the request was sent to.
func (g gateway) targets(w http.ResponseWriter, r *http.Request) {
	here := []string{r.Host}
	all := []target{{here, map[string]string{
		"instance": g.Instance, "role": blackboard.RoleOrchestrator, "__metrics_path__": metricsPath,
	}}}
	for _, a := range g.Config().Agents {
		all = append(all, target{here, map[string]string{
			"instance": g.Instance, "agent": a.Name, "role": a.Role, "__metrics_path__": agentPath(a.Name, metricsPath),
		}})
	}
	for _, p := range []servedPart{g.repository(), g.models()} {
		if p.wanted(g.Config()) {
			all = append(all, target{here, map[string]string{"instance": g.Instance, "role": p.component, "__metrics_path__": "/" + p.component + metricsPath}})
		}
	}
	writeJSON(w, all)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // it fails when the client has gone
}

// pass passes on the answer of an agent's cub to a path.
func (g gateway) pass(path string, most int, contentType string) http.Handler {
	return role.Bounded(passAtOnce, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agent, member := g.Config().Agent(r.PathValue("agent"))
		if !member {
			http.Error(w, "no such agent", http.StatusNotFound)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), passTime)
		defer cancel()
		status, body, err := g.Cubs.get(ctx, agent, path, most)
		answer{status, body, contentType}.write(w, "agent "+agent.Name, err)
	}))
}

// servedPart is a part of Sett that serves health and metrics at an address of its own.
type servedPart struct {
	component, address string
	wanted             func(*config.Config) bool
	unwanted           string // the reason that there is none
}

// repository is the role that prepares the trees.
func (g gateway) repository() servedPart {
	return servedPart{runtime.ComponentRepository, g.Repository, (*config.Config).HasTrees, "no agent has a tree"}
}

// models is the gateway of models.
func (g gateway) models() servedPart {
	return servedPart{runtime.ComponentModelGateway, g.ModelGateway, func(c *config.Config) bool { return len(c.Models) > 0 }, "there are no models"}
}

// passPart passes on the answer of such a part.
func (g gateway) passPart(p servedPart, path string, most int, contentType string) http.Handler {
	return role.Bounded(passAtOnce, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.wanted(g.Config()) {
			http.Error(w, p.unwanted, http.StatusNotFound)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), passTime)
		defer cancel()
		status, body, err := g.Cubs.part(ctx, p, path, most)
		answer{status, body, contentType}.write(w, p.component, err)
	}))
}

// answer is the page of a part.
type answer struct {
	status      int
	body        []byte
	contentType string
}

// write passes the answer of a part on, or says why there is none.
func (a answer) write(w http.ResponseWriter, part string, err error) {
	switch {
	case errors.Is(err, errNoAddress):
		http.Error(w, fmt.Sprintf("%s: %v", part, err), http.StatusServiceUnavailable)
	case err != nil:
		http.Error(w, fmt.Sprintf("%s: %v", part, err), http.StatusBadGateway)
	case a.status != http.StatusOK && a.status != http.StatusServiceUnavailable:
		http.Error(w, fmt.Sprintf("%s: it answers %d", part, a.status), http.StatusBadGateway)
	default:
		w.Header().Set("Content-Type", a.contentType)
		w.WriteHeader(a.status)
		_, _ = w.Write(a.body)
	}
}
