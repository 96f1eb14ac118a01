package cub

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/env"
	"sett/roles/role/gateway"
	"sett/roles/role/modeltest"
)

// withModel are the variables of an agent whose model is at that address.
func withModel(at string, more vars) vars {
	v := vars{env.ModelGateway: at, env.ModelToken: "token", env.ModelName: "m", env.PromptClaim: "Only code."}
	for name, value := range more {
		v[name] = value
	}
	return v
}

func modelBid(bid, reason string) modeltest.Step {
	return modeltest.Structured(map[string]string{"bid": bid, "reason": reason})
}

// about plays a step for the requests whose prompt has the text.
func about(text string, s modeltest.Step) modeltest.Step {
	s.For = func(q modeltest.Request) bool { return strings.Contains(string(q.Body), text) }
	return s
}

func TestBidsByModel(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	s := modeltest.Start(t,
		about("goal-claim", modelBid("claim", "it is\n\x1b[31mcode")), about("goal-ignore", modelBid("ignore", "no code")),
		about("goal-mended", modeltest.Text("I would review")), about("goal-mended", modelBid("review", "code")),
		about("goal-prose", modeltest.Text("review")), about("goal-prose", modeltest.Text("review!")),
		about("goal-odd", modelBid("approve", "x")), about("goal-odd", modelBid("approve", "x")),
		about("goal-refused", modeltest.Step{Refusal: "I do not bid"}), about("goal-money", modeltest.Broken(modeltest.OutOfMoney)),
		about("goal-cut", modeltest.Broken(modeltest.CutStream)), about("goal-cut", modelBid("exclusive", "again")),
	)
	c.start("worker", withModel(s.URL, nil))
	for goal, want := range map[string]struct {
		bid    blackboard.BidType
		reason string
	}{
		"goal-claim":   {blackboard.BidClaim, `model: it is \x1b[31mcode`},
		"goal-ignore":  {blackboard.BidIgnore, "model: no code"},
		"goal-mended":  {blackboard.BidReview, "model: code"},
		"goal-prose":   {blackboard.BidIgnore, "the model gave no bid: the answer is no JSON"},
		"goal-odd":     {blackboard.BidIgnore, `the model gave no bid: bid is "approve", want`},
		"goal-refused": {blackboard.BidIgnore, "the model gave no bid: the model refuses: I do not bid"},
		"goal-money":   {blackboard.BidIgnore, "your credit balance is too low"},
		"goal-cut":     {blackboard.BidExclusive, "model: again"},
	} {
		t.Run(goal, func(t *testing.T) {
			t.Parallel()
			c := c.in(t)
			bid, reason := c.awaitBid(c.open(c.goal(goal).ID, "worker"), "worker")
			if bid != want.bid || !strings.HasPrefix(reason, want.reason) && !strings.Contains(reason, want.reason) {
				t.Errorf("%s because %q, want %s because %q", bid, reason, want.bid, want.reason)
			}
		})
	}
}

// TestBidCalls: each call names the claim, and has an id that a new cub gives it again.
func TestBidCalls(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	s := modeltest.Start(t, modeltest.Text("no JSON"), modelBid("claim", "x"))
	c.start("worker", withModel(s.URL, nil))
	claim := c.open(c.goal("goal").ID, "worker")
	c.awaitBid(claim, "worker")
	for i, q := range s.Requests() {
		call, ok := gateway.ReadCall(q.Header)
		if !ok || call.Claim != claim || call.Agent != "worker" || !call.Bid() || call.ID != bidCallID(claim, "worker", i+1) || q.Header.Get("Authorization") != "Bearer token" {
			t.Errorf("call %d: %+v %v %v", i, call, ok, q.Header)
		}
	}
	if own := c.finished("worker", "Poem", "worker"); len(s.Requests()) != 2 {
		t.Errorf("the model was asked about its own work, %s", own)
	}
}

// TestBidsBeforeTheModel: a table decides first, and its bids never wait behind the model.
func TestBidsBeforeTheModel(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	begin := make(chan struct{})
	s := modeltest.Start(t)
	s.Play = func(modeltest.Request) modeltest.Step {
		step := modelBid("claim", "slow")
		step.Begin = begin
		return step
	}
	c.start("worker", withModel(s.URL, vars{env.Bids: `[{"type":"GoalDefined","bid":"model"},{"type":"Code*","bid":"review"}]`}))
	var slow []string
	for range 6 {
		slow = append(slow, c.open(c.goal("slow").ID, "worker"))
	}
	s.Await("four calls", func(all []modeltest.Request) bool { return len(all) == 4 })
	for range 3 {
		if bid, reason := c.awaitBid(c.finished("other", "CodeDraft", "worker"), "worker"); bid != blackboard.BidReview || reason != "" {
			t.Errorf("%s because %q", bid, reason)
		}
	}
	if bid, _ := c.awaitBid(c.finished("other", "Poem", "worker"), "worker"); bid != blackboard.BidIgnore {
		t.Errorf("bid %s", bid)
	}
	if n := len(s.Requests()); n != 4 {
		t.Errorf("%d calls at once", n)
	}
	close(begin)
	for _, claim := range slow {
		if bid, _ := c.awaitBid(claim, "worker"); bid != blackboard.BidClaim {
			t.Errorf("bid %s", bid)
		}
	}
}

