package engine

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// The most frequent reason of all: the user is not in the group of the socket.
func TestOpenPermission(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its other identity
		// Without root the mode alone is enough, and this changes nothing.
		_ = syscall.Setfsuid(65534)
		done <- unreachable(t.Context(), Endpoint{Host: "unix://" + path, Socket: path, From: "DOCKER_HOST"}, errors.New("x"))
	}()
	err = <-done
	if !errors.Is(err, ErrEngine) || !strings.Contains(err.Error(), "permission denied") || !strings.Contains(Hint(err), path) {
		t.Errorf("got %v, hint %s", err, Hint(err))
	}
	if hint := permissionHint(Endpoint{Socket: DefaultSocket}); !strings.Contains(hint, "usermod -aG docker") {
		t.Error(hint)
	}
}
