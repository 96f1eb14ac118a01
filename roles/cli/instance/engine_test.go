package instance

import (
	"context"
	"errors"
	"testing"
)

// Ctrl-C while the engine is asked is no engine that does not answer.
func TestInterruptedEngine(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := OpenEngine(ctx, func(name string) (string, bool) {
		return map[string]string{"DOCKER_HOST": "tcp://127.0.0.1:1"}[name], name == "DOCKER_HOST"
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
