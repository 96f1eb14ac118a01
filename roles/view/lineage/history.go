package lineage

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"sync"
	"time"

	"sett/blackboard"
	"sett/roles/view"
)

// History is everything that happened for one goal: its artefacts, its claims with all
// bids and grants, and its entries of the ledger.
type History struct {
	Workflow blackboard.Workflow
	Graph    *Graph
	Steps    []Step                        // a claim each, oldest first, with what came of it last
	Outlines []blackboard.Outline          // of the artefacts, oldest first, with payloads of view.MaxShown bytes at most
	Gates    map[string]*view.Gate         // by artefact
	Runs     map[string][]blackboard.Event // the starts and ends of each claim's runs
	Events   []blackboard.Event            // oldest first
	Broken   []error                       // records that cannot be read
}

// ReadHistory reads a goal's history. The ledger is read once, from the goal's beginning
// to its end.
func ReadHistory(ctx context.Context, b view.Board, entries ledger, goal string) (*History, error) {
	w, err := b.Workflow(ctx, goal)
	if err != nil {
		return nil, err
	}
	h := &History{Gates: map[string]*view.Gate{}, Runs: map[string][]blackboard.Event{}}
	var failed error
	var reading sync.WaitGroup
	reading.Go(func() { h.Events, failed = goalEvents(ctx, entries, w) })
	l, err := readLineage(ctx, b, goal)
	reading.Wait()
	if err = cmp.Or(err, failed); err != nil {
		return nil, err
	}
	h.Workflow = l.workflow
	for _, e := range h.Events {
		if e.Kind == blackboard.EventStart || e.Kind == blackboard.EventResult || e.Kind == blackboard.EventRequeue || e.Clashed() {
			h.Runs[e.Claim] = append(h.Runs[e.Claim], e)
		}
	}
	r := &whyReader{ctx: ctx, lineage: l, b: b, ledger: kept(h.Events), snapshots: map[string]blackboard.Snapshot{}, gates: map[string]*blackboard.Outline{}}
	way := l.all()
	if err := r.read(way); err != nil {
		return nil, err
	}
	if err := l.readTexts(ctx, b, l.ids, view.MaxShown); err != nil {
		return nil, err
	}
	verdicts, err := l.readVerdicts(ctx, b, l.ids)
	if err != nil {
		return nil, err
	}
	h.Graph = newGraph(l, verdicts)
	for _, at := range way {
		step, err := r.step(at)
		if err != nil {
			return nil, err
		}
		h.Steps = append(h.Steps, step)
		if err := r.unread[at.claim]; err != nil {
			h.Broken = append(h.Broken, err)
		}
	}
	for _, id := range l.ids {
		if a := l.artefacts[id]; a != nil {
			h.Outlines = append(h.Outlines, *a)
			if g := r.gate(a); g != nil {
				h.Gates[id] = g
			}
		} else {
			h.Broken = append(h.Broken, l.broken[id])
		}
	}
	return h, nil
}

// all returns a link for each claim, oldest first, with the newest artefact that was made
// under it.
func (l *lineage) all() []link {
	made := map[string]string{}
	for _, id := range l.ids {
		if a := l.artefacts[id]; a != nil && a.ClaimID != "" && id != l.workflow.ID && a.StructuralType != blackboard.Review && a.StructuralType != blackboard.Question && a.StructuralType != blackboard.Answer {
			made[a.ClaimID] = id
		}
	}
	var way []link
	for id := range l.claims {
		way = append(way, link{id, made[id]})
	}
	for id := range l.unread {
		way = append(way, link{claim: id})
	}
	slices.SortFunc(way, func(a, b link) int {
		return cmp.Or(l.claims[a.claim].OpenedAt.Compare(l.claims[b.claim].OpenedAt), cmp.Compare(a.claim, b.claim))
	})
	return way
}

// goalEvents reads the entries about a goal.
func goalEvents(ctx context.Context, entries ledger, w blackboard.Workflow) ([]blackboard.Event, error) {
	var all []blackboard.Event
	until := w.EndedAt
	for after := blackboard.PositionAt(w.CreatedAt.Add(-near)); ; {
		page, err := entries.History(ctx, after, ledgerPage)
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			if !until.IsZero() && e.Time.After(until.Add(time.Second)) {
				return all, nil
			}
			if e.Workflow == w.ID {
				all = append(all, e)
			}
			after = e.ID
		}
		if len(page) < ledgerPage {
			return all, nil
		}
	}
}

// kept is a ledger in memory.
type kept []blackboard.Event

// History returns the entries after a position.
func (k kept) History(_ context.Context, from string, most int64) ([]blackboard.Event, error) {
	i := sort.Search(len(k), func(i int) bool { return blackboard.IsAfter(k[i].ID, from) })
	return k[i:min(len(k), i+int(most))], nil
}
