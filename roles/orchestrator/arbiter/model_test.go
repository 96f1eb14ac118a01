package arbiter

import (
	"slices"
	"time"

	"sett/blackboard"
)

// The blackboard's scripts as far as a claim's life goes, in a value small enough
// to visit every state of. What the arbiter does not look at is left out (ids,
// attempts, holders, revisions), so a grant may be asked about, handed back and
// retried any number of times in finitely many states. A move is refused where
// its script refuses it.

// names are the clan: a made the artefact that the claim is about.
var names = [4]string{"a", "b", "c", "d"}

// modelOpened is when every claim of the model was opened.
var modelOpened = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// modelPolicy gives silence a minute, and questions ten seconds.
var modelPolicy = Policy{MaxReviewIterations: 3, BidTimeout: time.Minute, QuestionTimeout: 10 * time.Second}

// The bids and grant states of a cell.
const (
	noBid = iota
	bidReview
	bidClaim
	bidExclusive
	bidIgnore
)
const (
	noGrant = iota
	queued
	running
	awaiting
	overdue  // awaiting an answer for too long
	done     // and approved, when it is a review
	rejected // done, with feedback
	failed
	cancelled
)

var cellBids = []blackboard.BidType{"", blackboard.BidReview, blackboard.BidClaim, blackboard.BidExclusive, blackboard.BidIgnore}

var cellStates = []blackboard.GrantState{"", blackboard.GrantQueued, blackboard.GrantRunning, blackboard.GrantAwaitingAnswer,
	blackboard.GrantAwaitingAnswer, blackboard.GrantDone, blackboard.GrantDone, blackboard.GrantFailed, blackboard.GrantCancelled}

// cell is what there is to know of one agent. Its grant is of the phase it bid for.
type cell struct {
	bid, rank, grant uint8 // rank: 1 bid first
	gone             bool  // from sett.yml
}

func (c cell) open() bool { return c.grant >= queued && c.grant <= overdue }

// asked says whether a person is to answer.
func (c cell) asked() bool { return c.grant == awaiting || c.grant == overdue }

// model is a claim.
type model struct {
	status uint8 // index in blackboard.ClaimStatuses
	late   bool  // the bid timeout is over
	rework bool  // opened as a rework: a has its exclusive grant and nobody bids
	gate   bool  // opened by a rejection at a gate: nobody bids, and the first person's review is in
	again  bool  // it was rejected and a rework was opened
	broken bool  // it has a Failure
	three  bool  // the clan is a, b and c, and people review
	agents [4]cell
	people [2]uint8 // what they said: noGrant, done or rejected
}

// people are who may review beside the agents.
var people = [2]string{blackboard.HumanAgent("ann"), blackboard.HumanAgent("bob")}

// clanSize is how many agents there are.
func (m *model) clanSize() int {
	if m.three {
		return 3
	}
	return len(m.agents)
}

func (m *model) closed() bool { return m.status >= 3 }

// bids says whether anybody bids on such a claim.
func (m *model) bids() bool { return !m.rework && !m.gate }

// bidding mirrors bid.lua: until something is granted.
func (m *model) bidding() bool {
	for i := range m.agents {
		if m.agents[i].grant != noGrant {
			return false
		}
	}
	return m.status == 0 && m.bids()
}

// bid is bid.lua, and the part of decide.lua that makes silence a bid.
func (m *model) bid(i int, bid uint8) bool {
	if !m.bidding() || m.agents[i].bid != noBid {
		return false
	}
	rank := uint8(1)
	for _, c := range m.agents {
		if c.rank >= rank {
			rank = c.rank + 1
		}
	}
	m.agents[i].bid, m.agents[i].rank = bid, rank
	return true
}

// step moves a grant from one state to another, if the claim is open and the
// grant is there.
func (m *model) step(i int, from, to uint8) bool {
	if m.closed() || m.agents[i].grant != from {
		return false
	}
	m.agents[i].grant = to
	return true
}

// clan is who is in sett.yml, in an order of its own.
func (m *model) clan(into []string) []string {
	into = into[:0]
	for i := m.clanSize() - 1; i >= 0; i-- {
		if !m.agents[i].gone {
			into = append(into, names[i])
		}
	}
	return into
}

