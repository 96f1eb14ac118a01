package arbiter

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"sett/blackboard"
)

// explorer visits every reachable state of the model, breadth first.
type explorer struct {
	t      *testing.T
	index  map[model]int32
	states []model
	onward []int32 // the state that what is decided or waited for leads to
	snap   blackboard.Snapshot
	policy Policy

	moves, retries int
	ends           map[Kind]int
	scripted       map[Kind]int // steps that a script would take
	consensus      int          // states in which all have bid and nothing was decided
}

// add returns the state's number and queues it when it is new.
func (x *explorer) add(m model) int32 {
	n, seen := x.index[m]
	if !seen {
		n = int32(len(x.states))
		x.index[m] = n
		x.states = append(x.states, m)
	}
	return n
}

// decide asks the arbiter about a state.
func (x *explorer) decide(m *model) Decision {
	m.snapshot(&x.snap)
	x.policy.Clan = m.clan(x.policy.Clan)
	return Decide(x.snap, x.policy, m.now())
}

// fail reports a state in which something does not hold.
func (x *explorer) fail(m model, format string, args ...any) {
	x.t.Helper()
	x.t.Errorf("%s: %s", m, fmt.Sprintf(format, args...))
}

// String is the state for people: pending_exclusive a(exclusive#1 running gone=false) …
func (m model) String() string {
	s := string(blackboard.ClaimStatuses[m.status])
	for i, c := range m.agents[:m.clanSize()] {
		s += fmt.Sprintf(" %s(%s#%d %s gone=%v)", names[i], cellBids[c.bid], c.rank, cellStates[c.grant], c.gone)
	}
	return s + fmt.Sprintf(" people %v rework=%v gate=%v broken=%v late=%v", m.people, m.rework, m.gate, m.broken, m.late)
}

// TestEveryState explores a clan of four: every combination of bids in every
// order, every order of results, failures, questions, crashes, hand-backs, agents
// leaving and coming back, the bid timeout and that of questions at every moment,
// a person who cancels at any, a retry of whatever failed or was cancelled, and the
// arbiter's decisions in between, at once, late or twice. From every state, what the
// arbiter decides and the waits it names lead to the claim's end.
func TestEveryState(t *testing.T) {
	t.Parallel()
	x := newExplorer(t, model{})
	reworked := model{status: 2, rework: true}
	reworked.agents[0].grant = queued
	asked := reworked
	asked.agents[0].grant = awaiting // what to do at the review limit
	x.explore(reworked, asked)
	if want := 256 * 24; x.consensus != want && !t.Failed() {
		t.Errorf("consensus reached in %d ways, want every combination in every order: %d", x.consensus, want)
	}
	if len(x.states) < 1_000_000 {
		t.Errorf("saw %d states only", len(x.states))
	}
}

// TestEveryStateWithPeople explores a clan of three, with two people who review
// beside it at any moment while they may, and with what was rejected at a gate.
func TestEveryStateWithPeople(t *testing.T) {
	t.Parallel()
	x := newExplorer(t, model{three: true})
	x.explore(model{three: true, gate: true, people: [2]uint8{rejected}})
	if want := 64 * 6; x.consensus != want*people3 && !t.Failed() {
		t.Errorf("consensus reached in %d ways, want %d with all that people can have said", x.consensus, want)
	}
	if len(x.states) < 100_000 {
		t.Errorf("saw %d states only", len(x.states))
	}
}

// people3 is how many ways there are for two people to have approved, rejected or
// not reviewed, if the one who comes first is the first.
const people3 = 1 + 2 + 4

func newExplorer(t *testing.T, from model) *explorer {
	x := &explorer{t: t, index: map[model]int32{}, policy: modelPolicy, ends: map[Kind]int{}, scripted: map[Kind]int{}}
	x.add(from)
	return x
}

