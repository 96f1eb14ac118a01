package orchestrator

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sett/blackboard"
)

// tally counts, from the ledger, what agents and people did. Who does one thing
// and is gone, as a worker is, can be asked for no counts of its own; and a cub that
// is started anew begins to count anew. It counts since this orchestrator was
// started, whether it leads or not.
type tally struct {
	*orchestrator
	after string // the position in the ledger up to which all is counted

	posted    prometheus.Counter
	ended     *prometheus.CounterVec // goals, by status
	results   *prometheus.CounterVec // by agent and structural type
	failures  *prometheus.CounterVec // by type
	requeues  *prometheus.CounterVec // by agent
	decisions *prometheus.CounterVec // by kind
	toolTime  *prometheus.HistogramVec
}

// tallyPage is how many entries are read at a time.
const tallyPage = 1000

// other is what a label says where somebody made a value up: each value costs
// memory, here and where metrics are kept.
const other = "other"

// failureTypes are the types of Failures that Sett itself writes.
var failureTypes = []string{
	blackboard.TypeToolExecutionFailure, blackboard.TypeAgentCrashed, blackboard.TypeContractViolation, blackboard.TypeReviewLimit,
	blackboard.TypeWorkflowLimit, blackboard.TypeAgentRemoved, blackboard.TypeCancelled, blackboard.TypeQuestionTimeout,
}

// endings are how a goal can end.
var endings = []blackboard.WorkflowStatus{blackboard.WorkflowAchieved, blackboard.WorkflowFailed, blackboard.WorkflowStalled}

// decisions of people, by the events that record them.
var decisions = []blackboard.EventKind{
	blackboard.EventAnswer, blackboard.EventApprove, blackboard.EventReject, blackboard.EventReview, blackboard.EventCancel, blackboard.EventRetry,
}

func newTally(o *orchestrator, after string) *tally {
	t := &tally{
		orchestrator: o, after: after,
		posted:    counter("sett_goals_posted_total", "Goals that were given."),
		ended:     counters("sett_goals_ended_total", "Goals that ended, by how.", "status"),
		results:   counters("sett_results_total", "Grants that ended with a result or were suspended by a question.", "agent", "structural_type"),
		failures:  counters("sett_failures_recorded_total", "Failures in the ledger, by type; those of tools' own naming are other.", "type"),
		requeues:  counters("sett_grant_requeues_total", "Grants that went back to their queue to be tried again.", "agent"),
		decisions: counters("sett_human_decisions_total", "What people decided: answers, approvals and the like.", "kind"),
		toolTime: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sett_agent_tool_seconds", Help: "From a tool's start to its end, of all runs that led to a result.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 10)}, []string{"agent"}),
	}
	for _, s := range endings {
		t.ended.WithLabelValues(string(s))
	}
	for _, kind := range decisions {
		t.decisions.WithLabelValues(string(kind))
	}
	for _, typ := range append([]string{other}, failureTypes...) {
		t.failures.WithLabelValues(typ)
	}
	o.metrics.ofAgent = append(o.metrics.ofAgent, t.introduce)
	o.metrics.registry.MustRegister(t.posted, t.ended, t.results, t.failures, t.requeues, t.decisions, t.toolTime)
	return t
}

// introduce begins to count for an agent.
func (t *tally) introduce(agent string) {
	t.requeues.WithLabelValues(agent)
	t.toolTime.WithLabelValues(agent)
	for _, s := range blackboard.StructuralTypes {
		if s != blackboard.Answer { // which are people's
			t.results.WithLabelValues(agent, string(s))
		}
	}
}

// run counts what comes, in pages: nothing waits for it.
func (t *tally) run(ctx context.Context) error {
	every := time.NewTicker(t.pace.tick)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
			t.catchUp(ctx)
		}
	}
}

func (t *tally) catchUp(ctx context.Context) {
	for ctx.Err() == nil {
		events, err := t.board.History(ctx, t.after, tallyPage)
		if err != nil {
			if ctx.Err() == nil {
				t.log.Debug("ledger not counted", "error", err)
			}
			return
		}
		for _, e := range events {
			t.count(e)
			t.after = e.ID
		}
		if len(events) < tallyPage {
			return
		}
	}
}

func (t *tally) count(e blackboard.Event) {
	attribute := func(name string) string { return e.Attributes[name] }
	switch e.Kind {
	case blackboard.EventGoal:
		t.posted.Inc()
	case blackboard.EventResult:
		t.result(e, attribute("structural_type"), attribute("tool_us"))
		if attribute("structural_type") == string(blackboard.Failure) {
			t.failures.WithLabelValues(known(attribute("type"), failureTypes)).Inc()
		}
	case blackboard.EventRequeue:
		t.requeues.WithLabelValues(t.agent(e)).Inc()
	}
	if slices.Contains(decisions, e.Kind) {
		t.decisions.WithLabelValues(string(e.Kind)).Inc()
	}
	if typ := attribute("result_type"); slices.Contains(failureTypes, typ) {
		t.failures.WithLabelValues(typ).Inc()
	}
	if status := attribute("workflow_status"); slices.Contains(endings, blackboard.WorkflowStatus(status)) {
		t.ended.WithLabelValues(status).Inc()
	}
}

func (t *tally) result(e blackboard.Event, structuralType, toolUS string) {
	agent := t.agent(e)
	if !blackboard.StructuralType(structuralType).Valid() {
		structuralType = other
	}
	t.results.WithLabelValues(agent, structuralType).Inc()
	if us, err := strconv.ParseInt(toolUS, 10, 64); err == nil && us > 0 {
		t.toolTime.WithLabelValues(agent).Observe(float64(us) / 1e6)
	}
}

// agent is whose event it is, if that is one of the clan.
func (t *tally) agent(e blackboard.Event) string { return known(e.Agent, t.clan.get().Names()) }

func known(value string, values []string) string {
	if slices.Contains(values, value) {
		return value
	}
	return other
}
