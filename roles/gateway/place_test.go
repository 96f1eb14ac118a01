package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/boardtest"
	"sett/contract/env"
	"sett/contract/model"
	line "sett/roles/role/gateway"
	"sett/roles/role/modeltest"

	"sett/roles/role"
)

const (
	instanceKey = "the instance's secret"
	providerKey = "sk-test-0123456789abcdefghijklmnop"
	holder      = "holder"
)

// place is a gateway between a client and a mock, with the accounts of a blackboard.
type place struct {
	t      *testing.T
	board  *boardtest.Board
	mock   *modeltest.Server
	server *server
	url    string
	claim  string // with a running grant of the agent coder
	goal   string
	apart  bool // the gateway is a process of its own
	log    *lockedBuffer
	asked  atomic.Int64
	ended  sync.Map // chan struct{} by number of the request: closed when it is settled, too
}

// numbered is the header with the number of a request of the test.
const numbered = "Test-Request"

// ServeHTTP has the gateway answer.
func (p *place) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if ended, ok := p.ended.LoadAndDelete(r.Header.Get(numbered)); ok {
		defer close(ended.(chan struct{}))
	}
	r.Header.Del(numbered)
	p.server.ServeHTTP(w, r)
}

func quickPace() pace {
	p := usualPace()
	p.pause, p.busy, p.longest, p.patience, p.budget, p.poll = time.Millisecond, 2*time.Millisecond, 4*time.Millisecond, 3*time.Second, 20*time.Second, 10*time.Millisecond
	return p
}

// newPlace starts one; change may change its settings.
func newPlace(t *testing.T, change func(*env.Gateway), steps ...modeltest.Step) *place {
	t.Helper()
	p := &place{t: t, board: boardtest.Start(t, "i").Lead(), mock: modeltest.Start(t, steps...), log: &lockedBuffer{}}
	p.mock.Key = providerKey
	p.claim = p.board.Granted("goal", "coder")
	p.goal = p.board.Snapshot(p.claim).Claim.WorkflowID
	p.board.Begin(p.claim, "coder", holder)
	p.start(change)
	return p
}

func (p *place) start(change func(*env.Gateway)) {
	p.t.Helper()
	keys := filepath.Join(p.t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte(`{"smart":"`+providerKey+`"}`), 0o600); err != nil {
		p.t.Fatal(err)
	}
	settings := env.Gateway{
		Instance: "i", Key: instanceKey, Keys: keys, Agents: map[string]env.GatewayAgent{"coder": {Model: "smart"}},
		Models: []env.Model{{Name: "smart", API: model.Chat, BaseURL: p.mock.URL + "/v1", Model: "real-model", MaxOutput: 2000, Price: &model.Price{Input: 1 * model.Unit, Output: 2 * model.Unit}}},
	}
	if change != nil {
		change(&settings)
	}
	e := role.Env{Stderr: p.log, Stdout: p.log, Now: time.Now, Entropy: rand.Reader, Lookup: func(string) (string, bool) { return "", false }}
	c := p.board.Moves.Calls
	b := board{Account: c, Pending: c.Pending, Ping: p.board.Moves.Ping, Reachable: role.NewReachable(time.Now, time.Minute)}
	var err error
	p.server, err = newServer(e, settings, b, newMetrics(), quickPace())
	if err != nil {
		p.t.Fatal(err)
	}
	web := httptest.NewServer(p)
	p.url = web.URL
	p.t.Cleanup(func() { web.CloseClientConnections(); web.Close(); p.server.settling.Wait() })
}

// lockedBuffer is a log that several may write.
type lockedBuffer struct {
	lock sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.Buffer.Write(p)
}

// await waits until the log has the text.
func (b *lockedBuffer) await(t *testing.T, text string) {
	t.Helper()
	has := func() bool {
		b.lock.Lock()
		defer b.lock.Unlock()
		return strings.Contains(b.String(), text)
	}
	for late := time.Now().Add(5 * time.Minute); !has(); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("the log has no %q", text)
		}
	}
}

