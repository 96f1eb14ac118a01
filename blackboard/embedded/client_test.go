package embedded

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

func TestStreamReads(t *testing.T) {
	sv := start(t, Options{Dir: t.TempDir()})
	c := connect(t, sv.addr, "")
	for i := 1; i <= 5; i++ {
		do(t, c, "XADD", "s", fmt.Sprintf("%d-%d", i/2+1, i), "n", fmt.Sprint(i))
	}
	// ids: 1-1 2-2 2-3 3-4 3-5
	ids := func(args ...string) string {
		t.Helper()
		var got []string
		for _, word := range strings.FieldsFunc(do(t, c, args...), func(r rune) bool { return strings.ContainsRune("[] ", r) }) {
			if strings.Contains(word, "-") {
				got = append(got, word)
			}
		}
		return strings.Join(got, " ")
	}
	for _, x := range []struct{ command, want string }{
		{"XRANGE s - +", "1-1 2-2 2-3 3-4 3-5"},
		{"XRANGE s 2 2", "2-2 2-3"},
		{"XRANGE s (2-2 (3-5", "2-3 3-4"},
		{"XRANGE s (3-5 +", ""},
		{"XRANGE s - + COUNT 2", "1-1 2-2"},
		{"XRANGE s - + COUNT 0", ""},
		{"XRANGE s 3 1", ""},
		{"XRANGE s + -", ""},
		{"XRANGE none - +", ""},
		{"XREVRANGE s + -", "3-5 3-4 2-3 2-2 1-1"},
		{"XREVRANGE s + - COUNT 1", "3-5"},
		{"XREVRANGE s 2 (1-1", "2-3 2-2"},
		{"XREVRANGE s (2-0 -", "1-1"},
		{"XREAD COUNT 2 STREAMS s 2-2", "2-3 3-4"},
		{"XREAD STREAMS s none 3 0", "3-4 3-5"},
		{"XREAD STREAMS s 3-5", ""},
		{"XREAD STREAMS s 18446744073709551615-18446744073709551615", ""},
		{"XREAD STREAMS s 2-18446744073709551615", "3-4 3-5"},
		{"XREAD STREAMS s $", ""},
	} {
		words := strings.Fields(x.command)
		if got := ids(words...); got != x.want {
			t.Errorf("%s: %q, want %q", x.command, got, x.want)
		}
		if words[0] == "XREAD" {
			continue
		}
		if got := ids(append([]string{"EVAL", "return redis.call(unpack(ARGV))", "0"}, words...)...); got != x.want {
			t.Errorf("%s in a script: %q, want %q", x.command, got, x.want)
		}
	}
}

// A script reads the end of a stream, or one entry, at the same cost at any size.
func TestStreamReadsOfScripts(t *testing.T) {
	sv := start(t, Options{Dir: t.TempDir()})
	c := connect(t, sv.addr, "")
	do(t, c, "EVAL", "for i = 1, 20000 do redis.call('XADD', 's', i .. '-0', 'n', 'v') end", "0")
	began := time.Now()
	expect(t, c, "2000", "EVAL", `--!readonly
local found = 0
for i = 1, 1000 do
  found = found + #redis.call('XREVRANGE', 's', '+', '-', 'COUNT', '1') + #redis.call('XRANGE', 's', i .. '-0', i .. '-0')
end
return found`, "0")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("2,000 reads took %s", took)
	}
}

