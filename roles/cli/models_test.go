package cli

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/model"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// called plays a goal whose writer calls a model twice, and is about to call it again.
func (s *stage) called() (goal, claim string) {
	s.t.Helper()
	goal = s.Goal("ask a model")
	claim = s.open(goal, s.all("writer", blackboard.BidExclusive)...)
	s.Grant(claim, blackboard.PhaseExclusive, "writer")
	st := s.begin(claim, "writer")
	for i, end := range []blackboard.Settlement{
		{Usage: model.Usage{Input: 1000, Cached: 500, Output: 250}, Cost: 12_300_000, Priced: true, Took: 2 * time.Second, Status: 200},
		{Usage: model.Usage{Input: 100}, Cost: 1_000_000, Priced: true, Estimated: true, Took: time.Second, Status: 503, Reason: "the provider answered 503"},
		{},
	} {
		call := blackboard.Call{ID: s.NewID(), Claim: claim, Agent: "writer", Attempt: st.Grant.Attempt, Holder: st.Grant.Holder, Model: "smart", Request: "hash"}
		room, err := s.board.Calls.Reserve(s.t.Context(), call, blackboard.Reservation{Tokens: 4000, Cost: model.Unit / 10}, blackboard.Budgets{})
		s.Must(err)
		if room.State != blackboard.RoomReserved {
			s.t.Fatalf("call %d: %+v", i, room)
		}
		if end.Status != 0 {
			s.Must(s.board.Calls.Settle(s.t.Context(), call, end))
		}
	}
	return goal, claim
}

// What sett models prints is held by files.
func TestGoldenModels(t *testing.T) {
	s := newStage(t)
	quiet := s.Goal("ask nobody")
	goal, _ := s.called()
	s.golden(map[string]string{"goal": goal, "quiet": quiet}, []goldenCommand{
		{name: "models", args: "models"},
		{name: "models-goal", args: "models {goal}"},
	})
	if stdout, _, err := s.run("models", quiet, "-o", "json"); err != nil {
		t.Error(err)
	} else {
		has(t, stdout, `"by": []`, `"calls": 0`)
	}
	if _, _, err := s.run("models", "XXXXXXXX"); role.CodeOf(err) != role.NotFound {
		t.Errorf("an unknown goal: %v", err)
	}
}

// The budget is that of sett.yml now: a goal that goes on has it, with what people added, and one that has ended has none.
func TestModelsBudget(t *testing.T) {
	s := newStage(t)
	_, claim := s.called()
	s.Finish(claim, "writer", blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Done", Payload: "done"})
	s.Complete(claim)
	goal, _ := s.called()
	s.config.Budget = &config.Budget{Budget: model.Budget{Calls: 1, Tokens: 1}}
	s.Must(instance.WriteFile(filepath.Join(s.home, "sett", "stage", "config.json"), s.config))
	out, _, err := s.run("models")
	s.Must(err)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 3 || !strings.HasSuffix(lines[1], " -") || !strings.HasPrefix(lines[2], words.Short(goal)) || !strings.HasSuffix(lines[2], " 1 token, 1 call") {
		t.Errorf("got\n%s", out)
	}
	out, _, err = s.run("models", "-o", "json")
	s.Must(err)
	var all view.Models
	s.Must(json.Unmarshal([]byte(out), &all))
	if len(all.Goals) != 2 || all.Goals[0].Budget != nil || all.Goals[1].Budget == nil || all.Goals[1].Budget.Calls != 1 {
		t.Errorf("got %s", out)
	}
}

// What calls of models cost is in the list for programs, with and without its details.
func TestListModels(t *testing.T) {
	s := newStage(t)
	s.staff()
	s.called()
	s.config.Models = []config.Model{{Name: "smart"}}
	s.Must(instance.WriteFile(filepath.Join(s.home, "sett", "stage", "config.json"), s.config))
	for _, args := range [][]string{{"list", "-o", "json"}, {"list", "-v", "-o", "json"}} {
		stdout, _, err := s.run(args...)
		s.Must(err)
		has(t, stdout, `"models": [`, `"model": "smart"`, `"input": 1100`)
	}
}

// A goal of whose budget more was used than it had is shown with that, also when it has ended.
func TestModelsOverBudget(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("spend much at once")
	claim := s.open(goal, s.all("writer", blackboard.BidExclusive)...)
	s.Grant(claim, blackboard.PhaseExclusive, "writer")
	st := s.begin(claim, "writer")
	call := blackboard.Call{ID: s.NewID(), Claim: claim, Agent: "writer", Attempt: st.Grant.Attempt, Holder: st.Grant.Holder, Model: "smart"}
	budgets := blackboard.Budgets{Goal: model.Budget{Tokens: 6000}}
	_, err := s.board.Calls.Reserve(t.Context(), call, blackboard.Reservation{Tokens: 200}, budgets)
	s.Must(err)
	s.Must(s.board.Calls.Settle(t.Context(), call, blackboard.Settlement{Usage: model.Usage{Input: 7000}, Budgets: budgets, Status: 200}))
	s.Finish(claim, "writer", blackboard.Artefact{StructuralType: blackboard.Terminal, Type: "Done", Payload: "done"})
	s.Complete(claim)
	for _, args := range [][]string{{"models"}, {"models", goal}, {"show", goal}, {"show", goal, "--no-claims"}, {"wait", goal}, {"watch", "--since", "all", "--workflow", goal, "--exit-when-done"}} {
		stdout, stderr, err := s.run(args...)
		s.Must(err)
		has(t, stdout+stderr, "more than the goal's budget of 6000 tokens was used (7000)")
	}
	for _, args := range [][]string{{"models", "-o", "json"}, {"show", goal, "-o", "json"}} {
		stdout, _, err := s.run(args...)
		s.Must(err)
		has(t, stdout, `"unit": "tokens"`, `"limit": "6000"`, `"used": "7000"`)
	}
}

// A person stops all calls, and lets them go on.
func TestModelsPause(t *testing.T) {
	s := newStage(t)
	_, claim := s.called()
	call := blackboard.Call{ID: s.NewID(), Claim: claim, Agent: "writer", Attempt: 1, Holder: "i-writer", Model: "smart"}
	reserve := func() blackboard.RoomState {
		room, err := s.board.Calls.Reserve(t.Context(), call, blackboard.Reservation{}, blackboard.Budgets{})
		s.Must(err)
		return room.State
	}
	for range 2 {
		_, stderr, err := s.run("models", "pause", "too", "dear")
		s.Must(err)
		has(t, stderr, "stopped", "models resume lets them go on")
		stdout, stderr, err := s.run("models", "-o", "json")
		s.Must(err)
		has(t, stdout, `"paused": true`, `"by": "`, `"why": "too dear"`, `"since": "2`)
		if stderr != "" {
			t.Errorf("stderr %s", stderr)
		}
		if got := reserve(); got != blackboard.RoomPaused {
			t.Errorf("after pause: %s", got)
		}
	}
	_, stderr, err := s.run("models")
	s.Must(err)
	has(t, stderr, "all calls of models were stopped ", " ago by ", ": too dear; ", "models resume lets them go on")
	s.config.Models = []config.Model{{Name: "smart"}}
	s.Must(instance.WriteFile(filepath.Join(s.home, "sett", "stage", "config.json"), s.config))
	s.staff()
	stdout, _, err := s.run("list", "-v")
	s.Must(err)
	has(t, stdout, "models", "ago by ", ": too dear; ")
	_, stderr, err = s.run("models", "resume")
	s.Must(err)
	has(t, stderr, "go on")
	if got := reserve(); got != blackboard.RoomReserved {
		t.Errorf("after resume: %s", got)
	}
}

// A goal that a budget ended has an exit code of its own, and the hint names the cure.
func TestWaitOverBudget(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("spend much")
	over := blackboard.Exceeded{Of: blackboard.BudgetOfGoal, Unit: "calls", Limit: "10", Used: "10"}
	report, err := json.Marshal(blackboard.FailureReport{Reason: over.String(), ExitCode: -1, Budget: &over})
	s.Must(err)
	claim, _ := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Failure, Type: blackboard.TypeBudgetExceeded, Payload: string(report)})
	s.Must(s.board.Leader.TerminateClaim(t.Context(), s.Guard(claim), "writer failed", nil, nil))
	_, _, err = s.run("wait", goal)
	if role.CodeOf(err) != role.OverBudget {
		t.Errorf("ends with %d: %v", role.CodeOf(err), err)
	}
	var told *role.Error
	if !errors.As(err, &told) || !strings.HasSuffix(told.Hint, "--budget calls=…") {
		t.Errorf("no hint that names the unit: %+v", told)
	}
}

