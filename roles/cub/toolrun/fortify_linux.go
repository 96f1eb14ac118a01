package toolrun

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"
)

// Fortify prepares process 1 of a container for tools that use up its resources. It
// starts all threads before the first tool runs, because the Go runtime ends a
// program that cannot start one. It gives the garbage collector half of the
// container's memory as its limit. It does nothing in other processes.
func Fortify() {
	if os.Getpid() != 1 {
		return
	}
	reserved.want = wantedThreads(runtime.GOMAXPROCS(0), limitOf("pids", "pids.max", "pids.max"))
	reserved.fill()
	if n := limitOf("memory", "memory.limit_in_bytes", "memory.max"); n > 0 {
		debug.SetMemoryLimit(n / 2)
	}
}

// reserved is process-wide, as threads are.
var reserved reserve

// reserve starts threads in advance: one for each goroutine that may need its own,
// for example while it waits in the kernel. The runtime keeps started threads.
type reserve struct {
	mu   sync.Mutex
	want int // 0: no need for more
}

// wantedThreads is the most threads of a cub: one for each usable processor, and a
// few that wait. Half of the limit on processes (0: no limit) is the tool's.
func wantedThreads(processors int, limit int64) int {
	const waiting = 20
	wanted := processors + waiting
	if limit > 0 {
		wanted = int(min(int64(wanted), limit/2))
	}
	return wanted
}

// fill starts the missing threads by needing all of them at the same time.
func (r *reserve) fill() {
	if r.want == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var ready, left sync.WaitGroup
	release := make(chan struct{})
	ready.Add(r.want)
	for range r.want {
		left.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			<-release
		})
	}
	ready.Wait()
	close(release)
	left.Wait() // a thread is there for others when it is unlocked
}
