package store

import (
	"context"
	"errors"
	"sync"

	"sett/blackboard"
)

// known is the best sight of the board so far.
type known struct {
	mu   sync.Mutex
	mark blackboard.Mark
}

// Known returns the best sight of the board so far.
func (c *Conn) Known() blackboard.Mark {
	c.known.mu.Lock()
	defer c.known.mu.Unlock()
	return c.known.mark
}

// Take replaces the sight of before: a person adopted the board as it is.
func (c *Conn) Take(m blackboard.Mark) {
	c.known.mu.Lock()
	defer c.known.mu.Unlock()
	c.known.mark = m
}

// DoMarked makes a move that compares the board with the sight of before, and ends with
// the present one. ErrLost: it is another board, or an older copy.
func (c *Conn) DoMarked(ctx context.Context, name string, args ...string) (Reply, error) {
	return c.doMarked(ctx, c.Known(), name, args)
}

// DoAsAgent is DoMarked for the moves of agents. Their users may not read the ledger, so
// that it is not compared.
func (c *Conn) DoAsAgent(ctx context.Context, name string, args ...string) (Reply, error) {
	before := c.Known()
	before.Entries, before.Last = 0, ""
	return c.doMarked(ctx, before, name, args)
}

func (c *Conn) doMarked(ctx context.Context, before blackboard.Mark, name string, args []string) (Reply, error) {
	dialled := c.dialled.Load()
	r, err := c.Do(ctx, name, append(args, before.String())...)
	if err != nil {
		return r, err
	}
	r, err = c.compare(before, name, r, dialled)
	if lost := (*blackboard.LostError)(nil); errors.As(err, &lost) && before.Entries > 0 && lost.Loss == blackboard.LossOlder {
		if removed, failed := Removed(ctx, c); failed == nil && lost.Explains(removed) { // else it is not known
			lost.Removed = removed
		}
	}
	return r, err
}

// compare reads the reply to a move that compared the board with an earlier sight, when
// there had been so many connections.
func (c *Conn) compare(before blackboard.Mark, name string, r Reply, dialled int64) (Reply, error) {
	if len(r.Rest) == 0 || r.Status == "wait" || r.Status == "refused" {
		return r, nil
	}
	met, err := blackboard.ParseMark(r.Text(len(r.Rest) - 1))
	switch {
	case err != nil:
		return r, err
	case r.Status == "lost":
		return r, &blackboard.LostError{Addr: c.Addr, Instance: c.Options.Instance, Loss: blackboard.Loss(r.Text(0)), Known: before, Met: met}
	}
	if c.Spread() {
		met.Last = "" // a failover to one replica may lose what another has confirmed, and that is no loss yet
		if !relied[name] {
			met.Entries = before.Entries // nor is what no replica has
		}
	}
	c.known.mu.Lock()
	defer c.known.mu.Unlock()
	c.known.mark = c.known.mark.After(met)
	c.compared.Store(dialled)
	return r, nil
}