// TestBidsRequiredOfTheModel: then a failure makes the claim wait, named, and the next look asks again.
func TestBidsRequiredOfTheModel(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	s := modeltest.Start(t, modeltest.Broken(modeltest.Unauthorized), modelBid("claim", "x"))
	r := c.start("worker", withModel(s.URL, vars{env.BidsRequired: "true"}))
	claim := c.open(c.goal("goal").ID, "worker")
	r.log.await(t, "bid not evaluated", "claim", claim)
	c.do("PUBLISH", key("claim_events"), claim)
	if bid, _ := c.awaitBid(claim, "worker"); bid != blackboard.BidClaim {
		t.Errorf("bid %s", bid)
	}
}

// TestAnotherAnswerForARequiredBid: an answer that is no bid is asked for anew, after a pause and by a
// call of its own, also where the gateway has kept it; a new cub goes past it at once.
func TestAnotherAnswerForARequiredBid(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	s := modeltest.Start(t, modelBid("claim", "x"))
	at, err := url.Parse(s.URL)
	must(t, err)
	var mu sync.Mutex
	asked, claim := 0, c.open(c.goal("goal").ID, "worker")
	refuses := modeltest.Start(t)
	refuses.Play = func(modeltest.Request) modeltest.Step { return modeltest.Step{Refusal: "not today"} }
	declines, err := url.Parse(refuses.URL)
	must(t, err)
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		call, _ := gateway.ReadCall(r.Header)
		to := at
		if asked++; call.ID == bidCallID(claim, "worker", 1) { // as the gateway answers the same call
			if to = declines; asked > 1 {
				w.Header().Set(gateway.Kept, "true")
			}
		}
		onward := httputil.NewSingleHostReverseProxy(to)
		onward.Transport = &http.Transport{DisableKeepAlives: true} // servers of other tests close connections of the common one
		// A cub that has its answer goes away at once, which must not take the end of the next one along.
		onward.ServeHTTP(w, r.WithContext(context.WithoutCancel(r.Context())))
	}))
	t.Cleanup(gate.Close)
	r := c.start("worker", withModel(gate.URL, vars{env.BidsRequired: "true"}))
	r.log.await(t, "bid not evaluated", "claim", claim)
	if bid, _ := c.awaitBid(claim, "worker"); bid != blackboard.BidClaim {
		t.Errorf("bid %s", bid)
	}
	mu.Lock()
	defer mu.Unlock()
	if asked != 3 {
		t.Errorf("%d requests, want the first one, the same again and another", asked)
	}
}

// TestBidCallThatHasEnded: after a crash, a call that had ended is made under the next id.
func TestBidCallThatHasEnded(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	s := modeltest.Start(t, modelBid("claim", "x"))
	at, err := url.Parse(s.URL)
	must(t, err)
	var mu sync.Mutex
	var ids []string
	onward := httputil.NewSingleHostReverseProxy(at)
	onward.Transport = &http.Transport{DisableKeepAlives: true} // servers of other tests close connections of the common one
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if ids = append(ids, r.Header.Get(gateway.Call)); len(ids) < 3 {
			gateway.Refusal{Why: gateway.Request, Message: "this call has ended"}.Write(w.Header())
			w.WriteHeader(http.StatusConflict)
			return
		}
		onward.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	c.start("worker", withModel(proxy.URL, nil))
	claim := c.open(c.goal("goal").ID, "worker")
	if bid, reason := c.awaitBid(claim, "worker"); bid != blackboard.BidClaim {
		t.Errorf("%s because %q", bid, reason)
	}
	if len(ids) != 3 || ids[0] == ids[1] || ids[2] != bidCallID(claim, "worker", 3) {
		t.Errorf("the calls were %v", ids)
	}
}

// TestPromptOnStdin: any program gets the prompt that sett llm builds.
func TestPromptOnStdin(t *testing.T) {
	t.Parallel()
	c, f := newClan(t), newForge(t)
	c.start("worker", f.writer("worker", vars{
		env.Role: "Coder", env.PromptExecution: "Write Go.", env.Command: shell("cat >prompt.txt; echo done"), env.Adapter: `{"adapter":"commit","stdin":"prompt"}`,
	}))
	a := c.result(c.work("worker", blackboard.PhaseExclusive, "say hello"), "worker")
	got := f.git("show", a.Commit+":prompt.txt")
	for _, part := range []string{"You are the Coder", "Write Go.", "Change the files in the working directory.", "~~~\nsay hello\n~~~", "Files:\n\n~~~\nfile\n~~~", "Do the work on artefact 1 (GoalDefined)."} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in:\n%s", part, got)
		}
	}
	if string(a.Metadata) != "{}" && len(a.Metadata) > 0 {
		t.Errorf("metadata %s", a.Metadata)
	}
}

