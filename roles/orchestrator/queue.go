package orchestrator

import "sync"

// key names something to look at: an artefact that may need a claim, or a claim
// that may need a decision.
type key struct {
	kind kind
	id   string
}

type kind byte

const (
	artefactKey kind = 'a'
	claimKey    kind = 'c'
)

// queue hands out keys so that no key is worked on twice at once, and a key that
// is added while it is worked on comes again. So decisions about one claim are
// serial, those about different claims are not.
type queue struct {
	mu      sync.Mutex
	ready   *sync.Cond
	order   []key
	waiting map[key]bool
	working map[key]bool // true: to be looked at again afterwards
	closed  bool
}

func newQueue() *queue {
	q := &queue{waiting: map[key]bool{}, working: map[key]bool{}}
	q.ready = sync.NewCond(&q.mu)
	return q
}

func (q *queue) add(k key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, busy := q.working[k]; busy {
		q.working[k] = true
		return
	}
	if !q.waiting[k] && !q.closed {
		q.waiting[k] = true
		q.order = append(q.order, k)
		q.ready.Signal()
	}
}

// next waits for a key; false when the queue is closed.
func (q *queue) next() (key, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.order) == 0 && !q.closed {
		q.ready.Wait()
	}
	if q.closed {
		return key{}, false
	}
	k := q.order[0]
	q.order = q.order[1:]
	delete(q.waiting, k)
	q.working[k] = false
	return k, true
}

func (q *queue) done(k key) {
	q.mu.Lock()
	again := q.working[k]
	delete(q.working, k)
	q.mu.Unlock()
	if again {
		q.add(k)
	}
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.ready.Broadcast()
}
