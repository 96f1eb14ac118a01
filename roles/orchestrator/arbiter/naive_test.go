package arbiter

import (
	"slices"
	"strings"
	"time"

	"sett/blackboard"
)

// naive decides like Decide, told another way: every sentence of DESIGN.md
// (section 4) becomes one rule that looks at the whole claim, says whether it
// applies and with what; the first that does is the decision. It shares no code
// with the package.
func naive(s blackboard.Snapshot, p Policy, now time.Time) (Decision, []waitFor) {
	c := newCase(s, p, now)
	for _, rule := range []func() *Decision{
		c.closedIsOver, c.failureEndsTheClaim, c.nonsenseEndsTheClaim, c.nobodyVerifies, c.grantsOfTheGoneFail, c.theGoneHaveIgnored,
		c.silenceBecomesIgnore, c.allBidsAreAwaited, c.reviewsComeFirst, c.feedbackEndsTheClaim, c.thenAllClaims,
		c.thenOneExclusive, c.nobodyWantedIt, c.nothingIsLeft,
	} {
		if d := rule(); d != nil && d.Kind == Wait {
			return *d, *c.waits
		} else if d != nil {
			return *d, nil
		}
	}
	panic("no rule applies")
}

// naiveCase is a claim laid out in maps.
type naiveCase struct {
	s        blackboard.Snapshot
	p        Policy
	now      time.Time
	clan     map[string]bool
	expected map[string]bool
	bids     map[string]blackboard.BidType
	bidders  []string // the keys of bids, in order
	state    map[string]blackboard.GrantState
	count    map[blackboard.Phase]int // grants of agents
	agents   int                      // that have any
	waits    *[]waitFor               // of the rule that was asked last
}

func newCase(s blackboard.Snapshot, p Policy, now time.Time) naiveCase {
	c := naiveCase{
		s: s, p: p, now: now, clan: map[string]bool{}, expected: map[string]bool{},
		bids: map[string]blackboard.BidType{}, state: map[string]blackboard.GrantState{}, count: map[blackboard.Phase]int{},
		waits: &[]waitFor{},
	}
	for _, a := range p.Clan {
		c.clan[a] = true
	}
	for _, a := range s.Claim.ExpectedBidders {
		c.expected[a] = true
	}
	for _, b := range s.Bids {
		if _, twice := c.bids[b.Agent]; !twice {
			c.bids[b.Agent] = b.Type
			c.bidders = append(c.bidders, b.Agent)
		}
	}
	for _, g := range s.Grants {
		c.state[g.Agent] = g.State
		if !person(g.Agent) {
			c.count[g.Phase]++
			c.agents++
		}
	}
	return c
}

// person: people stand among the agents with this before their names.
func person(agent string) bool { return strings.HasPrefix(agent, "human:") }

// rank numbers statuses and phases alike; 0 is neither.
var rank = map[string]int{
	"pending_review": 1, "review": 1, "pending_parallel": 2, "parallel": 2, "pending_exclusive": 3, "exclusive": 3,
}

func (c naiveCase) status() int { return rank[string(c.s.Claim.Status)] }

func (c naiveCase) closedIsOver() *Decision {
	if c.s.Claim.Status == "complete" || c.s.Claim.Status == "terminated" {
		return &Decision{Kind: Wait, Closed: true}
	}
	return nil
}

func (c naiveCase) failureEndsTheClaim() *Decision {
	for _, state := range c.state {
		if state == "failed" {
			return &Decision{Kind: Terminate}
		}
	}
	return nil
}

func (c naiveCase) nonsenseEndsTheClaim() *Decision {
	exclusive := 0
	for _, g := range c.s.Grants {
		if g.Phase == "exclusive" {
			exclusive++
		}
	}
	bad := c.status() == 0 || exclusive > 1 || (c.s.Claim.Origin == "rework" || c.s.Claim.Rework) && exclusive == 0
	for _, g := range c.s.Grants {
		at := rank[string(g.Phase)]
		open := g.State == "queued" || g.State == "running" || g.State == "awaiting_answer"
		bad = bad || at == 0 || at > c.status() || !open && g.State != "done" || open && at != c.status() ||
			g.State == "running" && g.Holder == "" || g.State == "awaiting_answer" && g.ResultID == ""
	}
	if bad {
		return &Decision{Kind: Terminate, FailureType: "CorruptClaim"}
	}
	return nil
}

func (c naiveCase) nobodyVerifies() *Decision {
	t := c.s.Claim.Target
	if !c.p.Verifies && t.Type == "Landing" && t.Role == "repository" && t.Agent == "" {
		return &Decision{Kind: Terminate}
	}
	return nil
}

func (c naiveCase) grantsOfTheGoneFail() *Decision {
	for _, g := range c.s.Grants {
		if g.State != "done" && !c.clan[g.Agent] {
			return &Decision{Kind: FailGrant, Agents: []string{g.Agent}, FailureType: "AgentRemoved"}
		}
	}
	return nil
}

// silent are the expected bidders who have not bid, while it matters.
func (c naiveCase) silent(which func(agent string) bool) []string {
	if c.status() != 1 || c.agents > 0 {
		return nil
	}
	var silent []string
	named := map[string]bool{}
	for _, a := range c.s.Claim.ExpectedBidders {
		if _, bid := c.bids[a]; !bid && !named[a] && which(a) {
			silent = append(silent, a)
		}
		named[a] = true
	}
	return silent
}

func (c naiveCase) theGoneHaveIgnored() *Decision {
	if gone := c.silent(func(a string) bool { return !c.clan[a] }); gone != nil {
		return &Decision{Kind: RecordIgnores, Agents: gone, Reason: "agent_removed"}
	}
	return nil
}

