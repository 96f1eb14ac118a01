package redis

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
	"sett/blackboard/redis/redistest"
)

// events is a key of the instance that tests use.
const events = "sett:{test}:events"

// keysOfSlots are keys on all nodes of a small cluster.
var keysOfSlots = []string{"{a}other", "{b}other", "{c}other", "{d}other", "{test}other"}

// The URL of any node of a cluster works: moves, reads, notices and the ledger, and all
// that is asked of the server itself is asked of the node that has the instance.
func TestClusterFromAnyNode(t *testing.T) {
	t.Parallel()
	all := redistest.Cluster(t, 3, 1)
	owner := redistest.Of(t, all, events)
	owner.Send("CONFIG", "SET", "appendonly", "yes")
	owner.Send("CONFIG", "SET", "appendfsync", "always")
	for i, s := range all {
		b := openOptions(t, store.Options{URL: s.URL, Instance: "test", Name: "test", Mend: true})
		w := &world{t, testContext(t), b, ""}
		lead, _, err := b.Leader.TakeLead(w.ctx, "o", "o", time.Hour)
		must(t, err)
		w.epoch = lead.Epoch
		noticed := make(chan string, 100)
		listening := make(chan struct{}, 8)
		ctx, stop := context.WithCancel(w.ctx)
		go func() {
			_ = b.Subscribe(ctx, []Channel{ArtefactEvents}, func() { listening <- struct{}{} }, func(_ Channel, id string) { noticed <- id }, func(error) {})
		}()
		<-listening
		claim := w.granted(blackboard.PhaseExclusive, "doer")
		w.finish(claim, "doer", blackboard.Standard, "T", "done")
		if id := <-noticed; id == "" {
			t.Error("an empty notice")
		}
		stop()
		if n := len(w.events()); n < 6*(i+1) {
			t.Errorf("from node %d: %d entries", i, n)
		}
		d, err := b.Durability(w.ctx)
		if err != nil || d.AppendOnly != "yes" || d.Fsync != "always" || !d.Spread || d.Demanding {
			t.Errorf("from node %d: durability %+v %v, and the instance's node has yes, always", i, d, err)
		}
		goals, err := b.Index.Goals(w.ctx, 0)
		if err != nil || len(goals) != i+1 {
			t.Errorf("from node %d: %d goals %v", i, len(goals), err)
		}
		_, err = b.ServerTime(w.ctx)
		must(t, err)
		must(t, b.Nudge(w.ctx))
		must(t, b.Ping(w.ctx))
	}
}

// A cluster has one database, and each of several addresses has to be of a cluster: the
// error says so at once.
func TestClusterWrongURL(t *testing.T) {
	t.Parallel()
	all := redistest.Cluster(t, 1, 0)
	single := redistest.Start(t)
	for url, want := range map[string]string{
		all[0].URL + "/3":                              "a cluster has database 0 only",
		single.URL + "?addr=" + deadAddr(t):            "master_set",
		single.URL + "?addr=" + single.Addr() + "&a=b": "master_set",
	} {
		began := time.Now()
		_, err := Open(testContext(t), store.Options{URL: url, Instance: "test", Backoff: time.Second})
		if err == nil || !strings.Contains(err.Error(), want) || time.Since(began) > 5*time.Second {
			t.Errorf("%s: %v after %s", url, err, time.Since(began))
		}
	}
}

// The node of the URL may be lost: an open board goes on, and another one opens where the
// URL names one more node. The same after the failover of the instance's own node.
func TestClusterLosesNodes(t *testing.T) {
	t.Parallel()
	all := redistest.Cluster(t, 3, 1)
	owner := redistest.Of(t, all, events)
	var given, other *redistest.Server
	for _, s := range all[:3] {
		if s != owner {
			given, other = other, s
		}
	}
	b := openOptions(t, store.Options{URL: given.URL, Instance: "test", Retries: 100, Backoff: 10 * time.Millisecond, Timeout: 500 * time.Millisecond})
	ctx := testContext(t)
	must(t, b.People.PostGoal(ctx, goal("one"), "ann"))
	lost := slices.IndexFunc(keysOfSlots, given.Has)
	given.Kill()
	must(t, b.People.PostGoal(ctx, goal("two"), "ann"))
	both := given.URL + "?addr=" + other.Addr()
	again := openOptions(t, store.Options{URL: both, Instance: "test", Retries: 100, Backoff: 10 * time.Millisecond, Timeout: 500 * time.Millisecond})
	must(t, again.People.PostGoal(ctx, goal("three"), "ann"))
	redistest.Of(t, all, keysOfSlots[lost]) // or there is no majority of masters for the next failover
	owner.Kill()
	for _, b := range []*Board{b, again} {
		must(t, b.People.PostGoal(ctx, goal("after the failover"), "ann")) // by a server that knows no script
		goals, err := b.Index.Goals(ctx, 0)
		if err != nil || len(goals) < 4 {
			t.Errorf("%d goals: %v", len(goals), err)
		}
	}
}

