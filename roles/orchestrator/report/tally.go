package report

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"sett/blackboard"
	"sett/roles/orchestrator/arbiter"
	"sett/roles/role"
)

// tally counts the work of agents and people from the ledger: a worker ends before
// anybody could ask it for counts, and a restarted cub begins at 0. It counts from the
// start of this orchestrator, leading or not.
type tally struct {
	Options
	spans spans
	after string // the position in the ledger up to which all is counted; empty: not read yet

	claims    *prometheus.CounterVec // by status: opened, complete, terminated
	posted    prometheus.Counter
	ended     *prometheus.CounterVec // goals, by status
	results   *prometheus.CounterVec // by agent and structural type
	failures  *prometheus.CounterVec // by type
	requeues  *prometheus.CounterVec // by agent
	decisions *prometheus.CounterVec // by kind
	landings  *prometheus.CounterVec // by state
	toolTime  *prometheus.HistogramVec
}

// tallyPage is how many entries are read at a time.
const tallyPage = 1000

// other is the label of made-up values: each value costs memory, here and in the
// database of metrics.
const other = "other"

// failureTypes are the types of Failures that Sett itself writes.
var failureTypes = []string{
	blackboard.TypeToolExecutionFailure, blackboard.TypeAgentCrashed, blackboard.TypeContractViolation, blackboard.TypeReviewLimit,
	blackboard.TypeWorkflowLimit, blackboard.TypeAgentRemoved, blackboard.TypeCancelled, blackboard.TypeQuestionTimeout, blackboard.TypeMissingCommit,
	blackboard.TypeNothingChanged, blackboard.TypeBudgetExceeded, blackboard.TypeUnsettledConflict,
	arbiter.FailureGoalRejected, arbiter.FailureCorruptClaim,
}

// The statuses of claims that are counted.
const (
	opened     = "opened"
	complete   = string(blackboard.Complete)
	terminated = string(blackboard.Terminated)
)

// endings are the ways in which a goal can end.
var endings = []blackboard.WorkflowStatus{blackboard.WorkflowAchieved, blackboard.WorkflowFailed, blackboard.WorkflowStalled}

// decisions of people, by the events that record them.
var decisions = []blackboard.EventKind{
	blackboard.EventAnswer, blackboard.EventApprove, blackboard.EventReject, blackboard.EventReview, blackboard.EventCancel, blackboard.EventRetry,
}

func newTally(o Options, after string) *tally {
	t := &tally{
		Options: o, after: after,
		claims:    role.Counters("sett_claims_total", "Claims that were opened, completed or terminated.", "status"),
		posted:    role.Counter("sett_goals_posted_total", "Goals that were given."),
		ended:     role.Counters("sett_goals_ended_total", "Goals that ended, by how.", "status"),
		results:   role.Counters("sett_results_total", "Grants that ended with a result or were suspended by a question.", "agent", "structural_type"),
		failures:  role.Counters("sett_failures_recorded_total", "Failures in the ledger, by type; those of tools' own naming are other.", "type"),
		requeues:  role.Counters("sett_grant_requeues_total", "Grants that went back to their queue to be tried again.", "agent"),
		decisions: role.Counters("sett_human_decisions_total", "Decisions of people: answers, approvals and the like.", "kind"),
		landings:  role.Counters("sett_landings_total", "Results that reached their branch or did not, by how.", "state"),
		toolTime: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sett_agent_tool_seconds", Help: "From a tool's start to its end, of all runs that led to a result.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 10)}, []string{"agent"}),
	}
	for _, status := range []string{opened, complete, terminated} {
		t.claims.WithLabelValues(status)
	}
	for _, s := range endings {
		t.ended.WithLabelValues(string(s))
	}
	for _, kind := range decisions {
		t.decisions.WithLabelValues(string(kind))
	}
	for _, state := range append([]string{troubled}, landed...) {
		t.landings.WithLabelValues(state)
	}
	for _, typ := range append([]string{other}, failureTypes...) {
		t.failures.WithLabelValues(typ)
	}
	o.Metrics.ofAgent = append(o.Metrics.ofAgent, t.introduce)
	o.Metrics.Registry.MustRegister(t.claims, t.posted, t.ended, t.results, t.failures, t.requeues, t.decisions, t.landings, t.toolTime)
	return t
}

// introduce begins to count for an agent.
func (t *tally) introduce(agent string) {
	t.requeues.WithLabelValues(agent)
	t.toolTime.WithLabelValues(agent)
	for _, s := range blackboard.StructuralTypes {
		if s != blackboard.Answer { // people answer
			t.results.WithLabelValues(agent, string(s))
		}
	}
}

