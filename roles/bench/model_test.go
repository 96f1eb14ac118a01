//go:build bench

package bench

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/boardtest"
	"sett/blackboard/redis/redistest"
	"sett/contract/env"
	"sett/contract/model"
	"sett/roles/cub/door"
	line "sett/roles/role/gateway"
	"sett/roles/role/modeltest"
)

// modelLine is a client behind the door of a grant, a gateway in a process of its own, and
// the model of tests.
type modelLine struct {
	testing.TB
	board   *boardtest.Board
	mock    *modeltest.Server
	gateway *exec.Cmd
	url     string // of the gateway
	door    string // its address
	token   string // of the door
	client  *http.Client
}

const gatewaySecret = "the secret"

// startModel starts a gateway on a blackboard that writes everything to its disk at once.
func startModel(tb testing.TB) *modelLine { return startModelAt(tb, "") }

// startModelAt starts it with another provider; empty: the model of tests.
func startModelAt(tb testing.TB, provider string) *modelLine {
	tb.Helper()
	b := boardtest.Open(tb, redistest.Start(tb, redistest.Durable...), "bench").Lead()
	m := &modelLine{TB: tb, board: b, mock: modeltest.Start(tb), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}}
	m.mock.Play = func(modeltest.Request) modeltest.Step { return modeltest.Text("fine") }
	claim := b.Granted("goal", "coder")
	b.Begin(claim, "coder", "h")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	keys := filepath.Join(tb.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte(`{"smart":"sk-0123456789abcdef"}`), 0o600); err != nil {
		tb.Fatal(err)
	}
	settings := env.Gateway{
		Instance: "bench", Addr: addr, Key: gatewaySecret, Keys: keys, Answers: tb.TempDir(), HealthAddr: "off", Redis: env.Redis{URL: b.Server.URL, Retries: 5},
		Models: []env.Model{{Name: "smart", API: model.Chat, BaseURL: cmp.Or(provider, m.mock.URL) + "/v1", Model: "m", Concurrency: 256, Price: &model.Price{Input: 1, Output: 1}}},
		Agents: map[string]env.GatewayAgent{"coder": {Model: "smart", Budget: model.Budget{Cost: model.Unit}}, "bidder": {Model: "smart"}}, Budget: model.Budget{Tokens: 1 << 50},
	}
	m.gateway, m.url = spawn(tb, "model-gateway", settings.Environ()...), "http://"+addr
	waitFor(tb, "the gateway", func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	d, err := door.Open(door.Options{
		Gateway: m.url, Token: line.Token(gatewaySecret, "coder"), Call: blackboard.Call{Claim: claim, Agent: "coder", Attempt: 1, Holder: "h"}, NewID: boardtest.NewID,
		Loopback: true, Log: slog.New(slog.DiscardHandler), OverBudget: func(over *line.OverBudget) { tb.Errorf("refused: %v", over) },
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(d.Close)
	for _, v := range d.Environ(nil) {
		name, value, _ := strings.Cut(v, "=")
		switch name {
		case env.AnthropicBase:
			m.door = value
		case env.OpenAIKey:
			m.token = value
		}
	}
	return m
}

// call asks for a stream or a whole answer, by door and gateway or not. It returns the time to
// the first byte and to the end, and the size of the answer.
func (m *modelLine) call(bare, stream bool, size int) (first, whole time.Duration, length int64) {
	body := fmt.Sprintf(`{"model":"m","stream":%v,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"%s"}]}`, stream, strings.Repeat("x", size))
	url := m.door
	if bare {
		url = m.mock.URL
	}
	q, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		m.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+m.token)
	began := time.Now()
	answer, err := m.client.Do(q)
	if err != nil {
		m.Error(err)
		return
	}
	defer answer.Body.Close()
	r := bufio.NewReader(answer.Body)
	if _, err := r.Peek(1); err != nil {
		m.Error(err)
	}
	first = time.Since(began)
	length, err = io.Copy(io.Discard, r)
	if err != nil || answer.StatusCode != http.StatusOK {
		m.Errorf("status %d: %v", answer.StatusCode, err)
	}
	return first, time.Since(began), length
}

// beside measures both ways one after the other, so that both see the same machine, and
// returns the medians.
func (m *modelLine) beside(stream bool, size, times int) (bareFirst, first, bareWhole, whole time.Duration) {
	var all [4][]time.Duration
	for range times {
		f, w, _ := m.call(true, stream, size)
		all[0], all[2] = append(all[0], f), append(all[2], w)
		f, w, _ = m.call(false, stream, size)
		all[1], all[3] = append(all[1], f), append(all[3], w)
	}
	return median(all[0]), median(all[1]), median(all[2]), median(all[3])
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// TestBenchModelCall compares calls by door and gateway, accounts included, with bare ones.
func TestBenchModelCall(t *testing.T) {
	m := startModel(t)
	m.beside(false, 1<<10, 50)
	for _, c := range []struct {
		size, times int
		name        string
		limit       float64
	}{{1 << 10, 400, "1 KiB", 2}, {64 << 10, 200, "64 KiB", 4}, {1 << 20, 50, "1 MiB", 15}} {
		_, _, bare, whole := m.beside(false, c.size, c.times)
		t.Logf("%s: bare %v, by the gateway %v", c.name, bare, whole)
		verdict(t, "door, gateway and account over the bare call, "+c.name, ms(whole-bare), c.limit, "ms")
	}
	bareFirst, first, bare, whole := m.beside(true, 1<<10, 200)
	t.Logf("stream: bare %v to %v, by the gateway %v to %v", bareFirst, bare, first, whole)
	verdict(t, "first byte of a stream later", ms(first-bareFirst), 3, "ms")
}

// TestBenchModelStreams has 200 streams at once, whole, and then 10,000 calls.
func TestBenchModelStreams(t *testing.T) {
	m := startModel(t)
	m.mock.Play = func(modeltest.Request) modeltest.Step {
		return modeltest.Step{Text: strings.Repeat("word ", 200), Chunks: 50, Pause: 5 * time.Millisecond}
	}
	_, _, want := m.call(true, true, 100)
	began := time.Now()
	var all sync.WaitGroup
	lengths := make(chan int64, 200)
	for range 200 {
		all.Go(func() {
			_, _, n := m.call(false, true, 100)
			lengths <- n
		})
	}
	all.Wait()
	close(lengths)
	whole := 0
	for n := range lengths {
		if n == want {
			whole++
		}
	}
	t.Logf("200 streams of %d bytes in %v", want, time.Since(began))
	verdict(t, "streams of 200 at once that are not whole", float64(200-whole), 0, "")
	verdict(t, "gateway resident after 200 streams at once", resident(t, m.gateway), 48, "MiB")

	m.mock.Play = func(modeltest.Request) modeltest.Step { return modeltest.Text("fine") }
	m.many(1000)
	before := resident(t, m.gateway)
	m.many(10_000)
	after := resident(t, m.gateway)
	t.Logf("resident: %.1f MiB after 1,000 calls, %.1f MiB after 11,000", before, after)
	verdict(t, "gateway's growth in 10,000 calls", after-before, 4, "MiB")
}

// many makes that many calls, 16 at a time.
func (m *modelLine) many(n int) {
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range n / 16 {
				m.call(false, false, 1<<10)
			}
		})
	}
	all.Wait()
}

// resident is the memory of a process in MiB.
func resident(tb testing.TB, cmd *exec.Cmd) float64 {
	tb.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", cmd.Process.Pid))
	if err != nil {
		tb.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(b))[1])
	if err != nil {
		tb.Fatal(err)
	}
	return float64(pages*os.Getpagesize()) / (1 << 20)
}