// explore visits what can be reached from what was added, and from here.
func (x *explorer) explore(from ...model) {
	for _, m := range from {
		x.add(m)
	}
	for n := 0; n < len(x.states) && !x.t.Failed(); n++ {
		x.visit(x.states[n])
	}
	if x.t.Failed() {
		return
	}
	longest := x.checkEnds()
	acts := x.scripted[GrantPhase] + x.scripted[Complete]
	if x.scripted[GrantPhase] == 0 || x.scripted[Complete] == 0 {
		x.t.Errorf("scripts act in no state: %v", x.scripted)
	}
	x.t.Logf("%d states, %d moves, %d of them retries; decisions %v; steps of scripts %v; at most %d steps to the end",
		len(x.states), x.moves, x.retries, x.ends, x.scripted, longest)
	fmt.Printf("arbiter: %d states seen, %d moves between them; in %d of the states a script acts as the arbiter decides\n", len(x.states), x.moves, acts)
}

// visit checks one state, and adds those next to it.
func (x *explorer) visit(m model) {
	d := x.decide(&m)
	x.checkState(m)
	x.checkDecision(m, d)
	x.checkScript(m, d)
	x.onward = append(x.onward, x.add(x.follow(m, d)))
	m.moves(func(next model) {
		x.moves++
		x.checkForward(m, next)
		x.add(next)
		late := next
		if late.apply(d, m); late != next {
			if d.Kind != FailGrant {
				x.fail(m, "decision %+v was applied to %s", d, next)
			}
			x.add(late)
		}
	})
	x.ends[d.Kind]++
	missing := slices.ContainsFunc(m.agents[:m.clanSize()], func(c cell) bool { return c.bid == noBid || c.gone })
	if m.bidding() && !m.late && !missing {
		x.consensus++
	}
}

// checkState is what must hold in every state (DESIGN.md, section 9).
func (x *explorer) checkState(m model) {
	exclusive := 0
	for i, c := range m.agents {
		if c.grant == noGrant {
			continue
		}
		if !m.rework && (c.bid == noBid || c.bid == bidIgnore) {
			x.fail(m, "%s has a grant it did not bid for", names[i])
			return
		}
		phase := m.phaseOf(i)
		if phase == blackboard.PhaseExclusive {
			exclusive++
		}
		for j, before := range m.agents {
			if before.grant != noGrant && before.grant != done && m.phaseOf(j).Status() != phase.Status() &&
				slices.Index(blackboard.Phases, m.phaseOf(j)) < slices.Index(blackboard.Phases, phase) {
				x.fail(m, "%s was granted before %s was done", names[i], names[j])
			}
		}
		if m.closed() && c.open() {
			x.fail(m, "closed with an open grant")
		}
	}
	if exclusive > 1 {
		x.fail(m, "%d exclusive grants", exclusive)
	}
}

// checkForward: statuses only move forward, and nothing moves once closed. A claim
// that tries a closed one again is another one.
func (x *explorer) checkForward(m, next model) {
	if m.closed() && !next.closed() {
		x.retries++
		x.checkRetry(m, next)
		return
	}
	if next.status < m.status || m.closed() {
		x.fail(m, "went on to %s", next)
	}
}

// checkRetry: what was done stays done, nothing else is, and nothing that ended well
// or with feedback that is heeded is tried again.
func (x *explorer) checkRetry(m, next model) {
	if m.status != 4 || m.again || next.people != m.people {
		x.fail(m, "tried again as %s", next)
	}
	for i, c := range next.agents {
		was := m.agents[i]
		kept := c.grant == was.grant && (c.grant == noGrant || c.grant == done || c.grant == rejected)
		if c.bid != was.bid || !kept && (c.grant != queued || was.grant != failed && was.grant != cancelled) {
			x.fail(m, "%s became %s", names[i], next)
		}
	}
}

