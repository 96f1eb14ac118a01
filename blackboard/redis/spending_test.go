package redis

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/model"
)

// called is a claim whose agent runs, and a call of it.
func (w *world) called(agent string) (blackboard.GrantRef, func(id string) blackboard.Call) {
	claim := w.granted(blackboard.PhaseExclusive, agent)
	_, ref := w.run(claim, agent)
	return ref, func(id string) blackboard.Call {
		return blackboard.Call{ID: id, Claim: claim, Agent: agent, Attempt: ref.Attempt, Holder: ref.Holder, Model: "smart", Request: "r" + id}
	}
}

func (w *world) reserve(q blackboard.Call, tokens int64, cost model.Money, budgets blackboard.Budgets) blackboard.Room {
	w.Helper()
	room, err := w.b.Calls.Reserve(w.ctx, q, blackboard.Reservation{Tokens: tokens, Cost: cost}, budgets)
	must(w, err)
	return room
}

func (w *world) spending(workflow string) blackboard.Spending {
	w.Helper()
	s, err := w.b.Calls.Spending(w.ctx, workflow)
	must(w, err)
	return s
}

// A call takes from both budgets until it is settled, and then as much as it used. Each
// move may be repeated.
func TestCallIsAccounted(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		ref, call := w.called("a")
		goal := w.goalOf(ref.Claim)
		budgets := blackboard.Budgets{Goal: model.Budget{Cost: 10 * model.Unit, Tokens: 1000}, Grant: model.Budget{Cost: 2 * model.Unit}}
		one := call("1")
		w.twice("reserve", func() error {
			if room := w.reserve(one, 100, model.Unit, budgets); room.State != blackboard.RoomReserved {
				t.Errorf("reserve: %+v", room)
			}
			return nil
		})
		if got := w.spending(goal); got.Held != (blackboard.Reservation{Tokens: 100, Cost: model.Unit}) || got.Calls != 0 {
			t.Errorf("held: %+v", got)
		}
		pending, err := w.b.Calls.Pending(w.ctx)
		must(t, err)
		if len(pending) != 1 || pending[0].Call != one || pending[0].Workflow != goal || pending[0].Tokens != 100 || pending[0].Since.IsZero() {
			t.Errorf("under way: %+v", pending)
		}
		used := blackboard.Settlement{
			Usage: model.Usage{Input: 10, Cached: 20, CacheWrite: 5, Output: 7, Reasoning: 3}, Cost: model.Unit / 3, Priced: true, Took: 2 * time.Second, Status: 200, Answer: "hash",
		}
		w.twice("settle", func() error { return w.b.Calls.Settle(w.ctx, one, used) })
		e := w.lastEvent()
		if e.Kind != blackboard.EventCall || e.Claim != ref.Claim || e.Workflow != goal || e.Agent != "a" || e.Attributes["request"] != "r1" ||
			e.Attributes["answer"] != "hash" || e.Attributes["cost"] != "333333333" || e.Attributes["cached"] != "20" || e.Attributes["status"] != "200" {
			t.Errorf("ledger: %+v", e)
		}
		if room := w.reserve(one, 100, model.Unit, budgets); room.State != blackboard.RoomSettled {
			t.Errorf("reserve a settled call: %+v", room)
		}
		got := w.spending(goal)
		if got.Held != (blackboard.Reservation{}) || got.Cost != model.Unit/3 || got.Tokens != 42 || got.Calls != 1 || len(got.Runs) != 1 {
			t.Fatalf("account: %+v", got)
		}
		want := blackboard.Spent{Agent: "a", Model: "smart", Usage: used.Usage, Calls: 1, Cost: used.Cost, Priced: true, Took: used.Took}
		if got.Runs[0].Spent != want || got.Runs[0].Claim != ref.Claim {
			t.Errorf("run: %+v", got.Runs[0])
		}
		want.Agent = ""
		if sums, err := w.b.Calls.Sums(w.ctx); err != nil || len(sums) != 1 || sums[0] != want {
			t.Errorf("sums: %+v, %v", sums, err)
		}
		w.refuses("settle a call that was never reserved", blackboard.ErrRefused, func() error { return w.b.Calls.Settle(w.ctx, call("2"), used) })
	})
}

