package redis

import (
	"errors"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
	"sett/blackboard/redis/redistest"
)

// twoServers are a master and its replica, and a board that gives up at once.
func twoServers(t *testing.T, args ...string) (master, replica *redistest.Server, b *Board) {
	t.Helper()
	all := redistest.Cluster(t, 1, 1, args...)
	return all[0], all[1], openOptions(t, store.Options{URL: all[0].URL, Instance: "test", Retries: -1, Backoff: time.Millisecond, Timeout: 2 * time.Second})
}

// Where the server demands replicas, a goal is acknowledged, and a leader's sight of the
// ledger counts, when one has it: the server may be lost then.
func TestAcknowledgedIsReplicated(t *testing.T) {
	t.Parallel()
	master, replica, b := twoServers(t, "--min-replicas-to-write", "1", "--min-replicas-max-lag", "60")
	ctx := testContext(t)
	lead, _, err := b.Leader.TakeLead(ctx, "o", "o", time.Hour)
	must(t, err)
	_, err = b.Settle(ctx, "mark", false, "test")
	must(t, err)
	one, two := goal("one"), goal("two")
	must(t, b.People.PostGoal(ctx, one, "ann"))
	goOn := replica.Stall()
	defer func() { goOn() }()
	unconfirmed := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, blackboard.ErrUnavailable) || !strings.Contains(err.Error(), "the replicas have not confirmed") {
			t.Errorf("%s without a replica: %v", what, err)
		}
	}
	unconfirmed("a goal", b.People.PostGoal(ctx, two, "ann"))
	unconfirmed("a renewal", b.Leader.RenewLead(ctx, lead, time.Hour))
	seen, err := b.Look(ctx) // what only reads goes on
	must(t, err)
	goOn()
	must(t, b.People.PostGoal(ctx, two, "ann")) // which is there already
	must(t, b.Leader.RenewLead(ctx, lead, time.Hour))
	if now := b.Known(); now.Entries <= seen.Entries {
		t.Errorf("%d entries are known before a replica has them, and %d after", seen.Entries, now.Entries)
	}

	goOn = replica.Stall()
	unconfirmed("a goal", b.People.PostGoal(ctx, goal("three"), "ann"))
	master.Kill()
	goOn()
	until(t, "the replica's takeover", func() bool { return replica.Send("CLUSTER", "FAILOVER", "TAKEOVER") == "OK" && replica.Has(events) })
	replica.Send("CONFIG", "SET", "min-replicas-to-write", "0")
	again := openOptions(t, patiently(replica.URL))
	for _, g := range []blackboard.Artefact{one, two} {
		if a, err := again.Records.Artefact(ctx, g.ID); err != nil || a.Payload != g.Payload {
			t.Errorf("goal %s was acknowledged: %v", g.Payload, err)
		}
	}
	must(t, again.People.PostGoal(ctx, goal("four"), "ann"))
}

// A server that demands no replica acknowledges alone.
func TestAcknowledgedAlone(t *testing.T) {
	t.Parallel()
	_, replica, b := twoServers(t)
	defer replica.Stall()()
	must(t, b.People.PostGoal(testContext(t), goal("one"), "ann"))
}

