package redis

import (
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
	"sett/blackboard/redis/redistest"
)

// patiently has the options of a board that outlasts a failover.
func patiently(url string) store.Options {
	return store.Options{URL: url, Instance: "test", Retries: 100, Backoff: 10 * time.Millisecond, Timeout: 500 * time.Millisecond}
}

// The master that Sentinels name has the board, and the next one after it. Sentinels with
// a password of their own get that, and the servers theirs.
func TestSentinel(t *testing.T) {
	t.Parallel()
	const own = "hush hush/?&%"
	set := redistest.Sentinel(t, "sentinels-own", "--requirepass", "servers", "--masterauth", "servers")
	at := func(password string) string {
		u, err := url.Parse(set.URL(url.Values{"sentinel_password": {password}}))
		must(t, err)
		u.User = url.UserPassword("", "servers")
		return u.String()
	}
	b := openOptions(t, patiently(at("sentinels-own")))
	w := &world{t, testContext(t), b, ""}
	lead, _, err := b.Leader.TakeLead(w.ctx, "o", "o", time.Hour)
	must(t, err)
	w.epoch = lead.Epoch
	w.finish(w.granted(blackboard.PhaseExclusive, "doer"), "doer", blackboard.Standard, "T", "done")
	for _, password := range []string{"", own} {
		began := time.Now()
		_, err := Open(w.ctx, store.Options{URL: at(password), Instance: "test", Backoff: time.Second})
		if err == nil || !strings.Contains(err.Error(), "sentinel_password") || strings.Contains(err.Error(), "hush") || time.Since(began) > 5*time.Second {
			t.Errorf("%q: %v", password, err)
		}
	}
}

// The Sentinels' errors are told as theirs.
func TestSentinelWrongURL(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--requirepass", "servers")
	sentinel := redistest.LoneSentinel(t, s.Addr(), "sentinel auth-pass "+redistest.MasterSet+" servers\n")
	secured := redistest.LoneSentinel(t, s.Addr(), "sentinel auth-pass "+redistest.MasterSet+" servers\nuser ann on >hers ~* &* +@all\nuser default off\n")
	for query, c := range map[string]struct {
		at   *redistest.Server
		want string
	}{
		"":                        {sentinel, "it is a Sentinel: name its master"},
		"master_set=other":        {sentinel, `watches no master "other"`},
		"master_set=mymaster":     {sentinel, "master_set mymaster"}, // which wants a password
		"master_set=mymaster&x=1": {secured, "sentinel_username"},
		"master_set=mymaster&x=2&sentinel_username=ann&sentinel_password=his": {secured, "sentinel_username"},
	} {
		_, err := Open(testContext(t), store.Options{URL: "redis://" + c.at.Addr() + "?" + query, Instance: "test", Backoff: time.Second})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "sentinel_password=") {
			t.Errorf("%s: %v, want %s", query, err, c.want)
		}
	}
	b := openOptions(t, store.Options{Instance: "test", URL: "redis://:servers@" + secured.Addr() + "?master_set=mymaster&sentinel_username=ann&sentinel_password=hers"})
	must(t, b.Ping(testContext(t)))
}

// A lost master is replaced by a replica, which knows no script; a master that stands
// still, too. A Sentinel that stands still, or is lost, keeps nobody away.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	set := redistest.Sentinel(t, "")
	b := openOptions(t, patiently(set.URL(nil)))
	ctx := testContext(t)
	must(t, b.People.PostGoal(ctx, goal("one"), "ann"))
	stalled := set.Master(t)
	defer stalled.Stall()()
	must(t, b.People.PostGoal(ctx, goal("two"), "ann"))
	if goals, err := b.Index.Goals(ctx, 0); err != nil || len(goals) != 2 {
		t.Errorf("%d goals: %v", len(goals), err)
	}
	defer set.Sentinels[0].Stall()()
	again := openOptions(t, patiently(set.URL(nil)))
	must(t, again.People.PostGoal(ctx, goal("three"), "ann"))
}

// Over TLS, Sentinels are spoken to as the servers are, and every server is known by its
// own address.
func TestSentinelTLS(t *testing.T) {
	t.Parallel()
	cert, key := selfSigned(t)
	ports := make([]string, 2)
	for i := range ports {
		var err error
		_, ports[i], err = net.SplitHostPort(deadAddr(t))
		must(t, err)
	}
	tls := []string{"tls-cert-file " + cert, "tls-key-file " + key, "tls-ca-cert-file " + cert, "tls-auth-clients no", "tls-replication yes"}
	args := []string{"--tls-port", ports[0]}
	for _, line := range tls {
		name, value, _ := strings.Cut(line, " ")
		args = append(args, "--"+name, value)
	}
	redistest.Start(t, args...)
	redistest.LoneSentinel(t, "127.0.0.1:"+ports[0], strings.Join(append(tls, "tls-port "+ports[1]), "\n")+"\n")
	b := openOptions(t, store.Options{URL: "rediss://localhost:" + ports[1] + "?master_set=mymaster&addr=127.0.0.1:" + ports[1], Instance: "test", CAFile: cert})
	must(t, b.People.PostGoal(testContext(t), goal("over TLS"), "ann"))
}

func TestRedactSentinelPassword(t *testing.T) {
	got := store.Redact("redis://u:p@h:1/0?master_set=m&sentinel_password=hush&addr=b:2&sentinel_username=ann")
	if want := "redis://u:xxxxx@h:1/0?master_set=m&sentinel_password=xxxxx&addr=b:2&sentinel_username=ann"; got != want {
		t.Errorf("got %s", got)
	}
}

// A script without an end is ended on the master, which says nothing else meanwhile.
func TestSentinelOverrun(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--busy-reply-threshold", "20")
	patient := "sentinel down-after-milliseconds " + redistest.MasterSet + " 60000\n" // or it ends the script itself
	sentinel := redistest.LoneSentinel(t, s.Addr(), patient)
	ended := make(chan blackboard.Overrun, 1)
	o := patiently("redis://" + sentinel.Addr() + "?master_set=" + redistest.MasterSet)
	o.Overruns = Overruns{Ended: func(o blackboard.Overrun) { ended <- o }, Failed: func(err error) { t.Log(err) }}
	b := openOptions(t, o)
	endless(t, s)
	must(t, b.People.PostGoal(testContext(t), goal("after"), "ann"))
	if o := <-ended; o.Ran < 20*time.Millisecond || o.Addr == "" {
		t.Errorf("ended %+v", o)
	}
}

// A Sentinel that does not know of a failover names the old master, which runs again. The
// board goes where most Sentinels say, or waits.
func TestSentinelBehind(t *testing.T) {
	t.Parallel()
	old, master := redistest.Start(t), redistest.Start(t)
	behind := redistest.LoneSentinel(t, old.Addr(), "")
	url := "redis://" + behind.Addr() + "?master_set=" + redistest.MasterSet
	for range 2 {
		url += "&addr=" + redistest.LoneSentinel(t, master.Addr(), "sentinel config-epoch "+redistest.MasterSet+" 1\n").Addr()
	}
	b := openOptions(t, patiently(url))
	must(t, b.People.PostGoal(testContext(t), goal("one"), "ann"))
	if old.Send("EXISTS", events) != "0" || master.Send("EXISTS", events) != "1" {
		t.Error("the goal is on the old master")
	}
}
