package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// cutter passes a connection on, and cuts it in place of a reply when told to: the
// server has done what it was asked, and nobody hears of it.
type cutter struct {
	url  string
	left atomic.Int64 // replies until the one that is lost; 0: none is
	cuts atomic.Int64
	when func() bool // asked of each reply whether it is lost; nil: left says it
	lost func()      // called when one is; nil: nobody is
}

func startCutter(t *testing.T, s *server) *cutter {
	t.Helper()
	target := strings.TrimPrefix(s.url, "redis://")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	c := &cutter{url: "redis://" + l.Addr().String()}
	var wg sync.WaitGroup
	var conns sync.Map
	wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			srv, err := net.Dial("tcp", target)
			if err != nil {
				_ = client.Close()
				continue
			}
			conns.Store(client, srv)
			wg.Go(func() { _, _ = io.Copy(srv, client); _ = srv.Close() })
			wg.Go(func() { c.replies(client, srv) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		conns.Range(func(client, srv any) bool {
			_, _ = client.(net.Conn).Close(), srv.(net.Conn).Close()
			return true
		})
		wg.Wait()
	})
	return c
}

func (c *cutter) replies(client, srv net.Conn) {
	defer func() { _ = client.Close(); _ = srv.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := srv.Read(buf)
		if err != nil {
			return
		}
		if c.left.Load() > 0 && c.left.Add(-1) == 0 || c.when != nil && c.when() {
			c.cuts.Add(1)
			if c.lost != nil {
				c.lost()
			}
			return
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// life is one of each move. before runs before each of them.
func life(w *world, before func(move string)) {
	w.Helper()
	do := func(name string, move func() error) {
		w.Helper()
		before(name)
		// A decision that was applied and not heard of finds its revision gone.
		if err := move(); err != nil && !errors.Is(err, blackboard.ErrStale) {
			w.Fatalf("%s: %v", name, err)
		}
	}
	g := goal("x")
	do("goal", func() error { return w.b.People.PostGoal(w.ctx, g, "ann") })
	claim := blackboard.BiddingClaimID(g.ID)
	do("open", func() error {
		_, _, err := w.b.Leader.OpenClaim(w.ctx, w.epoch, g.ID, []string{"a", "b", "c"}, 0)
		return err
	})
	do("bid", func() error {
		each, err := w.b.Cub.SubmitBids(w.ctx, []blackboard.BidRequest{{Claim: claim, Agent: "a", Bid: blackboard.BidClaim}, {Claim: claim, Agent: "b", Bid: blackboard.BidClaim}})
		return errors.Join(append(each, err)...)
	})
	guard := w.guard(claim)
	do("ignore", func() error { return w.b.Leader.RecordIgnores(w.ctx, guard, []string{"c"}, "silent") })
	guard = w.guard(claim)
	do("grant", func() error { return w.b.Leader.GrantPhase(w.ctx, guard, blackboard.PhaseParallel, []string{"a", "b"}) })
	ref := func(agent string, attempt int) blackboard.GrantRef {
		return blackboard.GrantRef{Claim: claim, Agent: agent, Attempt: attempt, Holder: "h-" + agent}
	}
	start := func(agent string) {
		do("start", func() error {
			_, err := w.b.Cub.Start(w.ctx, blackboard.StartRequest{Claim: claim, Agent: agent, Holder: "h-" + agent})
			return err
		})
	}
	start("a")
	start("b")
	do("await", func() error { return w.b.Cub.Await(w.ctx, ref("a", 1), blackboard.WaitRepository, "") })
	do("requeue", func() error {
		return w.b.Cub.Requeue(w.ctx, blackboard.HandBack{GrantRef: ref("a", 1), Most: 10, Reason: "stopped"})
	})
	c := w.snapshot(claim).Claim
	start("b")
	q := result(c, "b", blackboard.Question, "Question", "?")
	do("ask", func() error { return w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: ref("b", 1), Artefact: q}) })
	answer := answerTo(q)
	do("answer", func() error { _, err := w.b.People.PostAnswer(w.ctx, q.ID, answer, "ann"); return err })
	start("b")
	do("crash", func() error { return w.b.Leader.RetryGrant(w.ctx, w.epoch, ref("b", 2), "died") })
	start("b")
	k := conflictOf(c, "c0")
	do("clash", func() error { return w.b.Cub.Clash(w.ctx, blackboard.Clash{GrantRef: ref("b", 3), Conflict: k}) })
	do("unclash", func() error {
		return w.b.Leader.Unclash(w.ctx, blackboard.Unclash{Epoch: w.epoch, Claim: claim, Agent: "b", Conflict: k.ID, Settled: g.ID})
	})
	start("a")
	x := result(c, "a", blackboard.Standard, "X", "")
	do("finish", func() error { return w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: ref("a", 2), Artefact: x}) })
	f := failure(g.ID, blackboard.TypeAgentRemoved)
	do("fail", func() error {
		return w.b.Leader.FailGrant(w.ctx, w.epoch, blackboard.GrantRef{Claim: claim, Agent: "b", Attempt: 4, Holder: ""}, "removed", f)
	})
	guard = w.guard(claim)
	do("terminate", func() error { return w.b.Leader.TerminateClaim(w.ctx, guard, "b failed", nil, nil) })
	limit := failure(g.ID, blackboard.TypeWorkflowLimit)
	do("refuse", func() error { return w.b.Leader.RefuseClaim(w.ctx, w.epoch, k.ID, "limit", limit) })
	do("refuse", func() error { return w.b.Leader.RefuseClaim(w.ctx, w.epoch, x.ID, "limit", limit) })
}

