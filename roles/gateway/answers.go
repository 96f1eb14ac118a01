package gateway

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"sett/blackboard"
	"sett/roles/role"
)

// answers keeps the answers of grants, so that a new attempt of one, after a crash, gets
// at no cost the answers that the attempts before it paid for. A grant that has ended asks for
// nothing more: its answers go when room is needed, or with time.
type answers struct {
	dir    string // empty: none are kept
	mu     sync.Mutex
	grants map[string]*tape
}

func newAnswers(dir string) *answers { return &answers{dir: dir, grants: map[string]*tape{}} }

func (a *answers) on() bool { return a.dir != "" }

// Bounds of the kept answers of all grants.
const (
	mostAnswers = 512 << 20
	mostGrants  = 1000
	longestKept = 7 * 24 * time.Hour
)

// of returns the tape of a grant.
func (a *answers) of(q blackboard.Call) *tape {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := q.Claim + "." + q.Agent
	t := a.grants[name]
	if t == nil {
		if len(a.grants) >= mostGrants {
			clear(a.grants)
		}
		t = &tape{dir: filepath.Join(a.dir, name), number: map[string]int{}}
		a.grants[name] = t
	}
	return t
}

// keptName is the name of equal requests; a number tells their answers apart.
// Each call for a bid stands for itself.
func keptName(q blackboard.Call, key string) string {
	if q.Bid() {
		return numberName(q, key) + " " + q.ID
	}
	return numberName(q, key)
}

// take returns the answer that an attempt before, or this very call, got to the same
// request; nil: the provider is to be asked.
func (a *answers) take(q blackboard.Call, key string) *taped {
	if !a.on() {
		return nil
	}
	t := a.of(q)
	t.mu.Lock()
	defer t.mu.Unlock()
	name := keptName(q, key)
	n := t.number[name]
	if q.Bid() {
		n = 0 // the same call again
	}
	for ; ; n++ {
		answer, err := readTaped(t.file(key, n))
		switch {
		case err != nil || answer == nil:
			t.number[name] = n
			return nil
		case answer.Call == q.ID, !q.Bid() && answer.Attempt < q.Attempt:
			t.number[name] = n + 1
			return answer
		}
	}
}

// put keeps an answer.
func (a *answers) put(q blackboard.Call, key string, answer taped) error {
	if !a.on() {
		return nil
	}
	t := a.of(q)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return err
	}
	name := keptName(q, key)
	n := t.number[name]
	t.number[name]++
	return writeTaped(t.file(key, n), answer)
}

// tidy removes the answers of old grants, and the oldest ones where all take too much,
// from time to time.
func (s *server) tidy(ctx context.Context) error {
	const often = 10 * time.Minute
	return role.Every(ctx, often, func(context.Context) error {
		if err := s.answers.tidy(s.now()); err != nil {
			s.log.Warn("kept answers not tidied", "error", err)
		}
		return nil
	})
}

func (a *answers) tidy(now time.Time) error {
	if !a.on() {
		return nil
	}
	type grant struct {
		dir  string
		size int64
		last time.Time
	}
	var all []grant
	dirs, err := filepath.Glob(filepath.Join(a.dir, "*.*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		files, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		g := grant{dir: dir}
		for _, f := range files {
			if info, err := f.Info(); err == nil {
				g.size += info.Size()
				if info.ModTime().After(g.last) {
					g.last = info.ModTime()
				}
			}
		}
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b grant) int { return b.last.Compare(a.last) })
	var errs []error
	sum := int64(0)
	for i, g := range all {
		if sum += g.size; sum > mostAnswers || i >= mostGrants || now.Sub(g.last) > longestKept {
			errs = append(errs, os.RemoveAll(g.dir))
		}
	}
	return errors.Join(errs...)
}
