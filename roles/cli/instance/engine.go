package instance

import (
	"context"
	"errors"
	"sync"

	"sett/roles/role"
	"sett/runtime/docker/engine"
)

// Engine is the container engine, opened at its first use: most commands, and all
// commands on instances of processes, never open it.
type Engine struct {
	mu     sync.Mutex
	opened bool
	e      *engine.Engine
	err    error
}

// Engine returns the container engine. Its error has the exit code of the environment.
func (l *Locator) Engine(ctx context.Context) (*engine.Engine, error) {
	l.engines.mu.Lock()
	defer l.engines.mu.Unlock()
	if !l.engines.opened {
		l.engines.e, l.engines.err = OpenEngine(ctx, l.Lookup)
		l.engines.opened = ctx.Err() == nil
	}
	return l.engines.e, l.engines.err
}

// OpenEngine connects to the container engine that the environment names.
func OpenEngine(ctx context.Context, lookup func(string) (string, bool)) (*engine.Engine, error) {
	at, err := engine.Find(lookup)
	if err != nil {
		return nil, noEngine(err)
	}
	e, err := engine.Open(ctx, at)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return nil, ctx.Err() // the user interrupted it: that says nothing about the engine
	}
	if err != nil {
		return nil, noEngine(err)
	}
	return e, nil
}

// IsEngineAway says whether an error is about a container engine that does not answer.
func IsEngineAway(err error) bool { return errors.Is(err, engine.ErrEngine) }

// noEngine is the error about an engine that cannot be reached, with a hint.
func noEngine(err error) error {
	hint := engine.Hint(err)
	if hint == "" {
		hint = "is the container engine running?"
	}
	return role.Fail(role.Environment, errors.New(role.CleanText(err.Error())), "%s", hint)
}

// Close closes the engine if it was opened.
func (l *Locator) Close() {
	l.engines.mu.Lock()
	defer l.engines.mu.Unlock()
	if l.engines.e != nil {
		_ = l.engines.e.Close()
	}
}
