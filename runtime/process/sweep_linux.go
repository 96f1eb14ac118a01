package process

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
)

// sweep kills all processes of the target and returns when none is left. It looks again
// after each round: a killed process may have started another just before.
func sweep(ctx context.Context, t target) error {
	for {
		found, err := scan(t)
		if err != nil || len(found) == 0 {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%d processes, of them %d, do not end: %w", len(found), found[0].PID, ctx.Err())
		}
		var errs []error
		for _, id := range found {
			errs = append(errs, send(id, syscall.SIGKILL))
		}
		if err := errors.Join(errs...); err != nil {
			return err // not permitted, and not in another round either
		}
		for _, id := range found {
			if awaitEnd(ctx, id) != nil {
				break
			}
		}
	}
}

// scan finds the target's living processes, except the caller.
func scan(t target) ([]ident, error) {
	boot, err := bootID()
	if err != nil {
		return nil, err
	}
	procs, err := allProcesses()
	if err != nil {
		return nil, err
	}
	// As long as its first process exists, reaped or not, the session is surely the
	// unit's. Afterwards another session may have its number.
	session, sure := t.PID != 0 && t.Boot == boot, false
	for _, p := range procs {
		if p.pid == t.PID {
			sure = session && p.start == t.Start
			session = sure
		}
	}
	// No process older than the first carries the token of its start. That saves most
	// of the work when a unit ends soon.
	var oldest uint64
	if t.PID != 0 && t.Boot == boot && !strings.HasSuffix(t.marker, "/") {
		oldest = t.Start
	}
	var found []ident
	for _, p := range procs {
		if p.ended() || p.pid == os.Getpid() || p.start < oldest {
			continue
		}
		_, ours := markOf(p, func(m mark) bool { return strings.HasPrefix(m.marker(), t.marker) })
		if !ours && session && p.session == t.PID && p.start >= t.Start {
			_, other := markOf(p, func(mark) bool { return true })
			ours = sure || !other // another unit's mark: a later session
		}
		if ours {
			found = append(found, ident{PID: p.pid, Start: p.start, Boot: boot})
		}
	}
	return found, nil
}

// allProcesses reads all processes except the kernel's own, which have no session.
func allProcesses() ([]procStat, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var procs []procStat
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, err := readStat(pid); err == nil && p.session != 0 {
			procs = append(procs, p)
		}
	}
	return procs, nil
}

// markOf returns the mark of a process if it fits: that of its first argument, if it is
// the main process of a unit, else that of its environment.
func markOf(p procStat, fits func(mark) bool) (marked, bool) {
	if m, ok := mainMark(p, fits); ok {
		return marked{mark: m, main: true}, true
	}
	m, ok := readMarker(environMarker(p.pid))
	return marked{mark: m}, ok && fits(m)
}

// environMarker returns the marker in the environment at the start of the process; empty:
// there is none, or the process hides its environment.
func environMarker(pid int) string {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if v, ok := bytes.CutPrefix(entry, []byte(MarkerEnv+"=")); ok {
			return string(v)
		}
	}
	return ""
}

// mainMark returns the mark of the main process of a unit: it leads a session, has a mark
// as its first argument, belongs to this user, and runs this program. Anybody may write
// such an argument; who does it is taken for a unit, and ends as one.
func mainMark(p procStat, fits func(mark) bool) (mark, bool) {
	if p.pid != p.session {
		return mark{}, false
	}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/cmdline")
	if err != nil {
		return mark{}, false
	}
	first, _, _ := bytes.Cut(text, []byte{0})
	m, ok := readArgument(string(first))
	return m, ok && fits(m) && own(p.pid) && sameProgram(p.pid)
}

// sameProgram says whether a process runs this program, in any version, or hides its
// program, as the processes of units do.
func sameProgram(pid int) bool {
	here, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	there, err := buildinfo.ReadFile("/proc/" + strconv.Itoa(pid) + "/exe")
	return errors.Is(err, fs.ErrPermission) || err == nil && there.Main.Path == here.Main.Path
}

// markedProcesses returns the living processes with a mark that fits, except the caller.
func markedProcesses(fits func(mark) bool) ([]marked, error) {
	procs, err := allProcesses()
	if err != nil {
		return nil, err
	}
	boot, err := bootID()
	if err != nil {
		return nil, err
	}
	var out []marked
	for _, p := range procs {
		if p.ended() || p.pid == os.Getpid() {
			continue
		}
		if m, ok := markOf(p, fits); ok {
			m.ident = ident{PID: p.pid, Start: p.start, Boot: boot}
			out = append(out, m)
		}
	}
	return out, nil
}

// own says whether the process runs as this user. The owner of its files in /proc would
// be root for a process that is not dumpable.
func own(pid int) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false
	}
	for line := range bytes.Lines(data) {
		if f := bytes.Fields(line); len(f) > 1 && string(f[0]) == "Uid:" {
			return string(f[1]) == strconv.Itoa(os.Getuid())
		}
	}
	return false
}
