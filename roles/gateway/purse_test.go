package gateway

import (
	"math/rand/v2"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/boardtest"
	"sett/contract/model"
)

// TestPurse: the gateway's own account goes by the blackboard's rule. Both get the same calls.
func TestPurse(t *testing.T) {
	t.Parallel()
	budgets := blackboard.Budgets{Goal: model.Budget{Tokens: 6000, Cost: 5 * model.Unit, Calls: 40}, Grant: model.Budget{Tokens: 5000, Calls: 30}}
	for seed := range uint64(6) {
		p := newPlace(t, nil)
		q := newPurse(time.Now)
		chance := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // the same each time
		var open []blackboard.Call
		states := map[blackboard.RoomState]int{}
		for i := range 120 {
			if len(open) > 0 && chance.IntN(3) == 0 {
				n := chance.IntN(len(open))
				end := blackboard.Settlement{Usage: model.Usage{Input: chance.Int64N(90), Output: chance.Int64N(60)}, Cost: model.Money(chance.Int64N(int64(model.Unit) / 10)), Priced: true}
				if err := p.board.Moves.Calls.Settle(t.Context(), open[n], end); err != nil {
					t.Fatal(err)
				}
				_ = q.Settle(t.Context(), open[n], end)
				open = append(open[:n], open[n+1:]...)
				continue
			}
			call := blackboard.Call{ID: boardtest.NewID(), Claim: p.claim, Agent: "coder", Attempt: 1, Holder: holder, Model: "smart", Request: "r"}
			most := blackboard.Reservation{Tokens: 50 + chance.Int64N(600), Cost: model.Money(chance.Int64N(int64(model.Unit))), Try: "1"}
			if len(open) > 0 && chance.IntN(8) == 0 {
				call = open[0]
			}
			want, err := p.board.Moves.Calls.Reserve(t.Context(), call, most, budgets)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := q.Reserve(t.Context(), call, most, budgets)
			states[want.State]++
			if want.State == blackboard.RoomReserved {
				got.Tokens, got.Cost = want.Tokens, want.Cost // they say nothing then
				if !want.Again && (len(open) == 0 || open[0].ID != call.ID) {
					open = append(open, call)
				}
			}
			if got != want {
				t.Fatalf("seed %d, call %d: %+v, the blackboard says %+v", seed, i, got, want)
			}
		}
		if states[blackboard.RoomReserved] < 10 || states[blackboard.RoomWait]+states[blackboard.RoomNone]+states[blackboard.RoomLess] < 10 {
			t.Errorf("seed %d: %v", seed, states)
		}
	}
}
