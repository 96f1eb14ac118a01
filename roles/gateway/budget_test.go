package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/boardtest"
	"sett/contract/env"
	"sett/contract/model"
	"sett/roles/role"
	line "sett/roles/role/gateway"
	"sett/roles/role/modeltest"
)

// budgeted sets the budget of goals, and the model's longest answer.
func budgeted(b model.Budget, output int64) func(*env.Gateway) {
	return func(g *env.Gateway) { g.Budget, g.Models[0].MaxOutput = b, output }
}

func using(in, out int64) modeltest.Step {
	return modeltest.Step{Text: "ok", Usage: &model.Usage{Input: in, Output: out}}
}

// TestBudgetLowersOutput: a call that does not fit is cut, in the words of its API, and
// in nothing else.
func TestBudgetLowersOutput(t *testing.T) {
	for _, c := range []struct {
		api  model.API
		more string
		want string
	}{
		{model.Chat, "", `{"max_tokens":%d,"model":"real-model",`},
		{model.Chat, `"max_tokens":9000,`, `{"max_tokens":%d,"model":"real-model",`},
		{model.Chat, `"max_completion_tokens":9000,`, `{"max_completion_tokens":%d,"model":"real-model",`},
		{model.Chat, `"max_tokens":null,`, `{"max_tokens":%d,"model":"real-model",`},
		{model.Responses, `"max_output_tokens":9000,`, `{"max_output_tokens":%d,"model":"real-model",`},
		{model.Responses, ``, `{"max_output_tokens":%d,"model":"real-model",`},
	} {
		p := newPlace(t, budgeted(model.Budget{Tokens: 3000}, 8000), using(10, 500))
		if got := p.ask(ask{api: c.api, more: c.more}); got.status != http.StatusOK {
			t.Errorf("%s %s: %v", c.api, c.more, got)
			continue
		}
		sent := string(p.mock.Last().Body)
		size := len(ask{api: c.api, more: c.more}.text())
		if want := fmt.Sprintf(c.want, 3000-(size+2)/3); !strings.HasPrefix(sent, want) {
			t.Errorf("%s %s: sent %s, want %s", c.api, c.more, sent, want)
		}
	}
	p := newPlace(t, budgeted(model.Budget{Cost: model.Unit / 100}, 8000), using(10, 500)) // 5,000 tokens of output
	if got := p.ask(ask{api: model.Messages, body: `{"max_tokens":9000,"messages":[]}`}); got.status != http.StatusOK {
		t.Errorf("by cost: %v", got)
	}
	var limit int
	if _, err := fmt.Sscanf(string(p.mock.Last().Body), `{"model":"real-model","max_tokens":%d,`, &limit); err != nil || limit < 4950 || limit >= 5000 {
		t.Errorf("by cost: %v, sent %s", err, p.mock.Last().Body)
	}
}

// TestBudgetEnds: when even a short answer does not fit, the call is refused, and the
// refusal names the budget and its use.
func TestBudgetEnds(t *testing.T) {
	p := newPlace(t, budgeted(model.Budget{Tokens: 3000}, 2000), using(100, 2000), using(1, 1))
	if got := p.ask(ask{}); got.status != http.StatusOK {
		t.Fatal(got)
	}
	got := p.ask(ask{})
	why, _ := line.ReadRefusal(got.header)
	if got.status != http.StatusTooManyRequests || why.Why != line.Budget || why.Budget == nil || *why.Budget != (blackboard.Exceeded{Of: "goal", Unit: "tokens", Limit: "3000", Used: "2100"}) ||
		!strings.Contains(got.body, "budget_exceeded") || got.header.Get(line.ShouldRetry) != "false" {
		t.Errorf("%v, %+v", got, why)
	}
	if n := len(p.mock.Requests()); n != 1 {
		t.Errorf("the provider got %d requests", n)
	}
	if s := p.spent(); s.Calls != 1 || s.Tokens != 2100 || s.Held.Tokens != 0 {
		t.Errorf("account %+v", s)
	}
	if want := "the goal's budget of 3000 tokens has no room for this call: 2100 of it is used, and the call may take up to "; !strings.HasPrefix(why.Message, want) || !strings.Contains(why.Message, "; a max_output of at most 789 fits") {
		t.Errorf("%s", why.Message)
	}
	got = p.ask(ask{body: `{"messages":[{"role":"user","content":"` + strings.Repeat("long ", 9000) + `"}]}`})
	if why, _ = line.ReadRefusal(got.header); !strings.HasSuffix(why.Message, " for its input alone") || strings.Contains(why.Message, "used up") {
		t.Errorf("%s", why.Message)
	}
	// A small one still fits.
	if got := p.ask(ask{more: `"max_tokens":500,`}); got.status != http.StatusOK {
		t.Error(got)
	}
}

