package redis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
	"sett/blackboard/redis/lua"
	"sett/blackboard/redis/redistest"
)

// limited returns a server's URL as a user that may do all, but for the given rules.
func limited(t *testing.T, w *world, user string, rules ...string) string {
	t.Helper()
	w.raw("ACL", append([]string{"SETUSER", user, "on", ">secret", "~*", "&*", "+@all"}, rules...)...)
	u, err := url.Parse(w.b.c.Options.URL)
	must(t, err)
	u.User = url.UserPassword(user, "secret")
	return u.String()
}

// A user that may not publish makes every move whole: records and ledger are as with
// notices.
func TestMovesWithoutChannels(t *testing.T) {
	r := redistest.Start(t)
	w := newWorld(t, &server{r.URL, r.Kill, r.Restart})
	life(w, func(string) {})
	want := w.story()
	silent := limited(t, w, "silent", "resetchannels")
	w.raw("FLUSHALL")
	w = newWorld(t, &server{url: silent})
	life(w, func(string) {})
	if got := w.story(); got != want {
		t.Errorf("without channels\n%s\nwith them\n%s", got, want)
	}
	w.openGoal()
	w.gates("Plan")
	w.peoplesGoals()
	w.export("")
}

// On a board that was open, a move waits while the server refuses the user, and is made when the user has
// its rights again. The first connection fails at once.
func TestRefusedForAWhile(t *testing.T) {
	r := redistest.Start(t)
	admin := newWorld(t, &server{r.URL, r.Kill, r.Restart})
	for _, c := range []struct {
		name, code   string
		takes, gives []string
	}{
		{"password", "WRONGPASS", []string{"resetpass", ">other"}, []string{">secret"}},
		{"off", "WRONGPASS", []string{"off"}, []string{"on"}},
		{"scripts", "NOPERM", []string{"-evalsha", "-eval"}, []string{"+evalsha", "+eval"}},
		{"keys", "NOPERM", []string{"resetkeys"}, []string{"~*"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			user := "u-" + c.name
			at := limited(t, admin, user)
			lost := make(chan struct{}, 1)
			b := openOptions(t, store.Options{URL: at, Instance: "test", Backoff: time.Millisecond, Retries: 100,
				Observe: func(_ time.Duration, away bool) {
					if away {
						select {
						case lost <- struct{}{}:
						default:
						}
					}
				}})
			hasty := openOptions(t, store.Options{URL: at, Instance: "test", Backoff: time.Millisecond, Retries: 2})
			admin.raw("ACL", append([]string{"SETUSER", user}, c.takes...)...)
			admin.raw("CLIENT", "KILL", "USER", user)
			posted := make(chan error, 1)
			g := goal("waits")
			go func() { posted <- b.People.PostGoal(admin.ctx, g, "ann") }()
			select {
			case err := <-posted:
				t.Fatalf("the move ended while the server refuses: %v", err)
			case <-lost:
			}
			var denied *blackboard.DeniedError
			_, err := hasty.Records.Artefact(admin.ctx, g.ID)
			if c.name != "scripts" && (!errors.Is(err, blackboard.ErrUnavailable) || !errors.As(err, &denied) || !strings.HasPrefix(denied.Why, c.code)) {
				t.Errorf("a read: %v", err)
			}
			if err = hasty.People.PostGoal(admin.ctx, goal("once"), "ann"); !errors.Is(err, blackboard.ErrUnavailable) || !errors.As(err, &denied) {
				t.Fatalf("a move that is not repeated for long: %v", err)
			}
			if denied.Login {
				_, err = Open(context.WithoutCancel(admin.ctx), store.Options{URL: at, Instance: "test", Retries: 1000})
				if errors.Is(err, blackboard.ErrUnavailable) || !errors.As(err, &denied) || !RefusesLogin(err) {
					t.Errorf("the first connection: %v", err)
				}
			}
			admin.raw("ACL", append([]string{"SETUSER", user}, c.gives...)...)
			must(t, <-posted)
			_, err = b.Records.Artefact(admin.ctx, g.ID)
			must(t, err)
		})
	}
}

// A user that may not listen is told so, and not that the blackboard is away.
func TestSubscribeWithoutChannels(t *testing.T) {
	r := redistest.Start(t)
	w := newWorld(t, &server{r.URL, r.Kill, r.Restart})
	b := open(t, limited(t, w, "deaf", "resetchannels"))
	ctx, cancel := context.WithCancelCause(w.ctx)
	_ = b.Subscribe(ctx, []Channel{OrchestratorEvents}, func() {}, func(Channel, string) {}, func(err error) { cancel(err) })
	err := context.Cause(ctx)
	if denied := (*blackboard.DeniedError)(nil); !errors.As(err, &denied) || errors.Is(err, blackboard.ErrUnavailable) {
		t.Errorf("listening ended with %v", err)
	}
	must(t, b.Nudge(w.ctx))
}

