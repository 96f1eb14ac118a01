package redis

import (
	"context"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
)

// How far people were told is stored and read again, on both servers; what is no
// position is not taken for one, whoever wrote it.
func TestNotified(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		at := func(want string) {
			t.Helper()
			got, err := w.b.Ledger.Notified(w.ctx)
			must(t, err)
			if got != want {
				t.Errorf("notified up to %q, want %q", got, want)
			}
		}
		at("")
		w.goal()
		last, err := w.b.Ledger.Last(w.ctx)
		must(t, err)
		must(t, w.b.Ledger.SetNotified(w.ctx, last))
		at(last)
		now, err := w.b.ServerTime(w.ctx)
		must(t, err)
		must(t, w.b.Ledger.SetNotified(w.ctx, blackboard.PositionAt(now)))
		at(blackboard.PositionAt(now))
		for range 2 {
			must(t, w.b.Ledger.ForgetNotified(w.ctx))
			at("")
		}
		for _, odd := range []string{"", "$", "1", "1-", "1-1 ", "x-1", strings.Repeat("1", 30) + "-1"} {
			if err := w.b.Ledger.SetNotified(w.ctx, odd); err == nil {
				t.Errorf("%q was stored", odd)
			}
			w.raw("SET", w.b.c.Keys.Notified(), odd)
			at("")
		}
	})
}

// What the notifier says of itself is stored and read again. A notifier that was removed
// leaves the position up to which it had told, however often it is forgotten.
func TestNotifierSays(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		is := func(want blackboard.Notifier) {
			t.Helper()
			got, err := w.b.Ledger.Notifier(w.ctx)
			must(t, err)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("notifier %+v, want %+v", got, want)
			}
		}
		is(blackboard.Notifier{})
		said := blackboard.Notifier{Incarnation: "i", Unfit: "no curl", Untold: &blackboard.Untold{Since: time.Unix(1, 0).UTC(), Event: "gate", Position: "1-1", Tries: 3, Error: "oh"}}
		must(t, w.b.Ledger.SetNotifier(w.ctx, said))
		is(said)
		must(t, w.b.Ledger.SetNotified(w.ctx, "7-1"))
		for range 2 {
			must(t, w.b.Ledger.ForgetNotified(w.ctx))
			is(blackboard.Notifier{Told: "7-1"})
		}
		for _, odd := range []string{"", "x", `{"told":"$"}`, `[1]`} {
			w.raw("SET", notifierKey(w.b.c.Keys), odd)
			is(blackboard.Notifier{})
		}
	})
}

// A Question waits until it is answered, a gate until it is decided, and nothing
// else does.
func TestWaitsForHuman(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		waits := func(id string, want bool) {
			t.Helper()
			got, err := w.b.Index.WaitsForHuman(w.ctx, id)
			must(t, err)
			if got != want {
				t.Errorf("%s waits: %v", id, got)
			}
		}
		claim := w.granted(blackboard.PhaseExclusive, "a")
		q := w.finish(claim, "a", blackboard.Question, "Ask", "?")
		waits(q.ID, true)
		waits(q.WorkflowID, false)
		_, err := w.b.People.PostAnswer(w.ctx, q.ID, answerTo(q), "ann")
		must(t, err)
		waits(q.ID, false)
		w.raw("ZADD", w.b.c.Keys.Gates(), "1", q.WorkflowID)
		waits(q.WorkflowID, true)
	})
}

// The notifier's user can do all that the notifier does.
func TestNotifierUserCanWork(t *testing.T) {
	g := startGuarded(t, "a")
	at, err := NotifierURL(g.server.URL, adminPassword)
	must(t, err)
	b := open(t, at)
	claim := g.granted(blackboard.PhaseExclusive, "a")
	q := g.finish(claim, "a", blackboard.Question, "Ask", "?")
	must(t, b.Ping(g.ctx))
	_, err = b.ServerTime(g.ctx)
	must(t, err)
	_, err = b.Ledger.Notified(g.ctx)
	must(t, err)
	must(t, b.Ledger.SetNotifier(g.ctx, blackboard.Notifier{Incarnation: "i"}))
	_, err = b.Ledger.Notifier(g.ctx)
	must(t, err)
	ctx, cancel := context.WithCancel(g.ctx)
	seen := 0
	_ = b.Ledger.Follow(ctx, blackboard.Beginning, func(e blackboard.Event) error {
		seen++
		if e.Artefact == q.ID {
			must(t, b.Ledger.SetNotified(g.ctx, e.ID))
			cancel()
		}
		return nil
	}, func(err error) { t.Error(err); cancel() })
	if got, err := b.Ledger.Notified(g.ctx); err != nil || got != g.lastEvent().ID || seen < 4 {
		t.Errorf("notified %q after %d entries, %v", got, seen, err)
	}
	_, err = b.Records.Workflow(g.ctx, q.WorkflowID)
	must(t, err)
	_, err = b.Records.Artefact(g.ctx, q.ID)
	must(t, err)
	_, err = b.Records.Claims(g.ctx, []string{claim})
	must(t, err)
	_, err = b.Records.Snapshot(g.ctx, claim)
	must(t, err)
	if waits, err := b.Index.WaitsForHuman(g.ctx, q.ID); err != nil || !waits {
		t.Errorf("waits: %v %v", waits, err)
	}
}

// The notifier's credentials in the wrong hands change nothing but how far people
// were told.
func TestNotifierUserIsRefused(t *testing.T) {
	g := startGuarded(t, "a")
	before := g.dump()
	thief := dial(t, g.server.Addr())
	if got := thief.say("AUTH", NotifierUser, passwordOf(adminPassword, NotifierUser)); got != "+OK" {
		t.Fatalf("AUTH: %s", got)
	}
	own := [][]string{
		{"SET", "sett:{test}:epoch", "9"}, {"SET", "sett:{test}:notified2", "9"}, {"SET", "sett:{test}:leader", "me"},
		{"XADD", "sett:{test}:events", "*", "kind", "forged"}, {"HSET", "sett:{test}:agents", "a", "x"}, {"DEL", "sett:{test}:notified"},
		{"PUBLISH", "sett:{test}:claim_events", "x"}, {"SUBSCRIBE", "sett:{test}:claim_events"},
		{"EVAL", "return 1", "1", "sett:{test}:events"}, {"EVALSHA", strings.Repeat("0", 40), "0"},
	}
	for _, command := range append(own, refusedToAgents...) {
		if got := thief.say(command...); !refusal.MatchString(got) {
			t.Errorf("%q: %s", command, got)
		}
	}
	g.unchanged("the thief", before)
	for _, key := range []string{"sett:{test}:notified", "sett:{test}:notifier"} {
		if got := thief.say("SET", key, "1-1"); got != "+OK" {
			t.Errorf("its own %s: %s", key, got)
		}
	}
	if strings.HasPrefix(AgentUser(NotifierUser), NotifierUser) || NotifierUser == AdminUser {
		t.Error("its name is another's")
	}
}

func TestNotifierURL(t *testing.T) {
	got, err := NotifierURL("redis://h:6379/0", adminPassword)
	must(t, err)
	at, err := url.Parse(got)
	must(t, err)
	password, _ := at.User.Password()
	if at.User.Username() != NotifierUser || !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(password) ||
		password == AgentPassword(adminPassword, NotifierUser) {
		t.Errorf("%s", got)
	}
	if got, err := NotifierURL("redis://:own@h/0", adminPassword); err != nil || got != "redis://:own@h/0" {
		t.Errorf("a server with users of its own: %s %v", got, err)
	}
}