// phaseOf returns the phase of an agent's grant.
func (m *model) phaseOf(i int) blackboard.Phase {
	if m.rework {
		return blackboard.PhaseExclusive
	}
	return blackboard.Phases[m.agents[i].bid-1]
}

// apply is decide.lua, which refuses what was decided on another state, and
// crash.lua for FailGrant, which looks at nothing but the grant. (A claim that
// came back to the state it was decided on has another revision; that the model
// takes the decision all the same is one possibility more, not less.)
func (m *model) apply(d Decision, on model) {
	if d.Kind != FailGrant && *m != on {
		return
	}
	switch d.Kind {
	case RecordIgnores:
		for _, agent := range d.Agents {
			m.bid(slices.Index(names[:], agent), bidIgnore)
		}
	case GrantPhase:
		m.status = uint8(slices.Index(blackboard.ClaimStatuses, d.Phase.Status()))
		for _, agent := range d.Agents {
			m.agents[slices.Index(names[:], agent)].grant = queued
		}
		m.forgetOrder()
	case FailGrant:
		i := slices.Index(names[:], d.Agents[0])
		c, was := &m.agents[i], on.agents[i]
		if c.open() && (c.grant == was.grant || c.asked() && was.asked()) {
			c.grant, m.broken = failed, true
		}
	case Complete:
		m.status = 3
		m.forgetOrder()
	case Terminate:
		m.status = 4
		m.again = m.again || d.Rework != nil
		m.broken = m.broken || d.FailureType != ""
		m.cancelGrants()
	}
}

// cancelGrants is what ends with a claim that is terminated.
func (m *model) cancelGrants() {
	for i := range m.agents {
		if m.agents[i].open() {
			m.agents[i].grant = cancelled
		}
	}
	m.forgetOrder()
}

// cancel is cancel.lua: a person ends the claim.
func (m *model) cancel() bool {
	if m.closed() || m.exclusiveDone() {
		return false
	}
	m.status, m.broken = 4, true
	m.cancelGrants()
	return true
}

// exclusiveDone says whether the claim's last result is in.
func (m *model) exclusiveDone() bool {
	for i, c := range m.agents {
		if c.grant == done && m.phaseOf(i) == blackboard.PhaseExclusive {
			return true
		}
	}
	return false
}

// review is review.lua: people who have not reviewed do. Who of them is first
// makes no difference.
func (m *model) review(verdict uint8) bool {
	for i := range m.people {
		if m.people[i] == noGrant {
			m.people[i] = verdict
			return m.status == 0
		}
	}
	return false
}

// retry is retry.lua: the claim that tries this one again.
func (m *model) retry() bool {
	if m.status != 4 || !m.broken || m.again {
		return false
	}
	m.status, m.broken, m.late = 0, false, false
	for i := range m.agents {
		c := &m.agents[i]
		switch c.grant {
		case noGrant:
			continue
		case done, rejected:
		default:
			c.grant = queued
		}
		m.status = max(m.status, uint8(slices.Index(blackboard.Phases, m.phaseOf(i))))
	}
	return true
}

// forgetOrder drops what can no longer matter once bidding is over, so that fewer
// states are the same one: the clock, and the order of all bids but the exclusive
// ones that are still to be chosen from.
func (m *model) forgetOrder() {
	m.late = false
	granted, chosen := m.status < 4, m.status == 2 || m.status == 3
	for i, c := range m.agents {
		granted = granted || c.grant != noGrant
		chosen = chosen || c.grant != noGrant && m.phaseOf(i) == blackboard.PhaseExclusive
	}
	if !granted {
		return // it may be tried again, and be bid on further
	}
	for i := range m.agents {
		if c := &m.agents[i]; chosen || c.bid != bidExclusive {
			c.rank = 0
			continue
		}
		before := uint8(1)
		for _, other := range m.agents {
			if other.bid == bidExclusive && other.rank < m.agents[i].rank && other.rank != 0 {
				before++
			}
		}
		m.agents[i].rank = before
	}
}

// now is the time in this state.
func (m *model) now() time.Time {
	if m.late {
		return modelOpened.Add(modelPolicy.BidTimeout)
	}
	return modelOpened.Add(modelPolicy.BidTimeout - time.Nanosecond)
}

