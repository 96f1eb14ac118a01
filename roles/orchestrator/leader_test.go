package orchestrator

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/blackboard/redis/redistest"
	"sett/contract/env"
	"sett/roles/role"
)

// proxy stands between an orchestrator and its blackboard, so that the one can
// lose the other.
type proxy struct {
	addr  string
	mu    sync.Mutex
	conns []net.Conn
	cut   bool
}

func newProxy(t testing.TB, to string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{addr: l.Addr().String()}
	var wg sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); p.set(true); wg.Wait() })
	wg.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			p.mu.Lock()
			if err != nil || p.cut {
				p.mu.Unlock()
				_ = in.Close()
				continue
			}
			p.conns = append(p.conns, in, out)
			p.mu.Unlock()
			wg.Go(func() { _, _ = io.Copy(in, out); _ = in.Close() })
			wg.Go(func() { _, _ = io.Copy(out, in); _ = out.Close() })
		}
	})
	return p
}

func (p *proxy) set(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// A second orchestrator waits, takes over when the first is cut off, and the
// first, once it is back, steps down and waits in its turn.
func TestTakeover(t *testing.T) {
	t.Parallel()
	r := redistest.Embedded(t)
	s := newSettAt(t, r.URL, "a")
	p := newProxy(t, r.Addr())
	const lease = "8s" // the first must not stand still for so long while it is there
	first := s.lead(options{vars: map[string]string{env.RedisURL: "redis://" + p.addr, env.Lease: lease}})
	first.leads()
	second := s.lead(options{vars: map[string]string{env.Lease: lease}})
	c := s.claimOf(s.goal("g"))
	if strings.Contains(second.log.String(), "msg=leading") {
		t.Fatal("two lead at once")
	}
	p.set(true)
	second.leads()
	if !strings.Contains(second.log.String(), "another orchestrator leads") {
		t.Error("the second does not say what it waits for")
	}
	s.bids(c, "a exclusive")
	s.grant(c, "a", blackboard.GrantQueued)
	p.set(false)
	s.until("the first to step down", func() bool { return strings.Contains(first.log.String(), "no longer leading") })
	s.must(second.stop())
	s.until("the first to lead again", func() bool { return strings.Count(first.log.String(), "msg=leading") == 2 })
	s.does(c, "a", blackboard.Terminal, "Done", "x")
	s.status(c, blackboard.Complete)
}

// Who waits for the lead knows when the blackboard is back: outages that lie apart
// do not add up to one.
func TestStandbyForgivesOutages(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a")
	_, _, err := s.board.Leader.TakeLead(t.Context(), "another", "", time.Hour)
	s.must(err)
	p := newProxy(t, strings.TrimPrefix(s.url, "redis://"))
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	o := s.unled(s.env(options{}, &output{}), slog.DiscardHandler)
	o.holder, o.reachable, o.pace.standby, o.settings.Lease = "standby", role.NewReachable(now, time.Minute), 10*time.Millisecond, time.Hour
	b, err := redis.Open(t.Context(), redis.Options{URL: "redis://" + p.addr, Instance: "test", Name: "standby"})
	s.must(err)
	t.Cleanup(b.Close)
	o.use(b)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- o.campaign(ctx) }()
	away := func() bool { return o.reachable.SteadySince().IsZero() }
	for range 3 {
		p.set(true)
		s.until("the loss", away)
		p.set(false)
		s.until("the return", func() bool { return !away() })
		ahead.Add(int64(time.Hour)) // far longer than it takes to give up
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

// Decisions of a leader that does not know yet that it is none are refused, and
// end its term.
func TestStaleLeaderIsFenced(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a")
	l := s.lead(options{vars: map[string]string{env.Lease: "1m"}})
	l.leads()
	other, _, err := s.board.Leader.TakeLead(t.Context(), "usurper", "orchestrator-", time.Minute)
	s.must(err)
	if other.Epoch == "" {
		t.Fatal("the lead was not taken")
	}
	g := s.goal("g") // its notice has the stale one try, and learn
	s.until("the end of its term", func() bool { return strings.Contains(l.log.String(), "no longer leading") })
	if _, err := s.board.Records.Snapshot(t.Context(), blackboard.BiddingClaimID(g)); !errors.Is(err, blackboard.ErrNotFound) {
		t.Errorf("it opened a claim: %v", err)
	}
	s.must(s.board.Leader.RenewLead(t.Context(), other, 0))
	s.claimOf(g)
}

// Where only one orchestrator can sit, a new one need not wait for a lease.
func TestSeatIsTakenOverAtOnce(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	o := inPlace(p)
	o.vars[env.Lease] = "1h"
	set, err := parseSettings(s.env(o, &output{}).Lookup)
	s.must(err)
	_, _, err = s.board.Leader.TakeLead(t.Context(), set.Seat+"dead", "", time.Hour)
	s.must(err)
	s.lead(o)
	s.incarnation(p, "agent-a")
	o.vars[env.StateDir] = "/elsewhere"
	if other, err := parseSettings(s.env(o, &output{}).Lookup); err != nil || other.Seat == set.Seat {
		t.Errorf("two places share the seat %q, %v", other.Seat, err)
	}
}

// What happened while nobody led, and so was noticed by nobody, is found.
func TestWorkFromBefore(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a")
	g := s.goal("before")
	first := s.lead(options{})
	c := s.claimOf(g)
	s.must(first.stop())
	s.bids(c, "a exclusive")
	g2 := s.goal("between")
	second := s.lead(options{})
	s.grant(c, "a", blackboard.GrantQueued)
	s.claimOf(g2)
	st := s.starts(c, "a", "h")
	s.must(second.stop())
	s.finishes(st, "a", blackboard.Terminal, "Done", "x")
	s.lead(options{})
	s.ended(g, blackboard.WorkflowAchieved)
}

// Without a single notice everything still happens, with the ticks.
func TestTicksAlone(t *testing.T) {
	t.Parallel()
	r := redistest.Start(t) // for its access lists
	s := newSettAt(t, r.URL, "a")
	s.redis(r, "ACL", "SETUSER", "deaf", "on", "nopass", "~*", "+@all", "resetchannels")
	s.lead(options{vars: map[string]string{env.RedisURL: strings.Replace(r.URL, "redis://", "redis://deaf:x@", 1)},
		pace: func(p *pace) { p.tick = 20 * time.Millisecond }})
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "a exclusive")
	s.does(c, "a", blackboard.Terminal, "Done", "x")
	s.ended(g, blackboard.WorkflowAchieved)
}

// Redis dies and comes back in the middle of the work; nobody helps.
func TestRedisRestart(t *testing.T) {
	t.Parallel()
	r := redistest.Embedded(t)
	s := newSettAt(t, r.URL, "a")
	l := s.lead(options{})
	g := s.goal("g")
	c := s.claimOf(g)
	s.bids(c, "a claim")
	st := s.starts(c, "a", "h")
	r.Kill()
	s.until("the loss to be noticed", func() bool { return strings.Contains(l.log.String(), "blackboard lost") })
	r.Restart()
	next := s.finishes(st, "a", std, "Doc", "x")
	s.status(c, blackboard.Complete)
	c2 := s.claimOf(next)
	s.bids(c2, "a ignore")
	s.ended(g, blackboard.WorkflowStalled)
}

// On the embedded blackboard it is the same.
func TestEmbeddedBlackboard(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a", "critic"), newPlace()
	s.lead(trusting(p))
	g := s.goal("g")
	draft := s.makes(g, "a")
	c := s.claimOf(draft)
	s.bids(c, "a ignore", "critic review")
	s.does(c, "critic", review, "Review", "no")
	rework := blackboard.ReworkClaimID(c)
	s.starts(rework, "a", s.incarnation(p, "agent-a"))
	p.exit("agent-a", exited(1))
	s.status(rework, blackboard.Terminated)
	s.ended(g, blackboard.WorkflowFailed)
}

func TestGivesUp(t *testing.T) {
	t.Parallel()
	r := redistest.Embedded(t)
	s := newSettAt(t, r.URL, "a")
	l := s.lead(options{vars: map[string]string{env.RedisGiveUp: "200ms", env.Lease: "100ms"}})
	l.leads()
	r.Kill()
	err := l.failed()
	if role.CodeOf(err) != role.Environment || !strings.Contains(err.Error(), r.Addr()) {
		t.Errorf("it ended with %d: %v", role.CodeOf(err), err)
	}
}

func TestStartFailures(t *testing.T) {
	t.Parallel()
	dead := "127.0.0.1:1"
	file := t.TempDir() + "/config.json"
	if err := os.WriteFile(file, []byte(`{"agents":[{"name":"a"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir() + "/broken.json"
	if err := os.WriteFile(broken, []byte(`{"agents":[{"na`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		vars map[string]string
		code role.Code
		says []string
	}{
		"nothing set":    {nil, role.Usage, []string{env.Instance, env.RedisURL, env.Config}},
		"bad values":     {map[string]string{env.Instance: "a}b", env.RedisURL: "redis://x", env.Config: file, env.Lease: "1ns"}, role.Usage, []string{env.Instance, env.Lease}},
		"no redis":       {map[string]string{env.Instance: "x", env.RedisURL: "redis://:geheim@" + dead, env.Config: file, env.RedisRetries: "1"}, role.Environment, []string{dead}},
		"no such file":   {map[string]string{env.Instance: "x", env.RedisURL: "redis://" + dead, env.Config: file + "x"}, role.Usage, []string{file + "x"}},
		"broken file":    {map[string]string{env.Instance: "x", env.RedisURL: "redis://" + dead, env.Config: broken}, role.Usage, []string{broken}},
		"no such scheme": {map[string]string{env.Instance: "x", env.RedisURL: "http://" + dead, env.Config: file}, role.Environment, []string{"redis://"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := Run(t.Context(), role.Env{Stdout: io.Discard, Stderr: io.Discard, Now: time.Now, Entropy: strings.NewReader(strings.Repeat("x", 100)),
				Lookup: func(n string) (string, bool) { v, ok := test.vars[n]; return v, ok }})
			if role.CodeOf(err) != test.code {
				t.Errorf("it ended with %d: %v", role.CodeOf(err), err)
			}
			for _, want := range test.says {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not name %s", err, want)
				}
			}
			if err != nil && strings.Contains(err.Error(), "geheim") {
				t.Errorf("%v shows the password", err)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	var out output
	if err := Run(t.Context(), role.Env{Args: []string{"--help"}, Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Usage: sett orchestrator", env.RedisURL, env.Lease} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help does not mention %s", want)
		}
	}
}

// A term leaves no goroutine behind: not its timers, not its supervisors.
func TestTermLeavesNothing(t *testing.T) {
	s, p := newSett(t, "a", "mute"), newPlace()
	s.cfg.Orchestrator.BidTimeout = time.Hour
	s.write()
	warm := s.lead(inPlace(p))
	s.incarnation(p, "agent-a")
	s.must(warm.stop())
	before := goruntime.NumGoroutine()
	for range 3 {
		l := s.lead(inPlace(p))
		l.leads()
		c := s.claimOf(s.goal("g"))
		s.bids(c, "a exclusive")
		s.must(l.stop())
	}
	s.until("the goroutines to end", func() bool { return goruntime.NumGoroutine() <= before })
}

// Many deciders that learn at once that the lead is lost all return.
func TestManyDecidersLoseTheLead(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a")
	var goals []string
	for range 200 {
		goals = append(goals, s.goal("g"))
	}
	o := s.unled(s.env(options{}, &output{}), slog.DiscardHandler)
	l := newTerm(o, blackboard.Lead{Holder: "nobody", Epoch: "0"})
	for _, g := range goals {
		l.queue.add(key{artefactKey, g})
	}
	done := make(chan error, 1)
	go func() { done <- l.decideAll(t.Context()) }()
	select {
	case err := <-done:
		if !errors.Is(err, blackboard.ErrStale) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
	if w, err := s.board.Index.OpenWork(t.Context()); err != nil || len(w.Unclaimed) != len(goals) || slices.Contains(w.Claims, "") {
		t.Errorf("work %d, %v", len(w.Unclaimed), err)
	}
}
