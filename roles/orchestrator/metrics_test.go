package orchestrator

import (
	"net/http"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
	"sett/contract/env"
	"sett/runtime"
)

// scrape reads the metrics, by their names with labels.
func (s *sett) scrape(base string) map[string]float64 {
	s.Helper()
	_, body := s.get(base + "/metrics")
	values := map[string]float64{}
	for line := range strings.Lines(body) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if f, err := strconv.ParseFloat(value, 64); ok && err == nil && !strings.HasPrefix(line, "#") {
			values[name] = f
		}
	}
	return values
}

// says waits until the metrics have these values.
func (s *sett) says(base string, want map[string]float64) {
	s.Helper()
	for name, value := range want {
		got := map[string]float64{}
		s.until(name+" to be "+strconv.FormatFloat(value, 'g', -1, 64), func() bool {
			got = s.scrape(base)
			v, ok := got[name]
			return ok && v == value
		})
	}
}

// ages waits until a metric is more than 0.
func (s *sett) ages(base string, names ...string) {
	s.Helper()
	for _, name := range names {
		s.until(name+" to rise", func() bool { return s.scrape(base)[name] > 0 })
	}
}

// How much of everything there is, and since when, is what the blackboard has.
func TestFigures(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "b")
	base := s.watchedBy(options{})
	s.says(base, map[string]float64{"sett_blackboard_up": 1, "sett_claims_open": 0, "sett_goals_active": 0, "sett_questions_open": 0,
		"sett_gates_open": 0, "sett_landings_open": 0, "sett_grants_delayed": 0, "sett_artefacts_unclaimed": 0, `sett_agent_up{agent="a"}`: 0,
		"sett_claim_oldest_age_seconds": 0, `sett_agent_bids_due{agent="a"}`: 0, "sett_leader": 1})
	c := s.claimOf(s.goal("g"))
	s.must(s.board.Cub.Hello(t.Context(), "a", blackboard.Presence{Incarnation: "i"}, patience))
	s.says(base, map[string]float64{"sett_claims_open": 1, "sett_goals_active": 1, `sett_agent_bids_due{agent="a"}`: 1,
		`sett_agent_bids_due{agent="b"}`: 1, "sett_ledger_artefacts": 1, "sett_ledger_claims": 1, `sett_agent_up{agent="a"}`: 1,
		`sett_agent_up{agent="b"}`: 0})
	s.ages(base, "sett_claim_oldest_age_seconds", "sett_goal_oldest_age_seconds", `sett_agent_bid_oldest_age_seconds{agent="b"}`, "sett_ledger_events")
	s.bids(c, "a claim", "b claim")
	s.says(base, map[string]float64{`sett_agent_bids_due{agent="a"}`: 0, `sett_agent_grants_open{agent="a"}`: 1, `sett_agent_grants_open{agent="b"}`: 1})
	s.ages(base, `sett_agent_grant_oldest_age_seconds{agent="a"}`)
	st := s.starts(c, "a", "holder")
	s.must(s.board.Cub.Await(t.Context(), ref(st), blackboard.WaitRepository, ""))
	s.says(base, map[string]float64{"sett_grants_delayed": 1})
	s.ages(base, "sett_grant_delay_oldest_age_seconds")
	s.finishes(st, "a", blackboard.Question, "", "?")
	s.says(base, map[string]float64{"sett_questions_open": 1, `sett_agent_grants_open{agent="a"}`: 0})
	s.ages(base, "sett_question_oldest_age_seconds")
}

// What waits for approval is counted, and what waits for its claim when nobody leads.
func TestFiguresOfWhatWaits(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a")
	lead, _, err := s.board.Leader.TakeLead(t.Context(), "somebody", "", time.Hour)
	s.must(err)
	s.must(s.board.Leader.Enact(t.Context(), lead.Epoch, []string{"Held"}, ""))
	held := newID()
	s.must(s.board.People.PostGoal(t.Context(), blackboard.Artefact{ID: held, StructuralType: blackboard.Standard, Type: "Held", Payload: "x",
		ProducedByRole: blackboard.RoleUser, WorkflowID: held}, "ann"))
	s.goal("g")
	base := s.watchedBy(options{})
	s.says(base, map[string]float64{"sett_gates_open": 1, "sett_artefacts_unclaimed": 1, "sett_leader": 0, "sett_goals_active": 2})
	s.ages(base, "sett_gate_oldest_age_seconds", "sett_artefact_unclaimed_oldest_age_seconds")
}

// Without a blackboard the metrics say that, and how its calls went.
func TestFiguresWithoutBlackboard(t *testing.T) {
	t.Parallel()
	r := redistest.Embedded(t)
	s := newSettAt(t, r.URL, "a")
	base := s.watchedBy(options{})
	s.ages(base, "sett_blackboard_call_seconds_count")
	if lost, ok := s.scrape(base)["sett_blackboard_calls_lost_total"]; !ok || lost != 0 {
		t.Errorf("%v calls were lost", lost)
	}
	r.Kill()
	s.says(base, map[string]float64{"sett_blackboard_up": 0})
	if _, ok := s.scrape(base)["sett_claims_open"]; ok {
		t.Error("it says how many claims are open, without a blackboard")
	}
	s.ages(base, "sett_blackboard_calls_lost_total")
	r.Restart()
	s.says(base, map[string]float64{"sett_blackboard_up": 1, "sett_claims_open": 0})
}

