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
		mark, err := markerOf(p.pid)
		marked := err == nil
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

var errUnmarked = errors.New("no marker")

// markerOf returns the marker in the environment at the start of the process; an error
// when there is none, os.ErrPermission when the process hides its environment.
func markerOf(pid int) (mark string, err error) {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return "", err
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if v, ok := bytes.CutPrefix(entry, []byte(MarkerEnv+"=")); ok {
			return string(v), nil
		}
	}
	return "", errUnmarked
}

// startWindow is the longest time between a half record and the start of its process, in
// clock ticks: 2 s.
const startWindow = 200

// findMain finds the main process of the unit with the half record rec: the leader of a
// session, with the marker.
//
// A cub hides its environment from all users but root, since it is not dumpable. These
// facts, which every user may read, still identify it: it leads a session, has the
// unit's arguments, belongs to this user and started right after the record. When they
// fit several processes, findMain takes none.
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
		mark, err := markerOf(p.pid)
		if err == nil && mark == marker {
			return id, true
		}
		if p.start <= rec.Begun+startWindow && errors.Is(err, os.ErrPermission) && own(p.pid) &&
			slices.Equal(arguments(p.pid), rec.Args) {
			hidden = append(hidden, id)
		}
	}
	if len(hidden) != 1 {
		return ident{}, false
	}
	return hidden[0], true
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

// arguments returns the process's arguments without the program's name.
func arguments(pid int) []string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	args := strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
	if err != nil || len(args) == 1 {
		return nil
	}
	return args[1:]
}
