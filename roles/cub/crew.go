package cub

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"sett/contract/env"
)

// crew runs the agent's grants: as many at once as it has slots. A claim is in one slot at
// most.
type crew struct {
	*state
	slots []*executor

	mu    sync.Mutex
	taken map[string]bool // claims that a slot has taken; true: there was a notice since
	began map[int]time.Time
}

// newCrew returns a crew with a slot for each grant that the cub runs at once. Trees are
// asked for by name.
func newCrew(s *state, ask func(tree string) trees) *crew {
	c := &crew{state: s, taken: map[string]bool{}, began: map[int]time.Time{}}
	for n := 1; n <= s.settings.SlotCount(); n++ {
		x := &executor{state: s, crew: c, slot: n, settings: s.settings.InSlot(n)}
		if ask != nil && x.settings.Tree != "" {
			x.trees = ask(x.settings.Tree)
		}
		c.slots = append(c.slots, x)
	}
	return c
}

// collectLate is the garbage collector's percentage of a cub with several slots. Its heap is small,
// and it is made for many claims: collections took a quarter of its processor time. The heap
// takes 16 MiB at least then, where a memory limit allows it.
const collectLate = 400

// run takes grants until the context ends, or a slot does: the running tools then get
// their grace. It returns when all have ended.
func (c *crew) run(ctx context.Context) error {
	if len(c.slots) > 1 {
		debug.SetGCPercent(collectLate)
	}
	if c.mode.works() {
		claim, err := c.awaitAssignment(ctx)
		if err != nil {
			return err
		}
		c.grants.add(claim)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ends := make([]error, len(c.slots))
	var running sync.WaitGroup
	for i, x := range c.slots {
		running.Go(func() {
			ends[i] = x.run(ctx)
			stop()
		})
	}
	running.Wait()
	for _, err := range ends {
		if !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return context.Canceled
}

// take gives a slot the claim that has waited longest; empty: none waits. Other claims in
// line are left to the other slots.
func (c *crew) take() (claim string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		ids := c.grants.take(1)
		if len(ids) == 0 {
			return ""
		}
		if _, theirs := c.taken[ids[0]]; theirs { // of a late notice: its start may overtake its result
			c.taken[ids[0]] = true
			continue
		}
		c.taken[ids[0]] = false
		return ids[0]
	}
}

// leave says that a slot has done with a claim. It stands in line again if there was a
// notice meanwhile.
func (c *crew) leave(claim string) {
	c.mu.Lock()
	noticed := c.taken[claim]
	delete(c.taken, claim)
	c.mu.Unlock()
	if noticed {
		c.grants.add(claim)
	}
}

// noticed handles the notice of a change to a claim's grant. It says whether that
// claim is running; then it also checks for a cancellation.
func (c *crew) noticed(claim string) bool {
	return slices.ContainsFunc(c.slots, func(x *executor) bool { return x.noticed(claim) })
}

// recheck checks whether the running claims were cancelled while notices were lost.
func (c *crew) recheck() {
	for _, x := range c.slots {
		x.recheck()
	}
}

// underWay returns the attempt of a worker's running claim; 0 when there is none.
func (c *crew) underWay() int { return c.slots[0].underWay() }

// working notes since when a slot runs a grant, for the metrics; the zero time: it runs none.
func (c *crew) working(slot int, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.began[slot] = since; since.IsZero() {
		delete(c.began, slot)
	}
	var oldest time.Time
	for _, at := range c.began {
		if oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	c.metrics.working(oldest)
}

// environ is the environment of the slot's tool.
func (x *executor) environ(vars env.ToolVars) []string {
	all := x.toolEnviron(x.settings.Walls)
	if len(x.state.settings.Slots) > 0 {
		own := []string{env.Workspace, env.Tree, env.Slots}
		all = slices.DeleteFunc(slices.Clone(all), func(v string) bool {
			name, _, _ := strings.Cut(v, "=")
			return slices.Contains(own, name)
		})
		if all = append(all, env.Workspace+"="+x.settings.Workspace); x.settings.Tree != "" {
			all = append(all, env.Tree+"="+x.settings.Tree)
		}
	}
	vars.Slot, vars.Slots = x.slot, len(x.crew.slots)
	return env.ToolEnviron(all, vars)
}

// named is the slot for the log; there is none to name where it is the only one.
func named(x *executor) []any {
	if len(x.crew.slots) == 1 {
		return nil
	}
	return []any{"slot", x.slot}
}
