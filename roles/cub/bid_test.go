package cub

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/env"
	"sett/roles/cub/toolrun"
)

// Bids by the rules of sett.yml.
func TestBidsByRules(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	rules := `[{"type":"Code*","bid":"claim"},{"type":"CodeCommit","bid":"review"},{"type":"*Spec","bid":"exclusive","line":7},{"type":"Secret*","bid":"ignore"}]`
	c.start("ruled", vars{env.Bids: rules})
	c.start("plain", nil)
	for name, tc := range map[string]struct {
		bidder, author, typ string
		bid                 blackboard.BidType
		reason              string
	}{
		"exact before wildcard":      {"ruled", "other", "CodeCommit", blackboard.BidReview, ""},
		"wildcard":                   {"ruled", "other", "CodeDraft", blackboard.BidClaim, ""},
		"wildcard in front":          {"ruled", "other", "ApiSpec", blackboard.BidExclusive, ""},
		"ignore on purpose":          {"ruled", "other", "SecretNote", blackboard.BidIgnore, ""},
		"unmatched":                  {"ruled", "other", "Poem", blackboard.BidIgnore, "no entry of bids fits"},
		"own work by wildcard":       {"ruled", "ruled", "CodeDraft", blackboard.BidIgnore, "its own work"},
		"own work by its exact type": {"ruled", "ruled", "CodeCommit", blackboard.BidReview, ""},
		"no rules":                   {"plain", "other", "Poem", blackboard.BidExclusive, "default"},
		"no rules, own work":         {"plain", "plain", "Poem", blackboard.BidIgnore, "its own work"},
	} {
		t.Run(name, func(t *testing.T) {
			c := c.in(t)
			claim := c.finished(tc.author, tc.typ, tc.bidder)
			bid, reason := c.awaitBid(claim, tc.bidder)
			if bid != tc.bid || reason != tc.reason {
				t.Errorf("%s because %q, want %s because %q", bid, reason, tc.bid, tc.reason)
			}
			for _, e := range c.events(blackboard.EventBid) {
				want := map[string]string{"ApiSpec": "*Spec: exclusive, line 7", "CodeDraft": "Code*: claim, line "}[tc.typ]
				got := e.Attributes[blackboard.AttributeRule] + ", line " + e.Attributes[blackboard.AttributeLine]
				if e.Claim == claim && tc.reason == "" && want != "" && got != want {
					t.Errorf("the ledger has %q, want %q", got, want)
				}
			}
		})
	}
}

// What a notice says about a claim's target is only believed where it is true.
func TestForgedHints(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	r := c.start("worker", vars{env.Bids: `[{"type":"GoalDefined","bid":"review"},{"type":"*","bid":"exclusive"}]`})
	r.log.await(t, "cub started")
	for range 3 {
		g := c.goal("goal")
		claim := blackboard.BiddingClaimID(g.ID)
		c.do("PUBLISH", key("claim_targets"), claim+" worker Poem")
		c.open(g.ID, "worker")
		if bid, _ := c.awaitBid(claim, "worker"); bid != blackboard.BidReview {
			t.Errorf("bid %s", bid)
		}
	}
}

// finished stores an artefact of an author, who may have a cub that would have
// taken the work first, and opens its claim.
func (c *clan) finished(author, typ, bidder string) (claim string) {
	c.t.Helper()
	a := c.artefactBy("scribe", typ, "x")
	c.do("HSET", key("artifact:"+a.ID), "produced_by_agent", author)
	return c.open(a.ID, bidder)
}

const bidScript = `read -r line
case "$line" in
*'"slow"'*) until test -e go; do sleep 0.01; done; echo review ;;
*'"fail"'*) echo broken >&2; exit 4 ;;
*'"silly"'*) echo maybe ;;
*'"hang"'*) sleep 300 ;;
*'"killed"'*) kill -9 $$ ;;
*) echo "$line" >"stdin.$SETT_CLAIM_ID"; echo ' claim ' ;;
esac`

// brief gives bid scripts a few seconds instead of half a minute.
type brief struct{ toolrun.Runner }