// The rights of a user are told with the rule that gives those that are missing; with that rule nothing is.
func TestRights(t *testing.T) {
	r := redistest.Start(t)
	w := newWorld(t, &server{r.URL, r.Kill, r.Restart})
	for name, c := range map[string]struct{ rules, want, rule string }{
		"all":      {"+@all", "", ""},
		"own":      {"resetkeys ~sett:{test}:* resetchannels &sett:{test}:* -@all +@read +@write +@scripting +@connection +@pubsub +@transaction +time -@dangerous", "", ""},
		"channels": {"resetchannels", "it may not: publish, subscribe", "&sett:{test}:* +publish +subscribe"},
		"keys":     {"resetkeys ~app:*", "it may not: use the keys of the instance", "~sett:{test}:*"},
		"readonly": {"resetkeys %R~sett:{test}:*", "it may not: use the keys of the instance", "~sett:{test}:*"},
		"readers":  {"-@write", "it may not: del, hdel, hincrby, hset, hsetnx, rpush, sadd, set, xadd, zadd, zrem", "+del +hdel +hincrby +hset +hsetnx +rpush +sadd +set +xadd +zadd +zrem"},
		"scripts":  {"-eval -evalsha", "it may not: eval, evalsha", "+eval +evalsha"},
		"sha":      {"-evalsha", "it may not: evalsha", "+evalsha"},
		"ledger":   {"-xadd", "it may not: xadd", "+xadd"},
	} {
		rules := strings.Fields(c.rules)
		first := limited(t, w, "user-"+name)
		b := open(t, first)
		w.raw("ACL", append([]string{"SETUSER", "user-" + name}, rules...)...)
		lacks, err := b.Rights(w.ctx)
		must(t, err)
		if c.want == "" {
			if lacks != nil {
				t.Errorf("%s: %v", name, lacks)
			}
			continue
		}
		if lacks == nil || !strings.HasSuffix(lacks.Error(), c.want) || !strings.HasPrefix(lacks.Error(), "user user-"+name+" of ") || lacks.Rule != c.rule {
			t.Errorf("%s: %v, %+v", name, lacks, lacks)
			continue
		}
		w.raw("ACL", append([]string{"SETUSER", "user-" + name}, strings.Fields(lacks.Rule)...)...)
		if lacks, err = b.Rights(w.ctx); err != nil || lacks != nil {
			t.Errorf("%s, with the rule: %v %v", name, lacks, err)
		}
	}
	if lacks, err := open(t, startEmbedded(t).url).Rights(w.ctx); err != nil || lacks != nil {
		t.Errorf("the embedded one: %v %v", lacks, err)
	}
}

// A user that may read and write keys and make no other command is refused at the first connection. With the rule of that error
// the server can be asked for the rest, and with both rules nothing is missing.
func TestRightsOfAConnection(t *testing.T) {
	r := redistest.Start(t)
	w := newWorld(t, &server{r.URL, r.Kill, r.Restart})
	at := limited(t, w, "narrow", "resetkeys", "~sett:{test}:*", "resetchannels", "&sett:{test}:*", "-@all", "+@read", "+@write")
	o := store.Options{URL: at, Instance: "test", Name: "named"}
	_, err := Open(w.ctx, o)
	var denied *blackboard.DeniedError
	if !errors.As(err, &denied) || denied.User != "narrow" || !strings.Contains(denied.Remedy(), "ACL SETUSER narrow "+denied.Rule) {
		t.Fatalf("%v: %+v", err, denied)
	}
	w.raw("ACL", append([]string{"SETUSER", "narrow"}, strings.Fields(denied.Rule)...)...)
	b, err := Open(w.ctx, o)
	must(t, err)
	defer b.Close()
	lacks, err := b.Rights(w.ctx)
	must(t, err)
	if lacks == nil {
		t.Fatal("it may not publish")
	}
	w.raw("ACL", append([]string{"SETUSER", "narrow"}, strings.Fields(lacks.Rule)...)...)
	if lacks, err := b.Rights(w.ctx); err != nil || lacks != nil {
		t.Errorf("with both rules: %v %v", lacks, err)
	}
}

// A server without a command that Sett needs is told of, with its name and none of the arguments, wherever that shows.
func TestRenamedCommands(t *testing.T) {
	for names, want := range map[string]string{
		"CLIENT": "lacks the command CLIENT, which Sett needs", "EVAL": "lacks the command EVAL, which Sett needs",
		"EVALSHA TIME": "lacks commands that Sett needs: TIME, EVALSHA", "XADD": "lacks the command XADD, which Sett needs",
		"XRANGE": "lacks the command XRANGE, which Sett needs", "INFO": "",
	} {
		t.Run(names, func(t *testing.T) {
			args := []string{}
			for name := range strings.FieldsSeq(names) {
				args = append(args, "--rename-command", name, "")
			}
			r := redistest.Start(t, args...)
			ctx := testContext(t)
			b, err := Open(ctx, store.Options{URL: r.URL, Instance: "test", Name: "test"})
			var refused *blackboard.RightsError
			if err == nil {
				defer b.Close()
				refused, err = b.Rights(ctx)
			}
			lacks := (*blackboard.CommandError)(nil)
			if got := fmt.Sprint(err); refused != nil || want == "" && err != nil || want != "" && (!errors.As(err, &lacks) || got != "the Redis at "+r.Addr()+" "+want) {
				t.Errorf("%v %v", refused, err)
			}
		})
	}
}

// The commands that are checked are those of the scripts, but for imports, exports and conversions, and those that are sent
// besides.
func TestNeededCommandsAreExact(t *testing.T) {
	want := map[string]bool{}
	for _, sent := range strings.Fields("ping eval evalsha subscribe unsubscribe punsubscribe discard mget hstrlen zcard zrange hget hgetall exists") {
		want[sent] = true
	}
	calls := regexp.MustCompile(`call\(\s*'([A-Z]+)'`)
	for name, script := range lua.Scripts() {
		if strings.HasPrefix(name, "import_") || name == "export" || name == "convert" {
			continue
		}
		for _, m := range calls.FindAllStringSubmatch(script.Source, -1) {
			want[strings.ToLower(m[1])] = true
		}
	}
	got := strings.Fields(keyedCommands + " " + channelCommands + " " + otherCommands)
	slices.Sort(got)
	wantList(t, "commands", got, slices.Sorted(maps.Keys(want))...)
}
