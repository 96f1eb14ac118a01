package repository

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"sett/contract/config"
	"sett/contract/tool"
	"sett/roles/role"
	"sett/roles/role/container"
	line "sett/roles/role/repository"
	"sett/roles/role/store"
)

// desk is one agent's tree while a request about it is answered.
type desk struct {
	*server
	agent, slot string
	tree        *store.Tree
}

// routes answers requests. Life ends those that are under way: a request goes on when the
// cub has gone, so that no run of git is killed in the middle.
func (s *server) routes(life context.Context) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", role.Guard(s.instance, http.HandlerFunc(s.answer)))
	mux.Handle("GET /metrics", role.Guard(s.instance, role.MetricsHandler(s.metrics.registry)))
	route(life, s, mux, "prepare", desk.prepare)
	route(life, s, mux, "take", desk.take)
	route(life, s, mux, "commit", desk.commit)
	route(life, s, mux, "keep", desk.keep)
	route(life, s, mux, "settle", desk.settle)
	orchestrators(life, s, mux, "taken", s.list)
	orchestrators(life, s, mux, "swept", s.sweep)
	orchestrators(life, s, mux, "lent", s.lendings)
	orchestrators(life, s, mux, "orphaned", s.orphaned)
	orchestrators(life, s, mux, "landing", s.planLanding)
	orchestrators(life, s, mux, "land", s.land)
	orchestrators(life, s, mux, "hold", s.hold)
	return mux
}

// answer tells sett up which instance has this repository, when the store can be read.
func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	if err := s.check(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"instance": s.instance})
}

// route answers one kind of request.
func route[Q, A any](life context.Context, s *server, mux *http.ServeMux, what string, answer func(desk, context.Context, Q) (A, error)) {
	s.metrics.begin(what)
	mux.HandleFunc("POST /agents/{agent}/trees/{slot}/"+what, func(w http.ResponseWriter, r *http.Request) {
		agent, slot := r.PathValue("agent"), r.PathValue("slot")
		if !line.Admits(s.key, agent, r) || !ownSlot(agent, slot) {
			http.Error(w, "not this agent's tree", http.StatusForbidden)
			return
		}
		var q Q
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody)).Decode(&q); err != nil {
			http.Error(w, "not a request", http.StatusBadRequest)
			return
		}
		leave, ok := s.busy.enter(r.Context().Done(), slot)
		if !ok {
			return
		}
		defer leave()
		s.rest.touch(slot)
		defer s.rest.touch(slot)
		done := s.metrics.time(what)
		var a A
		tree, err := s.tree(agent, slot)
		if err == nil {
			a, err = answer(desk{s, agent, slot, tree}, life, q)
			s.noteStuck(slot, tree)
		}
		done(err)
		if s.refused.say(slot+" "+what, err) {
			s.log.Warn("request refused", "request", what, "agent", agent, "tree", slot, "error", err)
		}
		if err != nil {
			line.Refuse(w, err)
			return
		}
		select {
		case s.grown <- struct{}{}:
		default:
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(a) // else the agent has gone, and asks again
	})
}

// tree is a place with the care that sett.yml has for its agent.
func (s *server) tree(agent, slot string) (*store.Tree, error) {
	care, err := store.CareOf(s.trees, agent)
	seen := s.seen
	if seen.Git != "" {
		seen.Git = container.InSlot(seen.Git, config.SlotOf(slot))
	}
	return store.CaredFor(s.store.Tree(s.trees, slot, seen), care), err
}

