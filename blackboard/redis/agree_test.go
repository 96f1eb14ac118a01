package redis

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"sett/blackboard/redis/redistest"
)

// twins are a real server and the embedded one, which are sent the same.
type twins struct {
	t              *testing.T
	real, embedded *world
}

func newTwins(t *testing.T) twins {
	return twins{t,
		&world{TB: t, ctx: testContext(t), b: open(t, redistest.Start(t).URL)},
		&world{TB: t, ctx: testContext(t), b: open(t, redistest.Embedded(t).URL)},
	}
}

// same sends both a command and wants one reply.
func (tw twins) same(words ...string) {
	tw.t.Helper()
	if want, got := answer(tw.real, words), answer(tw.embedded, words); got != want {
		tw.t.Fatalf("%q: the embedded server replies %s, Redis %s", words, got, want)
	}
}

// answer is a reply as text: of an error its first word; in order where Redis has none.
func answer(w *world, words []string) string {
	v, err := w.b.c.Client.Do(w.ctx, w.b.c.Client.B().Arbitrary(words...).Build()).ToAny()
	switch _, isReply := rueidis.IsRedisErr(err); {
	case rueidis.IsRedisNil(err):
		return "nil"
	case isReply:
		code, _, _ := strings.Cut(err.Error(), " ")
		if strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			code = "ERR" // which the client has cut off
		}
		return "error " + code
	case err != nil:
		w.Fatalf("%q: %v", words, err)
	}
	name := words[0]
	if name == "EVAL" {
		name = words[3]
	}
	all, ok := v.([]any)
	step := map[string]int{"HGETALL": 2, "HKEYS": 1, "SMEMBERS": 1}[name]
	if !ok || step == 0 {
		return fmt.Sprintf("%T %v", v, v)
	}
	var parts []string
	for i := 0; i+step <= len(all); i += step {
		parts = append(parts, fmt.Sprint(all[i:i+step]...))
	}
	sort.Strings(parts)
	return fmt.Sprint(parts)
}

// calls are the commands that Sett uses, with words to choose from: k a key, f a field,
// i a small number, p a position, s a score, e an entry's id, b a bound of a range of
// entries, m a member of a set in which all scores are the same, and l a bound of it.
var calls = strings.Split(strings.TrimSpace(`
GET k
SET k v
SET k i
INCR k
DEL k k
UNLINK k
EXISTS k k k
TYPE k
RENAME k k
MGET k k
HSET k f v
HSET k f i f v
HSETNX k f v
HGET k f
HMGET k f f f
HGETALL k
HDEL k f f
HLEN k
HKEYS k
HEXISTS k f
HSTRLEN k f
HINCRBY k f i
RPUSH k v f
LRANGE k p p
LLEN k
LTRIM k p p
SADD k f f
SMEMBERS k
ZADD k s f
ZADD k s f s other
ZREM k f f
ZSCORE k f
ZCARD k
ZRANGE k p p
ZRANGE k p p WITHSCORES
ZREVRANGE k p p
ZREVRANGE k p p WITHSCORES
ZADD lex 0 m 0 zz
ZREM lex m
ZRANGEBYLEX lex l l
ZRANGEBYLEX lex l l LIMIT i i
XADD k e f v
XADD stream e f v
XLEN stream
XRANGE k b b
XRANGE k b b COUNT 2
XREVRANGE k b b COUNT 1
XREAD COUNT i STREAMS k e
HSET k f
ZADD k f f
LRANGE k f f
`), "\n")

// chooser chooses one of n.
type chooser func(n int) int

// words fills in the words of a call.
func (p chooser) words(call string) []string {
	bound := func() string { return []string{"-", "+", "", "("}[p(4)] }
	words := strings.Fields(call)
	for i, w := range words[1:] {
		switch w {
		case "k":
			w = fmt.Sprintf("k%d", p(6))
		case "f":
			w = fmt.Sprintf("f%d", p(5))
		case "v":
			w = []string{"", "v", "0", "1.5", "\r\n\x00\xff", strings.Repeat("long", 50)}[p(6)]
		case "i":
			w = fmt.Sprint(p(5))
		case "p":
			w = fmt.Sprint(p(9) - 4)
		case "s":
			w = []string{"0", "-1", "1", "2.5", "1763840000123456", "1763840000123457", "inf", "-inf", "0.5"}[p(9)]
		case "e":
			w = fmt.Sprintf("%d-%d", 1+p(4), p(3))
		case "b":
			if w = bound(); w != "-" && w != "+" {
				w += fmt.Sprintf("%d-%d", 1+p(4), p(3))
			}
		case "m":
			w = fmt.Sprintf("%c%c", 'a'+p(4), 'a'+p(4))
		case "l":
			if w = bound(); w == "" {
				w = "["
			}
			if w != "-" && w != "+" {
				w += fmt.Sprintf("%c%c", 'a'+p(4), 'a'+p(4))
			}
		}
		words[i+1] = w
	}
	return words
}

