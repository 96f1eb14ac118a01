package orchestrator

import (
	"sync"

	"sett/blackboard"
)

// mostHints is the number of claims that are remembered between their opening and
// their first decision.
const mostHints = 8192

// hints join the record of a claim that this orchestrator opened with the bids in the
// last bid's notice, so that the first decision costs no read. If either is wrong or
// missing the claim is read.
type hints struct {
	mu     sync.Mutex
	opened map[string]*blackboard.Claim
	order  []string
	bids   map[string]blackboard.Notice
}

// open remembers a claim.
func (h *hints) open(c *blackboard.Claim) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.opened == nil {
		h.opened, h.bids = map[string]*blackboard.Claim{}, map[string]blackboard.Notice{}
	}
	if h.opened[c.ID] == nil {
		h.order = append(h.order, c.ID)
	}
	h.opened[c.ID] = c
	if len(h.order) > mostHints {
		delete(h.opened, h.order[0])
		delete(h.bids, h.order[0])
		h.order = h.order[1:]
	}
}

// complete remembers that all bids on a claim are in.
func (h *hints) complete(m blackboard.Notice) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.opened[m.Claim] != nil && m.Revision > 0 {
		h.bids[m.Claim] = m
	}
}

// use returns the claim with the bids of the notice, once.
func (h *hints) use(claim string) (blackboard.Snapshot, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m, ok := h.bids[claim]
	if !ok {
		return blackboard.Snapshot{}, false
	}
	c := *h.opened[claim]
	delete(h.bids, claim)
	c.Revision = m.Revision
	return blackboard.Snapshot{Claim: c, Bids: m.Bids}, true
}