// prepare decides where the tree starts, and makes it so.
func (d desk) prepare(ctx context.Context, q line.Prepare) (line.Prepared, error) {
	var w line.Prepared
	if !plainName(q.Claim) || !plainName(q.Goal) || !plainName(cmp.Or(q.ResumesOf, q.Claim)) || q.Attempt < 1 {
		return w, errors.New("a grant without a claim, a goal or an attempt")
	}
	if err := d.keepOrphan(ctx, q.MaxSize); err != nil {
		return w, err
	}
	var err error
	if w.Base, err = d.store.Commit(ctx, store.Goal(q.Goal)); err != nil {
		return w, err
	}
	if w.Base == "" {
		return w, fmt.Errorf("%w: the store has none that goal %s begins with", line.ErrMissing, q.Goal)
	}
	starts, err := d.starts(ctx, q, w.Base)
	if err != nil {
		return w, err
	}
	if w.Commit, w.Clash, err = d.merge(ctx, q.Goal, starts); err != nil || w.Clash != nil {
		return w, err
	}
	w.Branch, w.Before = q.Branch, starts.before
	for _, id := range q.Beside {
		commit, err := d.artefact(ctx, id)
		if err != nil {
			return w, err
		}
		starts.add(commit, id) // known, so that the tool may build on it
		w.Unmerged = append(w.Unmerged, tool.Unmerged{ArtefactID: id, Commit: commit})
	}
	if err := d.tree.Prepare(ctx, store.Plan{Commit: w.Commit, Branch: w.Branch, User: d.author(), ReadOnly: q.ReadOnly, Refs: starts.refs}); err != nil {
		return w, err
	}
	if w.Pointers = store.Lacking(d.tree); len(w.Pointers) > 0 {
		d.log.Info("files of git LFS are pointers: their content is not in the store", "tree", d.slot, "claim", q.Claim, "files", len(w.Pointers), "first", w.Pointers[0])
	}
	known := slices.DeleteFunc(append([]string{w.Commit, w.Base}, starts.commits...), func(c string) bool { return c == "" })
	slices.Sort(known)
	return w, d.lend(d.slot, line.Lent{Grant: q.Grant, Start: w.Commit, Before: w.Before, Known: slices.Compact(known), Own: d.tree.Own(), ReadOnly: q.ReadOnly})
}

func (d desk) author() store.Author {
	return store.Author{Name: d.agent, Email: d.agent + "@sett.invalid"}
}

// starts are the commits that a tree starts from, each with its artefact if it has one.
type starts struct {
	commits, artefacts []string
	refs               []store.Ref // of the leftover that is the start
	before             string      // the commit that the leftover's work began with; empty: it has no file of it
}

func (s *starts) add(commit, artefact string) {
	if !slices.Contains(s.commits, commit) {
		s.commits, s.artefacts = append(s.commits, commit), append(s.artefacts, artefact)
	}
}

func (d desk) starts(ctx context.Context, q line.Prepare, base string) (s starts, err error) {
	if q.Resumes > 0 {
		commit, err := d.store.Commit(ctx, store.Leftover(cmp.Or(q.ResumesOf, q.Claim), d.agent, q.Resumes))
		if err != nil {
			return s, err
		}
		if commit != "" {
			kept, err := store.ReadKept(ctx, d.store, commit)
			if err != nil {
				return s, err
			}
			s.add(kept.Files, "")
			s.refs = kept.Beside
			s.before, err = d.before(ctx, q, base, kept.Files)
			return s, err
		}
	}
	return d.ordinary(ctx, q, base)
}

// before is the commit that the work of a leftover began with: the one from which a grant starts that resumes nothing.
// Where that has moved on since, it is the parent of the leftover. Empty: the leftover has no changed file.
func (d desk) before(ctx context.Context, q line.Prepare, base, files string) (string, error) {
	s, err := d.ordinary(ctx, q, base)
	if err != nil && !errors.Is(err, line.ErrMissing) {
		return "", err
	}
	if err == nil {
		c, found, err := store.FindClash(ctx, d.store, s.commits)
		switch {
		case err != nil:
			return "", err
		case found:
		case c.Ours == files:
			return "", nil
		default:
			if is, err := store.Reaches(ctx, d.store, files, c.Ours); is || err != nil {
				return c.Ours, err
			}
		}
	}
	parents, err := store.Parents(ctx, d.store, files)
	if err != nil || len(parents) == 0 {
		return "", err
	}
	return parents[0], nil
}

// ordinary are the starts of a grant that resumes nothing.
func (d desk) ordinary(ctx context.Context, q line.Prepare, base string) (s starts, err error) {
	for _, id := range q.Artefacts {
		commit, err := d.artefact(ctx, id)
		if err != nil {
			return s, err
		}
		s.add(commit, id)
	}
	if len(s.commits) == 0 {
		s.add(base, "")
	}
	return s, nil
}

// artefact returns the commit of an artefact.
func (s *server) artefact(ctx context.Context, id string) (string, error) {
	if !plainName(id) {
		return "", fmt.Errorf("%w: %q is no artefact", line.ErrMissing, role.Clean(id))
	}
	commit, err := s.store.Commit(ctx, store.Artefact(id))
	if err == nil && commit == "" {
		err = fmt.Errorf("%w: the store has none of artefact %s", line.ErrMissing, id)
	}
	return commit, err
}

