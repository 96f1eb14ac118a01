package toolrun

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// guardedCall is a system call that changes another process. Its first argument is the
// number of a thread, 0 being the caller. With kinds the second is: the first says then
// whether it numbers a thread, a group of processes or a user.
type guardedCall struct {
	kinds       bool
	group, user uint32 // the first argument's values
	limits      bool   // without a third argument it only reads
}

var (
	byThread = guardedCall{}
	byLimit  = guardedCall{limits: true}
	byPrio   = guardedCall{kinds: true, group: unix.PRIO_PGRP, user: unix.PRIO_USER}
	byIOPrio = guardedCall{kinds: true, group: 2, user: 3} // linux/ioprio.h
)

// guardedABI is the guarded calls of an architecture, by their numbers.
type guardedABI struct {
	arch  uint32
	calls []numberedCall
}

type numberedCall struct {
	number uint32
	guardedCall
}

// compatible are the numbers of the 32-bit programs that a 64-bit kernel runs, too.
func compatible(arch, schedSetattr, ioprio, prlimit uint32) guardedABI {
	return guardedABI{arch, []numberedCall{
		{97, byPrio}, {154, byThread}, {156, byThread}, {241, byThread}, {schedSetattr, byThread}, {ioprio, byIOPrio}, {prlimit, byLimit},
	}}
}

// guardedABIs are the architectures of the programs that a kernel runs, by Go's name.
func guardedABIs(goarch string) []guardedABI {
	native := []numberedCall{
		{unix.SYS_SETPRIORITY, byPrio}, {unix.SYS_SCHED_SETPARAM, byThread}, {unix.SYS_SCHED_SETSCHEDULER, byThread},
		{unix.SYS_SCHED_SETAFFINITY, byThread}, {unix.SYS_SCHED_SETATTR, byThread}, {unix.SYS_IOPRIO_SET, byIOPrio}, {unix.SYS_PRLIMIT64, byLimit},
	}
	switch goarch {
	case "amd64":
		return []guardedABI{{unix.AUDIT_ARCH_X86_64, native}, compatible(unix.AUDIT_ARCH_I386, 351, 289, 340)}
	case "arm64":
		return []guardedABI{{unix.AUDIT_ARCH_AARCH64, native}, compatible(unix.AUDIT_ARCH_ARM, 380, 314, 369)}
	}
	return nil
}

// guardedCallOf returns a call by its number.
func guardedCallOf(arch, number uint32) guardedCall {
	for _, goarch := range []string{"amd64", "arm64"} {
		for _, abi := range guardedABIs(goarch) {
			for _, c := range abi.calls {
				if abi.arch == arch && c.number == number {
					return c.guardedCall
				}
			}
		}
	}
	return byThread
}

// The offsets in struct seccomp_data of the arguments that the guard reads, lower halves
// first.
const (
	atFirst  = 16
	atSecond = 24
	atThird  = 32
)

// guardFilter is the program that decides on each system call of a tool. It lets a call
// pass that concerns the caller itself, refuses one that concerns all processes of a
// user, and gives the verdict doubt on one that names another process: it may be a thread
// of the tool, and may be the cub.
func guardFilter(goarch string, doubt uint32) ([]unix.SockFilter, error) {
	abis := guardedABIs(goarch)
	if len(abis) == 0 {
		return nil, fmt.Errorf("seccomp filter for %s: %w", goarch, errors.ErrUnsupported)
	}
	f := []unix.SockFilter{load(atArch)}
	for _, abi := range abis {
		body := abi.filter(doubt)
		f = append(f, equal(abi.arch, 0, uint8(len(body)))) //nolint:gosec // some 60
		f = append(f, body...)
	}
	return append(f, verdict(unix.SECCOMP_RET_KILL_PROCESS)), nil // no program of another is known
}

func (a guardedABI) filter(doubt uint32) []unix.SockFilter {
	f := []unix.SockFilter{load(atNumber)}
	if a.arch == unix.AUDIT_ARCH_X86_64 {
		absent := verdict(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS))
		f = append(f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: 1, K: x32}, absent)
	}
	for _, c := range a.calls {
		body := c.filter(doubt)
		f = append(f, equal(c.number, 0, uint8(len(body)))) //nolint:gosec // below 10
		f = append(f, body...)
	}
	return append(f, verdict(unix.SECCOMP_RET_ALLOW))
}

// filter decides on one call.
func (c guardedCall) filter(doubt uint32) []unix.SockFilter {
	allow, ask := verdict(unix.SECCOMP_RET_ALLOW), verdict(doubt)
	switch {
	case c.kinds:
		return []unix.SockFilter{
			load(atFirst), equal(c.user, 0, 1), verdict(refusal),
			load(atSecond), equal(0, 0, 1), allow, ask,
		}
	case c.limits:
		return []unix.SockFilter{
			load(atFirst), equal(0, 4, 0),
			load(atThird), equal(0, 0, 3), load(atThird + 4), equal(0, 0, 1), allow, ask,
		}
	}
	return []unix.SockFilter{load(atFirst), equal(0, 0, 1), allow, ask}
}