// A person raises the budget of one grant, once for each word. A retry goes on with the
// account of the grant that failed.
func TestBudgetOfGrantIsRaised(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		ref, call := w.called("a")
		goal := w.goalOf(ref.Claim)
		budgets := blackboard.Budgets{Grant: model.Budget{Tokens: 100}}
		spend := func(q blackboard.Call) {
			if room := w.reserve(q, 60, 0, budgets); room.State != blackboard.RoomReserved {
				t.Fatalf("reserve: %+v", room)
			}
			must(t, w.b.Calls.Settle(w.ctx, q, blackboard.Settlement{Usage: model.Usage{Input: 60}}))
		}
		short := func(q blackboard.Call, limit, used string) {
			t.Helper()
			want := blackboard.Exceeded{Of: blackboard.BudgetOfGrant, Unit: "tokens", Limit: limit, Used: used}
			if room := w.reserve(q, 60, 0, budgets); room.State != blackboard.RoomLess || room.Budget != want {
				t.Errorf("reserve: %+v, want %+v", room, want)
			}
		}
		spend(call("1"))
		short(call("2"), "100", "60")
		raise := blackboard.Raise{Word: "word", Workflow: goal, Claim: ref.Claim, Agent: "a", More: model.Budget{Tokens: 50}, By: "ann"}
		w.twice("raise", func() error { return w.b.People.RaiseBudget(w.ctx, raise) })
		if e := w.lastEvent(); e.Kind != blackboard.EventBudget || e.Claim != ref.Claim || e.Agent != "a" || e.Attributes["by"] != "ann" {
			t.Errorf("ledger: %+v", e)
		}
		spend(call("3"))
		short(call("4"), "150", "120")
		if more := w.spending(goal).More; more != (model.Budget{}) {
			t.Errorf("the goal's budget is raised by %+v", more)
		}
		other := raise
		other.Word, other.Agent = "other", "b"
		w.refuses("raise the budget of no grant", blackboard.ErrRefused, func() error { return w.b.People.RaiseBudget(w.ctx, other) })

		w.finish(ref.Claim, "a", blackboard.Failure, blackboard.TypeBudgetExceeded, "{}")
		must(t, w.b.Leader.TerminateClaim(w.ctx, w.guard(ref.Claim), "failed", nil, nil))
		again := newID()
		must(t, w.b.People.Retry(w.ctx, ref.Claim, again, "ann", ""))
		_, ref = w.run(again, "a")
		retried := blackboard.Call{ID: newID(), Claim: again, Agent: "a", Attempt: ref.Attempt, Holder: ref.Holder, Model: "smart", Request: "r"}
		short(retried, "150", "120")
		if s := w.spending(goal); s.Tokens != 120 || s.Calls != 2 {
			t.Errorf("account: %+v", s)
		}
		raise.Word, raise.Claim = "second", again
		must(t, w.b.People.RaiseBudget(w.ctx, raise))
		spend(retried)
	})
}

// A call that does not fit waits for those under way, then it may be smaller, then the
// budget is used up. Each budget and each unit counts.
func TestBudgets(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		ref, call := w.called("a")
		goal := w.goalOf(ref.Claim)
		of := func(b model.Budget) blackboard.Budgets { return blackboard.Budgets{Goal: b} }
		tokens := of(model.Budget{Tokens: 100})
		if room := w.reserve(call("1"), 90, 0, tokens); room.State != blackboard.RoomReserved {
			t.Fatalf("first: %+v", room)
		}
		if room := w.reserve(call("2"), 20, 0, tokens); room.State != blackboard.RoomWait || room.Tokens != 10 || room.Cost != -1 {
			t.Errorf("beside one under way: %+v", room)
		}
		must(t, w.b.Calls.Settle(w.ctx, call("1"), blackboard.Settlement{Usage: model.Usage{Output: 90}}))
		room := w.reserve(call("2"), 20, 0, tokens)
		if want := (blackboard.Exceeded{Of: "goal", Unit: "tokens", Limit: "100", Used: "90"}); room.State != blackboard.RoomLess || room.Tokens != 10 || room.Budget != want {
			t.Errorf("a large one: %+v", room)
		}
		if room := w.reserve(call("2"), 10, 0, tokens); room.State != blackboard.RoomReserved {
			t.Errorf("a small one: %+v", room)
		}
		must(t, w.b.Calls.Settle(w.ctx, call("2"), blackboard.Settlement{Usage: model.Usage{Output: 15}, Cost: 3 * model.Unit / 2, Priced: true}))
		for what, b := range map[string]blackboard.Budgets{
			"tokens":  tokens,
			"calls":   of(model.Budget{Calls: 2}),
			"cost":    of(model.Budget{Cost: model.Unit}),
			"time":    of(model.Budget{Time: time.Microsecond}),
			"a grant": {Grant: model.Budget{Calls: 2}},
		} {
			if room := w.reserve(call("3"), 1, 1, b); room.State != blackboard.RoomNone {
				t.Errorf("%s: %+v", what, room)
			}
		}
		if room := w.reserve(call("3"), 1, 1, of(model.Budget{Cost: model.Unit})); room.Budget.Limit != "1.00" || room.Budget.Used != "1.50" {
			t.Errorf("cost in words: %+v", room.Budget)
		}

		w.twice("raise", func() error {
			return w.b.People.RaiseBudget(w.ctx, blackboard.Raise{Word: "word", Workflow: goal, More: model.Budget{Tokens: 50, Calls: 3}, By: "ann"})
		})
		if e := w.lastEvent(); e.Kind != blackboard.EventBudget || e.Attributes["by"] != "ann" || e.Attributes["tokens"] != "50" {
			t.Errorf("ledger: %+v", e)
		}
		if room := w.reserve(call("3"), 40, 0, tokens); room.State != blackboard.RoomReserved {
			t.Errorf("after more: %+v", room)
		}
		w.refuses("raise by an answer that is none", blackboard.ErrRefused, func() error {
			return w.b.Cub.RaiseBudget(w.ctx, blackboard.Raise{Word: goal, Workflow: goal, More: model.Budget{Tokens: 50}})
		})
	})
}

