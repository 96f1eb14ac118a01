package cub

import "sync"

// inbox is a queue of ids, with each id at most once. Its signal channel has room for
// one, and is full while an id waits: each of several readers takes one.
type inbox struct {
	mu     sync.Mutex
	line   []string
	inside map[string]bool
	signal chan struct{}
}

func newInbox() *inbox {
	return &inbox{inside: map[string]bool{}, signal: make(chan struct{}, 1)}
}

func (b *inbox) add(ids ...string) {
	b.mu.Lock()
	for _, id := range ids {
		if !b.inside[id] {
			b.inside[id] = true
			b.line = append(b.line, id)
		}
	}
	waiting := len(b.line) > 0
	b.mu.Unlock()
	if waiting {
		poke(b.signal)
	}
}

// take returns up to most ids, oldest first.
func (b *inbox) take(most int) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(most, len(b.line))
	ids := append([]string(nil), b.line[:n]...)
	b.line = b.line[n:]
	for _, id := range ids {
		delete(b.inside, id)
	}
	if len(b.line) > 0 {
		poke(b.signal)
	}
	return ids
}

// mostRecent is the most claims that a cub keeps.
const mostRecent = 4096

// recent keeps the last added claims.
type recent struct {
	mu    sync.Mutex
	known map[string]bool
	order []string
}

// add says whether the claim is new.
func (r *recent) add(claim string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[claim] {
		return false
	}
	if r.known == nil {
		r.known = map[string]bool{}
	}
	r.known[claim] = true
	if r.order = append(r.order, claim); len(r.order) > mostRecent {
		delete(r.known, r.order[0])
		r.order = r.order[1:]
	}
	return true
}