// TestBudgetWaits: a call that does not fit waits for one under way.
func TestBudgetWaits(t *testing.T) {
	begin := make(chan struct{})
	first := using(10, 10)
	first.Begin = begin
	p := newPlace(t, budgeted(model.Budget{Tokens: 3000}, 2000), first, using(10, 10))
	ended := make(chan reply, 2)
	go func() { ended <- p.ask(ask{}) }()
	p.mock.Await("the first", func(all []modeltest.Request) bool { return len(all) == 1 })
	go func() { ended <- p.ask(ask{}) }()
	p.board.Until("the second to wait", func() bool { return p.spent().Held.Tokens > 0 })
	select {
	case got := <-ended:
		t.Fatalf("one ended: %v", got)
	case <-time.After(50 * time.Millisecond):
	}
	close(begin)
	for range 2 {
		if got := <-ended; got.status != http.StatusOK {
			t.Error(got)
		}
	}
	if sent := string(p.mock.Last().Body); strings.Contains(sent, "max_tokens") {
		t.Errorf("the second was cut: %s", sent)
	}
}

// TestBudgetHolds: 64 calls at once against one budget stay within it.
func TestBudgetHolds(t *testing.T) {
	p := newPlace(t, budgeted(model.Budget{Tokens: 20_000}, 1500))
	p.mock.Play = func(modeltest.Request) modeltest.Step { return using(10, 1400) }
	var all sync.WaitGroup
	counts := make(chan int, 64)
	for range 64 {
		all.Go(func() { counts <- p.ask(ask{}).status })
	}
	all.Wait()
	close(counts)
	ok, refused := 0, 0
	for status := range counts {
		switch status {
		case http.StatusOK:
			ok++
		case http.StatusTooManyRequests:
			refused++
		}
	}
	s := p.spent()
	if s.Tokens > 20_000 || s.Held.Tokens != 0 || ok+refused != 64 || int64(ok)*1410 != s.Tokens || ok < 13 {
		t.Errorf("%d fine, %d refused, account %+v", ok, refused, s)
	}
}

// TestPausedAndNotRunning: a person's word and the grant's end stop all spending at once.
func TestPausedAndNotRunning(t *testing.T) {
	p := newPlace(t, nil, modeltest.Text("ok"))
	p.board.Must(p.board.Moves.People.PauseModels(t.Context(), true, "ada", "dear"))
	if got := p.ask(ask{}); got.status != http.StatusTooManyRequests || got.refused() != line.Paused || !strings.Contains(got.body, "paused by ada (dear): sett models resume") {
		t.Error(got)
	}
	p.board.Must(p.board.Moves.People.PauseModels(t.Context(), false, "ada", ""))
	if got := p.ask(ask{}); got.status != http.StatusOK {
		t.Error(got)
	}
	p.board.Finish(p.claim, "coder", blackboard.Artefact{StructuralType: blackboard.Standard, Type: "Done"})
	if got := p.ask(ask{}); got.status != http.StatusForbidden || got.refused() != line.NotRunning {
		t.Error(got)
	}
}

// TestSameCall: a call that is repeated under its name is not made twice.
func TestSameCall(t *testing.T) {
	p := newPlace(t, nil, modeltest.Text("one"), modeltest.Text("two"))
	id := boardtest.NewID()
	if got := p.ask(ask{id: id}); got.status != http.StatusOK {
		t.Fatal(got)
	}
	if got := p.ask(ask{id: id}); got.status != http.StatusConflict || got.refused() != line.Request {
		t.Error(got)
	}
	if p.spent().Calls != 1 || len(p.mock.Requests()) != 1 {
		t.Errorf("account %+v", p.spent())
	}
}

// TestEstimateLearns: after an answer, the tokens for each byte are known.
func TestEstimateLearns(t *testing.T) {
	p := newPlace(t, nil, using(10, 1))
	q := blackboard.Call{Claim: p.claim, Agent: "coder"}
	size := int64(len(ask{api: model.Chat}.text()))
	if got := p.server.ratios.estimate(q, 3000, 0); got != 1000 {
		t.Errorf("before: %d", got)
	}
	if got := p.server.ratios.estimate(q, 3000, 800); got != 800 {
		t.Errorf("with a context: %d", got)
	}
	p.ask(ask{})
	if got, want := p.server.ratios.estimate(q, 3000, 0), int64(float64(3000)*10/float64(size)*1.1)+1; got != want {
		t.Errorf("after: %d, want %d", got, want)
	}
}

// TestInherit: calls that a killed gateway left are counted as they were reserved.
func TestInherit(t *testing.T) {
	p := newPlace(t, nil)
	q := blackboard.Call{ID: boardtest.NewID(), Claim: p.claim, Agent: "coder", Attempt: 1, Holder: holder, Model: "smart", Request: "r"}
	if _, err := p.board.Moves.Calls.Reserve(t.Context(), q, blackboard.Reservation{Tokens: 700, Output: 400, Cost: model.Unit}, blackboard.Budgets{}); err != nil {
		t.Fatal(err)
	}
	if err := p.server.inherit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := p.only(); s.Input != 300 || s.Output != 400 || s.Cost != model.Unit || s.Estimated != 1 || p.spent().Held.Tokens != 0 {
		t.Errorf("account %+v", p.spent())
	}
}

