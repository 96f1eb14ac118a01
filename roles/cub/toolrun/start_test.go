//go:build linux

package toolrun

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// What is started with Start, in a group of its own, is neither reaped nor killed
// by others while tools come and go.
func TestStartIsSpared(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	reaping := make(chan struct{})
	go func() { ReapOrphans(ctx); close(reaping) }()
	defer func() { cancel(); <-reaping }()
	tools := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			if _, err := New().Run(ctx, Command{Args: []string{"true"}, Timeout: time.Minute}); err != nil && ctx.Err() == nil {
				tools <- err
				return
			}
		}
		tools <- nil
	}()
	for range 100 {
		cmd := exec.Command("sh", "-c", "sleep 0.02; exit 3")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		spared, err := Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		err = cmd.Wait()
		spared()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 3 {
			t.Fatalf("ended with %v, want exit status 3", err)
		}
	}
	cancel()
	if err := <-tools; err != nil {
		t.Error(err)
	}
}
