package door_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sett/blackboard"
	"sett/roles/cub/door"
	"sett/roles/role/gateway"
)

const (
	claim  = "01ARZ3NDEKTSV4RRFFQ69G5FAW"
	callID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	hush   = "the agent's own token"
)

// opened is a door before a server that stands for the gateway.
type opened struct {
	*testing.T
	*door.Door
	vars map[string]string
	over chan *gateway.OverBudget
}

func open(t *testing.T, loopback bool, answer http.HandlerFunc) *opened {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return openTo(t, server.URL, loopback)
}

// openWith opens one with a loopback and other options.
func openWith(t *testing.T, answer http.HandlerFunc, change func(*door.Options)) *opened {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return openTo(t, server.URL, true, change)
}

// patience is for a gateway that is away for good.
const patience = time.Second

func openTo(t *testing.T, url string, loopback bool, change ...func(*door.Options)) *opened {
	t.Helper()
	o := &opened{T: t, vars: map[string]string{}, over: make(chan *gateway.OverBudget, 2)}
	var err error
	options := door.Options{
		Gateway: url, Token: hush, Call: blackboard.Call{Claim: claim, Agent: "coder", Attempt: 2, Holder: "h"}, NewID: func() string { return callID },
		Loopback: loopback, Log: slog.New(slog.DiscardHandler), Patience: patience,
		OverBudget: func(over *gateway.OverBudget) { o.over <- over },
	}
	for _, c := range change {
		c(&options)
	}
	o.Door, err = door.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	for _, v := range o.Environ(nil) {
		name, value, _ := strings.Cut(v, "=")
		o.vars[name] = value
	}
	return o
}

// bySocket is a client through the Unix socket.
func (o *opened) bySocket() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", o.vars["SETT_MODEL_SOCKET"])
	}}}
}

func (o *opened) post(client *http.Client, url string, header ...string) *http.Response {
	o.Helper()
	req, err := http.NewRequestWithContext(o.Context(), http.MethodPost, url, strings.NewReader(`{"model":"x"}`))
	if err != nil {
		o.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		o.Fatal(err)
	}
	o.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func body(t *testing.T, res *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A door knows for how long a call has had no end.
func TestWaits(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}), make(chan struct{})
	o := open(t, true, func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
		close(asked)
		<-answer
	})
	if o.Waits() != 0 {
		t.Error("it waits before a call")
	}
	res := o.post(http.DefaultClient, o.vars["OPENAI_BASE_URL"]+"/chat/completions", "Authorization", "Bearer "+o.vars["OPENAI_API_KEY"])
	<-asked
	if o.Waits() <= 0 {
		t.Error("it does not wait during a call")
	}
	close(answer)
	body(t, res)
	for late := time.Now().Add(5 * time.Minute); o.Waits() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("it waits after the call's end")
		}
	}
}

// A request arrives with the grant's name and the agent's token, and without what the
// client says about itself.
func TestPassesOn(t *testing.T) {
	t.Parallel()
	o := open(t, true, func(w http.ResponseWriter, r *http.Request) {
		q, ok := gateway.ReadCall(r.Header)
		text, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %v %+v auth=%q key=%q cookie=%q beta=%q forged=%q %s", r.Method, r.URL.RequestURI(), ok, q, r.Header["Authorization"], r.Header["X-Api-Key"],
			r.Header["Cookie"], r.Header["Anthropic-Beta"], r.Header["Sett-Other"], text)
	})
	want := func(path string) string {
		return `POST ` + path + ` true {ID:` + callID + ` Claim:` + claim + ` Agent:coder Attempt:2 Holder:h Model: Request:} auth=["Bearer ` + hush + `"] key=[] cookie=[] beta=["b"] forged=[] {"model":"x"}`
	}
	more := []string{"Cookie", "c=1", "Anthropic-Beta", "b", "Sett-Agent", "other", "Sett-Other", "x"}
	for name, c := range map[string]struct {
		client *http.Client
		url    string
		auth   []string
		path   string
	}{
		"openai":    {http.DefaultClient, o.vars["OPENAI_BASE_URL"] + "/chat/completions", []string{"Authorization", "Bearer " + o.vars["OPENAI_API_KEY"]}, "/v1/chat/completions"},
		"old":       {http.DefaultClient, o.vars["OPENAI_API_BASE"] + "/responses?x=1", []string{"Authorization", "Bearer " + o.vars["OPENAI_API_KEY"]}, "/v1/responses?x=1"},
		"anthropic": {http.DefaultClient, o.vars["ANTHROPIC_BASE_URL"] + "/v1/messages", []string{"X-Api-Key", o.vars["ANTHROPIC_API_KEY"]}, "/v1/messages"},
		"socket":    {o.bySocket(), "http://model/v1/messages", []string{"Authorization", "Bearer " + o.vars["ANTHROPIC_API_KEY"]}, "/v1/messages"},
	} {
		if got := body(t, o.post(c.client, c.url, append(c.auth, more...)...)); got != want(c.path) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want(c.path))
		}
	}
}

