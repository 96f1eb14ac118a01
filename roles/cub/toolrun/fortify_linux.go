package toolrun

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"
)

// Fortify prepares process 1 of a container for tools that take all there is. What
// it needs later it takes before the first tool runs, or lets be: the threads, since
// the Go runtime ends a program for which it cannot start one, and half of the
// container's memory, below which the garbage collector then works to stay. A
// process that is not the first of a container is left as it is.
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

// reserve sees to it that there are threads: one for each goroutine that the
// runtime would start one for, when it waits in the kernel for example. The runtime
// keeps those that it has started.
type reserve struct {
	mu   sync.Mutex
	want int // 0: whatever there is will do
}

// wantedThreads is how many a cub has at most: it runs on as many as it may use
// processors, and waits on a few. Of the limit on processes, 0 for none, a half is
// the tool's.
func wantedThreads(processors int, limit int64) int {
	const waiting = 20
	wanted := processors + waiting
	if limit > 0 {
		wanted = int(min(int64(wanted), limit/2))
	}
	return wanted
}

// fill starts what is missing, by needing them all at once.
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
