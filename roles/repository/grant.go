package repository

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	line "sett/roles/role/repository"
	"sett/roles/role/store"
)

// place is the directory of a tree.
func (s *server) place(slot string) string { return filepath.Join(s.trees, slot) }

// lend remembers the grant that a tree is for, on disk.
func (s *server) lend(slot string, l line.Lent) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if l.ReadOnly { // nothing is ever kept of it
		return store.WriteSoon(line.LentFile(s.place(slot)), string(text))
	}
	return store.WriteWhole(line.LentFile(s.place(slot)), string(text))
}

// lentTo returns where the tree of this grant started.
func (s *server) lentTo(slot string, g line.Grant) (line.Lent, error) {
	l, err := line.ReadLent(s.place(slot))
	switch {
	case err != nil:
		return line.Lent{}, err
	case l.Attempt == 0:
		return line.Lent{}, fmt.Errorf("%w: it serves none yet", line.ErrStale)
	case l.Grant != g:
		return line.Lent{}, fmt.Errorf("%w: attempt %d of claim %s", line.ErrStale, l.Attempt, l.Claim)
	}
	return l, nil
}

// lent returns where the tree of this grant started. A tree that the tool has removed, or whose note it has
// damaged, is the tool's fault: no later request would find it.
func (d desk) lent(g line.Grant) (line.Lent, error) {
	if err := d.tree.Stands(); errors.Is(err, store.ErrNoTree) {
		return line.Lent{}, fmt.Errorf("%w: %w", line.ErrTool, err)
	} else if err != nil {
		return line.Lent{}, err
	}
	l, err := d.lentTo(d.slot, g)
	if errors.Is(err, line.ErrDamaged) {
		err = fmt.Errorf("%w: %w", line.ErrTool, err)
	}
	return l, err
}

// settle remembers that nothing more is to be kept of a tree.
func (s *server) settle(slot string, l line.Lent) error {
	if l.Settled {
		return nil
	}
	l.Settled = true
	return s.lend(slot, l)
}

// busy lets one request at a time use a tree. A cub that lost its answer asks again
// while the first request is still at work.
type busy struct {
	mu    sync.Mutex
	trees map[string]chan struct{}
}

// enter waits for the tree until gone is closed; leave gives it back.
func (b *busy) enter(gone <-chan struct{}, slot string) (leave func(), ok bool) {
	b.mu.Lock()
	if b.trees == nil {
		b.trees = map[string]chan struct{}{}
	}
	tree := b.trees[slot]
	if tree == nil {
		tree = make(chan struct{}, 1)
		b.trees[slot] = tree
	}
	b.mu.Unlock()
	select {
	case tree <- struct{}{}:
		return func() { <-tree }, true
	case <-gone:
		return nil, false
	}
}
