package store

import (
	"context"

	"sett/blackboard"
)

// led are the moves of the leader. Behind a new connection there may be another board than
// before: an older copy of the data has the leader's epoch, too, so that the leader would
// decide there, and take the newer data for the wrong ones when they are back.
var led = map[string]bool{
	"open": true, "refuse": true, "ignore": true, "grant": true, "complete": true, "terminate": true, "crash": true,
	"assign": true, "policy": true, "overrun": true, "clock": true, "course": true,
	"land": true, "lands": true, "unclash": true, "conflict_rework": true,
}

// sure compares the board with the sight of before, if there was a new connection since
// that was done.
func (c *Conn) sure(ctx context.Context) error {
	dialled := c.dialled.Load()
	if dialled == c.compared.Load() {
		return nil
	}
	before := c.Known()
	rs, err := c.call(ctx, []Move{{"mark", []string{before.String()}}})
	if err != nil {
		return err
	}
	_, err = c.compare(before, "mark", rs[0], dialled)
	return err
}

// went adds the entry that a leader's move wrote, the last word of its reply, to the sight
// of the board: the move was made on the board of before. Where a failover may lose
// it, it is no sight.
func went(c *Conn, r Reply) {
	if r.Status != "ok" || len(r.Rest) == 0 || c.dialled.Load() != c.compared.Load() || c.Spread() {
		return
	}
	c.known.mu.Lock()
	defer c.known.mu.Unlock()
	m := c.known.mark
	if m.ID == "" {
		return
	}
	c.known.mark = m.After(blackboard.Mark{ID: m.ID, Adopted: m.Adopted, Last: r.Text(len(r.Rest) - 1)})
}
