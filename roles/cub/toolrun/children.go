package toolrun

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
)

// registry knows which children of this process are tools that are running.
type registry struct {
	// gate is held for reading from a fork until its child is in runs, and for
	// writing by whoever looks for children that are not.
	gate sync.RWMutex
	runs sync.Map // pid (int) to mark (string); "" for what is no tool, see Start
	last atomic.Int64
}

// children is process-wide, as children are: with one registry per Process, the
// sweep of one would take the tools of another for orphans.
var children registry

// newMark returns the environment entry that marks the processes of one run.
func newMark() string {
	return fmt.Sprintf("%s=%d.%d", MarkVariable, os.Getpid(), children.last.Add(1))
}

// running says whether pid is a tool that is running.
func (g *registry) running(pid int) bool {
	_, ok := g.runs.Load(pid)
	return ok
}

// Start starts a command that is no tool and whose group is its own, and keeps it
// from being taken for something that a tool left behind until spared is called,
// after cmd.Wait. Without it the command's end may be reaped, or the command
// killed, before its caller knows.
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
