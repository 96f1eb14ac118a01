package toolrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sett/blackboard"
)

// Process is the Runner that starts subprocesses of this process. Any number of
// Runs may be under way at once. New makes it.
type Process struct {
	buffers           sync.Pool // of *[readSize]byte
	memory            memory
	crowd             crowd
	scratch           *scratch
	ipc               *ipc
	guarded, enclosed *guard // enclosed: without network
	condition         *condition
}

// New returns a Process. In process 1 of a container with an empty /tmp in memory, it
// owns /tmp and empties it; see Result. There it also removes the objects in memory that
// its tools leave, and guards itself from its tools.
func New() *Process {
	p := &Process{scratch: ownScratch(), ipc: ownIPC(), condition: ownCondition(), crowd: crowd{owned: os.Getpid() == 1}}
	p.guarded, p.enclosed = ownGuards()
	return p
}

// readSize is the size of one read: the capacity of a pipe on Linux.
const readSize = 64 << 10

// Run implements Runner.
func (p *Process) Run(ctx context.Context, c Command) (Result, error) {
	if ctx.Err() != nil {
		return Result{ExitCode: -1, Cancelled: true}, nil
	}
	if c.Limit <= 0 {
		c.Limit = blackboard.MaxCapture
	}
	if c.Grace <= 0 {
		c.Grace = DefaultGrace
	}
	buf, _ := p.buffers.Get().(*[readSize]byte)
	if buf == nil {
		buf = new([readSize]byte)
	}
	defer p.buffers.Put(buf)
	p.scratch.enter()
	p.ipc.enter()
	defer p.ipc.leave()
	p.condition.note()
	res, err := p.runWith(ctx, c, buf[:])
	res.Harm = p.condition.restore()
	res.EmptiedTmp = p.scratch.leave(err == nil && (res.ExitCode != 0 || res.TimedOut || res.Cancelled))
	return res, err
}

// Hold keeps the /tmp that the Process owns from being emptied by the end of a run, until
// release, which returns the reason if it was emptied then. See Result.
func (p *Process) Hold() (release func() (emptied string)) {
	p.scratch.enter()
	return func() string { return p.scratch.leave(false) }
}

// runWith runs the tool with the network that it may have.
func (p *Process) runWith(ctx context.Context, c Command, buf []byte) (res Result, err error) {
	on := p.guarded
	if c.NoNetwork {
		on = p.enclosed
	}
	if refused := on.run(func() { res, err = p.run(ctx, c, buf) }); refused != nil {
		return Result{ExitCode: -1}, fmt.Errorf("start tool %s: %w", strings.Join(c.Args[:min(1, len(c.Args))], ""), refused)
	}
	return res, err
}

// run runs the tool on one thread from start to end.
func (p *Process) run(ctx context.Context, c Command, buf []byte) (Result, error) {
	// See the package comment: the parent-death signal belongs to this thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r := &run{Command: c, buf: buf, stdin: -1, wake: -1,
		out: stream{fd: -1, limit: c.Limit}, err: stream{fd: -1, limit: c.Limit}}
	p.crowd.enter(r)
	defer p.crowd.leave(r) // after the last look at the counter
	memory := p.memory.kills()
	if err := r.start(ctx); err != nil {
		return Result{ExitCode: -1}, err
	}
	r.loop()
	r.end()
	res := r.result()
	if p.memory.kills() > memory {
		res.MemoryKill = p.crowd.blame(r)
		res.OutOfMemory = res.MemoryKill == blackboard.KilledOfTool && wasKilled(res) && !r.killed
	}
	return res, nil
}

// run is one tool's run. It is used by one goroutine.
type run struct {
	Command
	buf      []byte
	pid      int
	mark     string
	stdin    int    // write end, -1 when closed
	unsent   []byte // of Stdin
	out, err stream
	outLive  live
	errLive  live
	exit     exitWatch
	wake     int // read end of the pipe that tells of the context's end
	stopWake func()
	release  func() // the thread that the tool was started from

	started, reaped     time.Time
	status              syscall.WaitStatus
	timedOut, cancelled bool
	killed              bool // by us, before it had ended
	exited              bool
	drainBy             time.Time // set once exited
	deadline            time.Time // of Timeout; zero without one, or once it was seen
	killAt              time.Time // end of the grace; zero before TERM and after KILL
}

// start opens the pipes and starts the tool. On an error nothing is left open.
func (r *run) start(ctx context.Context) error {
	if len(r.Args) == 0 || r.Args[0] == "" {
		return errors.New("start tool: the command is empty")
	}
	path, err := lookPath(r.Args[0], r.Env)
	if err != nil {
		return fmt.Errorf("start tool %s: %w", r.Args[0], err)
	}
	theirs, err := r.openPipes()
	if err == nil {
		err = r.watchContext(ctx)
	}
	if err == nil {
		err = r.fork(path, theirs)
	}
	for _, fd := range theirs {
		_ = unix.Close(fd)
	}
	if err == nil {
		if r.exit, err = watchExit(r.pid); err != nil {
			r.abandon()
		}
	}
	if err != nil {
		r.closeAll()
		return fmt.Errorf("start tool %s: %w", r.Args[0], err)
	}
	if r.Timeout > 0 {
		r.deadline = r.started.Add(r.Timeout)
	}
	return nil
}