func (b brief) Run(ctx context.Context, c toolrun.Command) (toolrun.Result, error) {
	if c.Timeout == bidScriptTimeout {
		c.Timeout = 4 * time.Second // in which the others have to be done
	}
	return b.Runner.Run(ctx, c)
}

func TestBidScript(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	r := c.startWith(brief{hasty{toolrun.New()}}, "worker", vars{env.BidScript: shell(bidScript)})
	type want struct {
		bid    blackboard.BidType
		reason string
	}
	claims := map[string]string{}
	expected := map[string]want{
		"hang":   {blackboard.BidIgnore, "longer than"},
		"fail":   {blackboard.BidIgnore, "exit code 4"},
		"silly":  {blackboard.BidIgnore, `"maybe"`},
		"killed": {blackboard.BidIgnore, "SIGKILL"},
		"quick":  {blackboard.BidClaim, "bid script"},
	}
	for goal := range expected {
		claims[goal] = c.open(c.goal(goal).ID, "worker")
	}
	for goal, want := range expected {
		bid, reason := c.awaitBid(claims[goal], "worker")
		if bid != want.bid || !strings.Contains(reason, want.reason) {
			t.Errorf("%s: %s because %q, want %s because of %q", goal, bid, reason, want.bid, want.reason)
		}
	}
	r.log.await(t, "bid not evaluated", "claim", claims["fail"])
	r.log.await(t, "stderr", "source", "bid script", "line", "broken")
	own := c.finished("worker", "Poem", "worker")
	if bid, reason := c.awaitBid(own, "worker"); bid != blackboard.BidIgnore || reason != "its own work" {
		t.Errorf("own work: %s because %q", bid, reason)
	}
	checkBidInput(t, filepath.Join(r.dir, "stdin."+claims["quick"]), claims["quick"])
}

func checkBidInput(t *testing.T, file, claim string) {
	t.Helper()
	b, err := os.ReadFile(file)
	must(t, err)
	var in struct {
		ID, Payload string
		ClaimID     string          `json:"claim_id"`
		Context     json.RawMessage `json:"context_chain"`
	}
	must(t, json.Unmarshal(b, &in))
	if in.ClaimID != claim || in.Payload != "quick" || string(in.Context) != "[]" || blackboard.BiddingClaimID(in.ID) != claim {
		t.Errorf("the script read %s", b)
	}
}

// A script that takes its time holds up the bid on its own claim and no other,
// and is not started twice for it.
func TestSlowBidScript(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	r := c.start("worker", vars{env.BidScript: shell("echo x >>started.$SETT_CLAIM_ID; " + bidScript)})
	slow := c.open(c.goal("slow").ID, "worker")
	file := filepath.Join(r.dir, "started."+slow)
	until(t, "the slow script runs", func() bool { b, _ := os.ReadFile(file); return len(b) > 0 })
	c.do("PUBLISH", key("claim_events"), slow)
	for range 3 {
		claim := c.open(c.goal("quick").ID, "worker")
		if bid, _ := c.awaitBid(claim, "worker"); bid != blackboard.BidClaim {
			t.Errorf("bid %s", bid)
		}
	}
	if s, err := c.board.Records.Snapshot(c.ctx, slow); err != nil || len(s.Bids) != 0 {
		t.Fatalf("bids %v, error %v", s.Bids, err)
	}
	must(t, os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o600))
	if bid, _ := c.awaitBid(slow, "worker"); bid != blackboard.BidReview {
		t.Errorf("bid %s", bid)
	}
	if b, _ := os.ReadFile(file); string(b) != "x\n" {
		t.Errorf("the script was started %d times", len(b)/2)
	}
}

// A cub that is stopped while a script decides leaves the bid to the next one.
func TestStopWhileABidScriptRuns(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	r := c.start("worker", vars{env.BidScript: shell("echo x >>started; " + bidScript)})
	claim := c.open(c.goal("slow").ID, "worker")
	until(t, "the script runs", func() bool { b, _ := os.ReadFile(filepath.Join(r.dir, "started")); return len(b) > 0 })
	r.stop()
	must(t, r.end())
	if s, err := c.board.Records.Snapshot(c.ctx, claim); err != nil || len(s.Bids) != 0 {
		t.Fatalf("bids %v, error %v", s.Bids, err)
	}
	must(t, os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o600))
	c.start("worker", vars{env.BidScript: shell(bidScript), env.Workspace: r.dir})
	if bid, _ := c.awaitBid(claim, "worker"); bid != blackboard.BidReview {
		t.Errorf("bid %s", bid)
	}
}

