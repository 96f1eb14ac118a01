package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sett/roles/cli/status"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/view"
)

// While nothing happens, a follower of the ledger names the waits of open work: after
// waitsAfter without an event, and then whenever they change.
const (
	waitsAfter = 2 * time.Second
	mostWaits  = 20 // lines at a time
)

// kindWaits is the kind of a line about waits. The ledger has no such entry.
const kindWaits = "waits"

// waitsEntry is a line about waits for programs. The names of its fields are part of
// the interface.
type waitsEntry struct {
	Time     time.Time   `json:"time"`
	Kind     string      `json:"kind"`                  // "waits"
	Workflow string      `json:"workflow_id,omitempty"` // that was asked for; absent: all
	Waits    []view.Wait `json:"waits"`
	More     int         `json:"waits_more,omitempty"` // open work that was not looked at
}

// tellWaits shows the waits until the context ends.
func (v *ledgerView) tellWaits(ctx context.Context) {
	var told []view.Wait
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
		if waits, more, err := status.Reader(v.a.at, v.board, v.in).Waits(ctx, v.workflow); err == nil { // that the blackboard is away is said already
			if err := v.tell(ctx, told, waits, more); err != nil {
				return // the follower of the ledger ends too
			}
			told = waits
		}
		quiet.Reset(waitsAfter)
	}
}

// tell shows the waits if they changed: to people the new ones.
func (v *ledgerView) tell(ctx context.Context, told, waits []view.Wait, more int) error {
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
	return v.form.Entry(v.out, waitsEntry{now.UTC(), kindWaits, v.workflow, waits, more}, func() error {
		for _, w := range fresh[:min(len(fresh), mostWaits)] {
			text := role.Clean(w.Line())
			if err := v.row(now, w.WorkflowID, kindWaits, status.ToneOf(w), w.Agent, text); err != nil {
				return err
			}
		}
		if more += max(len(fresh)-mostWaits, 0); more > 0 && len(fresh) > 0 {
			return v.row(now, v.workflow, kindWaits, term.Dim, "", fmt.Sprintf("and %d more", more))
		}
		return nil
	})
}

// otherThan returns the waits that are not among others.
func otherThan(waits, others []view.Wait) []view.Wait {
	return slices.DeleteFunc(slices.Clone(waits), func(w view.Wait) bool { return slices.ContainsFunc(others, w.Is) })
}
