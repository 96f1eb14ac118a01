package lineage

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"sett/blackboard"
	"sett/roles/view"
)

// ledger reads entries of the ledger from a position on.
type ledger interface {
	History(ctx context.Context, from string, most int64) ([]blackboard.Event, error)
}

// whyReader reads the steps of a chain.
type whyReader struct {
	ctx context.Context
	*lineage
	b         view.Board
	ledger    ledger
	snapshots map[string]blackboard.Snapshot // of the claims of the chain
	gates     map[string]*blackboard.Outline // from an artefact to the Review that decided its gate
	cancels   []*blackboard.Outline          // the Failures by which people ended claims; nil: not looked for yet
}

// ReadWhy reads the chain from the goal to the artefact or claim id.
func ReadWhy(ctx context.Context, b view.Board, entries ledger, id string, kind blackboard.Kind) (Why, error) {
	v := Why{Kind: kind, ID: id, Steps: []Step{}}
	var target, claim string
	if kind == blackboard.KindClaim {
		claims, each, err := b.TryClaims(ctx, []string{id})
		if err = cmp.Or(err, errors.Join(each...)); err != nil {
			return v, err
		}
		claim, v.Goal = id, claims[0].WorkflowID
	} else {
		goal, err := goalOf(ctx, b, id)
		if err != nil {
			return v, err
		}
		target, v.Goal = id, goal
	}
	l, err := readLineage(ctx, b, v.Goal)
	if err != nil {
		return v, err
	}
	r := &whyReader{ctx: ctx, lineage: l, b: b, ledger: entries, snapshots: map[string]blackboard.Snapshot{}, gates: map[string]*blackboard.Outline{}}
	way := l.chain(claim, target)
	if err := r.read(way); err != nil {
		return v, err
	}
	for _, at := range way {
		step, err := r.step(at)
		if err != nil {
			return v, err
		}
		v.Steps = append(v.Steps, step)
		if err := r.unread[at.claim]; err != nil {
			v.Broken = append(v.Broken, err)
		}
	}
	v.Took = r.took(way)
	if l := r.workflow.Landing; l != nil && (id == v.Goal || id == r.workflow.TerminalID || id == l.Artefact) {
		v.Landing = l
	}
	return v, nil
}

// took is the time in seconds from the goal to the last link of the chain.
func (r *whyReader) took(way []link) float64 {
	if len(way) == 0 {
		return 0
	}
	last := way[len(way)-1]
	at := r.claims[last.claim].OpenedAt
	if a := r.artefacts[last.artefact]; a != nil {
		at = a.CreatedAt
	}
	if s := view.Seconds(r.workflow.CreatedAt, at); s != nil {
		return *s
	}
	return 0
}

// read reads the claims of the chain with their bids and grants, and the payloads that
// the steps quote.
func (r *whyReader) read(way []link) error {
	for _, a := range r.artefacts {
		r.gates[a.ID] = r.artefacts[blackboard.GateReviewID(a.ID)]
	}
	var ids, texts []string
	for _, at := range way {
		if at.claim != "" {
			ids = append(ids, at.claim)
		}
		if a := r.artefacts[at.artefact]; a != nil {
			texts = append(append(texts, a.ID, blackboard.GateReviewID(a.ID)), a.SourceArtefacts...)
		}
	}
	all, each, err := r.b.Snapshots(r.ctx, ids)
	if err != nil {
		return err
	}
	for i, s := range all {
		if each[i] != nil {
			r.unread[ids[i]] = each[i]
			continue
		}
		r.snapshots[ids[i]] = s
		texts = append(texts, s.Claim.AdditionalContextIDs...)
		if f := r.cancelled(s.Claim); f != nil {
			texts = append(texts, f.ID)
		}
		for _, g := range s.Grants {
			texts = append(append(texts, g.ResultID), g.Asked...)
		}
	}
	slices.Sort(texts)
	return r.readTexts(r.ctx, r.b, slices.Compact(texts), view.MaxShown)
}

func (r *whyReader) step(at link) (Step, error) {
	s := Step{Sources: []view.Brief{}}
	var target string
	if err := r.unread[at.claim]; err != nil {
		s.Unread, s.Unreadable = at.claim, err.Error()
		target = r.claims[at.claim].ArtefactID // empty if the claim's own record is corrupt
	}
	if snapshot, ok := r.snapshots[at.claim]; ok {
		c, err := r.claim(snapshot)
		if err != nil {
			return s, err
		}
		s.Claim, target = &c, c.ArtefactID
	}
	a := r.artefacts[at.artefact]
	if a == nil {
		return s, nil
	}
	of, err := r.brief(a)
	if err != nil {
		return s, err
	}
	s.Artefact, s.Gate = &of, r.gate(a)
	for _, id := range a.SourceArtefacts {
		if source := r.artefacts[id]; source != nil && id != target {
			from, err := r.brief(source)
			if err != nil {
				return s, err
			}
			s.Sources = append(s.Sources, from)
		}
	}
	return s, nil
}

// brief is an artefact in brief; a goal's names the person that posted it.
func (r *whyReader) brief(a *blackboard.Outline) (view.Brief, error) {
	of := view.BriefOf(a)
	if a.ID != a.WorkflowID {
		return of, nil
	}
	err := r.posted(&of)
	return of, err
}

func (r *whyReader) gate(a *blackboard.Outline) *view.Gate {
	review := r.gates[a.ID]
	switch {
	case review == nil && r.held[a.ID]:
		return &view.Gate{State: view.GateHeld}
	case review == nil:
		return nil
	}
	return view.DecidedGate(a.Artefact, review)
}
