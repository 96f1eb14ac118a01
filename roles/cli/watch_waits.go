package cli

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// While nothing happens, whoever follows the ledger is told what open work waits
// for: once nothing has happened for waitsAfter, and then whenever that changes.
const (
	waitsAfter = 2 * time.Second
	mostWaits  = 20 // lines at a time
)

// kindWaits is the kind of what is told about waits. The ledger has no such entry.
const kindWaits = "waits"

// waitsEntry is what is told to programs. The names of its fields are part of the
// interface.
type waitsEntry struct {
	Time     time.Time `json:"time"`
	Kind     string    `json:"kind"`                  // "waits"
	Workflow string    `json:"workflow_id,omitempty"` // that was asked for; absent: all
	Waits    []wait    `json:"waits"`
	More     int       `json:"waits_more,omitempty"` // open work that was not looked at
}

// tellWaits tells them until the context ends.
func (v *ledgerView) tellWaits(ctx context.Context) {
	var told []wait
	quiet := time.NewTimer(waitsAfter)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-v.stirred:
			quiet.Reset(waitsAfter)
			continue
		case <-quiet.C:
		}
		if waits, more, err := v.a.waitsOf(ctx, v.board, v.in, v.workflow); err == nil { // that the blackboard is away is said already
			if err := v.tell(ctx, told, waits, more); err != nil {
				return // as will be what follows the ledger
			}
			told = waits
		}
		quiet.Reset(waitsAfter)
	}
}

// tell shows what is waited for, if that is not what was told already: to people
// what is new of it.
func (v *ledgerView) tell(ctx context.Context, told, waits []wait, more int) error {
	fresh := otherThan(waits, told)
	if len(fresh) == 0 && len(otherThan(told, waits)) == 0 {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	now := v.a.Now()
	return v.form.entry(v.out, waitsEntry{now.UTC(), kindWaits, v.workflow, waits, more}, func() error {
		for _, w := range fresh[:min(len(fresh), mostWaits)] {
			text := clean(w.line())
			if err := v.row(now, w.WorkflowID, kindWaits, waitStyle(w), w.Agent, text); err != nil {
				return err
			}
		}
		if more += max(len(fresh)-mostWaits, 0); more > 0 && len(fresh) > 0 {
			return v.row(now, v.workflow, kindWaits, dim, "", fmt.Sprintf("and %d more", more))
		}
		return nil
	})
}

// otherThan returns the waits that are not among others.
func otherThan(waits, others []wait) []wait {
	return slices.DeleteFunc(slices.Clone(waits), func(w wait) bool { return slices.ContainsFunc(others, w.is) })
}