// A node that stands still is given up on when another one took its place.
func TestClusterNodeStalls(t *testing.T) {
	t.Parallel()
	all := redistest.Cluster(t, 3, 1)
	owner := redistest.Of(t, all, events)
	b := openOptions(t, store.Options{URL: all[0].URL, Instance: "test", Retries: 100, Backoff: 10 * time.Millisecond, Timeout: 500 * time.Millisecond})
	ctx := testContext(t)
	must(t, b.People.PostGoal(ctx, goal("one"), "ann"))
	goOn := owner.Stall()
	defer goOn()
	must(t, b.People.PostGoal(ctx, goal("two"), "ann"))
	goOn()
	must(t, b.People.PostGoal(ctx, goal("three"), "ann"))
	if goals, err := b.Index.Goals(ctx, 0); err != nil || len(goals) != 3 {
		t.Errorf("%d goals: %v", len(goals), err)
	}
}

// While a slot moves from node to node key by key, no node has all of the instance. A
// script would take what it does not see for something that is not there: none runs.
func TestClusterMovesSlot(t *testing.T) {
	t.Parallel()
	all := redistest.Cluster(t, 2, 0)
	from := redistest.Of(t, all, events)
	to := all[0]
	if to == from {
		to = all[1]
	}
	w := newWorld(t, &server{url: all[0].URL})
	done := w.goal()
	keys := strings.Fields(from.Send("KEYS", "*"))
	slot := from.Send("CLUSTER", "KEYSLOT", events)
	fromID, toID := strings.TrimSpace(from.Send("CLUSTER", "MYID")), strings.TrimSpace(to.Send("CLUSTER", "MYID"))
	to.Send("CLUSTER", "SETSLOT", slot, "IMPORTING", fromID)
	from.Send("CLUSTER", "SETSLOT", slot, "MIGRATING", toID)
	move := func(key string) {
		host, port, _ := strings.Cut(to.Addr(), ":")
		if got := from.Send("MIGRATE", host, port, key, "0", "5000"); got != "OK" && got != "NOKEY" {
			t.Fatalf("move %s: %s", key, got)
		}
	}
	brief := openOptions(t, store.Options{URL: all[1].URL, Instance: "test", Retries: 2, Backoff: time.Millisecond})
	half := func(when string) {
		t.Helper()
		if err := brief.People.PostGoal(w.ctx, goal("half"), "ann"); !errors.Is(err, blackboard.ErrUnavailable) {
			t.Errorf("%s: a goal: %v", when, err)
		}
		err := brief.SetInstance(w.ctx, blackboard.InstanceMove{State: blackboard.InstanceRunning, By: "test"})
		if !errors.Is(err, blackboard.ErrUnavailable) || !strings.Contains(err.Error(), "TRYAGAIN") {
			t.Errorf("%s: a move: %v", when, err)
		}
	}
	half("before the first key")
	move("sett:{test}:instance")
	move(events)
	half("with the ledger there and the rest here")
	for _, key := range keys {
		if strings.HasPrefix(key, "sett:") {
			move(key)
		}
	}
	half("with all keys there")
	if a, err := brief.Records.Artefact(w.ctx, done.ID); err != nil || a.ID != done.ID {
		t.Errorf("a read meanwhile: %v", err)
	}
	to.Send("CLUSTER", "SETSLOT", slot, "NODE", toID)
	from.Send("CLUSTER", "SETSLOT", slot, "NODE", toID)
	must(t, w.b.People.PostGoal(w.ctx, goal("after"), "ann"))
	if goals, err := w.b.Index.Goals(w.ctx, 0); err != nil || len(goals) != 2 {
		t.Errorf("%d goals: %v", len(goals), err)
	}
}

// Erase removes the instance's keys from its node, and no others.
func TestClusterErase(t *testing.T) {
	t.Parallel()
	all := redistest.Cluster(t, 3, 0)
	owner := redistest.Of(t, all, events)
	w := newWorld(t, &server{url: all[0].URL})
	w.goal()
	for _, s := range all {
		for _, key := range keysOfSlots {
			if s.Has(key) {
				s.Send("SET", key, "1")
			}
		}
	}
	n, err := w.b.Erase(w.ctx)
	if err != nil || n < 5 {
		t.Errorf("removed %d keys: %v", n, err)
	}
	if keys := owner.Send("KEYS", "sett:*"); keys != "*0" {
		t.Errorf("left: %s", keys)
	}
	others := 0
	for _, s := range all {
		others += strings.Count(s.Send("KEYS", "*other"), "other")
	}
	if others != 5 {
		t.Errorf("%d keys of others are left, want 5", others)
	}
}

// A script without an end is ended on the node that runs it.
func TestClusterOverrun(t *testing.T) {
	t.Parallel()
	all := redistest.Cluster(t, 2, 0, "--busy-reply-threshold", "20")
	owner := redistest.Of(t, all, events)
	other := all[0]
	if other == owner {
		other = all[1]
	}
	ended := make(chan blackboard.Overrun, 1)
	b := openOptions(t, store.Options{URL: other.URL, Instance: "test", Retries: 100, Backoff: 10 * time.Millisecond,
		Overruns: Overruns{Ended: func(o blackboard.Overrun) { ended <- o }, Failed: func(err error) { t.Log(err) }}})
	endless(t, owner)
	must(t, b.People.PostGoal(testContext(t), goal("after"), "ann"))
	if o := <-ended; o.Ran < 20*time.Millisecond || o.Addr == "" {
		t.Errorf("ended %+v", o)
	}
}
