package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"sett/contract/env"
	"sett/contract/model"
	line "sett/roles/role/gateway"
	"sett/roles/role/modeltest"
)

// fault is a row: the provider's steps, and the end that the client and the account see.
type fault struct {
	name      string
	steps     []modeltest.Step
	a         ask
	status    int      // 0: the connection is cut
	cut       bool     // in the body
	why       line.Why // empty: the provider's own answer
	asked     int      // requests at the provider
	usage     string   // none, known, estimated
	body      string   // is in it
	reason    string   // is in the ledger
	retry     bool     // the answer does not forbid a repetition
	moreModel func(*env.Model)
}

const (
	none      = "none"
	known     = "known"
	estimated = "estimated"
)

func broken(f modeltest.Fault) modeltest.Step { return modeltest.Step{Fault: f} }

func after(f modeltest.Fault, header, value string) modeltest.Step {
	return modeltest.Step{Fault: f, Header: map[string]string{header: value}}
}

func quick(m *env.Model) { m.Timeout, m.Idle = 150*time.Millisecond, 150*time.Millisecond }

func faults() []fault {
	ok := modeltest.Text("fine")
	four := func(f modeltest.Fault) []modeltest.Step {
		return []modeltest.Step{broken(f), broken(f), broken(f), broken(f), ok}
	}
	one := func(f modeltest.Fault) []modeltest.Step { return []modeltest.Step{broken(f), ok} }
	stream := ask{stream: true}
	return []fault{
		{name: "200", steps: []modeltest.Step{ok}, status: 200, asked: 1, usage: known, body: "fine", retry: true},
		{name: "400", steps: one(modeltest.BadRequest), status: 400, asked: 1, usage: none, body: "invalid_request_error", reason: "status 400"},
		{name: "401", steps: one(modeltest.Unauthorized), status: 401, asked: 1, usage: none, body: "invalid key ****"},
		{name: "401 of a key in a file", steps: one(modeltest.Unauthorized), status: 401, asked: 1, usage: none, body: " (if the key in ~/key is wrong, or has changed since sett up: mend it, sett up, sett retry ID)\"",
			moreModel: func(m *env.Model) { m.KeyFrom = "~/key" }},
		{name: "401 without a key", steps: one(modeltest.Unauthorized), a: ask{api: model.Messages}, status: 401, asked: 1, usage: none, body: "api_key_env or api_key_file of models.smart"},
		{name: "402", steps: one(modeltest.PaymentRequired), status: 402, asked: 1, usage: none},
		{name: "404 model", steps: one(modeltest.NoModel), status: 404, asked: 1, usage: none, body: "no model"},
		{name: "413", steps: one(modeltest.TooLarge), status: 413, asked: 1, usage: none},
		{name: "context overflow", steps: one(modeltest.ContextOverflow), status: 400, asked: 1, usage: none, body: "too long"},
		{name: "408 once", steps: one(modeltest.TimedOut), status: 200, asked: 2, usage: known, retry: true},
		{name: "429 once", steps: one(modeltest.TooFast), status: 200, asked: 2, usage: known, retry: true},
		{name: "429 always", steps: four(modeltest.TooFast), status: 429, asked: 4, usage: none, body: "too many requests (after 4 tries in ", reason: "status 429 (after 4 tries in "},
		{name: "429 with a Retry-After", steps: []modeltest.Step{after(modeltest.TooFast, "Retry-After", "0.2"), ok}, status: 200, asked: 2, usage: known, retry: true},
		{name: "429 with retry-after-ms", steps: []modeltest.Step{after(modeltest.TooFast, "Retry-After-Ms", "200"), ok}, status: 200, asked: 2, usage: known, retry: true},
		{name: "429 with a huge Retry-After", steps: []modeltest.Step{after(modeltest.TooFast, "Retry-After", "86400"), ok}, status: 429, asked: 1, usage: none,
			body: `"message":"the provider asks for a wait of 24h0m0s, and Sett waits at most 3.0s: too many`, reason: "status 429: the provider asks for a wait of 24h0m0s, and Sett waits at most 3.0s"},
		{name: "429 with a huge Retry-After of messages", steps: []modeltest.Step{after(modeltest.TooFast, "Retry-After", "86400"), ok}, a: ask{api: model.Messages, stream: true}, status: 429, asked: 1, usage: none,
			body: `"message":"the provider asks for a wait of 24h0m0s, and Sett waits at most 3.0s: `},
		{name: "502 of a proxy with a huge Retry-After", steps: []modeltest.Step{after(modeltest.ErrorHTML, "Retry-After", "86400"), ok}, status: 502, asked: 1, usage: none, why: line.Provider,
			body: "model smart answers 502: the provider asks for a wait of 24h0m0s", reason: "asks for a wait of 24h0m0s"},
		{name: "429 until a far date", steps: []modeltest.Step{after(modeltest.TooFast, "Retry-After", "Fri, 31 Dec 2100 23:59:59 GMT"), ok}, status: 429, asked: 1, usage: none},
		{name: "429 of money", steps: one(modeltest.OutOfMoney), status: 429, asked: 1, usage: none, body: "balance"},
		{name: "500 twice", steps: []modeltest.Step{broken(modeltest.ServerError), broken(modeltest.ServerError), ok}, status: 200, asked: 3, usage: known, retry: true},
		{name: "500 always", steps: four(modeltest.ServerError), status: 500, asked: 4, usage: none},
		{name: "503 always", steps: four(modeltest.Unavailable), a: stream, status: 503, asked: 4, usage: none},
		{name: "529 always", steps: four(modeltest.Overloaded), a: ask{api: model.Messages}, status: 529, asked: 4, usage: none, body: "overloaded_error"},
		{name: "502 of a proxy", steps: four(modeltest.ErrorHTML), status: 502, asked: 4, usage: none, body: "s: <!DOCTYPE html>", reason: "status 502 (after 4 tries in "},
		{name: "529, and a huge wait", steps: []modeltest.Step{broken(modeltest.Overloaded), after(modeltest.Overloaded, "Retry-After", "86400")}, a: ask{api: model.Messages}, status: 529, asked: 2, usage: none,
			body: `waits at most 3.0s: Overloaded (after 2 tries in `, reason: "(after 2 tries in "},
		{name: "error event", steps: one(modeltest.StreamError), a: stream, status: 200, asked: 1, usage: estimated, body: "Overloaded ****", reason: "Overloaded", retry: true},
		{name: "error event of messages", steps: one(modeltest.StreamError), a: ask{api: model.Messages, stream: true}, status: 200, asked: 1, usage: estimated, reason: "Overloaded", retry: true},
		{name: "error event of responses", steps: one(modeltest.StreamError), a: ask{api: model.Responses, stream: true}, status: 200, asked: 1, usage: estimated, reason: "Overloaded", retry: true},
		{name: "reset once", steps: one(modeltest.Reset), status: 200, asked: 2, usage: estimated, retry: true},
		{name: "reset always", steps: four(modeltest.Reset), status: 502, asked: 4, usage: estimated, why: line.Provider, body: "(after 4 tries in ", reason: "(after 4 tries in "},
		{name: "cut in headers", steps: one(modeltest.CutHeaders), status: 200, asked: 2, usage: estimated, retry: true},
		{name: "cut in the body", steps: one(modeltest.CutBody), status: 200, asked: 2, usage: estimated, retry: true},
		{name: "always cut in the body", steps: four(modeltest.CutBody), status: 502, asked: 4, usage: estimated, why: line.Provider, reason: "ends early"},
		{name: "cut in a chunk", steps: one(modeltest.CutChunk), status: 200, asked: 2, usage: estimated, retry: true},
		{name: "stream cut in the body", steps: one(modeltest.CutBody), a: stream, status: 200, cut: true, asked: 1, usage: estimated, reason: "cut", retry: true},
		{name: "stream cut in a chunk", steps: one(modeltest.CutChunk), a: ask{api: model.Messages, stream: true}, status: 200, cut: true, asked: 1, usage: estimated, reason: "cut", retry: true},
		{name: "stream that stops too early", steps: one(modeltest.CutStream), a: stream, status: 200, asked: 1, usage: estimated, reason: "without its last event", retry: true},
		{name: "silence before headers", steps: one(modeltest.SilentHeaders), status: 504, asked: 1, usage: estimated, why: line.Provider, body: "no answer in time: it did not begin within 150ms; timeout: {headers: …} of models.smart", moreModel: quick},
		{name: "silence before the headers of a stream", steps: one(modeltest.SilentHeaders), a: stream, status: 504, asked: 1, usage: estimated, why: line.Provider, body: "no answer in time: it did not begin within 150ms; timeout: {headers: …} of models.smart", moreModel: quick},
		{name: "silence in the stream", steps: one(modeltest.SilentStream), a: stream, status: 200, cut: true, asked: 1, body: `data: {"error":{"message":"the provider was silent for too long: nothing came for 150ms; timeout: {idle: …} of models.smart allows more","type":"gateway_idle_timeout"}}`, usage: estimated, reason: "silent for too long: nothing came for 150ms; timeout: {idle: …} of models.smart", moreModel: quick, retry: true},
		{name: "silence in the stream of messages", steps: one(modeltest.SilentStream), a: ask{api: model.Messages, stream: true}, status: 200, cut: true, asked: 1, body: "event: error\ndata: {\"error\":{\"message\":\"the provider was silent for too long: ", usage: estimated, reason: "silent for too long: nothing came for 150ms; timeout: {idle: …} of models.smart", moreModel: quick, retry: true},
		{name: "silence in the stream of responses", steps: one(modeltest.SilentStream), a: ask{api: model.Responses, stream: true}, status: 200, cut: true, asked: 1, body: "event: error\ndata: {\"code\":\"gateway_idle_timeout\",\"message\":\"the provider was silent for too long: ", usage: estimated, reason: "silent for too long: nothing came for 150ms; timeout: {idle: …} of models.smart", moreModel: quick, retry: true},
		{name: "silence in the body", steps: one(modeltest.SilentStream), status: 504, asked: 1, usage: estimated, why: line.Provider, reason: "silent", moreModel: quick},
		{name: "HTML", steps: one(modeltest.HTML), status: 502, asked: 1, usage: none, why: line.Provider, reason: "page for people"},
		{name: "truncated JSON", steps: one(modeltest.TruncatedJSON), status: 200, asked: 1, usage: estimated, reason: "no JSON", retry: true},
		{name: "truncated JSON in a stream", steps: one(modeltest.TruncatedJSON), a: stream, status: 200, asked: 1, usage: estimated, retry: true},
		{name: "wrong schema", steps: one(modeltest.WrongSchema), status: 200, asked: 1, usage: known, body: "unexpected", retry: true},
		{name: "empty answer", steps: one(modeltest.Empty), status: 200, asked: 1, usage: known, retry: true},
		{name: "no body", steps: one(modeltest.NoBody), status: 200, asked: 1, usage: estimated, retry: true},
		{name: "refusal", steps: []modeltest.Step{{Refusal: "I will not."}}, status: 200, asked: 1, usage: known, body: "I will not", retry: true},
		{name: "length", steps: []modeltest.Step{{Text: "half", Length: true}}, a: stream, status: 200, asked: 1, usage: known, body: `"length"`, retry: true},
		{name: "64 MiB", steps: one(modeltest.Large), status: 200, cut: true, asked: 1, usage: estimated, reason: "larger than", retry: true},
		{name: "8 MiB", steps: []modeltest.Step{{Fault: modeltest.Large, Size: 8 << 20}}, status: 200, asked: 1, usage: known, retry: true},
		{name: "endless", steps: one(modeltest.Endless), status: 200, cut: true, asked: 1, usage: estimated, reason: "larger than", retry: true},
		{name: "endless stream", steps: one(modeltest.Endless), a: stream, status: 200, cut: true, asked: 1, usage: estimated, reason: "larger than", retry: true},
		{name: "redirect", steps: []modeltest.Step{after(modeltest.Redirect, "Location", "https://elsewhere.example/x"), ok}, status: 502, asked: 1, usage: none, why: line.Provider, reason: "elsewhere.example"},
		{name: "huge headers", steps: four(modeltest.HugeHeaders), status: 502, asked: 4, usage: estimated, why: line.Provider},
		{name: "stream without usage", steps: []modeltest.Step{{Text: "fine fine fine", NoUsage: true}}, a: stream, status: 200, asked: 1, usage: estimated, retry: true},
		{name: "messages without usage", steps: []modeltest.Step{{Text: "fine fine fine", NoUsage: true}}, a: ask{api: model.Messages, stream: true}, status: 200, asked: 1, usage: estimated, retry: true},
		{name: "answer without usage", steps: []modeltest.Step{{Text: "fine fine fine", NoUsage: true}}, a: ask{api: model.Responses}, status: 200, asked: 1, usage: estimated, retry: true},
		{name: "broken calls of tools", steps: []modeltest.Step{{Calls: []modeltest.Call{{ID: "1", Name: "edit", Arguments: `{"path":`}, {ID: "1", Name: "edit", Arguments: "{}"}, {Name: "unheard", Arguments: "{}"}}}},
			a: stream, status: 200, asked: 1, usage: known, body: "unheard", retry: true},
	}
}

