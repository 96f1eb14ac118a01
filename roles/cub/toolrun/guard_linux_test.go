package toolrun

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// meddling are calls that change another process. Each names it by the number of one of
// its threads.
func meddling(tid int) map[string]func() error {
	limit := unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}
	raw := func(call uintptr, args ...uintptr) error {
		var a [4]uintptr
		copy(a[:], args)
		if _, _, code := unix.Syscall6(call, a[0], a[1], a[2], a[3], 0, 0); code != 0 {
			return code
		}
		return nil
	}
	var param int32
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Nice: 19} // only root could take back the 19 of setpriority
	id := uintptr(tid)
	return map[string]func() error{
		"prlimit":           func() error { return unix.Prlimit(tid, unix.RLIMIT_MEMLOCK, &limit, nil) },
		"setpriority":       func() error { return unix.Setpriority(unix.PRIO_PROCESS, tid, 19) },
		"sched_setaffinity": func() error { var set unix.CPUSet; set.Set(0); return unix.SchedSetaffinity(tid, &set) },
		"sched_setscheduler": func() error {
			return raw(unix.SYS_SCHED_SETSCHEDULER, id, unix.SCHED_BATCH, uintptr(unsafe.Pointer(&param)))
		},
		"sched_setparam": func() error { return raw(unix.SYS_SCHED_SETPARAM, id, uintptr(unsafe.Pointer(&param))) },
		"sched_setattr":  func() error { return unix.SchedSetAttr(tid, &attr, 0) },
		"ioprio_set":     func() error { return raw(unix.SYS_IOPRIO_SET, 1, id, 3<<13) },
	}
}

// playMeddler is a tool that tries all of them: on each thread of process 1 it fails, on
// itself, by its number or by 0, on its threads and on its children it does not.
func playMeddler() int {
	runtime.LockOSThread()
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	own := []int{0, os.Getpid(), child.Process.Pid}
	for _, set := range []struct {
		tids []int
		want error
	}{{own, nil}, {threadsOf("self"), nil}, {threadsOf("1"), unix.EPERM}} {
		for _, tid := range set.tids {
			for name, call := range meddling(tid) {
				if err := call(); err != set.want { //nolint:errorlint // numbers
					fmt.Printf("%s on %d: %v, want %v\n", name, tid, err, set.want)
				}
			}
		}
	}
	for name, err := range map[string]error{
		"setpriority of the user":  unix.Setpriority(unix.PRIO_USER, os.Getuid(), 19),
		"setpriority of the group": unix.Setpriority(unix.PRIO_PGRP, 1, 19),
	} {
		if err != unix.EPERM { //nolint:errorlint // a number
			fmt.Println(name, err)
		}
	}
	var was unix.Rlimit
	if err := unix.Prlimit(1, unix.RLIMIT_NOFILE, nil, &was); err != nil {
		fmt.Println("reading a limit:", err)
	}
	fmt.Println("tried", len(threadsOf("1")) > 3)
	return 0
}

// rootOfTheMachine says whether this process may do all that root may: not where root is an
// ordinary user's name in a namespace of its own.
func rootOfTheMachine() bool {
	ids, err := os.ReadFile("/proc/self/uid_map")
	f := strings.Fields(string(ids))
	return err == nil && len(f) == 3 && os.Getuid() == 0 && f[1] == "0"
}

func threadsOf(process string) (tids []int) {
	files, _ := filepath.Glob("/proc/" + process + "/task/*")
	for _, f := range files {
		if tid, err := strconv.Atoi(filepath.Base(f)); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids
}

// checkGuard runs the meddler as a tool, with and without network, one after the other
// and at the same time, and shows what a tool can change is changed back.
func checkGuard() error {
	p, done := New(), make(chan string)
	c := Command{Args: []string{"/proc/self/exe"}, Env: []string{roleVariable + "=meddler", "PATH=/usr/bin:/bin", atOnce}}
	for _, c.NoNetwork = range []bool{false, true, false, true} {
		for range 3 {
			go func() {
				res, err := p.Run(context.Background(), c)
				done <- fmt.Sprintf("%s%s%v %s", res.Stdout, res.Stderr, err, res.Harm)
			}()
		}
		for range 3 {
			if got := <-done; got != "tried true\n<nil> " {
				return fmt.Errorf("a tool that meddles says %s", got)
			}
		}
	}
	res, err := p.Run(context.Background(), sh("echo 500 >/proc/1/oom_score_adj && cat /proc/1/oom_score_adj"))
	if score, _ := os.ReadFile(oomScoreFile); err != nil || string(res.Stdout) != "500\n" || strings.TrimSpace(string(score)) == "500" || res.Harm != "" {
		return fmt.Errorf("oom_score_adj is %s after %+v, %w", score, res, err)
	}
	var was unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_MSGQUEUE, nil, &was); err != nil {
		return err
	}
	// As by a tool where the kernel has no filters.
	if err := unix.Prlimit(0, unix.RLIMIT_MSGQUEUE, &unix.Rlimit{Cur: was.Cur - 1, Max: was.Max}, nil); err != nil {
		return err
	}
	if harm := p.condition.restore(); harm != "" {
		return fmt.Errorf("a soft limit can be raised again: %s", harm)
	}
	if c := p.condition; c.nice == 0 && unix.Setpriority(unix.PRIO_PROCESS, threadsOf("self")[1], 5) == nil {
		if harm := c.restore(); harm != "" && rootOfTheMachine() {
			return fmt.Errorf("root can restore a priority: %s", harm)
		}
	}
	p.condition.limits[unix.RLIMIT_MSGQUEUE].Max++ // another user could not restore it
	p.condition.limits[unix.RLIMIT_MSGQUEUE].Cur = 1 << 40
	if harm := p.condition.restore(); !strings.Contains(harm, "changed limit 12") {
		return fmt.Errorf("a lower hard limit is no harm: %q", harm)
	}
	return nil
}