// run counts new entries, in pages: nothing waits for it.
func (t *tally) run(ctx context.Context) error {
	return role.Every(ctx, t.Tick, func(ctx context.Context) error {
		t.catchUp(ctx)
		return nil
	})
}

func (t *tally) catchUp(ctx context.Context) {
	if t.after == "" {
		at, err := t.Ledger.Last(ctx)
		if err != nil {
			t.notCounted(ctx, err)
			return
		}
		t.after = at
	}
	for ctx.Err() == nil {
		events, err := t.Ledger.History(ctx, t.after, tallyPage)
		if err != nil {
			t.notCounted(ctx, err)
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

func (t *tally) notCounted(ctx context.Context, err error) {
	if ctx.Err() == nil {
		t.Log.Debug("ledger not counted", "error", err)
	}
}

func (t *tally) count(e blackboard.Event) {
	switch e.Kind {
	case blackboard.EventGoal:
		t.posted.Inc()
	case blackboard.EventResult:
		t.result(e)
	case blackboard.EventRequeue:
		t.requeues.WithLabelValues(t.agent(e)).Inc()
	}
	t.claim(e)
	t.spans.follow(e, t.Metrics)
	if slices.Contains(decisions, e.Kind) {
		t.decisions.WithLabelValues(string(e.Kind)).Inc()
	}
	if e.Kind == blackboard.EventLanding {
		t.landing(e)
	}
	if typ := e.Attributes[blackboard.AttributeResultType]; typ != "" && e.Asked() == "" && !slices.Contains(ofLandings, typ) {
		t.failures.WithLabelValues(known(typ, failureTypes)).Inc()
	}
	if status := e.GoalEnded(); slices.Contains(endings, status) {
		t.ended.WithLabelValues(string(status)).Inc()
	}
}

// ofLandings are the types of artefacts that landings and conflicts write.
var ofLandings = []string{blackboard.TypeLanding, blackboard.TypeLandingReview, blackboard.TypeConflict, blackboard.TypeConflictReview}

// landed are the states of landings that are counted.
var landed = []string{string(blackboard.LandingLanded), string(blackboard.LandingNone), string(blackboard.LandingBarred), string(blackboard.LandingRefused)}

// troubled is the label of tries to land that failed.
const troubled = "troubled"

// landing counts the steps of landings that matter.
func (t *tally) landing(e blackboard.Event) {
	switch {
	case e.Attributes[blackboard.AttributeTrouble] != "":
		t.landings.WithLabelValues(troubled).Inc()
	case slices.Contains(landed, e.To):
		t.landings.WithLabelValues(e.To).Inc()
	}
}

// claim counts the claims that begin and end with an entry. One entry may do both: a
// rework begins when the claim before it ends. A person ends all claims of a goal at once.
func (t *tally) claim(e blackboard.Event) {
	add := func(status string, n int) { t.claims.WithLabelValues(status).Add(float64(n)) }
	switch e.Kind {
	case blackboard.EventOpen, blackboard.EventReject:
		add(opened, 1)
	case blackboard.EventLanding, blackboard.EventRetry:
		if e.Claim != "" { // a rework, or of a claim
			add(opened, 1)
		}
	case blackboard.EventConflict:
		if e.To == "reworked" {
			add(opened, 1)
		}
	case blackboard.EventComplete:
		add(complete, 1)
	case blackboard.EventTerminate:
		add(terminated, 1)
		if e.Attributes["rework"] != "" {
			add(opened, 1)
		}
	case blackboard.EventCancel:
		if e.Claim != "" {
			add(terminated, 1)
		} else if all := e.Attributes["claims"]; all != "" {
			add(terminated, 1+strings.Count(all, ","))
		}
	}
}

func (t *tally) result(e blackboard.Event) {
	agent, kind := t.agent(e), e.Attributes[blackboard.AttributeStructuralType]
	if kind == string(blackboard.Failure) {
		t.failures.WithLabelValues(known(e.Attributes["type"], failureTypes)).Inc()
	}
	if !blackboard.StructuralType(kind).Valid() {
		kind = other
	}
	t.results.WithLabelValues(agent, kind).Inc()
	if us, err := strconv.ParseInt(e.Attributes["tool_us"], 10, 64); err == nil && us > 0 {
		t.toolTime.WithLabelValues(agent).Observe(float64(us) / 1e6)
	}
}

// agent returns an event's agent if it is one of the clan.
func (t *tally) agent(e blackboard.Event) string { return known(e.Agent, t.Config().Names()) }

func known(value string, values []string) string {
	if slices.Contains(values, value) {
		return value
	}
	return other
}
