package embedded

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"
)

func TestScriptsAreLoggedByTheirMarks(t *testing.T) {
	o := Options{Dir: t.TempDir()}
	sv := start(t, o)
	c := connect(t, sv.addr, "")
	const set = "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])"
	expect(t, c, "1", "EVAL", set, "1", "logged", "1")
	expect(t, c, "2", "EVAL", "-- a heartbeat\n--!volatile: it comes again\n"+set, "1", "beat", "2")
	expectRefusal(t, c, "Write commands are not allowed in read-only scripts", "EVAL", "--!readonly\n"+set, "1", "logged", "3")
	expectRefusal(t, c, "Write commands are not allowed in read-only scripts", "EVAL_RO", set, "1", "logged", "3")
	expect(t, c, "1", "EVAL", "--!readonly\nreturn redis.call('GET', KEYS[1])", "1", "logged")
	sv.stop()
	sv = start(t, o)
	if sv.rep.Records != 1 {
		t.Errorf("%d records, want the one logged script", sv.rep.Records)
	}
	c = connect(t, sv.addr, "")
	expect(t, c, "1", "GET", "logged")
	expect(t, c, "nil", "GET", "beat")
	expect(t, c, "1", "EVALSHA", newScript(set).sha, "1", "logged", "1")
	expectError(t, c, "NOSCRIPT", "EVALSHA", strings.Repeat("a", 40), "0")
}

// A script may read keys that are not logged; a start must come to the same state.
func TestReplayDoesNotAskVolatileState(t *testing.T) {
	o := Options{Dir: t.TempDir()}
	sv := start(t, o)
	c := connect(t, sv.addr, "")
	do(t, c, "EVAL", "--!volatile\nreturn redis.call('SET', KEYS[1], 'held')", "1", "lease")
	const take = "if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('INCR', KEYS[2]) return 1 end return 0"
	expect(t, c, "0", "EVAL", take, "2", "lease", "epoch")
	do(t, c, "SET", "after", "1")
	sv.stop()
	sv = start(t, o)
	c = connect(t, sv.addr, "")
	expect(t, c, "nil", "GET", "lease")
	expect(t, c, "nil", "GET", "epoch")
}

func TestScriptCommands(t *testing.T) {
	sv := start(t, Options{Dir: t.TempDir()})
	c := connect(t, sv.addr, "")
	s := newScript("return ARGV[1]")
	expect(t, c, "[0]", "SCRIPT", "EXISTS", s.sha)
	expect(t, c, s.sha, "SCRIPT", "LOAD", s.body)
	expect(t, c, "[1 0]", "SCRIPT", "EXISTS", s.sha, "x")
	expect(t, c, "v", "EVALSHA", strings.ToUpper(s.sha), "0", "v")
	expectError(t, c, "unknown subcommand", "SCRIPT", "FLUSH")
	expectError(t, c, "Error compiling", "EVAL", "return (", "0")
	expectError(t, c, "Error compiling", "SCRIPT", "LOAD", "return (")
	expectError(t, c, "wrong number", "EVAL", "return 1")
	expectError(t, c, "value is not an integer", "EVAL", "return 1", "x")
	expectError(t, c, "Number of keys can't be negative", "EVAL", "return 1", "-1")
	expectError(t, c, "Number of keys can't be greater", "EVAL", "return 1", "2", "a")
	expectError(t, c, "script uses math.random", "EVAL", "return math.random()", "0")
	expect(t, c, "v", "EVALSHA_RO", s.sha, "0", "v")
}

func TestScriptsMayNotDoWhatCannotBeReplayed(t *testing.T) {
	sv := start(t, Options{Dir: t.TempDir()})
	c := connect(t, sv.addr, "")
	do(t, c, "SADD", "set", "a")
	for call, want := range map[string]string{
		"'EXPIRE', 'k', '5'":        "keys do not expire here",
		"'SET', 'k', 'v', 'EX', 10": "keys do not expire here",
		"'SPOP', 'set'":             "another member",
		"'SRANDMEMBER', 'set'":      "another member",
		"'SELECT', '1'":             "not allowed in scripts",
		"'SUBSCRIBE', 'c'":          "not allowed in scripts",
		"'EVAL', 'return 1', '0'":   "not allowed in scripts",
		"'NONSENSE'":                "Unknown Redis command",
	} {
		if got := do(t, c, "EVAL", "return redis.call("+call+")", "0"); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", call, got, want)
		}
	}
	expect(t, c, "a", "SRANDMEMBER", "set")
	if sv.records != 9 {
		t.Errorf("%d records", sv.records)
	}
}

// Scripts share one Lua state: none may leave anything in it for the next one.
func TestScriptsLeaveNothingBehind(t *testing.T) {
	sv := start(t, Options{Dir: t.TempDir()})
	c := connect(t, sv.addr, "")
	for i, failing := range []string{
		"x = 1", "return x", "_G.x = 1", "return require", "string.sub = nil", "string.x = 1", "tostring = nil", "string = nil", "redis.x = 1",
		"setmetatable(string, nil)", "getmetatable('').__index.sub = nil", "rawset(string, 'sub', nil)", "local t = {} return t.a.b", "return redis.call('GET')", "error('no')",
		"return redis.call({})", "return redis.call()", "redis.call('XADD', 's', 'NOMKSTREAM', 'MAXLEN', '~')",
		"local function f() return 1 + f() end return f()", "return unpack(ARGV, 1, 1e7)", "return cjson.encode({[1] = print})",
	} {
		got := do(t, c, "EVAL", failing, "1", "k", "v")
		if i < 17 && !strings.HasPrefix(got, "error: ") {
			t.Errorf("%s: %s, want an error", failing, got)
		}
		expect(t, c, "[k v 0 2]", "EVAL", "return {KEYS[1], string.sub(ARGV[1], 1), #KEYS - 1, select('#', unpack({1, 2}))}", "1", "k", "v")
		expect(t, c, "[0 0]", "EVAL", "return {#KEYS, #ARGV}", "0")
	}
	expect(t, c, "OK", "SET", "after", "1") // miniredis is not left locked
}

