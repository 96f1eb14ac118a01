package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"sett/blackboard"
	"sett/contract/model"
	"sett/roles/view"
)

// purse is the account of a gateway without a blackboard, as sett try has one: of one goal with
// one agent's grant. It goes by the rule of blackboard/redis/lua/reserve_call.lua.
type purse struct {
	now func() time.Time

	mu          sync.Mutex
	began       time.Time                         // of the grant: its first call
	held        map[string]blackboard.PendingCall // by call
	settled     map[string]bool
	spent       []blackboard.Spent // by model
	goal, grant model.Budget       // that is used up; a call for a bid is the goal's alone
}

func newPurse(now func() time.Time) *purse {
	return &purse{now: now, held: map[string]blackboard.PendingCall{}, settled: map[string]bool{}}
}

// Reserve is of Account.
func (p *purse) Reserve(_ context.Context, q blackboard.Call, most blackboard.Reservation, budgets blackboard.Budgets) (blackboard.Room, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if under, ok := p.held[q.ID]; ok {
		return blackboard.Room{State: blackboard.RoomReserved, Again: under.Try != most.Try}, nil
	}
	if p.settled[q.ID] {
		return blackboard.Room{State: blackboard.RoomSettled}, nil
	}
	if p.began.IsZero() && !q.Bid() {
		p.began = p.now()
	}
	if !p.began.IsZero() {
		p.goal.Time = p.now().Sub(p.began)
		p.grant.Time = p.goal.Time
	}
	var goal, grant model.Budget // that is held
	for _, c := range p.held {
		add(&goal, c.Cost, c.Tokens)
		if !c.Bid() {
			add(&grant, c.Cost, c.Tokens)
		}
	}
	room := blackboard.Room{State: blackboard.RoomReserved, Tokens: -1, Cost: -1}
	weigh(&room, blackboard.BudgetOfGoal, budgets.Goal, p.goal, goal, most)
	if !q.Bid() {
		weigh(&room, blackboard.BudgetOfGrant, budgets.Grant, p.grant, grant, most)
	}
	if room.State == blackboard.RoomReserved {
		p.held[q.ID] = blackboard.PendingCall{Call: q, Reservation: most, Since: p.now()}
	}
	return room, nil
}

func add(b *model.Budget, cost model.Money, tokens int64) {
	b.Cost, b.Tokens, b.Calls = min(b.Cost+cost, model.MostMoney), b.Tokens+tokens, b.Calls+1
}

// weigh notes in the room what a budget has left, and whether the call fits into it.
func weigh(room *blackboard.Room, of string, limit, used, held model.Budget, most blackboard.Reservation) {
	for _, u := range []struct {
		unit                    string
		limit, used, held, want int64
		left                    *int64 // nil: it does not come back
		said                    func(int64) string
	}{
		{"cost", int64(limit.Cost), int64(used.Cost), int64(held.Cost), int64(most.Cost), (*int64)(&room.Cost), func(n int64) string { return model.Money(n).String() }},
		{"tokens", limit.Tokens, used.Tokens, held.Tokens, most.Tokens, &room.Tokens, number},
		{"calls", limit.Calls, used.Calls, held.Calls, 1, nil, number},
		{"time", int64(limit.Time), int64(used.Time), 0, 1, nil, func(n int64) string { return time.Duration(n).Round(time.Second).String() }},
	} {
		if u.limit <= 0 {
			continue
		}
		free := max(0, u.limit-u.used-u.held)
		if u.left != nil && (*u.left < 0 || free < *u.left) {
			*u.left = free
		}
		if u.want <= free {
			continue
		}
		state := blackboard.RoomNone
		switch {
		case u.left != nil && u.held > 0:
			state = blackboard.RoomWait
		case u.left != nil && free > 0:
			state = blackboard.RoomLess
		}
		if room.State == blackboard.RoomReserved || state == blackboard.RoomNone || state == blackboard.RoomWait && room.State == blackboard.RoomLess {
			room.State, room.Budget = state, blackboard.Exceeded{Of: of, Unit: u.unit, Limit: u.said(u.limit), Used: u.said(u.used + u.held)}
		}
	}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// Settle is of Account.
func (p *purse) Settle(_ context.Context, q blackboard.Call, s blackboard.Settlement) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.held[q.ID]; !ok {
		return nil
	}
	delete(p.held, q.ID)
	p.settled[q.ID] = true
	one := blackboard.Spent{Agent: q.Agent, Model: q.Model, Usage: s.Usage, Calls: 1, Cost: s.Cost, Priced: s.Priced, Took: s.Took}
	if s.Estimated {
		one.Estimated = 1
	}
	add(&p.goal, s.Cost, s.Usage.Tokens())
	if !q.Bid() {
		add(&p.grant, s.Cost, s.Usage.Tokens())
	}
	for i := range p.spent {
		if p.spent[i].Model == q.Model {
			p.spent[i] = p.spent[i].Add(one)
			return nil
		}
	}
	p.spent = append(p.spent, one)
	return nil
}

func (p *purse) pending(context.Context) (all []blackboard.PendingCall, _ error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.held {
		all = append(all, c)
	}
	return all, nil
}

// print writes the account as JSON.
func (p *purse) print(w io.Writer) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := json.NewEncoder(w).Encode(view.SpentOf(p.spent)); err != nil {
		return fmt.Errorf("print the account: %w", err)
	}
	return nil
}