// That the blackboard is away is no reason to ignore a claim.
func TestBidScriptWithoutBlackboard(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	x := c.idle("worker", vars{env.BidScript: shell("echo claim")})
	all, err := c.board.Records.Claims(c.ctx, []string{c.open(c.goal("goal").ID, "worker")})
	must(t, err)
	c.server.Kill()
	log := &logs{}
	x.log = world(nil, log).Logger("cub")
	if err := x.bidByScript(c.ctx, all[0]); !errors.Is(err, blackboard.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if found := log.find(t, "bid not evaluated"); len(found) > 0 {
		t.Errorf("it gave up on the claim: %v", found)
	}
}

// Bidding goes on while a tool runs.
func TestBiddingWhileAToolRuns(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	r := c.start("worker", vars{env.Command: shell(waiting)})
	busy := c.work("worker", blackboard.PhaseExclusive, "goal")
	r.awaitTool()
	claim := c.open(c.goal("another").ID, "worker")
	if bid, _ := c.awaitBid(claim, "worker"); bid != blackboard.BidExclusive {
		t.Errorf("bid %s", bid)
	}
	if g := c.await(busy, "worker", blackboard.GrantRunning); g.Attempt != 1 {
		t.Errorf("grant %+v", g)
	}
	r.letToolEnd()
	c.await(busy, "worker", blackboard.GrantDone)
}

// waiting is a tool that says when it runs, and ends when it is told.
const waiting = `cat >/dev/null; echo $$ >tool; until test -e end; do sleep 0.01; done; echo '` + good + `'`

// awaitTool waits until the tool runs, and returns its process id.
func (r *running) awaitTool() (pid int) {
	r.t.Helper()
	until(r.t, "the tool runs", func() bool {
		b, _ := os.ReadFile(filepath.Join(r.dir, "tool"))
		return json.Unmarshal(b, &pid) == nil && pid > 1
	})
	return pid
}

func (r *running) letToolEnd() {
	r.t.Helper()
	must(r.t, os.WriteFile(filepath.Join(r.dir, "end"), nil, 0o600))
}

// Claims that are broken, foreign, closed or made up harm nobody.
func TestOddClaims(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	corrupt := newID()
	c.do("HSET", key("claim:"+corrupt), "id", corrupt, "status", "pending_review")
	c.do("ZADD", key("agent:worker:due"), "1", corrupt)
	r := c.start("worker", nil)
	until(t, "the cub listens", func() bool {
		c.do("PUBLISH", key("claim_targets"), "x")
		return len(r.log.find(t, "notice ignored: it names no id", "notice", "x")) > 0
	})
	foreign := c.open(c.goal("for somebody else").ID, somebody)
	made := newID()
	for _, id := range []string{"", "x", "'; DROP", strings.Repeat("A", 26), strings.Repeat("0", 5<<20), made, foreign} {
		c.do("PUBLISH", key("claim_targets"), id)
		c.do("PUBLISH", key("claim_targets"), id+" worker Poem")
		c.do("PUBLISH", key("agent:worker:events"), id)
	}
	until(t, "a claim that is made up was looked for", func() bool {
		return len(r.log.find(t, "notice ignored", "claim", made))+len(r.log.find(t, "bid refused", "claim", made)) > 0
	})
	r.log.await(t, "claim ignored: it is corrupt", "claim", corrupt)
	claim := c.open(c.goal("good").ID, "worker")
	c.awaitBid(claim, "worker")
	if s, err := c.board.Records.Snapshot(c.ctx, foreign); err != nil || len(s.Bids) != 0 {
		t.Errorf("bids %v, error %v", s.Bids, err)
	}
}
