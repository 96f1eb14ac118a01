package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Tests start programs that outlive them: units have sessions of their own, and a test that a
// signal ends cleans nothing up. So testrun is two processes. The outer one, the guard, starts
// the inner one, which does the work, and adopts every process below that whose own parent has
// ended. Whatever is left when the inner one has ended is below the guard, and no other
// process is: the guard ends it. Systems other than Linux know no adoption; there a
// process that has left its parent goes on.

// innerVariable is set for the inner process.
const innerVariable = "SETT_TESTRUN_INNER"

// guard is the outer process.
type guard struct {
	args    []string // of the inner one
	environ []string
	grace   time.Duration // how long the inner one has to end after a signal
	say     io.Writer
}

// runInFolder gives the run a folder for temporary files, removes it at the end with all that is left in it,
// and returns the exit code.
func (g *guard) runInFolder() int {
	folder, remove, err := testFolder()
	if err != nil {
		fmt.Fprintln(g.say, "testrun: a folder for the tests' files:", err)
		return 1
	}
	if folder != "" {
		g.environ = append(g.environ, "TMPDIR="+folder)
	}
	code := g.run()
	if err := remove(); err != nil {
		fmt.Fprintln(g.say, "testrun: left behind:", err)
	}
	return code
}

// look is how often the guard looks whether its own parent has ended: go run, which
// passes on no signal, is ended by make's alone.
const look = 500 * time.Millisecond

// run returns the exit code.
func (g *guard) run() int {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	if err := adopt(); err != nil {
		fmt.Fprintln(g.say, "testrun: processes that tests leave behind go on:", err)
	}
	parent := os.Getppid()
	inner, err := os.StartProcess(g.args[0], g.args, &os.ProcAttr{Env: g.environ, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		fmt.Fprintln(g.say, "testrun:", err)
		return 1
	}
	ended, none := reap(inner.Pid)
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	code, over := 0, (<-chan time.Time)(nil)
	for {
		stop := syscall.Signal(0)
		select {
		case status := <-ended:
			g.end(none, code != 0)
			if code == 0 {
				code = exitCode(status)
			}
			return code
		case s := <-signals:
			stop = s.(syscall.Signal)
		case <-ticker.C:
			if code == 0 && os.Getppid() != parent {
				stop = syscall.SIGTERM
			}
		case <-over:
			g.end(none, true)
			return code
		}
		switch {
		case stop == 0:
		case code != 0: // the second: at once
			g.end(none, true)
			return code
		default:
			code, over = 128+int(stop), time.After(g.grace)
			fmt.Fprintf(g.say, "testrun: %s: ends the tests\n", stop)
			g.interrupt()
		}
	}
}

// reap waits for all children, adopted ones too. It passes on the end of the inner process, and
// closes none when there is no child left.
func reap(inner int) (ended chan syscall.WaitStatus, none chan struct{}) {
	ended, none = make(chan syscall.WaitStatus, 1), make(chan struct{})
	go func() {
		defer close(none)
		for {
			var status syscall.WaitStatus
			pid, err := syscall.Wait4(-1, &status, 0, nil)
			switch {
			case err == syscall.EINTR: //nolint:errorlint // a number
			case err != nil:
				return
			case pid == inner:
				ended <- status
			}
		}
	}()
	return ended, none
}

// interrupt does as Ctrl-C on a terminal: all processes of the guard's group below it get the signal,
// so that go test stops its work and tidies up. Sessions of their own follow when it has ended.
func (g *guard) interrupt() {
	own := syscall.Getpgrp()
	for _, p := range below(os.Getpid()) {
		if p.group == own {
			_ = syscall.Kill(p.pid, syscall.SIGINT)
		}
	}
}

// sweepTime is how long the guard goes on ending processes: one that waits for a dead disk cannot be ended.
const sweepTime = 30 * time.Second

// end ends every process below the guard. Those that a run left which nobody stopped are named:
// a test forgot them.
func (g *guard) end(none chan struct{}, stopped bool) {
	named, limit := map[int]bool{}, time.After(sweepTime)
	for {
		for _, p := range below(os.Getpid()) {
			if !stopped && !named[p.pid] {
				fmt.Fprintf(g.say, "testrun: ends process %d (%s), which a test left behind\n", p.pid, p.name)
			}
			named[p.pid] = true
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		select {
		case <-none:
			return
		case <-limit:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// process is a process of this machine.
type process struct {
	pid, parent, group int
	name               string
}

// below returns the living processes below one.
func below(top int) (found []process) {
	under := map[int][]process{}
	for _, p := range processes() {
		under[p.parent] = append(under[p.parent], p)
	}
	next := under[top]
	for len(next) > 0 {
		p := next[0]
		next = append(next[1:], under[p.pid]...)
		found = append(found, p)
	}
	return found
}

// guarded runs this program once more, with the mark, and returns the exit code.
func guarded() int {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		return 1
	}
	g := guard{args: append([]string{self}, os.Args[1:]...), environ: append(os.Environ(), innerVariable+"=1"), grace: 10 * time.Second, say: os.Stderr}
	return g.runInFolder()
}

// isInner says whether this is the inner process. Its own children are not told.
func isInner() bool {
	_, is := os.LookupEnv(innerVariable)
	_ = os.Unsetenv(innerVariable)
	return is
}

// stopped says whether a signal has told the inner process to end: no further command is started, and the report
// tells the tests that have ended. It is nil while none has.
type stopped struct{ signals chan os.Signal }

func watchSignals() *stopped {
	s := &stopped{signals: make(chan os.Signal, 4)}
	signal.Notify(s.signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	return s
}

// is says so; nobody takes the signal out.
func (s *stopped) is() bool { return s != nil && len(s.signals) > 0 }
