package process

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"sett/runtime"
)

// maxLog is the size in bytes from which a log is put aside at the unit's next
// start.
const maxLog = 16 << 20

// sweepTime bounds how long what a unit left behind may take to die. Only
// processes stuck in the kernel need more than moments.
const sweepTime = 10 * time.Second

// Start starts the unit in a session of its own, with /dev/null as stdin and its
// log as stdout and stderr, in s.Dir or else the state directory. Its environment
// is s.Env and MarkerEnv. It inherits the umask and no open file of the caller.
//
// A unit that runs is adopted, whoever started it, also when that happens at the
// same moment in another process. What is left of an earlier start is killed first.
func (r *Runtime) Start(ctx context.Context, s runtime.Spec) (runtime.Unit, error) {
	if err := runtime.CheckName(s.Name); err != nil {
		return runtime.Unit{}, fmt.Errorf("start unit: %w", err)
	}
	if err := r.prepare(); err != nil {
		return runtime.Unit{}, fmt.Errorf("start unit %s: %w", s.Name, err)
	}
	release, err := waitLock(ctx, r.unitLockPath(s.Name))
	if err != nil {
		return runtime.Unit{}, fmt.Errorf("start unit %s: %w", s.Name, err)
	}
	defer release()
	rec, running, err := r.settle(ctx, s.Name)
	if err == nil && !running {
		rec, err = r.launch(s, rec)
	}
	if err != nil {
		return runtime.Unit{}, fmt.Errorf("start unit %s: %w", s.Name, err)
	}
	// Still under the lock, and so before anybody can have reported its end.
	r.announce(rec)
	return rec.unit(true), nil
}

// settle finds out what there is of the unit, whose lock the caller holds: its
// record when it runs; otherwise, after it, nothing of it is left but a record.
func (r *Runtime) settle(ctx context.Context, name string) (rec record, running bool, err error) {
	rec, err = r.readRecord(name)
	switch {
	case errors.Is(err, errCorrupt):
		r.log.Warn("record ignored", "unit", name, "error", err)
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return rec, false, err
	default:
		if rec, err = r.complete(rec); err != nil {
			return rec, false, err
		}
		if rec.End == nil && alive(rec.ident) {
			return rec, true, nil
		}
	}
	left := target{marker: r.marker(name, "")}
	if rec.End == nil {
		left.ident = rec.ident
	}
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	return rec, false, sweep(ctx, left)
}

// complete gives a half record, whose writer died, the process it speaks of, if
// that came into being. The caller holds the unit's lock.
func (r *Runtime) complete(rec record) (record, error) {
	if rec.PID != 0 {
		return rec, nil
	}
	id, ok := findMain(r.marker(rec.Name, rec.Token), rec)
	if !ok {
		return rec, nil
	}
	r.log.Info("unit found again", "unit", rec.Name, "pid", id.PID)
	rec.ident = id
	return rec, r.writeRecord(rec)
}

// launch makes the process, after another of which the record was left, if any. The
// caller holds the lock and knows that no such unit runs.
func (r *Runtime) launch(s runtime.Spec, before record) (record, error) {
	rec := record{Name: s.Name, Token: rand.Text(), Args: s.Args, Labels: s.Labels, StartedAt: r.now().UTC().Round(0)}
	if before.Name == s.Name && before.Labels[runtime.LabelRun] == s.Labels[runtime.LabelRun] {
		rec.Restarts = before.Restarts + 1
	}
	log, err := r.openLog(s.Name)
	if err != nil {
		return rec, err
	}
	defer log.Close()
	if rec.LogOffset, err = log.Seek(0, io.SeekEnd); err != nil {
		return rec, fmt.Errorf("open log: %w", err)
	}
	cmd, err := r.command(s, r.marker(s.Name, rec.Token))
	if err != nil {
		return rec, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	if rec.Begun, err = clock(); err != nil {
		return rec, err
	}
	if err := r.writeRecord(rec); err != nil {
		return rec, err
	}
	if err := cmd.Start(); err != nil {
		return rec, errors.Join(err, r.removeRecord(s.Name))
	}
	if rec.ident, err = identify(cmd.Process.Pid); err == nil {
		err = r.writeRecord(rec)
	}
	if err != nil {
		// A unit that nobody could find again must not run.
		err = errors.Join(err, r.kill(rec), cmd.Process.Kill())
		_ = cmd.Wait() // its end is of no interest
		return rec, errors.Join(err, r.removeRecord(s.Name))
	}
	r.mind(cmd, rec)
	return rec, nil
}

func (r *Runtime) command(s runtime.Spec, marker string) (*exec.Cmd, error) {
	exe := r.exe
	if exe == "" {
		var err error
		if exe, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find executable: %w", err)
		}
	}
	cmd := exec.Command(exe, s.Args...)
	cmd.Dir = s.Dir
	if cmd.Dir == "" {
		cmd.Dir = r.dir
	}
	for _, kv := range s.Env {
		if !strings.HasPrefix(kv, MarkerEnv+"=") { // the caller may be a unit itself
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, MarkerEnv+"="+marker)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, nil
}

// openLog opens the unit's log for appending, and puts one that has become too
// long aside first. Nobody writes to it: the unit does not run.
func (r *Runtime) openLog(name string) (*os.File, error) {
	path := r.logPath(name)
	if st, err := os.Stat(path); err == nil && st.Size() > maxLog {
		if err := os.Rename(path, r.oldLogPath(name)); err != nil {
			return nil, fmt.Errorf("rotate log: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return f, nil
}

// kill ends all that belongs to this start of the unit, its main process included.
func (r *Runtime) kill(rec record) error {
	ctx, cancel := context.WithTimeout(context.Background(), sweepTime)
	defer cancel()
	return sweep(ctx, target{ident: rec.ident, marker: r.marker(rec.Name, rec.Token)})
}