// A retry with more budget raises that of the grant which failed for want of its own.
func TestRetryWithBudgetOfGrant(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("spend little")
	claim, failure := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Failure, Type: blackboard.TypeBudgetExceeded, Payload: `{"reason":"no more","budget":{"of":"grant","unit":"calls","limit":"1","used":"1"}}`})
	s.Must(s.board.Leader.TerminateClaim(t.Context(), s.Guard(claim), "writer failed", nil, nil))
	id, _, err := s.run("retry", failure, "--budget", "calls=10")
	s.Must(err)
	grants, err := s.board.Records.Snapshot(t.Context(), strings.TrimSpace(id))
	s.Must(err)
	lines, _, err := s.run("watch", "--workflow", goal, "--since", "all", "--exit-when-done", "--timeout", "1s")
	if role.CodeOf(err) != role.TimedOut {
		t.Error(err)
	}
	spending, err := s.board.Calls.Spending(t.Context(), goal)
	s.Must(err)
	if len(grants.Grants) != 1 || spending.More != (model.Budget{}) || !strings.Contains(lines, "raises writer's budget on claim "+words.Short(claim)+" by 10 calls") {
		t.Errorf("raised by %+v\n%s", spending.More, lines)
	}
}

// A retry with more budget raises the goal's, once, and a typing error changes nothing.
func TestRetryWithBudget(t *testing.T) {
	s := newStage(t)
	goal := s.Goal("spend much")
	claim, failure := s.work(goal, blackboard.Artefact{StructuralType: blackboard.Failure, Type: blackboard.TypeBudgetExceeded, Payload: `{"reason":"no more"}`})
	s.Must(s.board.Leader.TerminateClaim(t.Context(), s.Guard(claim), "writer failed", nil, nil))
	if _, _, err := s.run("retry", failure, "--budget", "cost=much"); role.CodeOf(err) != role.Usage {
		t.Errorf("cost=much: %v", err)
	}
	_, _, err := s.run("retry", failure, "--budget", "cost=5,calls=10")
	s.Must(err)
	spending, err := s.board.Calls.Spending(t.Context(), goal)
	s.Must(err)
	if want := (model.Budget{Cost: 5 * model.Unit, Calls: 10}); spending.More != want {
		t.Errorf("raised by %+v, want %+v", spending.More, want)
	}
}