// What calls side by side take may be more than was reserved: the account and the ledger say so, and not before.
func TestMoreThanTheBudget(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		ref, call := w.called("a")
		goal := w.goalOf(ref.Claim)
		budgets := blackboard.Budgets{Goal: model.Budget{Tokens: 100}, Grant: model.Budget{Cost: model.Unit}}
		for _, id := range []string{"1", "2", "3"} {
			if room := w.reserve(call(id), 30, 0, budgets); room.State != blackboard.RoomReserved {
				t.Fatalf("reserve: %+v", room)
			}
		}
		for _, c := range []struct {
			id   string
			cost model.Money
			want string
			over string
		}{{"1", model.Unit, "", ""}, {"2", 1, "grant cost 1000000000 1000000001", "more than the grant's budget of 1.00 cost was used (1.000000001)"},
			{"3", 0, "goal tokens 100 150", "more than the goal's budget of 100 tokens was used (150)"}} {
			w.twice("settle", func() error {
				return w.b.Calls.Settle(w.ctx, call(c.id), blackboard.Settlement{Usage: model.Usage{Input: 50}, Cost: c.cost, Priced: true, Budgets: budgets})
			})
			got := w.spending(goal).Over
			if (got == nil) != (c.over == "") || got != nil && got.Over() != c.over {
				t.Errorf("after call %s: %+v, want %q", c.id, got, c.over)
			}
			if e := w.lastEvent(); e.Kind != blackboard.EventCall || e.Attributes["over"] != c.want {
				t.Errorf("ledger: %+v, want %q", e, c.want)
			}
		}
	})
}

// A call needs a running grant of its caller, or a bid that is due, and calls that are
// not paused.
func TestWhoMayCall(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		ref, call := w.called("a")
		other := call("1")
		other.Holder = "other"
		old := call("1")
		old.Attempt = 7
		foreign := call("1")
		foreign.Agent = "b"
		for what, q := range map[string]blackboard.Call{"another holder": other, "another attempt": old, "another agent": foreign} {
			before := w.dump()
			if room := w.reserve(q, 1, 0, blackboard.Budgets{}); room.State != blackboard.RoomNotRunning || room.Reason == "" {
				t.Errorf("%s: %+v", what, room)
			}
			w.unchanged(what, before)
		}
		w.twice("pause", func() error { return w.b.People.PauseModels(w.ctx, true, "ann", "too dear") })
		if room := w.reserve(call("1"), 1, 0, blackboard.Budgets{}); room.State != blackboard.RoomPaused || room.Reason != "all calls of models are paused by ann (too dear)" {
			t.Errorf("paused: %+v", room)
		}
		if p, err := w.b.Calls.Paused(w.ctx); err != nil || p == nil || p.By != "ann" || p.Why != "too dear" || p.Since.IsZero() {
			t.Errorf("paused: %+v, %v", p, err)
		}
		must(t, w.b.People.PauseModels(w.ctx, false, "ann", ""))
		if p, err := w.b.Calls.Paused(w.ctx); err != nil || p != nil {
			t.Errorf("resumed: %+v, %v", p, err)
		}
		if room := w.reserve(call("1"), 1, 0, blackboard.Budgets{}); room.State != blackboard.RoomReserved {
			t.Errorf("resumed: %+v", room)
		}
		must(t, w.b.Leader.TerminateClaim(w.ctx, w.guard(ref.Claim), "cancelled", nil, nil))
		if room := w.reserve(call("2"), 1, 0, blackboard.Budgets{}); room.State != blackboard.RoomNotRunning {
			t.Errorf("after the end: %+v", room)
		}
		must(t, w.b.Calls.Settle(w.ctx, call("1"), blackboard.Settlement{Usage: model.Usage{Input: 1}})) // it counts all the same
		if got := w.spending(w.goalOf(ref.Claim)); got.Tokens != 1 || got.Held.Tokens != 0 || got.Time <= 0 {
			t.Errorf("account: %+v", got)
		}

		claim := w.open(w.goal().ID, "a")
		bid := blackboard.Call{ID: "bid", Claim: claim, Agent: "a", Model: "smart"}
		if room := w.reserve(bid, 1, 0, blackboard.Budgets{Grant: model.Budget{Calls: 0}}); room.State != blackboard.RoomReserved {
			t.Errorf("a bid's call: %+v", room)
		}
		must(t, w.b.Calls.Settle(w.ctx, bid, blackboard.Settlement{Usage: model.Usage{Input: 3}}))
		must(t, w.bid(claim, "a", blackboard.BidExclusive))
		bid.ID = "late"
		if room := w.reserve(bid, 1, 0, blackboard.Budgets{}); room.State != blackboard.RoomNotRunning {
			t.Errorf("a bid's call after the bid: %+v", room)
		}
	})
}