func TestWantsTheToken(t *testing.T) {
	t.Parallel()
	o := open(t, true, func(http.ResponseWriter, *http.Request) { t.Error("a request without the token came through") })
	for _, auth := range [][]string{nil, {"Authorization", "Bearer " + hush}, {"X-Api-Key", "x"}, {"Authorization", "Bearer " + o.vars["OPENAI_API_KEY"] + "x"}} {
		for _, way := range []struct {
			client *http.Client
			base   string
		}{{http.DefaultClient, o.vars["ANTHROPIC_BASE_URL"]}, {o.bySocket(), "http://model"}} {
			res := o.post(way.client, way.base+"/v1/messages", auth...)
			if got := body(t, res); res.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(got, `{"error":{"message":"this door wants`) || !strings.Contains(got, `"type":"error"`) {
				t.Errorf("%v: %d %s", auth, res.StatusCode, got)
			}
		}
	}
}

// Paths that no API has are the door's to refuse: the gateway serves its metrics and its health
// to those that ask it.
func TestOwnPathsOfTheGateway(t *testing.T) {
	t.Parallel()
	o := open(t, false, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s came through", r.URL.Path) })
	for _, path := range []string{"/metrics", "/healthz", "/", "//metrics", "/v1", "/v2/models"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://model"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+o.vars["OPENAI_API_KEY"])
		res, err := o.bySocket().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if got := body(t, res); res.StatusCode != http.StatusNotFound || !strings.Contains(got, "below /v1/") {
			t.Errorf("%s: %d %s", path, res.StatusCode, got)
		}
	}
}

// TestAnswerBeforeTheEndOfTheRequest: an answer that begins before the request's body has ended
// comes through whole, as does the body.
func TestAnswerBeforeTheEndOfTheRequest(t *testing.T) {
	t.Parallel()
	o := open(t, false, func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		half := make([]byte, 5)
		for range 2 {
			_, err := io.ReadFull(r.Body, half)
			_, _ = fmt.Fprintf(w, "%s %v. ", half, errors.Join(err, c.EnableFullDuplex(), c.Flush()))
			_ = c.Flush()
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out, in := io.Pipe()
	t.Cleanup(func() { _ = in.CloseWithError(io.ErrUnexpectedEOF) })
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://model/v1/chat/completions", out)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = 10
	req.Header.Set("Authorization", "Bearer "+o.vars["OPENAI_API_KEY"])
	go func() { _, _ = in.Write([]byte("first")) }()
	res, err := o.bySocket().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	begin := make([]byte, len("first <nil>. "))
	if _, err := io.ReadFull(res.Body, begin); err != nil {
		t.Fatalf("%q: %v", begin, err)
	}
	go func() { _, _ = in.Write([]byte("other")); _ = in.Close() }()
	if rest, err := io.ReadAll(res.Body); err != nil || string(begin)+string(rest) != "first <nil>. other <nil>. " {
		t.Errorf("%q %q: %v", begin, rest, err)
	}
}

// A stream comes through chunk by chunk, and a client that goes ends the request.
func TestStreams(t *testing.T) {
	t.Parallel()
	next, gone := make(chan struct{}), make(chan struct{})
	o := open(t, true, func(w http.ResponseWriter, r *http.Request) {
		for i := range 3 {
			_, _ = fmt.Fprintf(w, "data: %d\n", i)
			_ = http.NewResponseController(w).Flush()
			<-next
		}
		<-r.Context().Done()
		close(gone)
	})
	res := o.post(http.DefaultClient, o.vars["OPENAI_BASE_URL"]+"/chat/completions", "Authorization", "Bearer "+o.vars["OPENAI_API_KEY"])
	lines := bufio.NewReader(res.Body)
	for i := range 3 {
		if got, err := lines.ReadString('\n'); got != fmt.Sprintf("data: %d\n", i) || err != nil {
			t.Fatalf("chunk %d is %q, %v", i, got, err)
		}
		next <- struct{}{}
	}
	_ = res.Body.Close()
	select {
	case <-gone:
	case <-time.After(5 * time.Minute):
		t.Error("the gateway's request outlives the client")
	}
}

func TestGatewayAway(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	o := openTo(t, "http://"+l.Addr().String(), true)
	for path, want := range map[string]string{
		"/v1/messages":         `{"error":{"message":"the model gateway of this instance is out of reach; sett logs model-gateway says why","type":"api_error"},"type":"error"}`,
		"/v1/chat/completions": `{"error":{"message":"the model gateway of this instance is out of reach; sett logs model-gateway says why","type":"api_error","param":null,"code":null}}`,
	} {
		res := o.post(http.DefaultClient, o.vars["ANTHROPIC_BASE_URL"]+path, "X-Api-Key", o.vars["ANTHROPIC_API_KEY"])
		if got := strings.TrimSpace(body(t, res)); res.StatusCode != http.StatusServiceUnavailable || got != want {
			t.Errorf("%s: %d %s", path, res.StatusCode, got)
		}
	}
}

// A request that comes while the gateway is being started again waits for it.
func TestGatewayReturns(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	o := openTo(t, "http://"+l.Addr().String(), true)
	started := make(chan error, 1)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "back") }), ReadHeaderTimeout: time.Minute}
	t.Cleanup(func() { _ = server.Close() })
	time.AfterFunc(patience/5, func() {
		l, err := net.Listen("tcp", l.Addr().String())
		started <- err
		if err == nil {
			_ = server.Serve(l)
		}
	})
	res := o.post(http.DefaultClient, o.vars["OPENAI_BASE_URL"]+"/responses", "Authorization", "Bearer "+o.vars["OPENAI_API_KEY"])
	if err := <-started; err != nil {
		t.Fatalf("start the gateway: %v", err) // another program has its port
	}
	if got := body(t, res); got != "back" || res.StatusCode != http.StatusOK {
		t.Errorf("%d %s", res.StatusCode, got)
	}
}

