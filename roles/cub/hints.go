package cub

import (
	"sync"

	"sett/blackboard"
)

// mostHints is the most hints that a cub keeps.
const mostHints = 4096

// hints keeps the facts of notices about the targets of new claims, so that a bid by
// rule costs no read. A hint may be wrong, so the bid carries it.
type hints struct {
	mu    sync.Mutex
	known map[string]*blackboard.Target // nil after its use
	order []string
}

func (h *hints) add(claim string, t blackboard.Target) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.known[claim]; ok {
		return
	}
	if h.known == nil {
		h.known = map[string]*blackboard.Target{}
	}
	h.known[claim] = &t
	if h.order = append(h.order, claim); len(h.order) > mostHints {
		delete(h.known, h.order[0])
		h.order = h.order[1:]
	}
}

// use returns the hint about a claim, once.
func (h *hints) use(claim string) *blackboard.Target {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.known[claim]
	if t != nil {
		h.known[claim] = nil
	}
	return t
}
