package repository

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	line "sett/roles/role/repository"
	"sett/roles/role/store"
)

// remember notes, before a ref holds a commit for an artefact, which grant it is of. Its orchestrator
// says later how that ended. A note that a crash of the machine loses leaves the ref.
func (s *server) remember(t line.Taken) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	dir := line.TakenDir(s.store.Dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, t.Artefact), text, 0o600)
}

// taken returns a note; nil: there is none.
func (s *server) taken(artefact string) (*line.Taken, error) {
	path := filepath.Join(line.TakenDir(s.store.Dir), artefact)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // as documented
	}
	var t line.Taken
	if err == nil && (json.Unmarshal(text, &t) != nil || t.Artefact != artefact) {
		return nil, os.Remove(path) // half written in a crash, before the ref
	}
	return &t, err
}

// takens returns the first notes, by the artefacts' names.
func (s *server) takens() ([]line.Taken, error) {
	entries, err := os.ReadDir(line.TakenDir(s.store.Dir))
	if errors.Is(err, fs.ErrNotExist) {
		return []line.Taken{}, nil
	}
	all := []line.Taken{}
	for _, e := range entries {
		if len(all) == line.MostTaken {
			break
		}
		t, err := s.taken(e.Name())
		if err != nil {
			return nil, err
		}
		if t != nil {
			all = append(all, *t)
		}
	}
	return all, err
}

// list tells the orchestrator of commits that may have become no artefact's.
func (s *server) list(context.Context, struct{}) (line.TakenList, error) {
	all, err := s.takens()
	return line.TakenList{Taken: all}, err
}

// sweep forgets the notes about commits that have ended. One that became no artefact's is a leftover of its tool.
func (s *server) sweep(ctx context.Context, q line.Swept) (struct{}, error) {
	for _, id := range q.Never {
		if !plainName(id) {
			continue
		}
		t, err := s.taken(id)
		if err != nil || t == nil {
			return struct{}{}, err
		}
		ref := store.Leftover(t.Claim, t.Agent, t.Attempt)
		if err := store.Adopt(ctx, s.store, store.Artefact(id), ref); err != nil {
			return struct{}{}, err
		}
		s.log.Info("a commit whose result was never recorded is a leftover", "claim", t.Claim, "attempt", t.Attempt, "leftovers", ref)
	}
	for _, id := range append(q.Recorded, q.Never...) {
		if plainName(id) {
			if err := os.Remove(filepath.Join(line.TakenDir(s.store.Dir), id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return struct{}{}, err
			}
		}
	}
	return struct{}{}, nil
}

// lendings tells the orchestrator of trees whose changes nobody has asked to keep yet.
func (s *server) lendings(context.Context, struct{}) (line.LendingList, error) {
	entries, err := os.ReadDir(s.trees)
	all := []line.Lending{}
	for _, e := range entries {
		if len(all) == line.MostTaken {
			break
		}
		slot := e.Name()
		agent, _, _ := strings.Cut(slot, ".")
		if !e.IsDir() || !ownSlot(agent, slot) {
			continue
		}
		if l, err := line.ReadLent(s.place(slot)); err == nil && l.Unsettled() {
			all = append(all, line.Lending{Agent: agent, Slot: slot, Grant: l.Grant})
		}
	}
	return line.LendingList{Lent: all}, err
}

// orphaned keeps the changes of a grant whose cub died, unless the tree serves another one by now.
func (s *server) orphaned(ctx context.Context, q line.Orphan) (struct{}, error) {
	if !ownSlot(q.Agent, q.Slot) {
		return struct{}{}, errors.New("no tree of an agent")
	}
	leave, ok := s.busy.enter(ctx.Done(), q.Slot)
	if !ok {
		return struct{}{}, ctx.Err()
	}
	defer leave()
	l, err := line.ReadLent(s.place(q.Slot))
	if err != nil || l.Grant != q.Grant {
		return struct{}{}, nil //nolint:nilerr // a damaged note is for the next grant to find
	}
	tree, err := s.tree(q.Agent, q.Slot)
	if err != nil {
		return struct{}{}, err
	}
	defer s.rest.touch(q.Slot)
	return struct{}{}, desk{s, q.Agent, q.Slot, tree}.keepOrphan(ctx, q.MaxSize)
}

// orchestrators routes a request of the orchestrator.
func orchestrators[Q, A any](life context.Context, s *server, mux *http.ServeMux, what string, answer func(context.Context, Q) (A, error)) {
	s.metrics.begin(what)
	mux.HandleFunc("POST /"+what, func(w http.ResponseWriter, r *http.Request) {
		if !line.AdmitsSweeper(s.key, r) {
			http.Error(w, "not the orchestrator", http.StatusForbidden)
			return
		}
		var q Q
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody)).Decode(&q); err != nil {
			http.Error(w, "not a request", http.StatusBadRequest)
			return
		}
		done := s.metrics.time(what)
		a, err := answer(life, q)
		done(err)
		if err != nil {
			s.log.Warn("request refused", "request", what, "error", err)
			line.Refuse(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(a) // else the orchestrator has gone, and asks again
	})
}
