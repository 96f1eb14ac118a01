package gateway

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sett/blackboard"
	"sett/contract/model"
	"sett/roles/role"
)

// metrics are the metrics of the gateway.
type metrics struct {
	*role.Metrics
	calls   *prometheus.CounterVec // by model and status
	seconds *prometheus.HistogramVec
	tokens  *prometheus.CounterVec // by model and kind
	cost    *prometheus.CounterVec // by model
	retries *prometheus.CounterVec
	refused *prometheus.CounterVec // by reason
	running prometheus.Gauge
}

func newMetrics() *metrics {
	m := &metrics{
		Metrics: role.NewMetrics(),
		calls:   role.Counters("sett_model_calls_total", "Calls of models that ended.", "model", "agent", "outcome"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sett_model_call_seconds", Help: "From a call to the end of its answer, in seconds.", Buckets: prometheus.ExponentialBuckets(0.05, 3, 10)}, []string{"model"}),
		tokens:  role.Counters("sett_model_tokens_total", "Tokens of calls that ended.", "model", "kind"),
		cost:    role.Counters("sett_model_cost_total", "Cost of calls that ended, of models with a price, in the currency of the prices in sett.yml.", "model"),
		retries: role.Counters("sett_model_retries_total", "Repetitions of requests to providers.", "model"),
		refused: role.Counters("sett_model_refused_total", "Requests that were not passed on, or not to their end.", "why"),
		running: prometheus.NewGauge(prometheus.GaugeOpts{Name: "sett_model_calls_running", Help: "Calls of models under way."}),
	}
	m.MustRegister(m.calls, m.seconds, m.tokens, m.cost, m.retries, m.refused, m.running)
	return m
}

// ended counts a call.
func (m *metrics) ended(q blackboard.Call, u model.Usage, price *model.Price, took time.Duration, outcome string) {
	m.calls.WithLabelValues(q.Model, q.Agent, outcome).Inc()
	m.seconds.WithLabelValues(q.Model).Observe(took.Seconds())
	for kind, n := range map[string]int64{"input": u.Input, "cached": u.Cached, "cache_write": u.CacheWrite, "output": u.Output, "reasoning": u.Reasoning} {
		m.tokens.WithLabelValues(q.Model, kind).Add(float64(n))
	}
	if price != nil {
		m.cost.WithLabelValues(q.Model).Add(float64(price.Cost(u)) / float64(model.Unit))
	}
}