// checkDecision holds a decision against what the state allows.
func (x *explorer) checkDecision(m model, d Decision) {
	if m.closed() {
		if !reflect.DeepEqual(d, Decision{Kind: Wait, Closed: true}) {
			x.fail(m, "a closed claim got %+v", d)
		}
		return
	}
	if d.Closed {
		x.fail(m, "an open claim is said to be closed")
	}
	if m.rework { // a retry of one is decided about like it
		m.snapshot(&x.snap)
		x.snap.Claim.Origin = blackboard.OriginRetry
		if again := Decide(x.snap, x.policy, m.now()); !reflect.DeepEqual(d, again) {
			x.fail(m, "%+v, and %+v when it is a retry", d, again)
		}
	}
	switch d.Kind {
	case Wait:
		x.checkWaits(m, d)
	case RecordIgnores:
		for _, agent := range d.Agents {
			c := m.agents[slices.Index(names[:], agent)]
			if c.bid != noBid || d.Reason == ReasonAgentRemoved && !c.gone || d.Reason == ReasonBidTimeout && !m.late {
				x.fail(m, "%+v", d)
			}
		}
	case GrantPhase:
		for _, agent := range d.Agents {
			c := m.agents[slices.Index(names[:], agent)]
			if c.gone || c.grant != noGrant || cellBids[c.bid] != d.Phase.Bid() {
				x.fail(m, "%+v", d)
			}
		}
	case FailGrant:
		c := m.agents[slices.Index(names[:], d.Agents[0])]
		removed := d.FailureType == blackboard.TypeAgentRemoved && c.gone && c.open()
		silence := d.FailureType == blackboard.TypeQuestionTimeout && !c.gone && c.grant == overdue
		if !removed && !silence {
			x.fail(m, "%+v", d)
		}
	case Complete:
		if slices.ContainsFunc(m.agents[:], func(c cell) bool { return c.grant != noGrant && c.grant != done }) ||
			slices.Contains(m.people[:], rejected) {
			x.fail(m, "%+v", d)
		}
	case Terminate:
		x.checkTerminate(m, d)
	default:
		x.fail(m, "unknown decision %+v", d)
	}
}

// checkWaits: an open claim waits for something, for what there really is to
// come, and knows when to ask again.
func (x *explorer) checkWaits(m model, d Decision) {
	waits := x.waits(m, d)
	if len(waits) == 0 {
		x.fail(m, "waits for nothing")
	}
	var again time.Time
	if m.bidding() {
		again = modelOpened.Add(time.Minute)
	} else if slices.ContainsFunc(m.agents[:], cell.asked) {
		again = m.now().Add(time.Nanosecond)
	}
	if !d.AskAgain.Equal(again) {
		x.fail(m, "asks again at %v, want %v", d.AskAgain, again)
	}
	outstanding := 0
	for _, c := range m.agents[:m.clanSize()] {
		if c.open() || m.bidding() && c.bid == noBid {
			outstanding++
			if c.gone || m.late || c.grant == overdue {
				x.fail(m, "waits for what will not come: %+v", waits)
			}
		}
	}
	if len(waits) != outstanding {
		x.fail(m, "%d waits, want %d: %+v", len(waits), outstanding, waits)
	}
	for _, w := range waits {
		if next := m; !next.fulfil(w) {
			x.fail(m, "cannot come: %+v", w)
		}
		if w.Since.IsZero() || w.What == blackboard.WaitAnswer && w.Subject == "" {
			x.fail(m, "incomplete: %+v", w)
		}
	}
}

// waits returns the waits of a claim.
func (x *explorer) waits(m model, d Decision) []waitFor {
	m.snapshot(&x.snap)
	x.policy.Clan = m.clan(x.policy.Clan)
	return waitsOf(x.snap, x.policy, m.now(), d)
}

// fulfil makes the move that a wait is for.
func (m *model) fulfil(w waitFor) bool {
	i := slices.Index(names[:], w.Agent)
	switch w.What {
	case blackboard.WaitBid:
		return m.bid(i, bidExclusive)
	case blackboard.WaitStart:
		return m.step(i, queued, running)
	case blackboard.WaitResult:
		return m.step(i, running, done)
	case blackboard.WaitAnswer:
		return m.step(i, awaiting, queued)
	}
	return false
}

