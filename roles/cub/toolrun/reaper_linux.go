package toolrun

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Times of the search for processes that tools leave behind.
const (
	sweepLimit   = 2 * time.Second        // for killed processes to be gone
	sweepPause   = 10 * time.Millisecond  // longest, between two looks
	sweepHarder  = 200 * time.Millisecond // until process 1 kills all at once
	orphansDelay = 50 * time.Millisecond  // from a child's end to the look for orphans
)

// BecomeReaper makes this process the parent of its orphaned descendants, so that Run
// also finds and ends processes that left their tool's session. Call it once at
// start. Process 1 is such a parent anyway.
func BecomeReaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become child subreaper: %w", err)
	}
	children.reaper.Store(true)
	return nil
}

// ReapOrphans reaps ended orphans until ctx is done. It leaves running tools and
// children in this process's own group to their waiting callers, and kills nothing.
// It looks a moment after a child's end, not at once, so that Runs reap their own
// tools first and mostly nothing remains.
func ReapOrphans(ctx context.Context) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	for {
		if exists, zombie := peek(); exists && zombie {
			children.reapZombies()
		}
		select {
		case <-ctx.Done():
			return
		case <-ended:
		}
		timer := time.NewTimer(orphansDelay)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// peek says, in one call and without reaping, whether this process has children
// and whether one of them has ended.
func peek() (exists, zombie bool) {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		return err == nil, err == nil && info.Signo != 0
	}
}

// sweep ends and reaps the processes that a run has left behind, given its session
// (the number of its process) and its mark. Usually there are none, and it costs one
// system call. A killed process may have children, which become orphans here, so it
// looks again until a look finds nothing.
//
// Killing one by one loses against processes that fork and end faster than the
// search. In a container, where this is process 1, the kernel kills all others at
// once, so none can flee. That also ends a person's shell in the container, so it is
// the second choice.
func (g *registry) sweep(session int, mark string) {
	begin := time.Now()
	for pause := 100 * time.Microsecond; ; pause = min(2*pause, sweepPause) {
		if exists, _ := peek(); !exists || g.sweepOnce(session, mark) == 0 || time.Since(begin) > sweepLimit {
			return
		}
		if os.Getpid() == 1 && time.Since(begin) > sweepHarder {
			g.killAll()
		}
		time.Sleep(pause)
	}
}

// killAll kills every process of the container but this one, unless a tool is still
// running, or something that was started with Start.
func (g *registry) killAll() {
	g.gate.Lock()
	defer g.gate.Unlock()
	for range g.runs.Range {
		return
	}
	_ = unix.Kill(-1, unix.SIGKILL)
}

// sweepOnce kills and reaps the processes that it finds, and returns their number.
func (g *registry) sweepOnce(session int, mark string) (found int) {
	g.gate.Lock()
	defer g.gate.Unlock()
	for _, c := range g.orphans() {
		if c.zombie {
			_, _ = wait(c.pid, unix.WNOHANG)
			found++
			continue
		}
		if !g.belongs(c, session, mark) {
			continue
		}
		found++
		if c.group == c.pid {
			_ = unix.Kill(-c.pid, unix.SIGKILL)
		}
		_ = unix.Kill(c.pid, unix.SIGKILL)
	}
	return found
}

func (g *registry) reapZombies() {
	g.gate.Lock()
	defer g.gate.Unlock()
	for _, c := range g.orphans() {
		if c.zombie {
			_, _ = wait(c.pid, unix.WNOHANG)
		}
	}
}

// belongs says whether an orphan is to end with the run of the given session and
// mark: it is in that session or carries the mark, or no other run is left that it
// could belong to. One that cannot be attributed while others run is left to the
// last of them.
func (g *registry) belongs(c child, session int, mark string) bool {
	if c.session == session || g.running(c.session) {
		return c.session == session
	}
	others := false
	g.runs.Range(func(_, mark any) bool { others = mark != ""; return !others })
	if !others {
		return true
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", c.pid))
	return err == nil && bytes.Contains(append(env, 0), append([]byte(mark), 0))
}

// child is a child of this process as /proc shows it.
type child struct {
	pid, group, session int
	zombie              bool
}

// orphans lists the children that neither a Run nor other code of this process
// started. The caller holds gate, so no fork is between its start and runs.
//
// No orphan comes to a process that is no reaper: a child in a group of its own is other
// code's there.
func (g *registry) orphans() []child {
	if !g.reaper.Load() && os.Getpid() != 1 {
		return nil
	}
	own := unix.Getpgrp()
	var list []child
	for _, pid := range childPIDs() {
		if g.running(pid) {
			continue
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		c, parent, ok := parseStat(stat)
		if ok && parent == os.Getpid() && c.group != own {
			list = append(list, c)
		}
	}
	return list
}

// childPIDs reads the kernel's list of each thread's children; where that is not
// compiled in, it returns all processes and leaves it to the caller to look at
// their parent.
func childPIDs() (pids []int) {
	threads, _ := os.ReadDir("/proc/self/task")
	listed := false
	for _, thread := range threads {
		b, err := os.ReadFile("/proc/self/task/" + thread.Name() + "/children")
		if err != nil {
			continue
		}
		listed = true
		for _, field := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	if !listed {
		return allPIDs()
	}
	return pids
}

func allPIDs() (pids []int) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// parseStat reads /proc/PID/stat. The name in it may contain anything, so the
// fields are counted from its closing parenthesis.
func parseStat(stat []byte) (c child, parent int, ok bool) {
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 1 || end < open {
		return child{}, 0, false
	}
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) < 4 {
		return child{}, 0, false
	}
	var numbers [4]int
	for i, s := range []string{strings.TrimSpace(string(stat[:open])), fields[1], fields[2], fields[3]} {
		n, err := strconv.Atoi(s)
		if err != nil {
			return child{}, 0, false
		}
		numbers[i] = n
	}
	return child{numbers[0], numbers[2], numbers[3], fields[0] == "Z"}, numbers[1], true
}
