package toolrun

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// condition is the state of this process that a tool of the same user may have changed:
// its limits, its place among the processes that the kernel kills for memory, the
// priority of its threads. The guard refuses such changes where the kernel has filters of
// system calls, but none of the writes to /proc. All methods do nothing on nil.
type condition struct {
	once     sync.Once
	mu       sync.Mutex
	limits   [rlimits]unix.Rlimit
	oomScore string
	nice     int
}

// rlimits is the number of limits of a process (asm-generic/resource.h).
const rlimits = 16

const oomScoreFile = "/proc/self/oom_score_adj"

// ownCondition returns the condition of process 1 of a container.
func ownCondition() *condition {
	if os.Getpid() != 1 {
		return nil
	}
	return &condition{}
}

// note remembers the condition before the first tool.
func (c *condition) note() {
	if c == nil {
		return
	}
	c.once.Do(func() {
		for i := range c.limits {
			_ = unix.Prlimit(0, i, nil, &c.limits[i])
		}
		score, _ := os.ReadFile(oomScoreFile)
		c.oomScore = string(score)
		c.nice = niceOf(0)
	})
}

// restore undoes changes, and describes those that cannot be undone.
func (c *condition) restore() (harm string) {
	if c == nil {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for i := range c.limits {
		var is unix.Rlimit
		if unix.Prlimit(0, i, nil, &is) != nil || is == c.limits[i] {
			continue
		}
		if err := unix.Prlimit(0, i, &c.limits[i], nil); err != nil {
			all = append(all, fmt.Sprintf("a tool changed limit %d of the cub to %d", i, is.Max))
		}
	}
	if score, err := os.ReadFile(oomScoreFile); err == nil && string(score) != c.oomScore {
		if err := os.WriteFile(oomScoreFile, []byte(strings.TrimSpace(c.oomScore)), 0); err != nil {
			all = append(all, "a tool changed the cub's oom_score_adj to "+strings.TrimSpace(string(score)))
		}
	}
	if why := c.restoreNice(); why != "" {
		all = append(all, why)
	}
	return strings.Join(all, "; ")
}

// restoreNice restores the priority of all threads.
func (c *condition) restoreNice() (harm string) {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		is := niceOf(tid)
		if is == c.nice {
			continue
		}
		if err := unix.Setpriority(unix.PRIO_PROCESS, tid, c.nice); err != nil && !errors.Is(err, unix.ESRCH) {
			harm = fmt.Sprintf("a tool changed the cub's priority to %d", is)
		}
	}
	return harm
}

// niceOf is a thread's priority: -20 to 19, more is less.
func niceOf(tid int) int {
	inverse, err := unix.Getpriority(unix.PRIO_PROCESS, tid) // the kernel returns 20 to 1
	if err != nil {
		return 0
	}
	return 20 - inverse
}