// story is what came of a life, without its ids and times.
func (w *world) story() string {
	w.Helper()
	var b strings.Builder
	for _, e := range w.events() {
		fmt.Fprintln(&b, e.Kind, e.Agent, e.From, e.To, e.Reason, e.Attributes["attempt"])
	}
	goals, err := w.b.Index.Goals(w.ctx, 0)
	must(w, err)
	wf := w.workflow(goals[0])
	keys := 0
	for key := range w.dump() {
		if !strings.Contains(key, ":endings:") { // the number of buckets depends on the ids
			keys++
		}
	}
	fmt.Fprintln(&b, wf.Status, wf.Outstanding, wf.Artefacts, wf.Claims, wf.Failures, wf.Questions, keys)
	return b.String()
}

// A move whose reply is lost is made again by itself, and applied once: whether
// the script was known to the server or had to be sent whole.
func TestLostReplies(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		undisturbed := newWorld(t, s)
		moves := 0
		life(undisturbed, func(string) { moves++ })
		want := undisturbed.story()
		if !strings.Contains(want, "failed 0 7 1 2 0") {
			t.Fatalf("the undisturbed life:\n%s", want)
		}
		for lost := range 2 {
			name := fmt.Sprintf("reply %d", lost+1)
			undisturbed.raw("FLUSHALL")
			if lost == 1 && strings.HasSuffix(t.Name(), "redis") {
				undisturbed.raw("SCRIPT", "FLUSH")
			}
			cut := startCutter(t, s)
			w := &world{t, undisturbed.ctx, openOptions(t, store.Options{URL: cut.url, Instance: "test", Backoff: time.Millisecond}), ""}
			lead, _, err := w.b.Leader.TakeLead(w.ctx, "orchestrator", "", time.Hour)
			must(t, err)
			w.epoch = lead.Epoch
			life(w, func(string) { cut.left.Store(int64(lost + 1)) })
			cut.left.Store(0)
			if cuts := int(cut.cuts.Load()); cuts == 0 || lost == 0 && cuts != moves {
				t.Errorf("%s: %d cuts in %d moves", name, cuts, moves)
			}
			if got := w.story(); got != want {
				t.Errorf("%s: got\n%s\nundisturbed\n%s", name, got, want)
			}
		}
	})
}

// A person's move is repeated while its replies are lost, for seconds, and is made once. Where no reply
// comes at all, the error says that it may have been made.
func TestPersonsMoveWithoutReplies(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		cut := startCutter(t, s)
		var losses atomic.Int64
		cut.when = func() bool { return losses.Add(-1) >= 0 }
		b := openOptions(t, store.Options{URL: cut.url, Instance: "test", Backoff: time.Millisecond, Retries: 2})
		g := goal("once")
		losses.Store(12)
		must(t, b.People.PostGoal(w.ctx, g, "ann"))
		losses.Store(1 << 40)
		lost := goal("unheard")
		short, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		var unsure *blackboard.UnsureError
		if err := b.People.PostGoal(short, lost, "ann"); !errors.As(err, &unsure) || unsure.ID != lost.ID || !errors.Is(err, blackboard.ErrUnavailable) {
			t.Errorf("a goal without any reply: %v", err)
		}
		_, err := w.b.Records.Artefact(w.ctx, lost.ID)
		must(t, err)
		if goals, err := w.b.Index.Goals(w.ctx, 0); err != nil || len(goals) != 2 {
			t.Errorf("goals %q, %v", goals, err)
		}
		w.export("")
	})
}
