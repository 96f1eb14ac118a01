//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
	"time"

	"sett/runtime"
)

func TestTryLockNamesTheHolder(t *testing.T) {
	dir := stateDir(t)
	a, b := New(Options{Dir: dir}), New(Options{Dir: dir})
	release, _, err := a.TryLock("up")
	if err != nil {
		t.Fatal(err)
	}
	if _, holder, err := b.TryLock("up"); !errors.Is(err, ErrLocked) || holder != os.Getpid() {
		t.Errorf("second lock: holder %d, %v", holder, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	_, err = b.Lock(ctx, "up")
	if !errors.Is(err, ErrLocked) || !errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) {
		t.Errorf("wait for lock: %v", err)
	}
	if other, _, err := b.TryLock("other"); err != nil {
		t.Errorf("another lock: %v", err)
	} else {
		other()
	}
	release()
	again, err := b.Lock(t.Context(), "up")
	if err != nil {
		t.Fatal(err)
	}
	again()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("left in the directory: %v, %v; want units and logs", entries, err)
	}
	if _, _, err := a.TryLock("../x"); !errors.Is(err, runtime.ErrName) {
		t.Errorf("lock outside: %v", err)
	}
}

func TestLockExcludes(t *testing.T) {
	dir := stateDir(t)
	var wg sync.WaitGroup
	var inside atomic.Int32 // the race detector knows nothing of flock
	for range 4 {
		r := New(Options{Dir: dir})
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 200 {
				release, _, err := r.TryLock("x")
				for errors.Is(err, ErrLocked) { // without Lock's pauses: more collisions
					release, _, err = r.TryLock("x")
				}
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d hold the lock", n)
				}
				inside.Add(-1)
				release()
			}
		}()
	}
	wg.Wait()
}

// TestLockFileRemovedWhileItIsOpened has somebody open the file just before its
// holder removes it: to lock that file then is to lock nothing.
func TestLockFileRemovedWhileItIsOpened(t *testing.T) {
	path := t.TempDir() + "/lock"
	release, _, err := tryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !current(f, path) {
		t.Error("the lock's file is not taken for it")
	}
	release()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil || current(f, path) {
		t.Errorf("a removed file passes for the lock: %v", err)
	}
	again, _, err := tryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again()
	if current(f, path) {
		t.Error("a removed file passes for the lock's new one")
	}
}