// A failover may choose another replica than the one that has confirmed. So every replica
// that is there confirms, and one that has just gone, which may come back as the master,
// is waited for.
func TestAcknowledgedIsOnEveryReplica(t *testing.T) {
	t.Parallel()
	all := redistest.Cluster(t, 1, 2, "--min-replicas-to-write", "1", "--min-replicas-max-lag", "60")
	redistest.AwaitReplicas(t, all[0], 2)
	b := openOptions(t, store.Options{URL: all[0].URL, Instance: "test", Retries: -1, Backoff: time.Millisecond, Timeout: 2 * time.Second})
	ctx := testContext(t)
	must(t, b.People.PostGoal(ctx, goal("both"), "ann"))
	unconfirmed := func(what, why string, err error) {
		t.Helper()
		if !errors.Is(err, blackboard.ErrUnavailable) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %s", what, err, why)
		}
	}
	one := goal("one")
	goOn := all[1].Stall()
	unconfirmed("one replica stands still", "not "+all[1].Addr(), b.People.PostGoal(ctx, one, "ann"))
	goOn()
	must(t, b.People.PostGoal(ctx, one, "ann"))

	all[1].Kill()
	two := goal("two")
	until(t, "the master's loss of the replica", func() bool { return strings.Contains(all[0].Send("INFO", "replication"), "connected_slaves:1") })
	unconfirmed("one replica has just gone", all[1].Addr()+" was there a moment ago", b.People.PostGoal(ctx, two, "ann"))
	const key = "sett:{test}:confirmed"
	all[0].Send("SET", key, "unknown") // as if it had gone long ago
	must(t, b.People.PostGoal(ctx, two, "ann"))
}

// A master that is started again may have lost its place to a replica that does not
// follow it any more, although another one still does: it acknowledges nothing until the
// replicas that it had are back, or have been away for long.
func TestMasterStartedAgain(t *testing.T) {
	t.Parallel()
	all := redistest.Cluster(t, 1, 2, "--min-replicas-to-write", "1", "--min-replicas-max-lag", "60", "--cluster-replica-no-failover", "yes",
		"--appendonly", "yes", "--appendfsync", "always")
	redistest.AwaitReplicas(t, all[0], 2)
	b := openOptions(t, store.Options{URL: all[0].URL, Instance: "test", Retries: -1, Backoff: time.Millisecond, Timeout: 2 * time.Second})
	ctx := testContext(t)
	must(t, b.People.PostGoal(ctx, goal("one"), "ann"))
	all[1].Kill()
	all[0].Kill()
	all[0].Restart()
	redistest.AwaitReplicas(t, all[0], 1)
	two := goal("two")
	var err error
	until(t, "a refusal that names the replica", func() bool {
		err = b.People.PostGoal(ctx, two, "ann")
		return err == nil || strings.Contains(err.Error(), all[1].Addr()+" was there a moment ago")
	})
	if err == nil {
		t.Error("acknowledged, and the replica that may be the master now does not have it")
	}
	all[1].Restart()
	redistest.AwaitReplicas(t, all[0], 2)
	until(t, "the goal", func() bool { return b.People.PostGoal(ctx, two, "ann") == nil })
}

// A person's move that the server made, and that its replicas never confirmed, is told from one that was refused,
// also where the server takes no more writes by then.
func TestMadeAndUnconfirmed(t *testing.T) {
	t.Parallel()
	for name, lag := range map[string]string{"the server waits": "60", "the server refuses writes by then": "1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, replica, b := twoServers(t, "--min-replicas-to-write", "1", "--min-replicas-max-lag", lag)
			b.c.Options.Retries = 4
			ctx := testContext(t)
			must(t, b.People.PostGoal(ctx, goal("one"), "ann"))
			goOn := replica.Stall()
			defer func() { goOn() }()
			two, three := goal("two"), goal("three")
			why := "not confirmed the write: not " + replica.Addr()
			if lag == "1" {
				why = "NOREPLICAS"
			}
			err := b.People.PostGoal(ctx, two, "ann")
			unsure := (*blackboard.UnsureError)(nil)
			if !errors.As(err, &unsure) || !unsure.Made || unsure.ID != two.ID || !strings.Contains(err.Error(), why) {
				t.Errorf("%#v: %v", unsure, err)
			}
			if lag == "1" {
				unsure = nil
				if err := b.People.PostGoal(ctx, three, "ann"); errors.As(err, &unsure) || !strings.Contains(err.Error(), "NOREPLICAS") {
					t.Errorf("a goal that was refused: %#v, %v", unsure, err)
				}
			}
			_, err = b.Records.Artefact(ctx, two.ID)
			must(t, err)
			goOn()
			until(t, "the goal", func() bool { return b.People.PostGoal(ctx, two, "ann") == nil })
		})
	}
}
