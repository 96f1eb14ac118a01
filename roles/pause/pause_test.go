package pause

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"sett/roles/role"
)

func TestWaitsUntilTold(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, role.Env{}) }()
	select {
	case err := <-ended:
		t.Fatalf("ended by itself: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatalf("being told to end is no error: %v", err)
	}
}

func TestArguments(t *testing.T) {
	var out bytes.Buffer
	if err := Run(context.Background(), role.Env{Args: []string{"--help"}, Stdout: &out}); err != nil || !strings.Contains(out.String(), "Usage: sett pause") {
		t.Errorf("help: %v, %q", err, out.String())
	}
	if err := Run(context.Background(), role.Env{Args: []string{"now"}}); role.CodeOf(err) != role.Usage {
		t.Errorf("unknown argument: %v", err)
	}
}