// timed says whether an agent's silence ends by itself.
func (c naiveCase) timed(agent string) bool {
	return !slices.Contains(c.p.BidsRequired, agent) && c.s.Claim.Withheld[agent].Since.IsZero()
}

func (c naiveCase) silenceBecomesIgnore() *Decision {
	silent := c.silent(c.timed)
	if silent != nil && c.p.BidTimeout > 0 && c.now.Sub(c.s.Claim.OpenedAt) >= c.p.BidTimeout {
		return &Decision{Kind: RecordIgnores, Agents: silent, Reason: "bid_timeout"}
	}
	return nil
}

func (c naiveCase) allBidsAreAwaited() *Decision {
	silent := c.silent(func(string) bool { return true })
	if silent == nil {
		return nil
	}
	d := &Decision{Kind: Wait}
	for _, a := range silent {
		since := c.s.Claim.OpenedAt
		if w, withheld := c.s.Claim.Withheld[a]; withheld {
			since = w.Since
		}
		*c.waits = append(*c.waits, waitFor{What: "bid", Agent: a, Since: since})
	}
	if c.p.BidTimeout > 0 && c.silent(c.timed) != nil {
		d.AskAgain = c.s.Claim.OpenedAt.Add(c.p.BidTimeout)
	}
	return d
}

// want are those who bid so and may have it.
func (c naiveCase) want(bid blackboard.BidType) []string {
	var want []string
	for _, a := range c.bidders {
		if _, has := c.state[a]; c.bids[a] == bid && c.expected[a] && c.clan[a] && !has {
			want = append(want, a)
		}
	}
	return want
}

// phase grants a phase to those who want it, or waits for those who have it.
func (c naiveCase) phase(phase blackboard.Phase, want []string) *Decision {
	if c.status() > rank[string(phase)] {
		return nil
	}
	if c.count[phase] == 0 && len(want) > 0 {
		return &Decision{Kind: GrantPhase, Phase: phase, Agents: want}
	}
	d := &Decision{Kind: Wait}
	for _, g := range c.inOrder(phase) {
		if g.State == "done" {
			continue
		}
		w := waitFor{What: "start", Agent: g.Agent}
		if g.State == "running" {
			w = waitFor{What: "result", Agent: g.Agent, Since: g.StartedAt}
		}
		if g.State == "awaiting_answer" {
			w = waitFor{What: "answer", Agent: g.Agent, Since: g.EndedAt, Subject: g.ResultID}
		}
		if w.Since.IsZero() {
			w.Since = g.QueuedAt
		}
		*c.waits = append(*c.waits, w)
		if w.What != "answer" || c.p.QuestionTimeout <= 0 || w.Since.IsZero() {
			continue
		}
		// A person has so much time to answer.
		if c.now.Sub(w.Since) >= c.p.QuestionTimeout {
			return &Decision{Kind: FailGrant, Agents: []string{g.Agent}, FailureType: "QuestionTimeout"}
		}
		if over := w.Since.Add(c.p.QuestionTimeout); d.AskAgain.IsZero() || over.Before(d.AskAgain) {
			d.AskAgain = over
		}
	}
	if len(*c.waits) == 0 {
		return nil
	}
	return d
}

// inOrder are the grants of a phase: first those that were not granted with the
// others, as people's reviews, then the others as they were granted.
func (c naiveCase) inOrder(phase blackboard.Phase) (grants []blackboard.Grant) {
	listed := map[blackboard.Phase][]string{"review": c.s.Claim.GrantedReviewAgents, "parallel": c.s.Claim.GrantedParallelAgents}[phase]
	in := map[string]bool{}
	for _, a := range listed {
		in[a] = true
	}
	for _, g := range c.s.Grants {
		if g.Phase == phase && !in[g.Agent] {
			grants = append(grants, g)
		}
	}
	for _, a := range listed {
		for _, g := range c.s.Grants {
			if in[a] && g.Phase == phase && g.Agent == a {
				grants = append(grants, g)
			}
		}
		in[a] = false // named twice, granted once
	}
	return grants
}

func (c naiveCase) reviewsComeFirst() *Decision { return c.phase("review", c.want("review")) }

func (c naiveCase) feedbackEndsTheClaim() *Decision {
	if c.status() != 1 {
		return nil
	}
	rejected, reviews := false, []string(nil)
	for _, g := range c.inOrder("review") {
		if g.Verdict == "approve" {
			continue
		}
		rejected = true
		if g.ResultID != "" {
			reviews = append(reviews, g.ResultID)
		}
	}
	if !rejected {
		return nil
	}
	d := &Decision{Kind: Terminate}
	t := c.s.Claim.Target
	if t.Agent == "" && t.Role == "repository" {
		return d
	}
	tooMany := c.p.MaxReviewIterations > 0 && t.Version > c.p.MaxReviewIterations
	switch {
	case t.Agent == "":
		d.FailureType = "GoalRejected"
	case tooMany && !c.p.AskAtReviewLimit:
		d.FailureType = "ReviewLimit"
	case !c.clan[t.Agent]:
		d.FailureType = "AgentRemoved"
	default:
		d.Rework = &Rework{Agent: t.Agent, Context: reviews}
		if tooMany {
			d.Rework.Ask = "something"
		}
	}
	return d
}

func (c naiveCase) thenAllClaims() *Decision { return c.phase("parallel", c.want("claim")) }

func (c naiveCase) thenOneExclusive() *Decision {
	want := c.want("exclusive")
	return c.phase("exclusive", want[:min(1, len(want))])
}

func (c naiveCase) nobodyWantedIt() *Decision {
	if c.agents > 0 {
		return nil
	}
	return &Decision{Kind: Complete, Reason: "no agent bid on it"}
}

func (c naiveCase) nothingIsLeft() *Decision { return &Decision{Kind: Complete} }