// What agents and people did is counted from the ledger, whoever did it: also what
// was done by a worker that is gone.
func TestTally(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "b")
	s.goal("before it was started")
	quick := func(p *pace) { p.tick = 20 * time.Millisecond }
	base := s.watchedBy(options{pace: quick})
	c := s.claimOf(s.goal("g"))
	s.bids(c, "a claim", "b ignore")
	st := s.starts(c, "a", "holder")
	q := s.finishes(st, "a", blackboard.Question, "", "?")
	_, err := s.board.People.PostAnswer(t.Context(), q, blackboard.Artefact{ID: newID(), StructuralType: blackboard.Answer, Type: "Answer", Payload: "!",
		SourceArtefacts: []string{q}, ProducedByRole: blackboard.RoleHuman, ClaimID: c, WorkflowID: st.Claim.WorkflowID}, "ann")
	s.must(err)
	st = s.starts(c, "a", "holder")
	s.must(s.board.Cub.Requeue(t.Context(), blackboard.HandBack{GrantRef: ref(st), Most: 10, Reason: "stopping"}))
	st = s.starts(c, "a", "holder")
	s.must(s.board.Cub.Finish(t.Context(), blackboard.Result{GrantRef: ref(st), ToolTime: 3 * time.Second, Artefact: blackboard.Artefact{ID: newID(),
		StructuralType: blackboard.Terminal, Type: "Done", Payload: "x", SourceArtefacts: []string{st.Artefact.ID}, ProducedByRole: "a-role",
		ProducedByAgent: "a", ClaimID: c, WorkflowID: st.Claim.WorkflowID}}))
	s.ended(st.Claim.WorkflowID, blackboard.WorkflowAchieved)
	for _, typ := range []string{blackboard.TypeToolExecutionFailure, "MadeUp"} {
		c = s.claimOf(s.goal("bad"))
		s.bids(c, "a ignore", "b exclusive")
		s.does(c, "b", blackboard.Failure, typ, "{}")
		s.ended(s.snapshot(c).Claim.WorkflowID, blackboard.WorkflowFailed)
	}
	c = s.claimOf(s.goal("nobody's"))
	s.bids(c, "a ignore", "b ignore")
	s.says(base, map[string]float64{
		"sett_goals_posted_total": 4, `sett_goals_ended_total{status="achieved"}`: 1, `sett_goals_ended_total{status="failed"}`: 2,
		`sett_goals_ended_total{status="stalled"}`: 1, `sett_results_total{agent="a",structural_type="Question"}`: 1,
		`sett_results_total{agent="a",structural_type="Terminal"}`: 1, `sett_results_total{agent="b",structural_type="Failure"}`: 2,
		`sett_failures_recorded_total{type="ToolExecutionFailure"}`: 1, `sett_failures_recorded_total{type="other"}`: 1,
		`sett_grant_requeues_total{agent="a"}`: 1, `sett_human_decisions_total{kind="answer"}`: 1,
		`sett_agent_tool_seconds_count{agent="a"}`: 1, `sett_agent_tool_seconds_sum{agent="a"}`: 3,
	})
}

func ref(st blackboard.Started) blackboard.GrantRef {
	return blackboard.GrantRef{Claim: st.Claim.ID, Agent: st.Grant.Agent, Attempt: st.Grant.Attempt, Holder: st.Grant.Holder}
}

// An agent that keeps ending is seen to wait, and is forgotten when it leaves.
func TestStartDelay(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a", "b"), newPlace()
	o := inPlace(p)
	usual := o.pace
	o.pace = func(p *pace) { usual(p); p.backoff.Shortest, p.backoff.Longest = time.Hour, time.Hour }
	base := s.watchedBy(o)
	s.incarnation(p, "agent-a")
	s.says(base, map[string]float64{`sett_agent_start_delay_seconds{agent="a"}`: 0})
	p.exit("agent-a", runtime.Exit{Code: 1, Text: "exit status 1"})
	s.until("it to wait", func() bool {
		v := s.scrape(base)[`sett_agent_start_delay_seconds{agent="a"}`]
		return v > 3500 && v <= 3600
	})
	s.incarnation(p, "agent-b")
	s.cfg.Agents = s.cfg.Agents[:1]
	s.write()
	s.must(s.board.Nudge(t.Context()))
	s.until("b to be forgotten", func() bool {
		_, there := s.scrape(base)[`sett_agent_start_delay_seconds{agent="b"}`]
		return !there
	})
	s.says(base, map[string]float64{"sett_configuration_reloads_total": 1})
}

// The names follow Prometheus' conventions.
func TestMetricsLint(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a")
	base := s.watchedBy(options{pace: func(p *pace) { p.tick = 20 * time.Millisecond }, vars: map[string]string{env.LogLevel: "info"}})
	c := s.claimOf(s.goal("g"))
	s.bids(c, "a exclusive")
	s.does(c, "a", blackboard.Terminal, "Done", "x")
	s.says(base, map[string]float64{`sett_goals_ended_total{status="achieved"}`: 1})
	res, err := http.Get(base + "/metrics")
	s.must(err)
	defer func() { _ = res.Body.Close() }()
	problems, err := promlint.New(res.Body).Lint()
	s.must(err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if info := s.scrape(base)[`sett_build_info{commit="",go_version="`+goruntime.Version()+`",version=""}`]; info != 1 {
		t.Error("it does not say what was built")
	}
}
