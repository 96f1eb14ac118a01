package view

import (
	"context"
	"errors"
	"fmt"

	"sett/blackboard"
	"sett/roles/role/words"
)

// GoalDetail reads a goal with its claims; a is the goal itself.
func (r Reader) GoalDetail(ctx context.Context, a blackboard.Artefact) (GoalDetail, error) {
	v := GoalDetail{Kind: "goal", Text: a.Payload, Base: a.Base().Commit, Branch: a.Base().Branch, Claims: []ClaimDetail{}}
	w, err := readAccount(ctx, r.Board, a.ID)
	if err != nil {
		return v, err
	}
	v.Workflow = w.workflow
	for _, c := range w.claims {
		cv, err := r.claimOf(ctx, c)
		if err != nil {
			return v, err
		}
		v.Claims = append(v.Claims, cv)
	}
	if err := r.goalWaits(ctx, &v, w); err != nil {
		return v, err
	}
	for _, id := range []string{w.workflow.FailureID, w.workflow.TerminalID} {
		if id != "" && v.Outcome == "" && w.workflow.Status.Ended() {
			end, err := r.Artefact(ctx, id)
			if err != nil {
				return v, err
			}
			v.Outcome = fmt.Sprintf("%s of %s%s", Named(end), Maker(end), words.Because(Gist(&end)))
		}
	}
	return v, nil
}

// goalWaits finds the waits of the goal and of each of its open claims.
func (r Reader) goalWaits(ctx context.Context, v *GoalDetail, w account) error {
	v.Waits = []Wait{}
	if w.workflow.Status.Ended() {
		return nil
	}
	o, err := ReadOpen(ctx, r.Board, w.workflow.ID)
	if err != nil {
		return err
	}
	all := o
	all.Claims = w.open()
	scene, err := r.Scene(ctx, all)
	if err != nil {
		return err
	}
	v.Waits, v.More = scene.Waits(o), o.More
	for i, c := range w.claims {
		v.Claims[i].Waits = scene.Waits(Open{Claims: []blackboard.Snapshot{c}})
	}
	return nil
}

// ClaimDetail reads a claim with its results and the versions of its artefact.
func (r Reader) ClaimDetail(ctx context.Context, id string) (v ClaimAlone, err error) {
	c, err := r.Snapshot(ctx, id)
	if err != nil {
		return v, err
	}
	if v.ClaimDetail, err = r.claimOf(ctx, c); err != nil {
		return v, err
	}
	if !c.Claim.Status.Closed() {
		open := Open{Claims: []blackboard.Snapshot{c}}
		scene, err := r.Scene(ctx, open)
		if err != nil {
			return v, err
		}
		v.Waits = scene.Waits(open)
	}
	v.Chain, err = r.chain(ctx, c.Claim.ArtefactID)
	return v, err
}

// claimOf adds the results to a claim.
func (r Reader) claimOf(ctx context.Context, c blackboard.Snapshot) (ClaimDetail, error) {
	v := ClaimDetail{Kind: "claim", Claim: c.Claim, Bids: c.Bids, Grants: []GrantDetail{}, Waits: []Wait{}}
	for _, g := range c.Grants {
		gv := GrantDetail{Grant: g, ToolSeconds: g.ToolTime.Seconds()}
		if by, ok := blackboard.PersonName(g.Agent); ok {
			gv.By = by
		}
		if g.ResultID != "" {
			r, err := r.Artefact(ctx, g.ResultID)
			if err != nil {
				return v, err
			}
			m := MetaOf(r)
			gv.Result, gv.Says = &m, Gist(&r)
		}
		v.Grants = append(v.Grants, gv)
	}
	return v, nil
}

// ArtefactDetail reads an artefact's neighbours, its gate and the claim on it.
func (r Reader) ArtefactDetail(ctx context.Context, a blackboard.Artefact) (ArtefactDetail, error) {
	v := ArtefactDetail{Kind: "artefact", Artefact: MetaOf(a), Excerpt: Excerpt(a)}
	children, err := r.Children(ctx, a.ID)
	if err != nil {
		return v, err
	}
	if v.Children, err = r.metas(ctx, children); err != nil {
		return v, err
	}
	if v.Sources, err = r.metas(ctx, a.SourceArtefacts); err != nil {
		return v, err
	}
	if v.Gate, err = ReadGate(ctx, r.Board, a); err != nil {
		return v, err
	}
	last, err := LastTry(ctx, r.Board, blackboard.BiddingClaimID(a.ID))
	if errors.Is(err, blackboard.ErrNotFound) {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	c, err := r.ClaimDetail(ctx, last.Claim.ID)
	v.Claim = &c
	return v, err
}

// metas reads artefacts and leaves out those that do not exist: a tool's result may
// name any sources.
func (r Reader) metas(ctx context.Context, ids []string) ([]Meta, error) {
	out := []Meta{}
	for _, id := range ids {
		a, err := r.Artefact(ctx, id)
		switch {
		case err == nil:
			out = append(out, MetaOf(a))
		case !errors.Is(err, blackboard.ErrNotFound):
			return nil, err
		}
	}
	return out, nil
}
