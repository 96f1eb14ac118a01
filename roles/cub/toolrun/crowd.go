package toolrun

import (
	"sync"

	"sett/blackboard"
)

// crowd knows the runs that are under way: the kernel's counter is theirs together.
type crowd struct {
	owned bool // nothing but the runs is counted: this is process 1 of a container
	mu    sync.Mutex
	runs  map[*run]bool // whether another was under way at any moment of it
}

func (c *crowd) enter(r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other := range c.runs {
		c.runs[other] = true
	}
	if c.runs == nil {
		c.runs = map[*run]bool{}
	}
	c.runs[r] = len(c.runs) > 0
}

func (c *crowd) leave(r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.runs, r)
}

// blame says to whom a kill during the run belongs.
func (c *crowd) blame(r *run) blackboard.MemoryKill {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owned && !c.runs[r] {
		return blackboard.KilledOfTool
	}
	return blackboard.KilledBeside
}