// overBudget refuses a call as the gateway does.
func overBudget(w http.ResponseWriter) {
	gateway.Refusal{Why: gateway.Budget, Message: "no more"}.Write(w.Header())
	w.WriteHeader(http.StatusTooManyRequests)
	_, _ = io.WriteString(w, "body")
}

func TestTellsRefusals(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	o := open(t, true, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		overBudget(w)
	})
	if o.Over() != nil {
		t.Error("it is over budget before a call")
	}
	ask := func() *http.Response {
		return o.post(http.DefaultClient, o.vars["OPENAI_BASE_URL"]+"/responses", "Authorization", "Bearer "+o.vars["OPENAI_API_KEY"])
	}
	res := ask()
	if got := body(t, res); got != "body" || res.StatusCode != http.StatusTooManyRequests || res.Header.Get("x-should-retry") != "false" {
		t.Errorf("%d %s %v", res.StatusCode, got, res.Header)
	}
	if over := <-o.over; over.Refusal.Why != gateway.Budget || over.Error() != "no more" || o.Over() != over {
		t.Errorf("told of %+v", over)
	}
	res = ask() // it needs nobody's word any more
	if got := body(t, res); !strings.Contains(got, "no more") || res.StatusCode != http.StatusTooManyRequests || res.Header.Get("x-should-retry") != "false" || calls.Load() != 1 {
		t.Errorf("%d calls came through: %d %s %v", calls.Load(), res.StatusCode, got, res.Header)
	}
}

// TestOtherRefusals end no run: what is paused goes on, and the tool may do without.
func TestOtherRefusals(t *testing.T) {
	t.Parallel()
	o := open(t, true, func(w http.ResponseWriter, _ *http.Request) {
		gateway.Refusal{Why: gateway.Paused, Message: "not now"}.Write(w.Header())
		w.WriteHeader(http.StatusTooManyRequests)
	})
	body(t, o.post(http.DefaultClient, o.vars["OPENAI_BASE_URL"]+"/responses", "Authorization", "Bearer "+o.vars["OPENAI_API_KEY"]))
	if o.Over() != nil || len(o.over) > 0 {
		t.Errorf("over budget: %v", o.Over())
	}
}