// TestFaults: every fault ends within its limits, with a status that says what happened,
// and with the account right.
func TestFaults(t *testing.T) {
	for _, c := range faults() {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, func(g *env.Gateway) {
				if c.moreModel != nil {
					c.moreModel(&g.Models[0])
				}
			}, c.steps...)
			began := time.Now()
			got := p.ask(c.a)
			if got.status != c.status || (got.err != nil) != c.cut || got.refused() != c.why || !strings.Contains(got.body, c.body) {
				t.Errorf("got %v", got)
			}
			if (got.header.Get(line.ShouldRetry) != "false") != c.retry {
				t.Errorf("should retry: %q", got.header.Get(line.ShouldRetry))
			}
			if strings.Contains(c.name, "Retry-After") && c.asked == 2 && time.Since(began) < 200*time.Millisecond {
				t.Errorf("repeated after %s", time.Since(began))
			}
			if n := len(p.mock.Requests()); n != c.asked {
				t.Errorf("the provider got %d requests, want %d", n, c.asked)
			}
			p.checkAccount(c)
			p.checkSecret(got)
		})
	}
}

// checkAccount compares the account after a fault.
func (p *place) checkAccount(c fault) {
	p.t.Helper()
	p.board.Until("the call to be settled", func() bool { return p.spent().Calls == 1 })
	s := p.only()
	if held := p.spent().Held; held.Tokens != 0 || held.Cost != 0 {
		p.t.Errorf("held: %+v", held)
	}
	switch c.usage {
	case none:
		if s.Tokens() != 0 || s.Estimated != 0 {
			p.t.Errorf("account %+v, want nothing", s)
		}
	case known:
		if s.Input == 0 || s.Output == 0 || s.Estimated != 0 {
			p.t.Errorf("account %+v, want what the provider said", s)
		}
	case estimated:
		if s.Input == 0 || s.Estimated != 1 {
			p.t.Errorf("account %+v, want an estimate", s)
		}
	}
	for _, e := range p.board.Events("call") {
		if !strings.Contains(e.Reason, c.reason) {
			p.t.Errorf("ledger: %q, want %q", e.Reason, c.reason)
		}
	}
}

