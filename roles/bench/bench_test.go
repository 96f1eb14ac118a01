//go:build bench

package bench

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
	"sett/contract/config"
)

// script writes a tool that prints one output, and returns its command.
func script(tb testing.TB, structural, typ string) []string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "tool.sh")
	text := fmt.Sprintf("#!/bin/sh\ncat >/dev/null\nprintf '%%s' '{\"structural_type\":%q,\"artefact_type\":%q,\"artefact_payload\":\"{}\",\"summary\":\"\"}'\n", structural, typ)
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		tb.Fatal(err)
	}
	return []string{file}
}

func rules(bid blackboard.BidType) []config.BidRule {
	return []config.BidRule{{Type: blackboard.TypeGoalDefined, Bid: bid}}
}

func oneAgent(tb testing.TB) []member {
	return []member{{name: "solo", bids: rules(blackboard.BidExclusive), tool: script(tb, "Standard", "Done")}}
}

func fiveAgents(tb testing.TB) []member {
	review, work := script(tb, "Review", "Review"), script(tb, "Terminal", "Done")
	return []member{
		{name: "r1", bids: rules(blackboard.BidReview), tool: review}, {name: "r2", bids: rules(blackboard.BidReview), tool: review},
		{name: "w1", bids: rules(blackboard.BidClaim), tool: work}, {name: "w2", bids: rules(blackboard.BidClaim), tool: work},
		{name: "x", bids: rules(blackboard.BidExclusive), tool: work},
	}
}

func goal(payload string) blackboard.Artefact {
	id := blackboard.NewID(time.Now(), rand.Reader)
	return blackboard.Artefact{ID: id, StructuralType: blackboard.Standard, Type: blackboard.TypeGoalDefined,
		Payload: payload, ProducedByRole: blackboard.RoleUser, WorkflowID: id}
}

func (c *clan) post(tb testing.TB, payload string) string {
	g := goal(payload)
	if err := c.board.People.PostGoal(context.Background(), g, "ann"); err != nil {
		tb.Fatal(err)
	}
	return g.ID
}

// overhead is the time from a goal to its last result, less the longest tool of
// each phase: phases run one after another, grants of one side by side.
func (c *clan) overhead(tb testing.TB, goalID string) time.Duration {
	tb.Helper()
	ctx := context.Background()
	s, err := c.board.Records.Snapshot(ctx, blackboard.BiddingClaimID(goalID))
	if err != nil {
		tb.Fatal(err)
	}
	g, err := c.board.Records.Artefact(ctx, goalID)
	if err != nil {
		tb.Fatal(err)
	}
	var last time.Time
	tool := map[blackboard.Phase]time.Duration{}
	for _, gr := range s.Grants {
		tool[gr.Phase] = max(tool[gr.Phase], gr.ToolTime)
		if gr.EndedAt.After(last) {
			last = gr.EndedAt
		}
	}
	total := last.Sub(g.CreatedAt)
	for _, d := range tool {
		total -= d
	}
	return total
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// pause is the time between looks whether a goal has ended, and so at least that
// between two goals; the floor's chains are as far apart.
const pause = 3 * time.Millisecond

// measure runs goals one after another and returns the median overhead. It asks
// now and then whether a goal has ended; following the ledger would have Redis
// serve one more process at every step.
func (c *clan) measure(tb testing.TB, goals int) time.Duration {
	tb.Helper()
	var all []time.Duration
	for range goals {
		id := c.post(tb, "x")
		c.drain(tb)
		all = append(all, c.overhead(tb, id))
	}
	return median(all)
}

// drain waits until no goal is active.
func (c *clan) drain(tb testing.TB) {
	tb.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; {
		<-time.After(pause)
		n, err := c.board.Index.ActiveCount(context.Background())
		if err != nil {
			tb.Fatal(err)
		}
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("%d goals do not end", n)
		}
	}
}

func (f *floor) measure(n int) time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		<-time.After(pause)
		all[i] = f.one()
	}
	return median(all)
}

func verdict(tb testing.TB, what string, got, limit float64, unit string) {
	tb.Helper()
	mark := "ok"
	if got > limit {
		mark = "TOO MUCH"
		tb.Fail()
	}
	tb.Logf("%-58s %10.2f %-8s (at most %.2f)  %s", what, got, unit, limit, mark)
}

var durability = []struct {
	name string
	args []string
}{{"without fsync", nil}, {"fsync always", redistest.Durable}}

func TestBenchLatency(t *testing.T) {
	const goals = 300
	for _, d := range durability {
		t.Run(strings.ReplaceAll(d.name, " ", "-"), func(t *testing.T) {
			one := startClan(t, redistest.Start(t, d.args...).URL, "cub", oneAgent(t))
			floorServer := redistest.Start(t, d.args...)
			f := startFloor(t, floorServer.URL)
			f.measure(50)
			one.measure(t, 20)
			floor := f.measure(goals)
			took := one.measure(t, goals)
			floor = (floor + f.measure(goals)) / 2
			t.Logf("floor %v, goal to result %v", floor, took)
			verdict(t, "one agent, goal to result / floor, "+d.name, float64(took)/float64(floor), 2, "x")
			five := startClan(t, redistest.Start(t, d.args...).URL, "cub", fiveAgents(t))
			five.measure(t, 20)
			took5 := five.measure(t, goals)
			t.Logf("five agents, three phases %v", took5)
			verdict(t, "five agents, three phases / floor, "+d.name, float64(took5)/float64(floor), 6, "x")
		})
	}
}

