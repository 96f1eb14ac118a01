package docker

import (
	"context"
	"sync"
)

// locks are locks by name, which can be waited for with a context. They hold
// within this process; between processes it is the engine that lets only one
// container have a name.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	turn  chan struct{} // has room for the one who has the lock
	users int           // who has it or waits for it
}

// take waits until it holds the lock of that name.
func (l *locks) take(ctx context.Context, name string) (release func(), err error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*lock{}
	}
	k := l.held[name]
	if k == nil {
		k = &lock{turn: make(chan struct{}, 1)}
		l.held[name] = k
	}
	k.users++
	l.mu.Unlock()
	select {
	case k.turn <- struct{}{}:
		return func() { <-k.turn; l.leave(name, k) }, nil
	case <-ctx.Done():
		l.leave(name, k)
		return nil, ctx.Err()
	}
}

func (l *locks) leave(name string, k *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(l.held, name)
	}
}

// busy says whether somebody holds the lock of that name, or waits for it.
func (l *locks) busy(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[name] != nil
}