// openPipes opens the three pipes and fills stdin as far as it takes, which is
// usually all, so that no write is left for the loop. It returns the tool's ends.
func (r *run) openPipes() (theirs []int, err error) {
	for _, p := range []struct {
		ours *int
		end  int // which end is ours
	}{{&r.stdin, 1}, {&r.out.fd, 0}, {&r.err.fd, 0}} {
		ends, err := openPipe()
		if err != nil {
			return theirs, fmt.Errorf("open pipe: %w", err)
		}
		*p.ours = ends[p.end]
		theirs = append(theirs, ends[1-p.end])
		if err := unix.SetNonblock(*p.ours, true); err != nil {
			return theirs, fmt.Errorf("open pipe: %w", err)
		}
	}
	r.unsent = r.Stdin
	r.send()
	return theirs, nil
}

// watchContext makes the end of ctx visible to poll.
func (r *run) watchContext(ctx context.Context) error {
	if ctx.Done() == nil {
		return nil
	}
	ends, err := openPipe()
	if err != nil {
		return fmt.Errorf("open pipe: %w", err)
	}
	r.wake = ends[0]
	closed := make(chan struct{})
	closeEnd := func() { _ = unix.Close(ends[1]); close(closed) }
	stop := context.AfterFunc(ctx, closeEnd) // the loop sees the hang-up
	r.stopWake = func() {
		if stop() {
			closeEnd()
		}
		<-closed
	}
	return nil
}

// fork starts the tool and registers it before any sweep can take it for an orphan.
func (r *run) fork(path string, theirs []int) error {
	r.mark = newMark()
	attr := &syscall.ProcAttr{
		Dir:   r.Dir,
		Env:   append(r.Env[:len(r.Env):len(r.Env)], r.mark),
		Files: []uintptr{uintptr(theirs[0]), uintptr(theirs[1]), uintptr(theirs[2])},
		Sys:   sysProcAttr(),
	}
	var err error
	for pause := time.Millisecond; ; pause *= 2 {
		children.gate.RLock()
		r.started = time.Now()
		r.pid, r.release, err = startConfined(r.Command, path, attr)
		if err == nil {
			children.runs.Store(r.pid, r.mark)
		}
		children.gate.RUnlock()
		// A file that was just written is busy while a fork of another thread
		// still holds the descriptor it was written through (golang.org/issue/22315).
		if !errors.Is(err, unix.ETXTBSY) || pause > 16*time.Millisecond {
			break
		}
		time.Sleep(pause)
	}
	var refused *confineError
	if errors.As(err, &refused) {
		return err
	}
	if err != nil {
		return explain(err, path, r.Dir)
	}
	sacrifice(r.pid)
	return nil
}

// abandon ends a tool that was started but cannot be watched.
func (r *run) abandon() {
	_ = unix.Kill(-r.pid, unix.SIGKILL)
	_, _ = wait(r.pid, 0)
	r.release()
	children.runs.Delete(r.pid)
	children.sweep(r.pid, r.mark)
}

// end runs after the tool's end: it ends the remaining processes of its group and
// session, and reaps them.
func (r *run) end() {
	// Before reaping: as long as the tool is a zombie its group's number cannot
	// belong to anybody else.
	_ = unix.Kill(-r.pid, unix.SIGKILL)
	r.status = r.exit.reap()
	r.reaped = time.Now()
	r.release()
	children.runs.Delete(r.pid)
	r.closeAll()
	children.sweep(r.pid, r.mark)
	closeLive(&r.outLive, &r.errLive)
}

func (r *run) closeAll() {
	if r.stopWake != nil {
		r.stopWake()
	}
	for _, fd := range []*int{&r.stdin, &r.out.fd, &r.err.fd, &r.wake} {
		closeFD(fd)
	}
	r.exit.close()
}

func (r *run) result() Result {
	res := Result{
		ExitCode: -1, TimedOut: r.timedOut, Cancelled: r.cancelled,
		Stdout: r.out.text(), Stderr: r.err.text(), StdoutSize: r.out.size, StderrSize: r.err.size,
		StdoutTruncated: r.out.size > r.out.limit,
		Started:         r.started, Reaped: r.reaped,
	}
	if r.status.Signaled() {
		res.Signal = unix.SignalName(r.status.Signal())
	} else {
		res.ExitCode = r.status.ExitStatus()
	}
	return res
}

// wasKilled says whether the tool ended like a process that ran out of memory.
func wasKilled(res Result) bool {
	const byShell = 128 + int(syscall.SIGKILL)
	return res.Signal == "SIGKILL" || res.ExitCode == byShell
}

// closeFD closes *fd unless it is -1, and makes it -1.
func closeFD(fd *int) {
	if *fd >= 0 {
		_ = unix.Close(*fd)
		*fd = -1
	}
}

// wait is wait4 for one process, again after interruptions.
func wait(pid, options int) (status syscall.WaitStatus, err error) {
	for {
		got, err := syscall.Wait4(pid, &status, options, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err == nil && got == 0 {
			err = unix.EAGAIN // WNOHANG, and it lives
		}
		return status, err
	}
}
