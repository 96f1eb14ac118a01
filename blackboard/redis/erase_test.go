package redis

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"sett/blackboard/redis/internal/store"
	"sett/blackboard/redis/redistest"
)

// Erase removes the instance's keys, however many, and nobody else's.
func TestErase(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		w.raw("FLUSHALL")
		for _, key := range []string{"other", "sett:{testing}:events", "sett:{test}", "sett:{test}x", "sett:{tes}:a", "SETT:{test}:a"} {
			w.raw("SET", key, "1")
		}
		others := w.dump()
		w = newWorld(t, s)
		w.use()
		for i := range 2 * eraseStep {
			w.raw("SET", w.b.c.Keys.Artifact(fmt.Sprint(i)), "1")
		}
		mine := len(w.dump()) - len(others)
		if n, err := w.b.Erase(w.ctx); err != nil || n != mine {
			t.Errorf("removed %d of %d keys: %v", n, mine, err)
		}
		if got := w.dump(); !maps.Equal(got, others) {
			t.Errorf("left: %v", strings.Join(w.raw("KEYS", "*"), " "))
		}
		if n, err := w.b.Erase(w.ctx); err != nil || n != 0 {
			t.Errorf("once more: removed %d keys: %v", n, err)
		}
	})
}

// Erase goes on after the server stood still, and after a failover in the middle, where
// the next server lists its keys in another order.
func TestEraseOutlasts(t *testing.T) {
	t.Parallel()
	all := redistest.Cluster(t, 1, 1)
	master, replica := all[0], all[1]
	fill(master, 5000, "sett:{test}:artifact:")
	fill(master, 500, "{test}other:")
	redistest.AwaitReplicas(t, master, 1)
	until(t, "a replica with all keys", func() bool { return replica.Send("DBSIZE") == "5500" })
	calls := 0
	goOn := func() {}
	o := patiently(master.URL)
	o.Observe = func(_ time.Duration, lost bool) {
		switch calls++; {
		case lost:
			goOn()
		case calls == 4:
			goOn = master.Stall()
		case calls == 12:
			master.Kill()
			until(t, "the replica's takeover", func() bool { return replica.Send("CLUSTER", "FAILOVER", "TAKEOVER") == "OK" && replica.Has(events) })
		}
	}
	b := openOptions(t, o)
	n, err := b.Erase(testContext(t))
	if err != nil || calls < 20 {
		t.Errorf("removed %d keys by %d calls: %v", n, calls, err)
	}
	if left := replica.Send("DBSIZE"); left != "500" {
		t.Errorf("%s keys are left, and 500 are others'", left)
	}
}

// What is interrupted is finished by the next time.
func TestEraseAgain(t *testing.T) {
	s := redistest.Start(t)
	fill(s, 5000, "sett:{test}:artifact:")
	ctx, cancel := context.WithCancel(testContext(t))
	calls := 0
	b := openOptions(t, store.Options{URL: s.URL, Instance: "test", Observe: func(time.Duration, bool) {
		if calls++; calls == 5 {
			cancel()
		}
	}})
	n, err := b.Erase(ctx)
	if left := s.Send("DBSIZE"); err == nil || n == 0 || left == "0" {
		t.Errorf("removed %d keys, %s are left: %v", n, left, err)
	}
	if _, err := b.Erase(testContext(t)); err != nil || s.Send("DBSIZE") != "0" {
		t.Errorf("%s keys are left: %v", s.Send("DBSIZE"), err)
	}
}

// fill stores so many keys.
func fill(s *redistest.Server, n int, prefix string) {
	s.Send(fmt.Sprintf(`EVAL "for i=1,%d do redis.call('SET', KEYS[1]..i, 1) end" 1 %s`, n, prefix))
}