// snapshot is the claim as the arbiter gets to see it, in s, whose memory is used
// again.
func (m *model) snapshot(s *blackboard.Snapshot) {
	s.Claim = blackboard.Claim{
		ID: "claim", ArtefactID: "artefact", Status: blackboard.ClaimStatuses[m.status],
		Origin: blackboard.OriginArtefact, ExpectedBidders: names[:m.clanSize()], OpenedAt: modelOpened,
		Target: blackboard.Target{Agent: names[0], Version: 2},
	}
	if !m.bids() {
		s.Claim.ExpectedBidders = nil
	}
	if m.rework {
		s.Claim.Origin, s.Claim.Rework = blackboard.OriginRework, true
	}
	s.Bids, s.Grants = s.Bids[:0], s.Grants[:0]
	for rank := uint8(0); rank <= uint8(len(names)); rank++ {
		for i, c := range m.agents {
			if c.bid != noBid && c.rank == rank {
				s.Bids = append(s.Bids, blackboard.Bid{Agent: names[i], Type: cellBids[c.bid]})
			}
		}
	}
	for i, c := range m.agents {
		if c.grant == noGrant {
			continue
		}
		g := blackboard.Grant{Agent: names[i], Phase: m.phaseOf(i), Attempt: 1, State: cellStates[c.grant], QueuedAt: modelOpened}
		if c.grant == running {
			g.Holder = "holder"
		} else if c.grant >= awaiting {
			g.ResultID, g.EndedAt = "result-"+names[i], m.now().Add(-modelPolicy.QuestionTimeout)
		}
		if c.grant == awaiting {
			g.EndedAt = g.EndedAt.Add(time.Nanosecond)
		}
		if g.Phase == blackboard.PhaseReview && c.grant == done {
			g.Verdict = blackboard.Approve
		} else if c.grant == rejected {
			g.Verdict = blackboard.Feedback
		}
		s.Grants = append(s.Grants, g)
	}
	for i, said := range m.people {
		if said != noGrant {
			s.Grants = append(s.Grants, blackboard.Grant{Agent: people[i], Phase: blackboard.PhaseReview, Attempt: 1, State: cellStates[said],
				ResultID: "result-" + people[i], Verdict: verdicts[said], QueuedAt: modelOpened, EndedAt: modelOpened})
		}
	}
}

var verdicts = map[uint8]blackboard.Verdict{done: blackboard.Approve, rejected: blackboard.Feedback}

// moves calls visit with every state that one move by anybody but the
// orchestrator's decisions can lead to. Agents that have left sett.yml may still
// be alive and go on. A closed claim has one: a person has it tried again, and
// what is visited then is the claim that does.
func (m *model) moves(visit func(model)) {
	try := func(move func(next *model) bool) {
		next := *m
		if move(&next) && next != *m {
			visit(next)
		}
	}
	if m.closed() {
		try((*model).retry)
		return // every other script refuses
	}
	try((*model).cancel)
	if m.three {
		try(func(next *model) bool { return next.review(done) })
		try(func(next *model) bool { return next.review(rejected) })
	}
	if m.bidding() && !m.late {
		try(func(next *model) bool { next.late = true; return true })
	}
	for i := range m.clanSize() {
		try(func(next *model) bool { next.agents[i].gone = !next.agents[i].gone; return true })
		for bid := uint8(bidReview); bid <= bidIgnore && m.bids(); bid++ {
			try(func(next *model) bool { return next.bid(i, bid) })
		}
		for _, t := range transitions {
			if t.to == rejected && (m.agents[i].bid != bidReview || m.rework) {
				continue // only a Review can be feedback
			}
			try(func(next *model) bool {
				next.broken = next.broken || t.to == failed
				return next.step(i, t.from, t.to)
			})
		}
	}
}

// transitions are all that can happen to a grant besides what the arbiter decides
// on the claim.
var transitions = []struct{ from, to uint8 }{
	{queued, running},   // start
	{running, done},     // finish: approval, Standard, Terminal
	{running, rejected}, // finish: feedback
	{running, failed},   // finish: Failure; crash without a retry
	{running, awaiting}, // finish: Question
	{running, queued},   // handed back; crash with a retry
	{queued, failed},    // a worker that cannot be started
	{awaiting, queued},  // answer
	{awaiting, overdue}, // nobody answers in time
	{overdue, queued},   // somebody does, before that was found
	{awaiting, failed},  // FailGrant, decided before the agent came back
}