func TestStreamReadsAreChecked(t *testing.T) {
	sv := start(t, Options{Dir: t.TempDir()})
	c := connect(t, sv.addr, "")
	do(t, c, "SET", "str", "v")
	for command, want := range map[string]string{
		"XRANGE s -":                       "wrong number",
		"XRANGE s - + COUNT":               "syntax error",
		"XRANGE s - + LIMIT 1":             "syntax error",
		"XRANGE s - + COUNT x":             "value is not an integer",
		"XRANGE s x +":                     "Invalid stream ID",
		"XRANGE s - (0-0":                  "Invalid stream ID",
		"XRANGE str - +":                   "WRONGTYPE",
		"XREAD":                            "syntax error",
		"XREAD STREAMS s":                  "Unbalanced",
		"XREAD COUNT x STREAMS s 0":        "value is not an integer",
		"XREAD BLOCK x STREAMS s 0":        "timeout is not an integer",
		"XREAD BLOCK -1 STREAMS s 0":       "timeout is negative",
		"XREAD NONSENSE 1 STREAMS s 0":     "syntax error",
		"XREAD STREAMS s 1-x":              "Invalid stream ID",
		"XREAD STREAMS str 0":              "WRONGTYPE",
		"XREAD BLOCK 10 STREAMS str $":     "WRONGTYPE",
		"XREADGROUP GROUP g c STREAMS s >": "'XREADGROUP' is not served by the embedded blackboard",
	} {
		expectError(t, c, want, strings.Fields(command)...)
	}
}

func TestBlockedReadIsWokenByItsStream(t *testing.T) {
	sv := start(t, Options{Dir: t.TempDir()})
	blocked := dial(t, sv.addr)
	writer := connect(t, sv.addr, "")
	for i, add := range [][]string{
		{"XADD", "s", "1-1", "f", "v"},
		{"EVAL", "return redis.call('XADD', KEYS[1], '2-1', 'f', 'v')", "1", "s"},
	} {
		blocked.send("XREAD BLOCK 0 STREAMS other s $ $")
		waitFor(t, func() bool {
			sv.board.mu.Lock()
			defer sv.board.mu.Unlock()
			return len(sv.board.waiting["s"]) == 1
		})
		do(t, writer, "XADD", "third", "*", "f", "v") // not one of its own
		do(t, writer, add...)
		var got []string
		for range 11 {
			got = append(got, blocked.line())
		}
		if want := fmt.Sprintf("*1 *2 $1 s *1 *2 $3 %d-1 *2 $1 f", i+1); strings.Join(got, " ") != want {
			t.Fatalf("%q, want %q", got, want)
		}
		blocked.line()
		blocked.line()
	}
	blocked.send("XREAD BLOCK 1 STREAMS s $")
	if got := blocked.line(); got != "*-1" {
		t.Errorf("timeout: %q", got)
	}
	blocked.send("XREAD BLOCK 0 STREAMS s $")
	waitFor(t, func() bool {
		sv.board.mu.Lock()
		defer sv.board.mu.Unlock()
		return len(sv.board.waiting) == 1
	})
	blocked.Close()
	waitFor(t, func() bool {
		sv.board.mu.Lock()
		defer sv.board.mu.Unlock()
		return len(sv.board.waiting) == 0
	})
}

// waitFor polls a condition that another goroutine brings about.
func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(5 * time.Minute)
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("waited for a minute")
		}
	}
}