// What scripts and commands hand to each other follows Redis.
func TestScriptValues(t *testing.T) {
	sv := start(t, Options{Dir: t.TempDir()})
	c := connect(t, sv.addr, "")
	do(t, c, "SET", "str", "v")
	for script, want := range map[string]string{
		"return 3.99":                                                     "3",
		"return -3.99":                                                    "-3",
		"return true":                                                     "1",
		"return false":                                                    "nil",
		"return nil":                                                      "nil",
		"return {1, nil, 3}":                                              "[1]",
		"return {1, {2, 'x', {}}, false}":                                 "[1 [2 x []] <nil>]",
		"return {ok = 'FINE'}":                                            "FINE",
		"return redis.status_reply('FINE')":                               "FINE",
		"return {err = 'MY fault'}":                                       "error: MY fault",
		"return redis.error_reply('MY fault')":                            "error: MY fault",
		"return redis.pcall('HGET', 'str', 'f').err":                      "WRONGTYPE Operation against a key holding the wrong kind of value",
		"return redis.call('GET', 'none') == false":                       "1",
		"return #redis.call('LRANGE', 'none', 0, -1)":                     "0",
		"return redis.call('SET', 'str', 'v')":                            "OK",
		"return redis.call('SET', 'str', 'v').ok":                         "OK",
		"return redis.call('HMGET', 'none', 'a', 'b')":                    "[<nil> <nil>]",
		"redis.call('SET', 'n', 12) return redis.call('INCR', 'n') + 0.5": "13",
		"return cjson.decode('{\"a\":[1,{\"b\":\"c\"}]}').a[2].b":         "c",
		"return cjson.encode({a = {1, 2, 'x'}})":                          `{"a":[1,2,"x"]}`,
	} {
		if got := do(t, c, "EVAL", script, "0"); got != want {
			t.Errorf("%s: %s, want %s", script, got, want)
		}
	}
	text := strings.Repeat("\r\n\x00\xff", 1000)
	expect(t, c, text, "EVAL", "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])", "1", "k", text)
	expect(t, c, text, "GET", "k")
}

// Clients that all change one number and note each value in a list see each
// value once, in the order of the log, and so does a start that has only the log.
func TestLogOrderIsExecutionOrder(t *testing.T) {
	const clients, each = 8, 50
	o := Options{Dir: t.TempDir()}
	sv := start(t, o)
	const incr = "local n = redis.call('INCR', KEYS[1]) redis.call('RPUSH', KEYS[2], n .. ':' .. ARGV[1]) return n"
	script := rueidis.NewLuaScript(incr)
	var wg sync.WaitGroup
	for i := range clients {
		c := connect(t, sv.addr, "")
		wg.Go(func() {
			last := int64(0)
			for range each {
				n, err := script.Exec(t.Context(), c, []string{"n", "order"}, []string{fmt.Sprint(i)}).AsInt64()
				if err != nil || n <= last {
					t.Errorf("client %d: %d after %d: %v", i, n, last, err)
					return
				}
				last = n
			}
		})
	}
	wg.Wait()
	c := connect(t, sv.addr, "")
	order := do(t, c, "LRANGE", "order", "0", "-1")
	expect(t, c, fmt.Sprint(clients*each), "GET", "n")
	sv.stop()
	for _, effects := range []bool{true, false} {
		if !effects {
			dropEffects(t, logPath(o.Dir, 1))
		}
		sv = start(t, o)
		if sv.rep.Records != clients*each {
			t.Errorf("%d records", sv.rep.Records)
		}
		expect(t, connect(t, sv.addr, ""), order, "LRANGE", "order", "0", "-1")
		sv.stop()
	}
}

// dropEffects rewrites a log as if no effects had been written, so that a
// start runs every script.
func dropEffects(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fr, _, err := openFrames(f, logMagic, 1)
	if err != nil {
		t.Fatal(err)
	}
	out := fileHeader(logMagic, 1)
	for {
		payload, err := fr.next()
		if err != nil {
			break
		}
		frame := beginFrame()
		d := newDecoder(payload)
		for it, ok := d.next(); ok; it, ok = d.next() {
			switch it.kind {
			case itemScript:
				frame = appendScript(frame, it.key)
			case itemCommand:
				frame = appendCommand(frame, it.at, it.list)
			}
		}
		sealFrame(frame)
		out = append(out, frame...)
	}
	if err := os.WriteFile(path, out, 0o600); err != nil {
		t.Fatal(err)
	}
}

// expectRefusal wants an error from within a script, which Lua wraps.
func expectRefusal(t *testing.T, c rueidis.Client, part string, args ...string) {
	t.Helper()
	if got := do(t, c, args...); !strings.HasPrefix(got, "error: ") || !strings.Contains(got, part) {
		t.Errorf("%.80q = %.200q, want an error with %q", args, got, part)
	}
}