// checkTerminate: only for a failed grant, or feedback when every review is in;
// and what becomes of feedback under other circumstances.
func (x *explorer) checkTerminate(m model, d Decision) {
	broken, feedback := false, 0
	for _, c := range m.agents {
		broken = broken || c.grant == failed
		if c.grant == rejected {
			feedback++
		}
	}
	if broken {
		if d.Rework != nil || d.FailureType != "" {
			x.fail(m, "a failure wins and has its Failure: %+v", d)
		}
		return
	}
	for _, said := range m.people {
		if said == rejected {
			feedback++
		}
	}
	open := slices.ContainsFunc(m.agents[:m.clanSize()], func(c cell) bool {
		return c.open() || m.bids() && (c.bid == noBid || m.bidding() && c.bid == bidReview && !c.gone)
	})
	if feedback == 0 || open {
		x.fail(m, "%+v", d)
		return
	}
	if m.agents[0].gone {
		if d.Rework != nil || d.FailureType != blackboard.TypeAgentRemoved {
			x.fail(m, "nobody is left to rework: %+v", d)
		}
		return
	}
	if m.again || d.Rework == nil || d.Rework.Agent != names[0] || len(d.Rework.Context) != feedback || d.FailureType != "" || d.Rework.Ask != "" {
		x.fail(m, "rework %+v of %+v", d.Rework, d)
	}
	m.snapshot(&x.snap)
	x.snap.Claim.Target.Version = 4
	asking := x.policy
	asking.AskAtReviewLimit = true
	if a := Decide(x.snap, asking, m.now()); a.Kind != Terminate || a.Rework == nil || a.Rework.Ask == "" || a.FailureType != "" ||
		a.Rework.Agent != names[0] || !slices.Equal(a.Rework.Context, d.Rework.Context) {
		x.fail(m, "want a question first: %+v", a)
	}
	for want, change := range map[string]func(*blackboard.Target){
		FailureGoalRejected:        func(t *blackboard.Target) { t.Agent = "" },
		blackboard.TypeReviewLimit: func(t *blackboard.Target) { t.Version = 4 },
	} {
		m.snapshot(&x.snap)
		change(&x.snap.Claim.Target)
		if d := Decide(x.snap, x.policy, m.now()); d.Kind != Terminate || d.Rework != nil || d.FailureType != want {
			x.fail(m, "want %s: %+v", want, d)
		}
	}
}

// follow applies a decision, or brings about the first thing it waits for, and
// returns the state after it. The same decision never comes twice in a row.
func (x *explorer) follow(m model, d Decision) model {
	next := m
	if d.Kind == Wait {
		if waits := x.waits(m, d); len(waits) > 0 {
			next.fulfil(waits[0])
		}
		return next
	}
	next.apply(d, m)
	x.checkForward(m, next)
	if again := next; again != m {
		if again.apply(d, m); again != next {
			x.fail(m, "%+v counts twice", d)
		}
	}
	if next == m {
		x.fail(m, "deciding %+v changes nothing", d)
	}
	if after := x.decide(&next); reflect.DeepEqual(d, after) {
		x.fail(m, "decided twice: %+v", d)
	}
	return next
}

// checkEnds follows every state's way onward to the claim's end, and returns the
// number of steps of the longest one.
func (x *explorer) checkEnds() (longest int) {
	const unknown, under = -1, -2
	steps := slices.Repeat([]int{unknown}, len(x.states))
	var way []int32
	for n := range x.states {
		at := int32(n)
		for way = way[:0]; steps[at] == unknown; at = x.onward[at] {
			if x.states[at].closed() {
				steps[at] = 0
				break
			}
			steps[at] = under
			way = append(way, at)
		}
		if steps[at] == under {
			x.fail(x.states[at], "never ends")
			return 0
		}
		for i, s := len(way)-1, steps[at]; i >= 0; i-- {
			s++
			steps[way[i]] = s
			longest = max(longest, s)
		}
	}
	return longest
}
