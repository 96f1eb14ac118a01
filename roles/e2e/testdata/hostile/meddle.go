package main

import (
	"golang.org/x/sys/unix"
)

// tryMeddle tries to weaken process 1, the cub.
func tryMeddle() {
	const cub = 1
	var limit unix.Rlimit
	note(control, "the cub's limits, read", unix.Prlimit(cub, unix.RLIMIT_MEMLOCK, nil, &limit))
	note(attempt, "the cub's limits", unix.Prlimit(cub, unix.RLIMIT_MEMLOCK, &limit, nil))
	note(attempt, "the cub's priority", unix.Setpriority(unix.PRIO_PROCESS, cub, 10))
	note(attempt, "the priority of all", unix.Setpriority(unix.PRIO_USER, 0, 10))
	note(attempt, "the cub's processors", func() error {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(cub, &set); err != nil {
			return err
		}
		return unix.SchedSetaffinity(cub, &set)
	}())
	_, _, code := unix.Syscall(unix.SYS_IOPRIO_SET, 1, cub, 2<<13|7)
	note(attempt, "the cub's disk", errno(code))
}
