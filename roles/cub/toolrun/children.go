package toolrun

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
)

// registry has the children of this process that are running tools.
type registry struct {
	// gate is held for reading from a fork until its child is in runs, and for
	// writing during a search for other children.
	gate sync.RWMutex
	runs sync.Map // pid (int) to mark (string); "" for other programs, see Start
	last atomic.Int64

	reaper atomic.Bool // BecomeReaper was called
}

// children is process-wide, as children are: with one registry per Process, the
// sweep of one would take the tools of another for orphans.
var children registry

// newMark returns the environment entry that marks the processes of one run.
func newMark() string {
	return fmt.Sprintf("%s=%d.%d", MarkVariable, os.Getpid(), children.last.Add(1))
}

// running says whether pid is a running tool.
func (g *registry) running(pid int) bool {
	_, ok := g.runs.Load(pid)
	return ok
}

// Start starts a command that is not a tool, in a process group of its own. Until the
// caller calls spared, after cmd.Wait, no sweep takes the command for an orphan of a
// tool. A command that starts otherwise may be killed, or reaped before its caller.
func Start(cmd *exec.Cmd) (spared func(), err error) {
	children.gate.RLock()
	defer children.gate.RUnlock()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	pid := cmd.Process.Pid
	children.runs.Store(pid, "")
	return func() { children.runs.CompareAndDelete(pid, "") }, nil
}

// StartWithoutNetwork is Start for a command that, like a tool with NoNetwork, can
// reach nothing. It must not ask for a parent-death signal, since the thread that
// starts it ends. See Command.NoNetwork for the error.
func StartWithoutNetwork(cmd *exec.Cmd) (spared func(), err error) {
	if refused := withoutNetwork(func() { spared, err = Start(cmd) }); refused != nil {
		return nil, refused
	}
	return spared, err
}