func TestPubSub(t *testing.T) {
	sv := start(t, Options{Dir: t.TempDir()})
	c := connect(t, sv.addr, "")
	got := make(chan string, 200)
	subscribed := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	sub := connect(t, sv.addr, "")
	go func() {
		defer close(ended)
		_ = sub.Dedicated(func(d rueidis.DedicatedClient) error {
			wait := d.SetPubSubHooks(rueidis.PubSubHooks{
				OnMessage:      func(m rueidis.PubSubMessage) { got <- m.Channel + "=" + m.Message },
				OnSubscription: func(rueidis.PubSubSubscription) { subscribed <- struct{}{} },
			})
			d.Do(ctx, d.B().Subscribe().Channel("ch").Build())
			select {
			case <-wait:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	<-subscribed
	const n = 100
	for i := range n {
		expect(t, c, "1", "EVAL", "return redis.call('PUBLISH', KEYS[1], ARGV[1])", "1", "ch", fmt.Sprint(i))
	}
	for i := range n {
		if m := <-got; m != fmt.Sprintf("ch=%d", i) {
			t.Fatalf("message %d: %q", i, m)
		}
	}
	cancel()
	<-ended
	sub.Close()
	waitFor(t, func() bool { return do(t, c, "PUBLISH", "ch", "x") == "0" })
}

func TestSubscribedConnection(t *testing.T) {
	sv := start(t, Options{Dir: t.TempDir()})
	r := dial(t, sv.addr)
	c := connect(t, sv.addr, "")
	r.send("SUBSCRIBE a b", "PSUBSCRIBE p*", "SET k v", "PING", "UNSUBSCRIBE a", "UNSUBSCRIBE", "PUNSUBSCRIBE p*", "SET k w")
	var all []string
	for len(all) == 0 || all[len(all)-1] != "+OK" {
		all = append(all, r.line())
		if len(all) > 100 {
			t.Fatal(all)
		}
	}
	text := strings.Join(all, " ")
	for _, want := range []string{"subscribe $1 b :2", "psubscribe $2 p* :3", "-ERR Can't execute 'set'", "pong",
		"unsubscribe $1 a :2", "unsubscribe $1 b :1", "punsubscribe $2 p* :0 +OK"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	expect(t, c, "w", "GET", "k")
}

// A subscriber that does not read is cut off, and nobody else notices.
func TestSlowSubscriberStallsNobody(t *testing.T) {
	sv := start(t, Options{Dir: t.TempDir()})
	slow := dial(t, sv.addr)
	slow.send("SUBSCRIBE ch")
	for range 6 {
		slow.line()
	}
	c := connect(t, sv.addr, "")
	message := strings.Repeat("m", 4<<20)
	for i := 0; do(t, c, "PUBLISH", "ch", message) == "1"; i++ {
		if i > 100 {
			t.Fatal("still subscribed")
		}
	}
}

func TestPipelineKeepsOrder(t *testing.T) {
	sv := start(t, Options{Dir: t.TempDir()})
	r := dial(t, sv.addr)
	var lines []string
	for range 300 {
		lines = append(lines, "INCR n", "GET n", "EVAL redis.call('INCR',KEYS[1]) 1 n", "NONSENSE", "EVALSHA x 0")
	}
	sent := make(chan error, 1)
	go func() { sent <- r.write(append(lines, "QUIT")...) }()
	for i := range 300 {
		var got []string
		for range 6 {
			got = append(got, r.line())
		}
		want := fmt.Sprintf(":%d $%d %d $-1 -ERR unknown command 'NONSENSE' -NOSCRIPT No matching script. Please use EVAL.",
			2*i+1, len(fmt.Sprint(2*i+1)), 2*i+1)
		if strings.Join(got, " ") != want {
			t.Fatalf("%d: %q, want %q", i, got, want)
		}
	}
	if r.line() != "+OK" || r.line() != "EOF" {
		t.Error("no end after QUIT")
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// A pipeline of writes costs few fsyncs, not one each.
func TestPipelineIsOneGroup(t *testing.T) {
	var syncs atomic.Int32
	sv := start(t, Options{Dir: t.TempDir(), Sync: countSyncs(&syncs)})
	c := connect(t, sv.addr, "")
	syncs.Store(0)
	var commands rueidis.Commands
	for range 1000 {
		commands = append(commands, c.B().Incr().Key("n").Build())
	}
	for _, r := range c.DoMulti(within(t), commands...) {
		if r.Error() != nil {
			t.Fatal(r.Error())
		}
	}
	sv.stop()
	if n := syncs.Load(); n == 0 || n > 500 {
		t.Errorf("%d fsyncs for 1000 writes", n)
	}
}

func TestAuthentication(t *testing.T) {
	o := Options{Dir: t.TempDir(), Password: "secret"}
	sv := start(t, o)
	r := dial(t, sv.addr)
	for _, x := range []struct{ send, want string }{
		{"PING", "-NOAUTH"}, {"SET k v", "-NOAUTH"}, {"EVAL return 0", "-NOAUTH"}, {"SUBSCRIBE c", "-NOAUTH"},
		{"FLUSHALL", "-NOAUTH"}, {"HELLO 2", "-NOAUTH"}, {"NONSENSE", "-NOAUTH"}, {"XREAD STREAMS s 0", "-NOAUTH"},
		{"AUTH", "-ERR wrong number"}, {"AUTH wrong", "-WRONGPASS"}, {"AUTH other secret", "-WRONGPASS"},
		{"HELLO 3 AUTH default secret", "-NOPROTO"}, {"HELLO 2 AUTH default wrong", "-WRONGPASS"},
		{"HELLO 2 NONSENSE", "-ERR Syntax"}, {"GET k", "-NOAUTH"},
		{"HELLO 2 AUTH default secret SETNAME n", "*14"},
	} {
		r.send(x.send)
		if got := r.line(); !strings.HasPrefix(got, x.want) {
			t.Errorf("%s: %q, want %q", x.send, got, x.want)
		}
	}
	if sv.records != 0 {
		t.Errorf("%d records of strangers in the log", sv.records)
	}
	stranger := dial(t, sv.addr)
	stranger.send("*11")
	if got := stranger.line(); got != "-ERR Protocol error: invalid multibulk length" {
		t.Errorf("stranger's big command: %q", got)
	}
	c := connect(t, sv.addr, "secret")
	expect(t, c, "nil", "GET", "k")
	pipelined := dial(t, sv.addr)
	pipelined.send("AUTH default secret", "SET k v")
	if a, b := pipelined.line(), pipelined.line(); a != "+OK" || b != "+OK" {
		t.Errorf("%q %q", a, b)
	}
}

func TestConnectionCommands(t *testing.T) {
	sv := start(t, Options{Dir: t.TempDir()})
	r := dial(t, sv.addr)
	for _, x := range []struct{ send, want string }{
		{"", ""}, {"PING", "+PONG"}, {"HELLO 3", "-NOPROTO"}, {"SELECT 0", "+OK"}, {"SELECT 1", "-ERR DB index"},
		{"CLIENT SETINFO LIB-NAME x", "+OK"}, {"CLIENT SETNAME x", "+OK"}, {"CLIENT NONSENSE", "-ERR unknown"},
		{"AUTH x", "-ERR AUTH <password> called without"}, {"HELLO 2 AUTH other x", "-WRONGPASS"}, {"MULTI", "-ERR 'MULTI' is not served"},
		{"SET k v EX 5", "-ERR SET with an expiry"}, {"SET k v", "+OK"}, {"SET k w NX", "$-1"}, {"SPOP k", "-ERR 'SPOP'"},
		{"HELLO 2 AUTH default x", "*14"},
	} {
		r.send(x.send)
		if x.send == "" {
			continue
		}
		if got := r.line(); !strings.HasPrefix(got, x.want) {
			t.Errorf("%s: %q, want %q", x.send, got, x.want)
		}
	}
}

// miniredis indexes past the end of these; the server must survive, and so
// must a start that replays them.
func TestPanicsWithinMiniredis(t *testing.T) {
	o := Options{Dir: t.TempDir()}
	sv := start(t, o)
	c := connect(t, sv.addr, "")
	expectError(t, c, "execute XADD", "XADD", "s", "NOMKSTREAM", "MAXLEN", "~")
	expectError(t, c, "", "EVAL", "return redis.call('XADD', 's', 'NOMKSTREAM', 'MAXLEN', '~')", "0")
	expect(t, c, "nil", "EVAL", "return type", "0")
	expect(t, c, "OK", "SET", "k", "v")
	sv.stop()
	sv = start(t, o)
	expect(t, connect(t, sv.addr, ""), "v", "GET", "k")
}

func TestServeEndsWithItsListener(t *testing.T) {
	s, _, err := Open(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := s.Serve(t.Context(), l); err == nil {
		t.Error("a closed listener was served")
	}
	l, err = net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- s.Serve(context.Background(), l) }()
	r := dial(t, l.Addr().String())
	r.send("PING")
	r.line()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if s.submit([]*request{{}}) {
		t.Error("a closed server took a write")
	}
}
