package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
	"sett/blackboard/redis/redistest"
)

// server is a blackboard under test, of either kind.
type server struct {
	url     string
	kill    func()
	restart func() // on the same address and data
}

// TestMain removes the container that the tests share.
func TestMain(m *testing.M) { os.Exit(redistest.Main(m)) }

// TestContainer stands for all that runs in a container: where none can, it is the
// one that says so.
func TestContainer(t *testing.T) {
	must(t, open(t, redistest.Container(t)).Ping(testContext(t)))
}

// contained is whether a Redis in a container has something to tell: one of the same
// version as the machine's redis-server does not. Known after the first look.
var contained struct {
	sync.Once
	differs bool
}

// otherVersion says whether the Redis in a container is of another version than the
// machine's redis-server.
func otherVersion(t *testing.T) bool {
	if testing.Short() || redistest.NoEngine() != "" {
		return false
	}
	contained.Do(func() {
		own, err := exec.Command("redis-server", "--version").Output() // Redis server v=7.0.15 sha=…
		must(t, err)
		w := &world{TB: t, ctx: testContext(t), b: open(t, redistest.Container(t))}
		_, text, _ := strings.Cut(fmt.Sprint(w.raw("INFO", "server")), "redis_version:")
		version, _, _ := strings.Cut(text, "\r\n")
		contained.differs = !strings.Contains(string(own), " v="+version+" ")
	})
	return contained.differs
}

// onBoth runs the same test on a real redis-server, started with the given
// arguments, and on the embedded one; without arguments also on a Redis of another
// version in a container, where there is one, which is shared and can neither be killed
// nor set up by the test.
func onBoth(t *testing.T, f func(t *testing.T, s *server), args ...string) {
	t.Run("redis", func(t *testing.T) {
		r := redistest.Start(t, args...)
		f(t, &server{r.URL, r.Kill, r.Restart})
	})
	t.Run("embedded", func(t *testing.T) { f(t, startEmbedded(t)) })
	if len(args) > 0 || !otherVersion(t) {
		return
	}
	t.Run("container", func(t *testing.T) {
		s := &server{url: redistest.Container(t)}
		w := &world{TB: t, ctx: testContext(t), b: open(t, s.url)}
		w.raw("FLUSHALL")
		w.raw("SCRIPT", "FLUSH")
		f(t, s)
	})
}

func startEmbedded(t *testing.T) *server {
	t.Helper()
	e := redistest.Embedded(t)
	return &server{e.URL, e.Kill, e.Restart}
}

// world is a board with a leader, and what tests do with it all the time. Its
// methods end the test when a move fails.
type world struct {
	testing.TB
	ctx   context.Context
	b     *Board
	epoch string
}

func newWorld(t testing.TB, s *server) *world {
	t.Helper()
	w := &world{t, testContext(t), open(t, s.url), ""}
	lead, _, err := w.b.Leader.TakeLead(w.ctx, "orchestrator", "", time.Hour)
	must(t, err)
	w.epoch = lead.Epoch
	return w
}

// goal posts a goal.
func (w *world) goal() blackboard.Artefact {
	w.Helper()
	g := goal("do it")
	must(w, w.b.People.PostGoal(w.ctx, g, "ann"))
	return g
}

// open opens the bidding claim of an artefact.
func (w *world) open(artefact string, bidders ...string) string {
	w.Helper()
	o, _, err := w.b.Leader.OpenClaim(w.ctx, w.epoch, artefact, bidders, 0)
	must(w, err)
	if o != blackboard.Opened {
		w.Fatalf("open claim: %s", o)
	}
	return blackboard.BiddingClaimID(artefact)
}

func (w *world) bid(claim, agent string, bid blackboard.BidType) error {
	w.Helper()
	each, err := w.b.Cub.SubmitBids(w.ctx, []blackboard.BidRequest{{Claim: claim, Agent: agent, Bid: bid, Reason: "", Relies: nil}})
	must(w, err)
	return each[0]
}

func (w *world) snapshot(claim string) blackboard.Snapshot {
	w.Helper()
	s, err := w.b.Records.Snapshot(w.ctx, claim)
	must(w, err)
	return s
}

// guard is for a decision on the claim as it is now.
func (w *world) guard(claim string) blackboard.Guard {
	w.Helper()
	return blackboard.Guard{Epoch: w.epoch, Claim: claim, Revision: w.snapshot(claim).Claim.Revision, Bids: nil}
}

func (w *world) grant(claim string, phase blackboard.Phase, agents ...string) {
	w.Helper()
	must(w, w.b.Leader.GrantPhase(w.ctx, w.guard(claim), phase, agents))
}

// granted returns a new goal's claim, granted in a phase to the agents.
func (w *world) granted(phase blackboard.Phase, agents ...string) string {
	w.Helper()
	claim := w.open(w.goal().ID, agents...)
	for _, a := range agents {
		must(w, w.bid(claim, a, phase.Bid()))
	}
	w.grant(claim, phase, agents...)
	return claim
}