// TestCallsUnderWayEnd before the run is ended by a call that no budget has room for; so does the door, with one that
// has no end.
func TestCallsUnderWayEnd(t *testing.T) {
	t.Parallel()
	for name, drain := range map[string]time.Duration{"they end": time.Hour, "one has no end": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, end := make(chan struct{}), make(chan struct{})
			var ended, before atomic.Bool
			o := openWith(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/v1/messages" {
					overBudget(w)
					return
				}
				_, _ = io.WriteString(w, "a beginning, ")
				_ = http.NewResponseController(w).Flush()
				close(first)
				select {
				case <-end:
				case <-r.Context().Done():
				}
				ended.Store(true)
				_, _ = io.WriteString(w, "and an end")
			}, func(o *door.Options) {
				tell := o.OverBudget
				o.Drain, o.OverBudget = drain, func(over *gateway.OverBudget) { before.Store(!ended.Load()); tell(over) }
			})
			auth := []string{"Authorization", "Bearer " + o.vars["OPENAI_API_KEY"]}
			slow := o.post(http.DefaultClient, o.vars["ANTHROPIC_BASE_URL"]+"/v1/messages", auth...)
			<-first
			body(t, o.post(http.DefaultClient, o.vars["OPENAI_BASE_URL"]+"/responses", auth...))
			if o.Over() == nil {
				t.Error("it is not over budget")
			}
			if drain < time.Minute {
				if over := <-o.over; over.Error() != "no more" {
					t.Errorf("told of %v", over)
				}
				close(end)
				return
			}
			close(end)
			if got := body(t, slow); got != "a beginning, and an end" {
				t.Errorf("the call under way answers %q", got)
			}
			if over := <-o.over; over.Error() != "no more" || before.Load() {
				t.Errorf("told of %v, before the call's end: %v", over, before.Load())
			}
		})
	}
}

// TestNoDoor: an agent without a model is over no budget, and waits for no call.
func TestNoDoor(t *testing.T) {
	t.Parallel()
	var none *door.Door
	if none.Over() != nil || none.Waits() != 0 {
		t.Error("over budget, or it waits")
	}
}

// After its end a door is nowhere: no socket, no address, no request under way.
func TestClose(t *testing.T) {
	t.Parallel()
	started, ended := make(chan struct{}), make(chan struct{})
	o := open(t, true, func(_ http.ResponseWriter, r *http.Request) {
		close(started)
		<-r.Context().Done()
		close(ended)
	})
	go func() {
		req, _ := http.NewRequest(http.MethodGet, o.vars["OPENAI_BASE_URL"]+"/models", nil)
		req.Header.Set("Authorization", "Bearer "+o.vars["OPENAI_API_KEY"])
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
		}
	}()
	<-started
	info, err := os.Stat(o.vars["SETT_MODEL_SOCKET"])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket: %v %v", info, err)
	}
	o.Close()
	select {
	case <-ended:
	case <-time.After(5 * time.Minute):
		t.Error("a request outlives the door")
	}
	if _, err := os.Stat(o.vars["SETT_MODEL_SOCKET"]); !os.IsNotExist(err) {
		t.Errorf("the socket stays: %v", err)
	}
	if c, err := net.Dial("tcp", strings.TrimPrefix(o.vars["ANTHROPIC_BASE_URL"], "http://")); err == nil {
		_ = c.Close()
		t.Error("the address still answers")
	}
}

// Without a network there is the socket alone, and sett.yml's own values win.
func TestEnviron(t *testing.T) {
	t.Parallel()
	o := open(t, false, nil)
	if len(o.vars) != 3 || o.vars["OPENAI_API_KEY"] == "" || o.vars["OPENAI_API_KEY"] != o.vars["ANTHROPIC_API_KEY"] || o.vars["SETT_MODEL_SOCKET"] == "" {
		t.Errorf("variables %v", o.vars)
	}
	given := []string{"OPENAI_API_KEY=mine", "OPENAI_BASE_URL=", "X=1"}
	got := open(t, true, nil).Environ(given)
	if len(got) != len(given)+4 || strings.Join(got[:3], " ") != "OPENAI_API_KEY=mine OPENAI_BASE_URL= X=1" || strings.Contains(strings.Join(got[3:], " "), "OPENAI_API_KEY") {
		t.Errorf("environment %q", got)
	}
}
