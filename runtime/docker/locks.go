package docker

import (
	"context"
	"sync"
)

// locks are locks by name. A context can end the wait for one. They hold within this
// process; between processes, the engine gives a name to one container only.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	turn  chan struct{} // has room for one: the holder
	users int           // the holder and those that wait
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

// busy says whether the lock of that name is held.
func (l *locks) busy(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[name] != nil
}
