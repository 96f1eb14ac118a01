package report

import (
	"log/slog"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/boardtest"
	"sett/contract/config"
)

// tallied returns a tally of a clan of one, whose ledger is read from its end on.
func tallied(l Ledger) *tally {
	cfg := &config.Config{Agents: []config.Agent{{Name: "a"}}}
	return newTally(Options{Metrics: NewMetrics(), Ledger: l, Log: slog.New(slog.DiscardHandler), Config: func() *config.Config { return cfg }}, "")
}

// The names of new types count as other, and a question is no Failure.
func TestTallyOfResultTypes(t *testing.T) {
	t.Parallel()
	l := tallied(nil)
	for _, typ := range []string{"Unheard", "CorruptClaim", "Question", ""} {
		l.count(blackboard.Event{Kind: blackboard.EventTerminate, Attributes: map[string]string{
			blackboard.AttributeResult: "ID", blackboard.AttributeResultType: typ}})
	}
	if got := counted(t, l, "sett_failures_recorded_total"); got["other"] != 1 || got["CorruptClaim"] != 1 || got[""] != 2 {
		t.Errorf("failures by type, and in all: %v", got)
	}
}

// Landings count by their ends and troubles, and the artefacts that they write are no Failures.
func TestTallyOfLandings(t *testing.T) {
	t.Parallel()
	l := tallied(nil)
	for to, more := range map[string]map[string]string{
		"landed": nil, "refused": {"result": "R", "result_type": blackboard.TypeLandingReview}, "verifying": {"result": "L", "result_type": blackboard.TypeLanding},
		"queued": {"trouble": "no space"}, "barred": nil, "reworked": nil, "moving": nil,
	} {
		e := blackboard.Event{Kind: blackboard.EventLanding, To: to, Attributes: more}
		if to == "reworked" {
			e.Claim = "C"
		}
		l.count(e)
	}
	got := counted(t, l, "sett_landings_total")
	if got["landed"] != 1 || got["refused"] != 1 || got["barred"] != 1 || got["troubled"] != 1 || got[""] != 4 {
		t.Errorf("landings: %v", got)
	}
	if got := counted(t, l, "sett_failures_recorded_total"); got[""] != 0 {
		t.Errorf("failures: %v", got)
	}
	if got := counted(t, l, "sett_claims_total"); got["opened"] != 1 {
		t.Errorf("claims: %v", got)
	}
}

// counted returns a counter's values by its one label, and their sum.
func counted(t *testing.T, l *tally, name string) map[string]float64 {
	t.Helper()
	all, err := l.Metrics.Registry.Gather()
	boardtest.Must(t, err)
	values := map[string]float64{}
	for _, m := range all {
		if m.GetName() != name {
			continue
		}
		for _, v := range m.Metric {
			if len(v.Label) > 0 {
				values[v.Label[0].GetValue()] = v.GetCounter().GetValue()
			}
			values[""] += v.GetCounter().GetValue()
		}
	}
	return values
}

// Grants and waits count the same whether a script decided or the orchestrator, which
// counts its own.
func TestTallyOfScripts(t *testing.T) {
	t.Parallel()
	l := tallied(nil)
	at := time.Unix(1_000, 0)
	event := func(kind blackboard.EventKind, after time.Duration, phase, agents string, script bool) {
		e := blackboard.Event{Kind: kind, Claim: "c", Time: at.Add(after), Phase: phase, Agent: agents}
		if script {
			e.Attributes = map[string]string{blackboard.AttributeDecidedBy: "course, revision 1"}
		}
		l.count(e)
	}
	for _, script := range []bool{true, false} {
		event(blackboard.EventOpen, 0, "", "", script)
		event(blackboard.EventGrant, time.Second, "review", "a,b", script)
		event(blackboard.EventResult, 3*time.Second, "review", "a", false)
		event(blackboard.EventResult, 5*time.Second, "review", "b", false)
		event(blackboard.EventGrant, 6*time.Second, "exclusive", "c", script)
		event(blackboard.EventResult, 7*time.Second, "exclusive", "c", false)
		event(blackboard.EventComplete, 8*time.Second, "", "", script)
	}
	if got := counted(t, l, "sett_grants_total"); got["review"] != 2 || got["exclusive"] != 1 {
		t.Errorf("grants %v", got)
	}
	all, err := l.Metrics.Registry.Gather()
	boardtest.Must(t, err)
	sums := map[string]float64{}
	for _, m := range all {
		for _, v := range m.Metric {
			if h := v.GetHistogram(); h.GetSampleCount() == 1 {
				name := m.GetName()
				if len(v.Label) > 0 {
					name += " " + v.Label[0].GetValue()
				}
				sums[name] = h.GetSampleSum()
			}
		}
	}
	if sums["sett_consensus_wait_seconds"] != 1 || sums["sett_phase_wait_seconds review"] != 4 || sums["sett_phase_wait_seconds exclusive"] != 1 {
		t.Errorf("waits %v", sums)
	}
}

// If the ledger's end cannot be read at the start it is read later, and counting
// begins there: our clock is not the ledger's.
func TestTallyBeginsAtTheEnd(t *testing.T) {
	t.Parallel()
	b := boardtest.Start(t, "test")
	b.Goal("before")
	l := tallied(b.Moves.Ledger)
	l.catchUp(t.Context())
	b.Goal("after")
	l.catchUp(t.Context())
	if n := counted(t, l, "sett_goals_posted_total")[""]; n != 1 {
		t.Errorf("it counts %v goals", n)
	}
}

// Nothing that anybody can write into the ledger makes more series than there are names.
func TestTallyIsBounded(t *testing.T) {
	t.Parallel()
	l := tallied(nil)
	newID := boardtest.NewID
	for range 100 {
		l.count(blackboard.Event{Kind: blackboard.EventResult, Agent: newID(), Attributes: map[string]string{
			"structural_type": newID(), "tool_us": "nonsense", "workflow_status": newID(), "result_type": newID(), "type": newID()}})
		l.count(blackboard.Event{Kind: blackboard.EventRequeue, Agent: newID()})
		l.count(blackboard.Event{Kind: blackboard.EventKind(newID())})
		script := map[string]string{blackboard.AttributeDecidedBy: "x"}
		l.count(blackboard.Event{Kind: blackboard.EventOpen, Claim: "c"})
		l.count(blackboard.Event{Kind: blackboard.EventGrant, Claim: "c", Phase: newID(), Attributes: script})
		l.count(blackboard.Event{Kind: blackboard.EventComplete, Claim: "c", Attributes: script})
	}
	all, err := l.Metrics.Registry.Gather()
	boardtest.Must(t, err)
	for _, m := range all {
		if len(m.Metric) > 15 {
			t.Errorf("%s has %d series", m.GetName(), len(m.Metric))
		}
	}
}
