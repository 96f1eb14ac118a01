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
	moves  int
	snap   blackboard.Snapshot
	policy Policy
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
	for i, c := range m.agents {
		s += fmt.Sprintf(" %s(%s#%d %s gone=%v)", names[i], cellBids[c.bid], c.rank, cellStates[c.grant], c.gone)
	}
	return s
}

// TestEveryState explores a clan of four: every combination of bids in every
// order, every order of results, failures, questions, crashes, hand-backs, agents
// leaving and coming back, the bid timeout at every moment, and the arbiter's
// decisions in between, at once, late or twice. From every state, what the
// arbiter decides and the waits it names lead to the claim's end.
func TestEveryState(t *testing.T) {
	x := &explorer{t: t, index: map[model]int32{}, policy: modelPolicy}
	x.add(model{})
	reworked := model{status: 2, rework: true}
	reworked.agents[0].grant = queued
	x.add(reworked)
	ends, consensus := map[Kind]int{}, 0
	for n := 0; n < len(x.states) && !t.Failed(); n++ {
		m := x.states[n]
		d := x.decide(&m)
		x.checkState(m)
		x.checkDecision(m, d)
		next := x.follow(m, d)
		x.onward = append(x.onward, x.add(next))
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
		ends[d.Kind]++
		if m.bidding() && !m.late && !slices.ContainsFunc(m.agents[:], func(c cell) bool { return c.bid == noBid || c.gone }) {
			consensus++
		}
	}
	if t.Failed() {
		return
	}
	longest := x.checkEnds()
	t.Logf("%d states, %d moves; decisions %v; at most %d steps to the end", len(x.states), x.moves, ends, longest)
	fmt.Printf("arbiter: %d states seen, %d moves between them\n", len(x.states), x.moves)
	if want := 256 * 24; consensus != want {
		t.Errorf("consensus reached in %d ways, want every combination in every order: %d", consensus, want)
	}
	if len(x.states) < 400_000 {
		t.Errorf("saw %d states only", len(x.states))
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

// checkForward: statuses only move forward, and nothing moves once closed.
func (x *explorer) checkForward(m, next model) {
	if next.status < m.status || m.closed() {
		x.fail(m, "went on to %s", next)
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
		if c := m.agents[slices.Index(names[:], d.Agents[0])]; !c.gone || !c.open() {
			x.fail(m, "%+v", d)
		}
	case Complete:
		if slices.ContainsFunc(m.agents[:], func(c cell) bool { return c.grant != noGrant && c.grant != done }) {
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
	if len(d.Waits) == 0 {
		x.fail(m, "waits for nothing")
	}
	if m.bidding() != d.AskAgain.Equal(modelOpened.Add(time.Minute)) || m.bidding() == d.AskAgain.IsZero() {
		x.fail(m, "asks again at %v", d.AskAgain)
	}
	outstanding := 0
	for _, c := range m.agents {
		if c.open() || m.bidding() && c.bid == noBid {
			outstanding++
			if c.gone || m.late {
				x.fail(m, "waits for what will not come: %+v", d.Waits)
			}
		}
	}
	if len(d.Waits) != outstanding {
		x.fail(m, "%d waits, want %d: %+v", len(d.Waits), outstanding, d.Waits)
	}
	for _, w := range d.Waits {
		if next := m; !next.fulfil(w) {
			x.fail(m, "cannot come: %+v", w)
		}
		if w.Since.IsZero() || w.What == ForAnswer && w.Subject == "" {
			x.fail(m, "incomplete: %+v", w)
		}
	}
}

// fulfil makes the move that a wait is for.
func (m *model) fulfil(w WaitFor) bool {
	i := slices.Index(names[:], w.Agent)
	switch w.What {
	case ForBid:
		return m.bid(i, bidExclusive)
	case ForStart:
		return m.step(i, queued, running)
	case ForResult:
		return m.step(i, running, done)
	case ForAnswer:
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
	open := slices.ContainsFunc(m.agents[:], cell.open)
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
	if m.again || d.Rework == nil || d.Rework.Agent != names[0] || len(d.Rework.Context) != feedback || d.FailureType != "" {
		x.fail(m, "rework %+v of %+v", d.Rework, d)
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
		if len(d.Waits) > 0 {
			next.fulfil(d.Waits[0])
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