// play makes one call, as a client or as a script.
func (p chooser) play(tw twins) {
	words := p.words(calls[p(len(calls))])
	if words[0] != "XREAD" && p(2) == 0 {
		words = append([]string{"EVAL", "return redis.call(unpack(ARGV))", "0"}, words...)
	}
	tw.same(words...)
}

// state wants the same in both.
func (tw twins) state() {
	tw.t.Helper()
	want, got := tw.real.dump(), tw.embedded.dump()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		tw.t.Fatalf("the embedded server holds\n%q, Redis\n%q", got, want)
	}
}

// Both servers reply the same to the commands that Sett uses, and hold the same then.
func TestServersAgree(t *testing.T) {
	tw := newTwins(t)
	for seed := range uint64(20) {
		choices := rand.New(rand.NewPCG(seed, 0)) // #nosec G404 -- a test that can be repeated
		for range 400 {
			chooser(choices.IntN).play(tw)
		}
		tw.state()
		tw.same("FLUSHALL")
	}
}

func FuzzServersAgree(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz"))
	f.Fuzz(func(t *testing.T, choices []byte) {
		tw := newTwins(t)
		var p chooser = func(n int) int {
			if len(choices) == 0 {
				return 0
			}
			first := choices[0]
			choices = choices[1:]
			return int(first) % n
		}
		for len(choices) > 0 {
			p.play(tw)
		}
		tw.state()
	})
}

// Values go between Lua and the protocol by the same rules.
func TestServersAgreeOnValues(t *testing.T) {
	tw := newTwins(t)
	tw.same("SET", "str", "v")
	for _, script := range []string{
		"return 3.99", "return -3.99", "return 2^53", "return true", "return false", "return nil", "return {}", "return ''",
		"return {1, nil, 3}", "return {1, {2, 'x', {}}, false, true}", "return {a = 1}", "return {ok = 'FINE'}", "return {err = 'MY fault'}",
		"return redis.status_reply('FINE')", "return redis.error_reply('MY fault')", "return type == 1", "return print", "return 'a\\0b'",
		"return redis.call('GET', 'none')", "return redis.call('GET', 'none') == false", "return type(redis.call('HGET', 'none', 'f'))",
		"return redis.call('HGET', 'str', 'f')", "return type(redis.pcall('HGET', 'str', 'f').err)", "return redis.call('SET', 'x', 'v').ok",
		"return redis.call('SET', 'x', 'v')", "return redis.call('HMGET', 'none', 'a', 'b')", "return redis.call('NONSENSE')",
		"redis.call('SET', 'n', 12) return redis.call('INCR', 'n') + 0.5", "return redis.call('SET', 'n', {})", "return redis.call()",
		"redis.call('SET', 'n', 12) return redis.call('GET', 'n')", "redis.call('SET', 'n', 1763840000000000) return redis.call('GET', 'n')",
		"redis.call('SET', 'n', -3) return redis.call('GET', 'n')", "return tostring(12)", "return 1 .. ''",
		"return x", "x = 1", "error('no')", "return redis.call('SUBSCRIBE', 'c')", "return redis.call('EVAL', 'return 1', '0')",
		"return cjson.encode({1, 2, 'x'})", "return cjson.encode({a = {b = 'c'}})", "return cjson.encode({a = 1.5})", "return cjson.encode('a\\nb')",
		"return cjson.encode({a = true})", "return cjson.encode(12)", "return cjson.decode('{\"a\":[1,{\"b\":\"c\"}]}').a[2].b",
		"return #cjson.decode('[]')", "return cjson.decode('12') + 1", "return type(cjson.decode('{}'))", "return cjson.decode('[true,false]')",
		"return select(1, pcall(error, 'x'))", "return string.format('%.0f', 1763840000000000)", "return string.format('%06d', 12)",
		"return tostring(tonumber('1763840000000000') > 1)", "local a, b = string.match('x 12', '^(%S+) (%d+)$') return {a, b}",
		"return {#KEYS, #ARGV}", "return table.concat({1, 2}, ',')", "return {unpack({1, 2, 3}, 2)}", "return string.reverse('abc')",
	} {
		tw.same("EVAL", script, "0", "ARGV")
	}
	tw.state()
}
