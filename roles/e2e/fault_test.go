package e2e

import (
	"bufio"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
)

// faulty is a ground whose blackboard can be killed.
type faulty struct {
	*ground
	server *redistest.Server
}

func newFaulty(t testing.TB, c clan) *faulty {
	t.Helper()
	return newFaultyOn(t, c, startRedis(t))
}

func newFaultyOn(t testing.TB, c clan, server *redistest.Server) *faulty {
	t.Helper()
	p := newProxy(t, server.Addr())
	g := &ground{proxy: p, instance: start(t, options{clan: c, url: p.url(), boardURL: server.URL})}
	return &faulty{g, server}
}

// key is a key's or channel's full name.
func (f *faulty) key(name string) string { return "sett:{" + f.name + "}:" + name }

// raw makes a call past everything that Sett would check.
func (f *faulty) raw(args ...string) {
	f.t.Helper()
	call(f.t, f.server, args...)
}

// call makes a call to a redis-server and returns the strings of its reply.
func call(t testing.TB, s *redistest.Server, args ...string) []string {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_, err = c.Write(writeMessage(args...))
	var raw []byte
	var words []string
	if err == nil {
		raw, words, err = readMessage(bufio.NewReader(c))
	}
	if err != nil || raw[0] == '-' {
		t.Fatalf("%s: %s %v", args[0], raw, err)
	}
	return words
}

// startRedis starts a redis-server on which there are others' keys. After the
// test these are as they were, and all else is an instance's.
func startRedis(t testing.TB) *redistest.Server {
	t.Helper()
	s := redistest.Start(t, redistest.Durable...)
	shared(t, s)
	return s
}

// shared puts others' keys on a server.
func shared(t testing.TB, s *redistest.Server) {
	t.Helper()
	others := keysOfOthers(t, s)
	t.Cleanup(func() {
		for _, key := range call(t, s, "KEYS", "*") {
			if value, ok := others[key]; ok {
				if got := call(t, s, "GET", key)[0]; got != value {
					t.Errorf("key %s became %q", key, got)
				}
				delete(others, key)
			} else if !strings.HasPrefix(key, "sett:{e2e-") {
				t.Errorf("key %s is no instance's", key)
			}
		}
		if len(others) > 0 {
			t.Errorf("keys removed: %v", others)
		}
	})
}

// keysOfOthers puts keys that no instance may touch on a server.
func keysOfOthers(t testing.TB, s *redistest.Server) map[string]string {
	t.Helper()
	others := map[string]string{"other": "1", "sett:{other}:claims": "2", "events": "3"}
	for key, value := range others {
		call(t, s, "SET", key, value)
	}
	return others
}

// same runs a goal that has to end as the first one did.
func (f *faulty) same() {
	f.t.Helper()
	if got := f.run(); got != f.want {
		f.t.Errorf("ended otherwise:\n%s", diff(f.want, got))
	}
}

// ends waits for a goal that has to end as the first one did.
func (f *faulty) ends(goal string) {
	f.t.Helper()
	f.await(goal, enough)
	if got := f.outcome(goal); got != f.want {
		f.t.Errorf("ended otherwise:\n%s", diff(f.want, got))
	}
}

// once calls f at the first write that a client makes by a script, before it is
// passed on.
func (f *faulty) once(client, script string, do func()) (called <-chan struct{}) {
	var o sync.Once
	c := make(chan struct{})
	f.proxy.hold(func(who, what string) {
		if who == client && what == script {
			o.Do(func() { do(); close(c) })
		}
	})
	return c
}

func (f *faulty) wait(c <-chan struct{}, what string) {
	f.t.Helper()
	select {
	case <-c:
	case <-time.After(enough):
		f.t.Fatalf("%s did not happen", what)
	}
}

// TestFaultsOfOrchestrator kills the orchestrator at the moments named by the
// issue, and posts goals while it is down.
func TestFaultsOfOrchestrator(t *testing.T) {
	t.Parallel()
	clans := map[string]clan{"without courses": reviewed(drafter, "").without()}
	if full() {
		clans["by courses"] = reviewed(drafter, "") // the crash suite strikes the orchestrator there, too
	}
	for name, c := range clans {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faultsOfOrchestrator(t, c)
		})
	}
}

