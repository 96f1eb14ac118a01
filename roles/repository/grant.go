package repository

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	line "sett/roles/role/repository"
	"sett/roles/role/store"
)

// lent is a tree that was prepared for a grant. It is a file, so that a killed role
// knows after its restart where each tree started.
type lent struct {
	line.Grant
	Start    string   `json:"start"`               // the commit that the tree started from
	Known    []string `json:"known"`               // the commits that a tool may build on
	ReadOnly bool     `json:"read_only,omitempty"` // nothing is kept of it
	Settled  bool     `json:"settled,omitempty"`   // nothing more is to be kept of it
}

func (s *server) lentFile(slot string) string { return filepath.Join(s.trees, slot, "grant.json") }

// lend remembers the grant that a tree is for, on disk.
func (s *server) lend(slot string, l lent) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return store.WriteWhole(s.lentFile(slot), string(text))
}

// lentTo returns where the tree of this grant started.
func (s *server) lentTo(slot string, g line.Grant) (lent, error) {
	l, err := s.lent(slot)
	switch {
	case err != nil:
		return lent{}, err
	case l.Attempt == 0:
		return lent{}, fmt.Errorf("%w: it serves none yet", line.ErrStale)
	case l.Grant != g:
		return lent{}, fmt.Errorf("%w: attempt %d of claim %s", line.ErrStale, l.Attempt, l.Claim)
	}
	return l, nil
}

// lent returns what is remembered of a tree; nothing where it served no grant yet.
func (s *server) lent(slot string) (l lent, err error) {
	text, err := os.ReadFile(s.lentFile(slot))
	if errors.Is(err, fs.ErrNotExist) {
		return lent{}, nil
	}
	if err != nil {
		return lent{}, err
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return lent{}, fmt.Errorf("read %s: %w", s.lentFile(slot), err)
	}
	return l, nil
}

// settle remembers that nothing more is to be kept of a tree.
func (s *server) settle(slot string, l lent) error {
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