// ask is a request of a client.
type ask struct {
	api     model.API
	path    string // instead of the API's
	stream  bool
	more    string // fields of the body, each with a comma after it
	body    string // instead of one made of these
	attempt int    // 0: 1
	bid     bool
	id      string
	holder  string
	header  map[string]string
	method  string
}

// reply is the answer to it.
type reply struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

var requests = map[model.API]struct{ path, body string }{
	model.Chat:      {"/v1/chat/completions", `"model":"any","messages":[{"role":"user","content":"hi"}]`},
	model.Messages:  {"/v1/messages", `"model":"any","max_tokens":1500,"messages":[{"role":"user","content":"hi"}]`},
	model.Responses: {"/v1/responses", `"model":"any","input":"hi"`},
}

func (a ask) text() string {
	switch {
	case a.body != "":
		return a.body
	case a.stream:
		return `{"stream":true,` + a.more + requests[a.api].body + `}`
	}
	return `{` + a.more + requests[a.api].body + `}`
}

func (p *place) request(ctx context.Context, a ask) *http.Request {
	if a.api == "" {
		a.api = model.Chat
	}
	if a.path == "" {
		a.path = requests[a.api].path
	}
	if a.method == "" {
		a.method = http.MethodPost
	}
	q, err := http.NewRequestWithContext(ctx, a.method, p.url+a.path, strings.NewReader(a.text()))
	if err != nil {
		p.t.Fatal(err)
	}
	c := blackboard.Call{ID: a.id, Claim: p.claim, Agent: "coder", Attempt: max(a.attempt, 1), Holder: holder}
	if a.holder != "" {
		c.Holder = a.holder
	}
	if c.ID == "" {
		c.ID = boardtest.NewID()
	}
	if a.bid {
		c.Attempt, c.Holder = 0, ""
	}
	line.SetCall(q.Header, line.Token(instanceKey, "coder"), c)
	if a.api == model.Messages {
		q.Header.Set("Anthropic-Version", "2023-06-01")
	}
	for name, value := range a.header {
		q.Header.Set(name, value)
	}
	return q
}

func (p *place) ask(a ask) reply { return p.askIn(p.t.Context(), a) }

// askIn returns the answer once its call is settled, which no client waits for.

func (p *place) askIn(ctx context.Context, a ask) reply {
	p.t.Helper()
	q, ended := p.request(ctx, a), make(chan struct{})
	q.Header.Set(numbered, strconv.FormatInt(p.asked.Add(1), 10))
	p.ended.Store(q.Header.Get(numbered), ended)
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return reply{err: err}
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	late := time.Now().Add(5 * time.Minute)
	for settled := p.apart && err != nil; !settled && time.Now().Before(late); {
		select {
		case <-ended:
			settled = true
		case <-time.After(5 * time.Millisecond):
			settled = p.apart && p.spent().Held.Tokens == 0
		}
	}
	return reply{answer.StatusCode, answer.Header, string(body), err}
}

func (r reply) String() string {
	return fmt.Sprintf("%d %v %v %.300s", r.status, r.err, r.header.Get(line.Refused), r.body)
}

// refused returns the kind of a refusal.
func (r reply) refused() line.Why {
	why, _ := line.ReadRefusal(r.header)
	return why.Why
}

// spent returns the account of the goal.
func (p *place) spent() blackboard.Spending {
	p.t.Helper()
	s, err := p.board.Moves.Calls.Spending(p.t.Context(), p.goal)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// only is the sum of the one agent's calls of the one model.
func (p *place) only() blackboard.Spent {
	p.t.Helper()
	all := p.spent().Total()
	if len(all) == 0 {
		return blackboard.Spent{}
	}
	return all[0]
}

func readAll(t *testing.T, r io.ReadCloser) string {
	t.Helper()
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
