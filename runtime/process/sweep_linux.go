package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// sweep kills all processes of the target and returns when none is left. It
// looks again after each round: what it kills may just have made new ones.
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
			return err // not permitted: another round would not be either
		}
		for _, id := range found {
			if awaitEnd(ctx, id) != nil {
				break
			}
		}
	}
}

// scan finds the target's living processes. It never names the caller.
func scan(t target) ([]ident, error) {
	boot, err := bootID()
	if err != nil {
		return nil, err
	}
	procs, err := allProcesses()
	if err != nil {
		return nil, err
	}
	// While its first process is there, be it unreaped, the session is surely
	// the unit's. After that its number might have been given to another.
	session, sure := t.PID != 0 && t.Boot == boot, false
	for _, p := range procs {
		if p.pid == t.PID {
			sure = session && p.start == t.Start
			session = sure
		}
	}
	// One start's token is carried by nothing older than its first process. That
	// saves most of the work when a unit ends soon.
	var oldest uint64
	if t.PID != 0 && t.Boot == boot && !strings.HasSuffix(t.marker, "/") {
		oldest = t.Start
	}
	var found []ident
	for _, p := range procs {
		if p.ended() || p.pid == os.Getpid() || p.start < oldest {
			continue
		}
		mark, marked := markerOf(p.pid)
		ours := marked && strings.HasPrefix(mark, t.marker)
		if !ours && session && p.session == t.PID && p.start >= t.Start {
			ours = sure || !marked // another unit's marker: a later session
		}
		if ours {
			found = append(found, ident{PID: p.pid, Start: p.start, Boot: boot})
		}
	}
	return found, nil
}

// allProcesses reads all processes but the kernel's own, which have no session.
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

// markerOf returns the marker in the environment the process was started with;
// ok is false when there is none or it must not be read.
func markerOf(pid int) (mark string, ok bool) {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return "", false
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if v, ok := bytes.CutPrefix(entry, []byte(MarkerEnv+"=")); ok {
			return string(v), true
		}
	}
	return "", false
}

// startWindow is how long after its half record a unit's process can have come
// into being, in clock ticks: 2 s.
const startWindow = 200

// findMain finds the main process of a unit whose half record is rec: the leader
// of a session that carries the marker.
//
// A cub hides its environment (it is not dumpable), from all but root. It can
// still be told by what everybody may read: it leads a session, has the unit's
// arguments, belongs to this user and began right after the record was written.
// If that is true of several, none is taken.
func findMain(marker string, rec record) (ident, bool) {
	procs, err := allProcesses()
	boot, berr := bootID()
	if err != nil || berr != nil {
		return ident{}, false
	}
	var hidden []ident
	for _, p := range procs {
		if p.ended() || p.pid != p.session || p.start+1 < rec.Begun {
			continue
		}
		id := ident{PID: p.pid, Start: p.start, Boot: boot}
		mark, marked := markerOf(p.pid)
		if marked && mark == marker {
			return id, true
		}
		if p.start <= rec.Begun+startWindow && hides(p.pid) && own(p.pid) &&
			slices.Equal(arguments(p.pid), rec.Args) {
			hidden = append(hidden, id)
		}
	}
	if len(hidden) != 1 {
		return ident{}, false
	}
	return hidden[0], true
}

// hides says whether the process keeps its environment from this one.
func hides(pid int) bool {
	_, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return errors.Is(err, os.ErrPermission)
}

// own says whether the process runs as this user. The owner of its files in
// /proc does not tell: of a process that is not dumpable, that is root.
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

// arguments returns the process's arguments without the program's name.
func arguments(pid int) []string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	args := strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
	if err != nil || len(args) == 1 {
		return nil
	}
	return args[1:]
}