// checkSecret looks for the key everywhere.
func (p *place) checkSecret(got reply) {
	p.t.Helper()
	if strings.Contains(got.body, providerKey) || strings.Contains(p.log.String(), providerKey) {
		p.t.Error("the key is in the answer or in the log")
	}
	for _, values := range got.header {
		if strings.Contains(strings.Join(values, " "), providerKey) {
			p.t.Error("the key is in a header")
		}
	}
	for _, e := range p.board.Events("call") {
		if strings.Contains(fmt.Sprintf("%+v", e), providerKey) {
			p.t.Errorf("the key is in the ledger: %+v", e)
		}
	}
}

// TestProviderAway: a provider that refuses connections used nothing, and may come back.
func TestProviderAway(t *testing.T) {
	p := newPlace(t, nil, modeltest.Text("back"))
	p.mock.Away()
	if got := p.ask(ask{}); got.status != http.StatusBadGateway || got.refused() != line.Provider {
		t.Errorf("got %v", got)
	}
	p.checkAccount(fault{usage: none, reason: "out of reach"})
	p.mock.Back()
	if got := p.ask(ask{}); got.status != http.StatusOK {
		t.Errorf("got %v", got)
	}
}

// TestLostRequests: each request that the provider got and dropped counts, as the model may have worked on each.
func TestLostRequests(t *testing.T) {
	for _, f := range []modeltest.Fault{modeltest.Reset, modeltest.CutHeaders} {
		inputs := map[int]int64{}
		for _, n := range []int{1, 4} {
			p := newPlace(t, func(g *env.Gateway) {
				retries := n - 1
				g.Models[0].Retries = &retries
			}, broken(f), broken(f), broken(f), broken(f))
			p.ask(ask{})
			inputs[n] = p.only().Input
		}
		if inputs[1] == 0 || inputs[4] != 4*inputs[1] {
			t.Errorf("%v: %d tokens for 4 tries, %d for one", f, inputs[4], inputs[1])
		}
	}
}

