package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
	"sett/contract/model"
)

// Calls has the accounts of models' calls.
type Calls struct{ c *store.Conn }

// Reserve takes the most that a call may use out of the budgets of its goal and of its
// grant. It may be repeated with the same call.
func (b Calls) Reserve(ctx context.Context, q blackboard.Call, want blackboard.Reservation, budgets blackboard.Budgets) (blackboard.Room, error) {
	args := []string{q.ID, q.Claim, q.Agent, strconv.Itoa(q.Attempt), q.Holder, q.Model, q.Request, digits(want.Tokens), digits(int64(want.Cost))}
	args = append(append(append(args, bounds(budgets.Goal)...), bounds(budgets.Grant)...), want.Try, digits(want.Output))
	r, err := b.c.Do(ctx, "reserve_call", args...)
	if err != nil {
		return blackboard.Room{}, fmt.Errorf("reserve call %s: %w", q.ID, err)
	}
	room := blackboard.Room{State: blackboard.RoomState(r.Status), Tokens: -1, Cost: -1}
	switch room.State {
	case "ok":
		room.State, room.Again = blackboard.RoomReserved, r.Text(0) != ""
	case blackboard.RoomNotRunning:
		room.Reason = r.Text(0)
	case blackboard.RoomPaused:
		room.Reason = blackboard.Pause{By: r.Text(0), Why: r.Text(1)}.String()
	case blackboard.RoomWait, blackboard.RoomLess, blackboard.RoomNone:
		room.Tokens = number(r.Text(0))
		room.Cost = model.Money(number(r.Text(1)))
		unit := r.Text(3)
		room.Budget = blackboard.Exceeded{Of: r.Text(2), Unit: unit, Limit: blackboard.BudgetAmount(unit, number(r.Text(4))), Used: blackboard.BudgetAmount(unit, number(r.Text(5)))}
	}
	return room, nil
}

// Settle ends a call: it used that much. It may be repeated. ErrRefused: no such call
// was reserved.
func (b Calls) Settle(ctx context.Context, q blackboard.Call, s blackboard.Settlement) error {
	r, err := b.c.Do(ctx, "settle_call", q.ID, q.Claim, digits(s.Usage.Input), digits(s.Usage.Cached), digits(s.Usage.CacheWrite),
		digits(s.Usage.Output), digits(s.Usage.Reasoning), digits(int64(s.Cost)), oneOrZero(s.Priced), oneOrZero(s.Estimated),
		store.Micros(s.Took), strconv.Itoa(s.Status), s.Answer, s.Reason, s.Asked, s.Answerer,
		digits(int64(s.Budgets.Goal.Cost)), digits(s.Budgets.Goal.Tokens), digits(int64(s.Budgets.Grant.Cost)), digits(s.Budgets.Grant.Tokens))
	return store.Done(r, err, "settle call %s", q.ID)
}

// Pending returns the calls under way, the oldest first. A gateway that begins settles
// those that its predecessor left.
func (b Calls) Pending(ctx context.Context) ([]blackboard.PendingCall, error) {
	all, err := b.c.Hash(ctx, "read calls under way", b.c.Keys.PendingCalls())
	if err != nil {
		return nil, err
	}
	calls := make([]blackboard.PendingCall, 0, len(all))
	for id, text := range all {
		var p struct {
			Workflow, Claim, Agent, Attempt, Holder, Model, Request, Tokens, Output, Cost, Since string
		}
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			return nil, fmt.Errorf("read call %s: %w: %w", id, err, blackboard.ErrCorrupt)
		}
		since, err := store.ParseMicros(p.Since)
		if err != nil {
			return nil, fmt.Errorf("read call %s: %w: %w", id, err, blackboard.ErrCorrupt)
		}
		calls = append(calls, blackboard.PendingCall{
			Call: blackboard.Call{ID: id, Claim: p.Claim, Agent: p.Agent, Attempt: int(number(p.Attempt)), Holder: p.Holder, Model: p.Model, Request: p.Request},

			Workflow: p.Workflow, Reservation: blackboard.Reservation{Tokens: number(p.Tokens), Output: number(p.Output), Cost: model.Money(number(p.Cost))}, Since: since,
		})
	}
	slices.SortFunc(calls, func(a, b blackboard.PendingCall) int {
		if c := a.Since.Compare(b.Since); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return calls, nil
}

// Spending returns the account of a goal; the zero value where it called no model.
func (b Calls) Spending(ctx context.Context, workflow string) (blackboard.Spending, error) {
	fields, err := b.c.Hash(ctx, "read spending", b.c.Keys.Spending(workflow))
	if err != nil {
		return blackboard.Spending{}, err
	}
	return store.DecodeSpending(fields), nil
}

// Sums adds up all goals by model; Agent is empty.
func (b Calls) Sums(ctx context.Context) ([]blackboard.Spent, error) {
	fields, err := b.c.Hash(ctx, "read spending", b.c.Keys.Spending("models"))
	return store.DecodeSums(fields), err
}

// Paused says whether a person stopped all calls of the instance; nil: nobody did.
func (b Calls) Paused(ctx context.Context) (*blackboard.Pause, error) {
	is, err := b.c.Strings(ctx, "read instance", "HMGET", b.c.Keys.Instance(), "models", "models_by", "models_why", "models_at")
	if err != nil || len(is) < 4 || is[0] != blackboard.ModelsPaused {
		return nil, err
	}
	since, err := store.ParseMicros(is[3])
	if err != nil {
		return nil, fmt.Errorf("read instance: %w: %w", err, blackboard.ErrCorrupt)
	}
	return &blackboard.Pause{By: is[1], Why: is[2], Since: since}, nil
}

// PauseModels stops all calls of models, those of running tools too; or lets them go on.
func (b People) PauseModels(ctx context.Context, paused bool, by, why string) error {
	to := blackboard.ModelsRunning
	if paused {
		to = blackboard.ModelsPaused
	}
	return b.decide(ctx, to+" models", "", "pause_models", to, by, why)
}

// RaiseBudget adds to a budget, as a person says, once.
func (b People) RaiseBudget(ctx context.Context, r blackboard.Raise) error {
	return b.decide(ctx, "raise a budget of goal "+r.Workflow, r.Workflow, "raise_budget", raised(r, r.By)...)
}

// RaiseBudget adds to a budget, as a person's Answer says, which counts once.
func (b Cub) RaiseBudget(ctx context.Context, r blackboard.Raise) error {
	reply, err := b.c.Do(ctx, "raise_budget", raised(r, "")...)
	return store.Done(reply, err, "raise a budget of goal %s", r.Workflow)
}

func raised(r blackboard.Raise, by string) []string {
	return append(append([]string{r.Word, r.Workflow}, bounds(r.More)...), by, r.Claim, r.Agent)
}

// bounds writes a budget as the scripts take it.
func bounds(b model.Budget) []string {
	return []string{digits(int64(b.Cost)), digits(b.Tokens), digits(b.Calls), store.Micros(b.Time)}
}

func digits(n int64) string { return strconv.FormatInt(n, 10) }

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

func oneOrZero(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