// Of many calls at once, no more are reserved than the budget has room for.
func TestManyCallsAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		for _, c := range []struct {
			budget model.Budget
			fit    int64
			others blackboard.RoomState
		}{
			{model.Budget{Tokens: 100}, 14, blackboard.RoomWait},
			{model.Budget{Calls: 10}, 10, blackboard.RoomNone},
		} {
			w := newWorld(t, s)
			ref, call := w.called("a")
			var all sync.WaitGroup
			for i := range 64 {
				all.Go(func() {
					room, err := w.b.Calls.Reserve(w.ctx, call(ref.Claim+strconv.Itoa(i)), blackboard.Reservation{Tokens: 7}, blackboard.Budgets{Goal: c.budget})
					if err != nil || room.State != blackboard.RoomReserved && room.State != c.others {
						t.Errorf("call %d: %+v, %v", i, room, err)
					}
				})
			}
			all.Wait()
			if got := w.spending(w.goalOf(ref.Claim)); got.Held.Tokens != 7*c.fit {
				t.Errorf("%+v: %d tokens are reserved, 7 each", c.budget, got.Held.Tokens)
			}
		}
	})
}

// The gateway's user can do all that the gateway does.
func TestGatewayUserCanWork(t *testing.T) {
	g := startGuarded(t, "a")
	at, err := GatewayURL(g.server.URL, adminPassword)
	must(t, err)
	b := open(t, at)
	must(t, b.Ping(g.ctx))
	ref, call := g.called("a")
	room, err := b.Calls.Reserve(g.ctx, call("1"), blackboard.Reservation{Tokens: 1}, blackboard.Budgets{Goal: model.Budget{Tokens: 1}})
	must(t, err)
	if room.State != blackboard.RoomReserved {
		t.Errorf("reserve: %+v", room)
	}
	if pending, err := b.Calls.Pending(g.ctx); err != nil || len(pending) != 1 {
		t.Errorf("under way: %+v, %v", pending, err)
	}
	must(t, b.Calls.Settle(g.ctx, call("1"), blackboard.Settlement{Usage: model.Usage{Input: 1}}))
	must(t, b.Calls.Settle(g.ctx, call("1"), blackboard.Settlement{Usage: model.Usage{Input: 1}}))
	room, err = b.Calls.Reserve(g.ctx, call("2"), blackboard.Reservation{Tokens: 1}, blackboard.Budgets{Goal: model.Budget{Tokens: 1}})
	if err != nil || room.State != blackboard.RoomNone {
		t.Errorf("beyond the budget: %+v, %v", room, err)
	}
	if _, err := b.Calls.Spending(g.ctx, g.goalOf(ref.Claim)); err != nil {
		t.Error(err)
	}
	if paused, err := b.Calls.Paused(g.ctx); err != nil || paused != nil {
		t.Errorf("paused: %v, %v", paused, err)
	}
	claim := g.open(g.goal().ID, "a")
	bid := blackboard.Call{ID: "bid", Claim: claim, Agent: "a", Model: "smart"}
	if room, err := b.Calls.Reserve(g.ctx, bid, blackboard.Reservation{Tokens: 1}, blackboard.Budgets{}); err != nil || room.State != blackboard.RoomReserved {
		t.Errorf("a bid's call: %+v, %v", room, err)
	}
}