// TestPauses: a minute of overload is survived, and no fault of a shorter kind holds a call up for as long.
func TestPauses(t *testing.T) {
	sum := func(ctx context.Context, g *got, asks time.Duration) (all time.Duration) {
		c := &call{s: &server{pace: usualPace()}}
		for c.tries = 1; c.tries <= usualRetries; c.tries++ {
			all += c.pause(ctx, g, asks)
		}
		return all
	}
	for status, least := range map[int]time.Duration{429: 54 * time.Second, 503: 54 * time.Second, 529: 54 * time.Second, 500: 10 * time.Second, 502: 10 * time.Second, 504: 10 * time.Second, 0: 10 * time.Second} {
		g := &got{status: status}
		if status == 0 {
			g = nil
		}
		if all := sum(t.Context(), g, 0); all < least || all > least*5/4+5*time.Second {
			t.Errorf("%d: the pauses are %s", status, all)
		}
	}
	if all := sum(t.Context(), &got{status: 429}, time.Second); all < 14*time.Second || all > 20*time.Second {
		t.Errorf("after waits that were asked for: %s", all)
	}
	limited, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	if all := sum(limited, &got{status: 529}, 0); all > 46*time.Second {
		t.Errorf("a bid has a minute, and waits for %s", all)
	}
}

