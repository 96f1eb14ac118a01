package cli

import (
	"slices"

	"sett/blackboard"
	"sett/blackboard/redis"
)

// whyReader puts the chain together.
type whyReader struct {
	*app
	*lineage
	b         *redis.Board
	snapshots map[string]blackboard.Snapshot // of the claims on the way
	gates     map[string]*redis.Outline      // artefact to the Review that decided about its gate
}

// readWhy reads how something came to be.
func (a *app) readWhy(b *redis.Board, id string, kind redis.Kind) (whyView, error) {
	v := whyView{Kind: kind, ID: id, Steps: []whyStep{}}
	var target, claim string
	if kind == redis.KindClaim {
		claims, err := b.Claims(a.ctx, []string{id})
		if err != nil {
			return v, err
		}
		claim, v.Goal = id, claims[0].WorkflowID
	} else {
		goal, err := goalOf(a.ctx, b, id)
		if err != nil {
			return v, err
		}
		target, v.Goal = id, goal
	}
	l, err := readLineage(a.ctx, b, v.Goal)
	if err != nil {
		return v, err
	}
	r := &whyReader{app: a, lineage: l, b: b, snapshots: map[string]blackboard.Snapshot{}, gates: map[string]*redis.Outline{}}
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
		v.broken.add(r.unread[at.claim])
	}
	v.Took = r.took(way)
	return v, nil
}

// took is how long after the goal the last of the way was.
func (r *whyReader) took(way []link) float64 {
	if len(way) == 0 {
		return 0
	}
	last := way[len(way)-1]
	at := r.claims[last.claim].OpenedAt
	if a := r.artefacts[last.artefact]; a != nil {
		at = a.CreatedAt
	}
	if s := seconds(r.workflow.CreatedAt, at); s != nil {
		return *s
	}
	return 0
}

// read reads the claims on the way whole, and what is told from.
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
	return r.readTexts(r.ctx, r.b, slices.Compact(texts), maxShown)
}

func (r *whyReader) step(at link) (whyStep, error) {
	s := whyStep{Sources: []artefactBrief{}}
	var target string
	if err := r.unread[at.claim]; err != nil {
		s.unread, s.Unreadable = at.claim, err.Error()
		target = r.claims[at.claim].ArtefactID // where its record is whole, and what belongs to it is not
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
	of := briefOf(a)
	s.Artefact, s.Gate = &of, r.gate(a)
	for _, id := range a.SourceArtefacts {
		if source := r.artefacts[id]; source != nil && id != target {
			s.Sources = append(s.Sources, briefOf(source))
		}
	}
	return s, nil
}

func (r *whyReader) gate(a *redis.Outline) *gate {
	review := r.gates[a.ID]
	switch {
	case review == nil && r.held[a.ID]:
		return &gate{State: gateHeld}
	case review == nil:
		return nil
	}
	return decidedGate(a.Artefact, review)
}