func faultsOfOrchestrator(t *testing.T, c clan) {
	t.Helper()
	f := newFaulty(t, c)
	f.want = f.run()
	shoot := func() { f.shoot("orchestrator") }
	for _, c := range []struct{ name, client, script string }{
		{"before the consensus", "cub-r1", "bid"},
		{"after the grant", "cub-p1", "start"},
		{"while the result is posted", "cub-p1", "finish"},
	} {
		if c.script == "bid" && !f.clan.noCourses {
			continue // nobody bids
		}
		t.Run(c.name, func(t *testing.T) {
			f.settled()
			called := f.once(c.client, c.script, shoot)
			goal := f.post("x")
			f.wait(called, c.name)
			f.proxy.hold(nil)
			f.ends(goal)
		})
	}
	t.Run("artefact made while it is down", func(t *testing.T) {
		f.settled()
		f.kill("keeper")
		f.kill("orchestrator")
		goal := f.post("x")
		f.up()
		f.ends(goal)
	})
	t.Run("claim opened while a cub is down", func(t *testing.T) {
		f.settled()
		f.kill("agent-writer")
		f.kill("agent-r1")
		f.ends(f.post("x"))
	})
	f.settled()
	f.atRest()
}

// TestTwoOrchestrators runs a second one beside the first, and stops and goes on
// with the one that leads while goals are under way.
func TestTwoOrchestrators(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, reviewed(drafter, ""))
	f.want = f.run()
	second := f.command("orchestrator")
	second.Env = append(second.Env, "SETT_INSTANCE_NAME="+f.name, "REDIS_URL="+f.server.URL,
		"SETT_CONFIG="+filepath.Join(f.stateDir(), "config.json"), "SETT_HEALTH_ADDR=off", "SETT_LOG_LEVEL=error")
	log := filepath.Join(t.TempDir(), "second.log")
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	second.Stdout, second.Stderr = out, out
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = second.Process.Kill()
		_ = second.Wait()
		if text, _ := os.ReadFile(log); strings.Contains(string(text), "DATA RACE") || t.Failed() {
			t.Errorf("second orchestrator:\n%s", text)
		}
	}()
	for range 3 {
		goal := f.post("x")
		f.afterEntries(goal, 10)
		f.signal("orchestrator", syscall.SIGSTOP)
		f.ends(goal) // by the second
		goal = f.post("x")
		f.signal("orchestrator", syscall.SIGCONT) // it thinks that it leads
		f.ends(goal)
		if err := second.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		f.same() // by the first
		if err := second.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	f.atRest()
}

// TestFaultsOfRedis kills and restarts redis-server idle, under load, and when a
// result is due, and cuts the network.
func TestFaultsOfRedis(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, reviewed(drafter, ""))
	f.want = f.run()
	t.Run("idle", func(*testing.T) {
		f.server.Kill()
		f.server.Restart()
		f.same()
	})
	t.Run("under load", func(*testing.T) {
		var goals []string
		for range 12 {
			goals = append(goals, f.post("x"))
		}
		for i := range 3 {
			f.afterEntries(goals[3*i], 20)
			f.server.Kill()
			f.server.Restart()
		}
		for _, goal := range goals {
			f.ends(goal)
		}
	})
	t.Run("when a result is due", func(*testing.T) {
		killed := f.once("cub-pack", "finish", f.server.Kill)
		goal := f.post("x")
		f.wait(killed, "a result")
		f.proxy.hold(nil)
		f.server.Restart()
		f.ends(goal)
	})
	t.Run("network cut", func(*testing.T) {
		goal := f.post("x")
		f.afterEntries(goal, 15)
		f.proxy.isolate(true)
		f.proxy.isolate(false)
		f.ends(goal)
		goal = f.post("x")
		for n := 5; n < 50; n += 9 {
			f.afterEntries(goal, n)
			f.proxy.cut()
		}
		f.ends(goal)
	})
	f.atRest()
}