// TestOverloadIsWaitedFor: the pauses of an overload are those that the provider sees, and end with the client.
func TestOverloadIsWaitedFor(t *testing.T) {
	for _, f := range []modeltest.Fault{modeltest.TooFast, modeltest.Unavailable, modeltest.Overloaded} {
		p := newPlace(t, nil, broken(f), broken(f), modeltest.Text("fine"))
		p.server.pace.busy, p.server.pace.longest = 40*time.Millisecond, time.Second
		began := time.Now()
		if got := p.ask(ask{}); got.status != http.StatusOK || time.Since(began) < 150*time.Millisecond {
			t.Errorf("%v: %v after %s", f, got, time.Since(began))
		}
	}
	p := newPlace(t, nil, broken(modeltest.Overloaded))
	p.server.pace.busy, p.server.pace.longest = time.Hour, time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.askIn(ctx, ask{})
	}()
	p.log.await(t, "request repeated")
	cancel()
	<-ended
	p.checkAccount(fault{usage: none, reason: "client went away"})
}

// TestClientGoesAway: the provider's call is cancelled, and what it used is settled.
func TestClientGoesAway(t *testing.T) {
	for _, stream := range []bool{false, true} {
		for _, silence := range []modeltest.Fault{modeltest.SilentHeaders, modeltest.SilentStream} {
			p := newPlace(t, nil, broken(silence))
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				p.askIn(ctx, ask{stream: stream})
			}()
			p.mock.Await("the request", func(all []modeltest.Request) bool { return len(all) == 1 })
			cancel()
			<-ended
			p.mock.Await("the end at the provider", func(all []modeltest.Request) bool { return all[0].Gone })
			p.checkAccount(fault{usage: estimated, reason: "client went away"})
		}
	}
}

// TestClientGoesAwayBetween: a client that goes away while the provider has asked for a wait took nothing, and one whose
// last attempt was cut took what the model had said.
func TestClientGoesAwayBetween(t *testing.T) {
	for _, c := range []struct {
		last  modeltest.Step
		usage string
	}{{last: after(modeltest.TooFast, "Retry-After", "2"), usage: none}, {last: broken(modeltest.CutBody), usage: estimated}, {last: broken(modeltest.Reset), usage: estimated}} {
		p := newPlace(t, nil, broken(modeltest.TooFast), c.last)
		p.server.pace.pause, p.server.pace.longest = time.Second, time.Second
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			p.askIn(ctx, ask{})
		}()
		p.mock.Await("the second attempt", func(all []modeltest.Request) bool { return len(all) == 2 })
		time.Sleep(300 * time.Millisecond) // the wait after it takes half a second at least
		cancel()
		<-ended
		p.checkAccount(fault{usage: c.usage, reason: "client went away"})
		if s := p.only(); c.usage == none && (s.Cost != 0 || p.spent().Cost != 0) {
			t.Errorf("it cost %s", s.Cost)
		} else if c.usage == estimated && (s.Input > 300 || s.Cost == 0) {
			t.Errorf("the input of one attempt counts twice: %+v", s)
		}
		if n := len(p.mock.Requests()); n != 2 {
			t.Errorf("%d requests", n)
		}
	}
}