// TestPromptLeftOut: a small context leaves a part out, and the result says so.
func TestPromptLeftOut(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	c.start("worker", withModel("http://127.0.0.1:1", vars{
		env.ModelDoor: "off", env.Bids: `[{"type":"*","bid":"exclusive"}]`, env.LLMSettings: `{"context":2000,"max_output":500}`, env.Command: shell("cat >/dev/null; echo done"),
		env.Adapter: `{"adapter":"text","stdin":"prompt","makes":["Notes"]}`,
	}))
	a := c.result(c.work("worker", blackboard.PhaseExclusive, strings.Repeat("a long goal\n", 1000)), "worker")
	if string(a.Metadata) != `{"left_out":["the middle of artefact 1 (GoalDefined)"]}` {
		t.Errorf("metadata %s", a.Metadata)
	}
}

// TestWithheldBids: an agent whose call is refused for want of a budget, or for a pause, bids nothing, and the claim
// says so; it is asked when the reason has ended. The same holds without a reason that can be told, as
// without a blackboard.
func TestWithheldBids(t *testing.T) {
	t.Parallel()
	for _, required := range []string{"true", "false"} {
		for why, kind := range map[gateway.Why]blackboard.WithheldKind{
			gateway.Budget: blackboard.WithheldBudget, gateway.Paused: blackboard.WithheldPaused, gateway.Board: "",
		} {
			t.Run(string(why)+", required "+required, func(t *testing.T) {
				t.Parallel()
				c := newClan(t)
				s := modeltest.Start(t, modelBid("review", "now"))
				at, err := url.Parse(s.URL)
				must(t, err)
				var over atomic.Bool
				onward := httputil.NewSingleHostReverseProxy(at)
				onward.Transport = &http.Transport{DisableKeepAlives: true}
				gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if over.Load() {
						onward.ServeHTTP(w, r)
						return
					}
					gateway.Refusal{Why: why, Message: "not now"}.Write(w.Header())
					w.WriteHeader(http.StatusTooManyRequests)
				}))
				t.Cleanup(gate.Close)
				r := c.start("worker", withModel(gate.URL, vars{env.BidsRequired: required}))
				claim := c.open(c.goal("goal").ID, "worker")
				r.log.await(t, "bid waits for the model", "claim", claim)
				until(t, "the wait on the board", func() bool {
					got, err := c.board.Records.Snapshot(c.ctx, claim)
					must(t, err)
					if len(got.Bids) > 0 {
						t.Fatalf("bids %+v", got.Bids)
					}
					is, waits := got.Claim.Withheld["worker"]
					return waits == (kind != "") && is.Kind == kind && (!waits || is.Why == "not now")
				})
				over.Store(true)
				c.do("PUBLISH", key("claim_events"), claim)
				if bid, reason := c.awaitBid(claim, "worker"); bid != blackboard.BidReview || reason != "model: now" {
					t.Errorf("%s because %q", bid, reason)
				}
			})
		}
	}
}

// TestWithheldByAnotherBudget: a budget that a person raised, and that is used up again, is another wait in the ledger; a
// use of the same limit is none.
func TestWithheldByAnotherBudget(t *testing.T) {
	t.Parallel()
	var moves []string
	c := &cub{}
	c.state = &state{settings: env.Cub{Agent: "a"}, log: slog.New(slog.DiscardHandler)}
	c.env.Now = time.Now
	c.board.withhold = func(_ context.Context, _, _ string, kind blackboard.WithheldKind, why string) error {
		moves = append(moves, string(kind)+" "+why)
		return nil
	}
	said := func(limit, used string) string {
		return blackboard.Exceeded{Of: blackboard.BudgetOfGoal, Unit: "calls", Limit: limit, Used: used}.String()
	}
	for _, limit := range []string{"2", "3"} {
		claim := blackboard.Claim{Withheld: map[string]blackboard.Withheld{"a": {Kind: blackboard.WithheldBudget, Why: said("2", "2")}}}
		must(t, c.withheld(t.Context(), claim, gateway.Refusal{Why: gateway.Budget, Message: said(limit, "4")}))
	}
	if want := []string{"budget " + said("2", "4"), " ", "budget " + said("3", "4")}; !slices.Equal(moves, want) {
		t.Errorf("moves %q, want %q", moves, want)
	}
}

// TestPausesOfWithheldBids grow, and stay so short that a person sees what the end of the reason brings.
func TestPausesOfWithheldBids(t *testing.T) {
	t.Parallel()
	var n noBids
	now := time.Now()
	for _, want := range []time.Duration{2, 4, 8, 16, 20, 20} {
		n.add("claim", now, mostWithheldPause)
		if want *= time.Second; n.due("claim", now.Add(want-1)) || !n.due("claim", now.Add(want)) {
			t.Errorf("the pause is not %s", want)
		}
		now = now.Add(want)
	}
}