// The gateway's credentials in the wrong hands decide nothing.
func TestGatewayUserIsRefused(t *testing.T) {
	g := startGuarded(t, "a")
	g.goal()
	before := g.dump()
	thief := dial(t, g.server.Addr())
	if got := thief.say("AUTH", GatewayUser, passwordOf(adminPassword, GatewayUser)); got != "+OK" {
		t.Fatalf("AUTH: %s", got)
	}
	own := [][]string{
		{"SET", "sett:{test}:epoch", "9"}, {"SET", "sett:{test}:leader", "me"}, {"HSET", "sett:{test}:agents", "a", "x"},
		{"HSET", "sett:{test}:artifact:x", "payload", "forged"}, {"HSET", "sett:{test}:instance", "approve", "[]"},
		{"PUBLISH", "sett:{test}:claim_events", "x"}, {"SUBSCRIBE", "sett:{test}:claim_events"}, {"DEL", "sett:{test}:events"},
	}
	for _, command := range append(own, refusedToAgents...) {
		if got := thief.say(command...); !refusal.MatchString(got) {
			t.Errorf("%q: %s", command, got)
		}
	}
	g.unchanged("the thief", before)
}

// TestSpendingClamps: however much calls are said to cost, a sum stays where it can be counted, and above zero.
func TestSpendingClamps(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		ref, call := w.called("a")
		most := model.MostCount
		for i := range 3 {
			q := call(strconv.Itoa(i))
			if room := w.reserve(q, 1, 1, blackboard.Budgets{}); room.State != blackboard.RoomReserved {
				t.Fatalf("reserve: %+v", room)
			}
			must(t, w.b.Calls.Settle(w.ctx, q, blackboard.Settlement{
				Usage: model.Usage{Input: most, Cached: most, CacheWrite: most, Output: most}, Cost: model.MostMoney, Priced: true, Status: 200,
			}))
		}
		got := w.spending(w.goalOf(ref.Claim))
		if got.Cost != model.MostMoney || got.Tokens != 12*most || got.Held != (blackboard.Reservation{}) || got.Runs[0].Cost != model.MostMoney || got.Runs[0].Input != 3*most {
			t.Errorf("account: %+v", got)
		}
		if room := w.reserve(call("9"), 1, 1, blackboard.Budgets{Goal: model.Budget{Cost: model.MostMoney}}); room.State != blackboard.RoomNone {
			t.Errorf("reserve: %+v", room)
		}
	})
}

// The wait of a grant for its model is no time of its budget, nor of its attempt's run; that before and after it is.
func TestWaitForModelIsNoTime(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		ref, call := w.called("a")
		must(t, w.b.Cub.Await(w.ctx, ref, blackboard.WaitModel, "why"))
		waited := time.Now()
		for time.Since(waited) < 300*time.Millisecond {
			time.Sleep(10 * time.Millisecond)
		}
		must(t, w.b.Cub.Await(w.ctx, ref, "", ""))
		g := w.grantOf(ref.Claim, "a")
		if g.Waited < 250*time.Millisecond || g.Waited > time.Since(waited)+50*time.Millisecond {
			t.Errorf("waited %s", g.Waited)
		}
		if all := blackboard.Waits(w.snapshot(ref.Claim), blackboard.Policy{}, blackboard.Scene{}); len(all) != 1 || all[0].Since.Sub(g.StartedAt) != g.Waited {
			t.Errorf("waits %+v, the grant began at %s", all, g.StartedAt)
		}
		budgets := blackboard.Budgets{Grant: model.Budget{Time: time.Hour}}
		if room := w.reserve(call("1"), 1, 1, budgets); room.State != blackboard.RoomReserved {
			t.Fatalf("%+v", room)
		}
		took := time.Since(waited)
		if got := w.spending(w.goalOf(ref.Claim)).Time; got <= 0 || got > took-200*time.Millisecond {
			t.Errorf("%s counted, of %s with the wait", got, took)
		}
		must(t, w.b.Cub.Requeue(w.ctx, blackboard.HandBack{GrantRef: ref, Most: 10, Reason: "stopped"}))
		if g := w.grantOf(ref.Claim, "a"); g.Waited != 0 {
			t.Errorf("the next attempt waited %s", g.Waited)
		}
	})
}
