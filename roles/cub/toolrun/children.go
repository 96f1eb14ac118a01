package toolrun

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

// registry knows which children of this process are tools that are running.
type registry struct {
	// gate is held for reading from a fork until its child is in runs, and for
	// writing by whoever looks for children that are not.
	gate sync.RWMutex
	runs sync.Map // pid (int) to mark (string)
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
