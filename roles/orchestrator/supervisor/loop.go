package supervisor

import (
	"context"
	"sync"
)

// Loop lets one goroutine own the supervisor's state while slow operations run on
// goroutines of their own. Each of those comes back as a step of the owner.
type Loop struct {
	changed chan struct{}
	steps   chan func()
	running sync.WaitGroup
}

// NewLoop returns a loop; Supervisor.Run takes its steps.
func NewLoop() *Loop {
	return &Loop{changed: make(chan struct{}, 1), steps: make(chan func())}
}

// Wake has the supervisor compare the units with the configuration again.
func (l *Loop) Wake() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// Aside runs a slow operation. The supervisor then takes the step that it returns,
// which has the supervisor's state to itself; nil: there is none.
func (l *Loop) Aside(ctx context.Context, f func() (step func())) {
	l.running.Go(func() {
		step := f()
		if step == nil {
			return
		}
		select {
		case l.steps <- step:
		case <-ctx.Done():
		}
	})
}