// TestCallForABidEnds: a call for a bid ends in its time; a longer Retry-After ends it at
// once. Other calls have no such bound.
func TestCallForABidEnds(t *testing.T) {
	quick := func(p *place) { p.server.pace.bid = 300 * time.Millisecond }
	silent := newPlace(t, nil, broken(modeltest.SilentHeaders))
	quick(silent)
	if got := silent.ask(ask{bid: true}); got.status != http.StatusGatewayTimeout || !strings.Contains(got.body, "a call for a bid may not take longer") {
		t.Errorf("silent: %v", got)
	}
	silent.checkAccount(fault{usage: estimated, reason: "may not take longer"})
	for _, bid := range []bool{true, false} {
		busy := newPlace(t, nil, after(modeltest.TooFast, "Retry-After", "1"), modeltest.Text("ok"))
		quick(busy)
		began := time.Now()
		got, want := busy.ask(ask{bid: bid}), http.StatusOK
		if bid {
			want = http.StatusTooManyRequests
		}
		if got.status != want || bid && time.Since(began) > 900*time.Millisecond {
			t.Errorf("busy, bid %v: %v after %s", bid, got, time.Since(began))
		}
	}
}

// TestSweep: a call that nobody makes any more, such as one for a bid that is not asked for
// again, is counted at the second look; one under way is left alone.
func TestSweep(t *testing.T) {
	p := newPlace(t, nil)
	var ids []string
	for range 2 {
		q := blackboard.Call{ID: boardtest.NewID(), Claim: p.claim, Agent: "coder", Attempt: 1, Holder: holder, Model: "smart", Request: "r"}
		if _, err := p.board.Moves.Calls.Reserve(t.Context(), q, blackboard.Reservation{Tokens: 700}, blackboard.Budgets{}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, q.ID)
	}
	done := p.server.under.add(ids[1])
	idle := p.server.sweepOnce(t.Context(), nil)
	if len(idle) != 1 || !idle[ids[0]] || p.spent().Calls != 0 {
		t.Errorf("idle %v, account %+v", idle, p.spent())
	}
	idle = p.server.sweepOnce(t.Context(), idle)
	if s := p.spent(); len(idle) != 0 || s.Calls != 1 || s.Tokens != 700 || s.Held.Tokens != 700 {
		t.Errorf("idle %v, account %+v", idle, s)
	}
	done()
	p.server.sweepOnce(t.Context(), p.server.sweepOnce(t.Context(), idle))
	if s := p.spent(); s.Calls != 2 || s.Held.Tokens != 0 {
		t.Errorf("account %+v", s)
	}
}

// TestLostReplyOfReservation: a reservation whose reply was lost is asked for again, and made once. Where the blackboard
// stays away, the call is refused, and what it took is given back.
func TestLostReplyOfReservation(t *testing.T) {
	p := newPlace(t, nil, modeltest.Text("ok"), modeltest.Text("ok"))
	whole, lost := p.server.board.Account, 3
	p.server.board.Account = losing{whole, &lost}
	if got := p.ask(ask{}); got.status != http.StatusOK || lost != 0 {
		t.Errorf("got %v, and %d replies to lose", got, lost)
	}
	p.server.settling.Wait()
	once := p.spent()
	if once.Held.Tokens != 0 || once.Calls != 1 || len(p.mock.Requests()) != 1 {
		t.Errorf("account %+v", once)
	}
	lost = 1 << 30
	p.server.board.Reachable = role.NewReachable(time.Now, 0)
	if got := p.ask(ask{}); got.status != http.StatusServiceUnavailable || got.refused() != line.Board || !strings.Contains(got.body, "blackboard unavailable") {
		t.Errorf("got %v", got)
	}
	p.server.board.Reachable.Back()
	lost = 0
	p.server.settling.Wait()
	if s := p.spent(); s.Held.Tokens != 0 || s.Tokens != once.Tokens || len(p.mock.Requests()) != 1 {
		t.Errorf("account %+v", s)
	}
}

// losing is an account that loses the replies of so many reservations.
type losing struct {
	Account
	replies *int
}

func (l losing) Reserve(ctx context.Context, q blackboard.Call, most blackboard.Reservation, budgets blackboard.Budgets) (blackboard.Room, error) {
	room, err := l.Account.Reserve(ctx, q, most, budgets)
	if *l.replies == 0 {
		return room, err
	}
	*l.replies--
	return blackboard.Room{}, blackboard.ErrUnavailable
}

// TestConcurrency: a model has no more calls under way than sett.yml allows.
func TestConcurrency(t *testing.T) {
	begin := make(chan struct{})
	p := newPlace(t, func(g *env.Gateway) { g.Models[0].Concurrency = 2 })
	p.mock.Play = func(modeltest.Request) modeltest.Step { return modeltest.Step{Text: "ok", Begin: begin} }
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if got := p.ask(ask{}); got.status != http.StatusOK {
				t.Error(got)
			}
		})
	}
	p.mock.Await("two calls", func(all []modeltest.Request) bool { return len(all) == 2 })
	time.Sleep(30 * time.Millisecond)
	if n := len(p.mock.Requests()); n != 2 {
		t.Errorf("%d calls under way", n)
	}
	close(begin)
	all.Wait()
}