func (d desk) take(ctx context.Context, q line.Take) (line.Held, error) {
	l, err := d.lent(q.Grant)
	if err != nil {
		return line.Held{}, err
	}
	if !plainName(q.Artefact) {
		return line.Held{}, fmt.Errorf("%q is no artefact", role.Clean(q.Artefact))
	}
	offer := d.tree.Offer(q.Hash, l.Known)
	offer.Any, offer.Size, offer.Own, offer.ReadOnly = q.Rebased || len(l.Known) == 0, q.MaxSize, l.Own, l.ReadOnly
	ref := store.Artefact(q.Artefact)
	if err := d.remember(line.Taken{Artefact: q.Artefact, Agent: d.agent, Grant: q.Grant}); err != nil {
		return line.Held{}, err
	}
	commit, err := d.store.Take(ctx, offer, ref)
	if err != nil {
		return line.Held{}, toolsFault(err)
	}
	if err := d.settles(ctx, q.Settles, commit); err != nil {
		return line.Held{}, err
	}
	held := line.Held{Commit: commit, Ref: ref}
	if held.Modules, err = store.ChangedModules(ctx, d.tree); err != nil { // the commit is held all the same
		d.log.Warn("submodules not looked at", "error", err)
	}
	if q.Last {
		if held.Rest, err = d.rest(ctx, l, commit, min(cmp.Or(q.MaxSize, mostBeside), mostBeside)); err != nil {
			d.log.Warn("uncommitted changes not looked for", "error", err)
		}
	}
	return held, d.server.settle(d.slot, l)
}

// toolsFault tells the cub whether an error is about the things that its tool made.
func toolsFault(err error) error {
	if store.ToolsFault(err) {
		return fmt.Errorf("%w: %w", line.ErrTool, err)
	}
	return err
}

// settle says that the tool has ended well, with a result that names no commit. One that the
// tool made all the same is kept. A tree that serves another grant by now is settled already.
func (d desk) settle(ctx context.Context, q line.Settle) (line.Held, error) {
	l, err := d.lent(q.Grant)
	if err != nil || l.Settled {
		return line.Held{}, err
	}
	committed, err := d.tree.Committed(ctx)
	switch {
	case err != nil:
		return line.Held{}, err
	case committed && !l.ReadOnly:
		c := store.Changes{Message: "left by a tool whose result names no commit", Size: q.MaxSize}
		return d.keepAs(ctx, l, c, store.Leftover(q.Claim, d.agent, q.Attempt))
	}
	return line.Held{}, d.server.settle(d.slot, l)
}

// commit commits the tool's changes as the agent's own.
func (d desk) commit(ctx context.Context, q line.Commit) (line.Held, error) {
	if !plainName(q.Artefact) {
		return line.Held{}, fmt.Errorf("%q is no artefact", role.Clean(q.Artefact))
	}
	l, err := d.lent(q.Grant)
	switch {
	case err != nil:
		return line.Held{}, err
	case l.ReadOnly:
		return line.Held{}, fmt.Errorf("%w: %s", line.ErrTool, store.ReadOnly)
	}
	ref := store.Artefact(q.Artefact)
	if l.Tidied { // an earlier request's answer was lost
		return d.held(ctx, ref)
	}
	sides, err := d.sides(ctx, q.Settles)
	if err != nil {
		return line.Held{}, err
	}
	if err := d.remember(line.Taken{Artefact: q.Artefact, Agent: d.agent, Grant: q.Grant}); err != nil {
		return line.Held{}, err
	}
	made, err := d.tree.Commit(ctx, store.Changes{Start: l.Start, Before: l.Before, Message: q.Message, Author: d.author(), Size: q.MaxSize, Own: l.Own, Parents: sides}, l.Known, ref)
	if err != nil || made.Commit == "" {
		return line.Held{Modules: made.Modules, Refused: made.Refused}, toolsFault(err)
	}
	if err := d.settles(ctx, q.Settles, made.Commit); err != nil {
		return line.Held{}, err
	}
	return line.Held{Commit: made.Commit, Ref: ref, Embedded: made.Embedded, Refused: made.Refused, Modules: made.Modules}, d.server.settle(d.slot, l)
}