func TestBenchThroughput(t *testing.T) {
	for _, d := range durability {
		t.Run(strings.ReplaceAll(d.name, " ", "-"), func(t *testing.T) {
			throughput(t, d.args, "64 in flight, floor's chains / sett's claims, "+d.name, 1, 3)
		})
	}
}

// Several grants at once in one cub.
func TestBenchConcurrency(t *testing.T) {
	most := map[string]float64{"fsync always": 1 / 0.6, "without fsync": 1 / 0.4}
	for _, d := range durability {
		t.Run(strings.ReplaceAll(d.name, " ", "-"), func(t *testing.T) {
			throughput(t, d.args, "64 in flight, concurrency: 16, floor's chains / sett's claims, "+d.name, 16, most[d.name])
		})
	}
}

// throughput compares the claims of one agent, with so many slots, with the floor.
func throughput(t *testing.T, server []string, what string, slots int, most float64) {
	t.Helper()
	const n, inFlight = 6000, 64
	f := startFloor(t, redistest.Start(t, server...).URL)
	f.rate(1000, inFlight)
	floor := f.rate(n, inFlight)
	clan := oneAgent(t)
	clan[0].slots = slots
	c := startClan(t, redistest.Start(t, server...).URL, "cub-noop", clan)
	c.flood(t, 500, inFlight, "x")
	before := c.claims(t)
	began := time.Now()
	c.flood(t, n, inFlight, "x")
	took := time.Since(began).Seconds()
	claims := float64(c.claims(t)-before) / took
	floor = (floor + f.rate(n, inFlight)) / 2
	t.Logf("floor %.0f chains/s, sett %.0f goals/s, %.0f claims/s", floor, n/took, claims)
	verdict(t, what, floor/claims, most, "x")
}

// flood keeps so many goals in flight until n have ended.
func (c *clan) flood(tb testing.TB, n, inFlight int, payload string) {
	tb.Helper()
	ctx := context.Background()
	posted, last := 0, time.Now()
	for before := -1; ; {
		active, err := c.board.Index.ActiveCount(ctx)
		if err != nil {
			tb.Fatal(err)
		}
		if posted == n && active == 0 {
			return
		}
		if active != before {
			before, last = active, time.Now()
		}
		if time.Since(last) > 30*time.Second {
			tb.Fatalf("%d goals do not end", active)
		}
		var wg sync.WaitGroup
		more := min(inFlight-active, n-posted)
		for range more {
			wg.Go(func() { c.post(tb, payload) })
		}
		wg.Wait()
		posted += max(more, 0)
		if more <= 0 {
			<-time.After(time.Millisecond)
		}
	}
}

func (c *clan) claims(tb testing.TB) int {
	tb.Helper()
	ids, err := c.board.Index.ClosedCount(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	return ids
}

func TestBenchBurst(t *testing.T) {
	c := startClan(t, redistest.Start(t, redistest.Durable...).URL, "cub-noop", oneAgent(t))
	const n = 4000
	payload := strings.Repeat("x", 16<<10)
	before := c.claims(t)
	began := time.Now()
	c.flood(t, n, n, payload)
	if closed := c.claims(t) - before; closed != 2*n {
		t.Fatalf("%d claims closed, want %d", closed, 2*n)
	}
	t.Logf("burst of %d goals of 16 KiB: all ended after %v", n, time.Since(began).Round(time.Millisecond))
}

func TestBenchScriptCalls(t *testing.T) {
	s := redistest.Start(t)
	c := startClan(t, s.URL, "cub", oneAgent(t))
	c.measure(t, 20)
	const goals = 200
	before := scriptCalls(t, s.URL)
	c.measure(t, goals)
	perGoal := float64(scriptCalls(t, s.URL)-before) / goals
	verdict(t, "script calls per one-agent cycle", perGoal, 11, "calls")
}

// The bytes that one goal adds to Redis' log, with a payload of 600.
func TestBenchLogBytes(t *testing.T) {
	const goals = 500
	s := redistest.Start(t, redistest.Durable...)
	c := startClan(t, s.URL, "cub-noop", oneAgent(t))
	payload := strings.Repeat("x", 600)
	c.flood(t, 50, 8, payload)
	size := func() int {
		for _, line := range strings.Split(openRaw(t, s.URL)("INFO", "persistence"), "\n") {
			var n int
			if _, err := fmt.Sscanf(line, "aof_current_size:%d", &n); err == nil {
				return n
			}
		}
		t.Fatal("the server says nothing of its log")
		return 0
	}
	before := size()
	c.flood(t, goals, 8, payload)
	verdict(t, "Redis' log per goal with a payload of 600", float64(size()-before)/goals, 7700, "bytes")
}

func openRaw(tb testing.TB, url string) func(args ...string) string {
	tb.Helper()
	cl, err := floorClient(url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(cl.Close)
	return func(args ...string) string {
		s, err := cl.Do(context.Background(), cl.B().Arbitrary(args...).Build()).ToAny()
		if rueidis.IsRedisNil(err) {
			return "0" // no such key
		}
		if err != nil {
			tb.Fatal(err)
		}
		return fmt.Sprint(s)
	}
}

// scriptCalls reads Redis' own count of script calls, heartbeats and leases
// included.
func scriptCalls(tb testing.TB, url string) int {
	tb.Helper()
	total := 0
	for _, line := range strings.Split(openRaw(tb, url)("INFO", "commandstats"), "\n") {
		var calls int
		for _, name := range []string{"cmdstat_evalsha:", "cmdstat_eval:"} {
			if rest, ok := strings.CutPrefix(line, name); ok {
				if _, err := fmt.Sscanf(rest, "calls=%d", &calls); err == nil {
					total += calls
				}
			}
		}
	}
	return total
}