func (w *world) start(claim, agent, holder string) (blackboard.Started, blackboard.GrantRef) {
	w.Helper()
	st, err := w.b.Cub.Start(w.ctx, blackboard.StartRequest{Claim: claim, Agent: agent, Holder: holder})
	must(w, err)
	return st, blackboard.GrantRef{Claim: claim, Agent: agent, Attempt: st.Grant.Attempt, Holder: holder}
}

// run starts a grant.
func (w *world) run(claim, agent string) (blackboard.Claim, blackboard.GrantRef) {
	w.Helper()
	st, ref := w.start(claim, agent, "h-"+agent)
	return st.Claim, ref
}

// finish runs a grant and hands in a result.
func (w *world) finish(claim, agent string, st blackboard.StructuralType, typ, payload string) blackboard.Artefact {
	w.Helper()
	c, ref := w.run(claim, agent)
	a := result(c, agent, st, typ, payload)
	r := blackboard.Result{GrantRef: ref, Artefact: a}
	if st == blackboard.Review {
		r.Verdict = blackboard.VerdictOf(payload)
	}
	must(w, w.b.Cub.Finish(w.ctx, r))
	return a
}

func (w *world) workflow(id string) blackboard.Workflow {
	w.Helper()
	wf, err := w.b.Records.Workflow(w.ctx, id)
	must(w, err)
	return wf
}

// grantOf returns the agent's grant.
func (w *world) grantOf(claim, agent string) blackboard.Grant {
	w.Helper()
	g, err := w.b.Records.Grant(w.ctx, claim, agent)
	must(w, err)
	return g
}

func (w *world) events() []blackboard.Event {
	w.Helper()
	es, err := w.b.Ledger.History(w.ctx, blackboard.Beginning, 10000)
	must(w, err)
	return es
}

func (w *world) lastEvent() blackboard.Event {
	w.Helper()
	es := w.events()
	return es[len(es)-1]
}

// raw makes any command.
func (w *world) raw(name string, args ...string) []string {
	w.Helper()
	m, err := w.b.c.Client.Do(w.ctx, w.b.c.Client.B().Arbitrary(name).Args(args...).Build()).ToMessage()
	must(w, err)
	switch {
	case m.IsArray():
		out, err := m.AsStrSlice()
		must(w, err)
		return out
	case m.IsInt64():
		n, _ := m.AsInt64()
		return []string{fmt.Sprint(n)}
	}
	s, err := m.ToString()
	must(w, err)
	return []string{s}
}

// dump returns everything that is stored, by key.
func (w *world) dump() map[string]string {
	w.Helper()
	out := map[string]string{}
	for _, key := range w.raw("KEYS", "*") {
		switch kind := w.raw("TYPE", key)[0]; kind {
		case "string":
			out[key] = w.raw("GET", key)[0]
		case "hash":
			all := w.raw("HGETALL", key)
			fields := make([]string, 0, len(all)/2)
			for i := 0; i < len(all); i += 2 {
				fields = append(fields, all[i]+"="+canonical(all[i+1]))
			}
			sort.Strings(fields)
			out[key] = strings.Join(fields, "\n")
		case "set":
			all := w.raw("SMEMBERS", key)
			sort.Strings(all)
			out[key] = strings.Join(all, "\n")
		case "zset":
			out[key] = strings.Join(w.raw("ZRANGE", key, "0", "-1", "WITHSCORES"), "\n")
		case "list":
			all := w.raw("LRANGE", key, "0", "-1")
			if strings.Contains(key, ":endings:") { // in any order
				sort.Strings(all)
			}
			out[key] = strings.Join(all, "\n")
		case "stream":
			out[key] = w.raw("XLEN", key)[0]
		default:
			w.Fatalf("key %s is a %s", key, kind)
		}
	}
	return out
}

// canonical orders the fields of a JSON object: scripts write them in any order.
func canonical(s string) string {
	var object map[string]any
	if json.Unmarshal([]byte(s), &object) != nil {
		return s
	}
	return store.Encode(object)
}

// unchanged holds what is stored to what was stored before.
func (w *world) unchanged(what string, before map[string]string) {
	w.Helper()
	after := w.dump()
	for key := range before {
		if after[key] != before[key] {
			w.Errorf("%s changed %s from\n%s\nto\n%s", what, key, before[key], after[key])
		}
	}
	for key := range after {
		if _, ok := before[key]; !ok {
			w.Errorf("%s made %s: %s", what, key, after[key])
		}
	}
}

// twice makes a move and makes it again, which must succeed and change nothing.
func (w *world) twice(what string, move func() error) {
	w.Helper()
	if err := move(); err != nil {
		w.Fatalf("%s: %v", what, err)
	}
	before := w.dump()
	if err := move(); err != nil {
		w.Fatalf("%s again: %v", what, err)
	}
	w.unchanged(what+" again", before)
}

// refuses makes a move that must fail with the error and change nothing.
func (w *world) refuses(what string, want error, move func() error) {
	w.Helper()
	before := w.dump()
	err := move()
	wantError(w, what, err, want)
	w.unchanged(what, before)
}
