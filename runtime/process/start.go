package process

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"sett/runtime"
	"sett/runtime/credentials"
	"sett/runtime/logfile"
)

// sweepTime bounds the end of a unit's remaining processes. Only a process stuck in the
// kernel needs more than a moment.
const sweepTime = 10 * time.Second

// Start starts the unit in a session of its own, with /dev/null as stdin and its
// log as stdout and stderr, in s.Dir or else the state directory. Its environment
// is s.Env and MarkerEnv, but for the credentials in s.Env: it gets them through a pipe,
// whose number is in env.Credentials. It inherits the umask and no open file of the
// caller.
//
// Start adopts a running unit, also one that another process starts at the same moment.
// It first kills the remaining processes of an earlier start.
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
	// Under the lock, and so before any report of its end.
	r.announce(rec)
	return rec.unit(true), nil
}

// settle returns the unit's record, and whether the unit runs; otherwise it kills the
// unit's remaining processes. The caller holds the unit's lock.
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

// complete adds the process to a half record, whose writer died, if the process was
// started. The caller holds the unit's lock.
func (r *Runtime) complete(rec record) (record, error) {
	if rec.PID != 0 {
		return rec, nil
	}
	m, ok, err := r.main(rec.Name, rec.Token)
	if err != nil || !ok {
		return rec, err
	}
	r.log.Info("unit found again", "unit", rec.Name, "pid", m.PID)
	rec.ident, rec.Namespace = m.ident, ""
	return rec, r.writeRecord(rec)
}

// restore writes the record of a running unit anew where it was lost. The caller holds
// the unit's lock.
func (r *Runtime) restore(name string) error {
	if _, err := r.readRecord(name); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errCorrupt) {
		return err
	}
	m, ok, err := r.main(name, "")
	if err != nil || !ok {
		return err
	}
	return r.writeRecord(record{ident: m.ident, Name: name, Token: m.token, Labels: m.labels})
}

// launch starts the process. The record before, if any, is of an earlier start. The
// caller holds the lock and knows that the unit does not run.
func (r *Runtime) launch(s runtime.Spec, before record) (record, error) {
	rec := record{Name: s.Name, Token: rand.Text(), Args: s.Args, Labels: s.Labels, StartedAt: r.now().UTC().Round(0)}
	if before.Name == s.Name && before.Labels[runtime.LabelRun] == s.Labels[runtime.LabelRun] {
		rec.Restarts = before.Restarts + 1
	}
	// Nobody else writes to it: the unit does not run.
	log, offset, err := r.logs().Append(s.Name)
	if err != nil {
		return rec, err
	}
	defer log.Close()
	rec.LogOffset = offset
	cmd, err := r.command(s, mark{r.instance, s.Name, rec.Token, s.Labels})
	if err != nil {
		return rec, err
	}
	closePipe, err := credentials.Pass(cmd, cmd.Env)
	if err != nil {
		return rec, err
	}
	defer closePipe()
	cmd.Stdout, cmd.Stderr = log, log
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
		// Without a record nobody would find the unit again, so it must not run.
		err = errors.Join(err, r.kill(rec), cmd.Process.Kill())
		_ = cmd.Wait() // its exit code does not matter
		return rec, errors.Join(err, r.removeRecord(s.Name))
	}
	r.mind(cmd, rec)
	r.pruneLogs(s.Name)
	return rec, nil
}

// pruneEvery is the number of workers that are started between two looks at all their logs.
const pruneEvery = 16

// pruneLogs removes the oldest logs of workers now and then, when one was started.
func (r *Runtime) pruneLogs(name string) {
	if !logfile.IsWorker(name) {
		return
	}
	r.mu.Lock()
	n := r.workers
	r.workers++
	r.mu.Unlock()
	if n%pruneEvery != 0 {
		return
	}
	known := func(name string) bool { _, err := os.Stat(r.recordPath(name)); return err == nil } // it may run
	if err := r.logs().PruneWorkers(known); err != nil {
		r.log.Warn("old logs of workers not removed", "error", err)
	}
}

func (r *Runtime) command(s runtime.Spec, m mark) (*exec.Cmd, error) {
	exe, err := programOf(r.exe)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(exe, s.Args...)
	cmd.Args[0] = m.argument()
	cmd.Dir = s.Dir
	if cmd.Dir == "" {
		cmd.Dir = r.dir
	}
	for _, kv := range s.Env {
		if !strings.HasPrefix(kv, MarkerEnv+"=") && !strings.HasPrefix(kv, logfile.OwnEnv+"=") { // the caller may be a unit
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, MarkerEnv+"="+m.marker(), logfile.OwnEnv+"="+r.logs().Path(s.Name))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, nil
}

// programOf is the file that units run: the named one, or this process's own. Where it is this process's own, and was replaced or removed since, units
// run what this process runs: no version starts parts of another one.
func programOf(named string) (string, error) {
	own, err := os.Executable()
	switch {
	case named != "" && (err != nil || named != own):
		return named, nil
	case err != nil:
		return "", fmt.Errorf("find executable: %w", err)
	}
	const running = "/proc/self/exe" // of Linux; in the child before it runs another program, too
	now, err := os.Stat(running)
	if err != nil {
		return own, nil
	}
	if there, err := os.Stat(own); err == nil && os.SameFile(there, now) {
		return own, nil
	}
	return running, nil
}

// kill kills all processes of this start of the unit.
func (r *Runtime) kill(rec record) error {
	ctx, cancel := context.WithTimeout(context.Background(), sweepTime)
	defer cancel()
	return sweep(ctx, target{ident: rec.ident, marker: r.marker(rec.Name, rec.Token)})
}
