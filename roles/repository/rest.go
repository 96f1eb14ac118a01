package repository

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	line "sett/roles/role/repository"
	"sett/roles/role/store"
)

// Times of the work on trees at rest.
const (
	restBefore    = 5 * time.Second  // since the last request about a tree
	lookForRest   = 2 * time.Second  // between two looks
	measureAgain  = 30 * time.Second // since the last measurement of the same directory
	measureShares = 50               // times the measurement, so that it is a small part of the machine's work
)

// rest knows the trees that have done something since they were last at rest.
type rest struct {
	mu      sync.Mutex
	touched map[string]time.Time // by the tree's place
	store   bool                 // the store may have grown
}

// touch says that a tree is in use.
func (r *rest) touch(slot string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.touched == nil {
		r.touched = map[string]time.Time{}
	}
	r.touched[slot], r.store = time.Now(), true
}

// due returns the trees that nobody asked about for a while, and whether the store may have grown.
func (r *rest) due() (slots []string, store bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for slot, at := range r.touched {
		if time.Since(at) >= restBefore {
			slots = append(slots, slot)
		}
	}
	return slots, r.store
}

// done says that a tree was seen to, unless it was touched meanwhile.
func (r *rest) done(slot string, since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.touched[slot].Before(since) {
		delete(r.touched, slot)
	}
}

func (r *rest) measured() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.store = false
}

// atRest tidies trees and measures them and the store, beside the requests.
func (s *server) atRest(ctx context.Context) error {
	places, _ := filepath.Glob(filepath.Join(s.trees, "[^.]*")) // its one error is about the pattern
	for _, place := range places {
		s.rest.touch(filepath.Base(place)) // a predecessor may have died before it tidied
	}
	m := measurer{server: s, next: map[string]time.Time{}}
	every := time.NewTicker(lookForRest)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		}
		slots, grown := s.rest.due()
		changed := false
		for _, slot := range slots {
			began := time.Now()
			if s.tidy(ctx, slot) && m.tree(ctx, slot) {
				changed = true
				s.rest.done(slot, began)
			}
		}
		if grown && m.storeItself(ctx) {
			changed = true
			s.rest.measured()
		}
		if changed {
			m.write()
		}
	}
}

// tidy removes the files that an ended grant left in its tree. It says whether nothing more is to be done there.
func (s *server) tidy(ctx context.Context, slot string) bool {
	if !plainName(slot) {
		return true
	}
	now := make(chan struct{})
	close(now)
	leave, ok := s.busy.enter(now, slot)
	if !ok {
		return false // a request is at work
	}
	defer leave()
	for _, path := range store.RemoveStuck(s.place(slot)) {
		s.log.Info("removed the files that were set aside", "tree", slot, "path", path)
	}
	l, err := line.ReadLent(s.place(slot))
	if err != nil || !l.Settled || l.Tidied {
		return true // the tool may be at work
	}
	notes, err := s.takens()
	if err != nil {
		return false
	}
	for _, t := range notes {
		if t.Grant == l.Grant {
			return false // its result is not recorded: its cub may ask to keep the rest
		}
	}
	agent, _, _ := strings.Cut(slot, ".") // no agent's name has a dot
	tree, err := s.tree(agent, slot)
	if err == nil {
		err = tree.Tidy(ctx, l.Start)
		s.noteStuck(slot, tree)
	}
	if err != nil {
		s.log.Warn("tree not tidied", "tree", slot, "error", err)
		return ctx.Err() == nil
	}
	l.Tidied = true
	if err := s.lend(slot, l); err != nil {
		s.log.Warn("tree not tidied", "tree", slot, "error", err)
	}
	return true
}

// noteStuck names the directories of a tree that were set aside, since they cannot be removed.
func (s *server) noteStuck(slot string, tree *store.Tree) {
	for _, stuck := range store.SetAside(tree) {
		s.log.Warn("files of a tool cannot be removed and are set aside; the tree is new", "tree", slot, "path", stuck.Path, "error", stuck.Err, "remove", store.Remedy(stuck.Path))
	}
}

// measurer measures the disk that directories take, each only now and then.
type measurer struct {
	*server
	sizes line.Sizes
	next  map[string]time.Time // when a directory may be measured again
}

// may says whether a directory may be measured now; done is called after that.
func (m *measurer) may(name string) (done func(), ok bool) {
	began := time.Now()
	if began.Before(m.next[name]) {
		return nil, false
	}
	return func() { m.next[name] = time.Now().Add(max(measureAgain, measureShares*time.Since(began))) }, true
}

// tree measures a tree. It says whether that was possible.
func (m *measurer) tree(ctx context.Context, slot string) bool {
	done, ok := m.may("tree " + slot)
	if !ok {
		return false
	}
	defer done()
	size, err := m.store.Tree(m.trees, slot, m.seen).Size(ctx)
	if err != nil {
		return false
	}
	if m.sizes.Trees == nil {
		m.sizes.Trees = map[string]int64{}
	}
	m.sizes.Trees[slot] = size
	m.metrics.bytes.WithLabelValues(slot).Set(float64(size))
	return true
}

// storeItself measures the store. It says whether that was possible.
func (m *measurer) storeItself(ctx context.Context) bool {
	done, ok := m.may("store")
	if !ok {
		return false
	}
	defer done()
	var err error
	if m.sizes.Store, m.sizes.Shared, err = store.Usage(ctx, m.store.Dir); err != nil {
		return false
	}
	m.metrics.store.WithLabelValues("own").Set(float64(m.sizes.Store))
	m.metrics.store.WithLabelValues("shared").Set(float64(m.sizes.Shared))
	return true
}

// write leaves the sizes for sett list.
func (m *measurer) write() {
	for slot := range m.sizes.Trees {
		if _, err := os.Stat(m.place(slot)); os.IsNotExist(err) {
			delete(m.sizes.Trees, slot)
			m.metrics.bytes.DeleteLabelValues(slot)
		}
	}
	m.sizes.At = time.Now().UTC()
	text, err := json.Marshal(m.sizes)
	if err == nil {
		err = store.WriteWhole(line.SizesFile(m.store.Dir), string(text))
	}
	if err != nil {
		m.log.Warn("sizes not written", "error", err)
	}
}