// TestFaultsOfNotices loses, doubles and forges them.
func TestFaultsOfNotices(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, reviewed(drafter, ""))
	f.want = f.run()
	t.Run("doubled", func(*testing.T) {
		f.proxy.notices(func(string) int { return 2 })
		f.same()
		f.proxy.notices(nil)
	})
	t.Run("forged", func(*testing.T) {
		nobody := blackboard.NewID(time.Now(), strings.NewReader("0123456789"))
		goal := f.post("x")
		claim := blackboard.BiddingClaimID(goal)
		for _, channel := range []string{"artefact_events", "claim_events", "orchestrator_events", "agent:r1:events", "agent:writer:events"} {
			for _, notice := range []string{"", "?", nobody, goal, claim, strings.Repeat("A", 26), strings.Repeat("x", 5<<20), "\x00\xff\r\n"} {
				f.raw("PUBLISH", f.key(channel), notice)
			}
		}
		f.ends(goal)
		f.same()
	})
	f.atRest()
}

// TestNoticesLost delivers none at all: the ticks are enough.
func TestNoticesLost(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, solo(finished, ""))
	f.want = f.run()
	f.proxy.notices(func(string) int { return 0 })
	f.ends(f.post("x"))
	f.atRest()
}

// TestBrokenRecords puts hashes with missing and broken fields among the open
// work, and bids of an agent nobody knows: other work goes on.
func TestBrokenRecords(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, reviewed(committer, ""))
	f.want = f.run()
	id := func(c string) string { return "01" + strings.Repeat(c, 24) }
	for i, fields := range [][]string{
		{"id", id("A")}, {"status", "pending_review", "expected_bidders", "{"}, {"status", "no such status", "revision", "x"},
	} {
		broken := id([]string{"A", "B", "C"}[i])
		f.raw(append([]string{"HSET", f.key("claim:" + broken)}, fields...)...)
		f.raw(append([]string{"HSET", f.key("artifact:" + broken)}, fields...)...)
		for _, index := range []string{"claims:open", "artefacts:unclaimed", "agent:r1:due", "agent:writer:due", "agent:r1:grants", "agent:writer:grants"} {
			f.raw("ZADD", f.key(index), "1", broken)
		}
		f.raw("HSET", f.key("claim:"+broken), "grant:r1", "no grant", "grant:writer", `{"state":"queued","phase":"exclusive","attempt":1}`)
		for _, channel := range []string{"artefact_events", "claim_events", "orchestrator_events", "agent:r1:events", "agent:writer:events"} {
			f.raw("PUBLISH", f.key(channel), broken)
		}
	}
	f.same()
	f.bounce("orchestrator") // which reads all that is open
	f.bounce("agent-r1")
	f.same()
}

// TestBidOfAStranger refuses the bid of an agent nobody knows, and does not grant
// one that was written past the scripts.
func TestBidOfAStranger(t *testing.T) {
	t.Parallel()
	f := newFaulty(t, reviewed(drafter, "").without())
	f.want = f.run()
	release := make(chan struct{})
	called := make(chan struct{})
	f.once("cub-r1", "bid", func() { close(called); <-release })
	goal := f.post("x")
	f.wait(called, "a bid")
	claim := blackboard.BiddingClaimID(goal)
	each, err := f.board.Cub.SubmitBids(context.Background(), []blackboard.BidRequest{{Claim: claim, Agent: "stranger", Bid: blackboard.BidExclusive}})
	if err != nil || each[0] == nil {
		t.Errorf("a stranger's bid: %v %v", each, err)
	}
	f.raw("HSET", f.key("claim:"+claim+":bids"), "stranger", "exclusive", "ghost", "no such bid")
	f.raw("HSET", f.key("claim:"+claim), "bid_order", "ghost stranger")
	close(release)
	f.await(goal, enough)
	s, err := f.board.Records.Snapshot(context.Background(), claim)
	if err != nil || s.Claim.GrantedExclusiveAgent != "writer" || s.Claim.Status != blackboard.Complete || len(s.Grants) != 1 {
		t.Errorf("claim: %+v %v", s, err)
	}
	f.atRest()
}
