package view

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sett/blackboard"
	"sett/roles/role/words"
)

// GoalDetail reads a goal with its claims; a is the goal itself.
func (r Reader) GoalDetail(ctx context.Context, a blackboard.Artefact) (GoalDetail, error) {
	w, err := readAccount(ctx, r.Board, a.ID)
	if err != nil {
		return GoalDetail{}, err
	}
	v, err := goalOf(ctx, r.Board, a, w)
	if err == nil {
		v.Claims, err = claimsOf(ctx, r.Board, w.claims)
	}
	if err == nil {
		err = r.goalWaits(ctx, &v, w)
	}
	return v, err
}

// GoalState reads a goal without its claims, whose number has no bound.
func (r Reader) GoalState(ctx context.Context, a blackboard.Artefact) (GoalDetail, error) {
	w, err := r.Workflow(ctx, a.ID)
	if err != nil {
		return GoalDetail{}, err
	}
	v, err := goalOf(ctx, r.Board, a, account{workflow: w})
	if err != nil || w.Status.Ended() {
		return v, err
	}
	v.Waits, v.More, err = r.Waits(ctx, a.ID)
	return v, err
}

// goalOf reads a goal but for its claims and waits.
func goalOf(ctx context.Context, b Board, a blackboard.Artefact, w account) (GoalDetail, error) {
	v := GoalDetail{Kind: "goal", Workflow: w.workflow, Text: a.Payload, Altered: a.Altered, Base: a.Base().Commit, Branch: a.Base().Branch, Claims: []ClaimDetail{}, Waits: []Wait{}}
	spent, err := b.Calls.Spending(ctx, w.workflow.ID)
	if err != nil {
		return v, err
	}
	v.Over = spent.Over
	for _, id := range []string{w.workflow.FailureID, w.workflow.TerminalID} {
		if id != "" && v.Outcome == "" && w.workflow.Status.Ended() {
			end, err := b.Artefact(ctx, id)
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
	all, err := claimsOf(ctx, r.Board, []blackboard.Snapshot{c})
	if err != nil {
		return v, err
	}
	v.ClaimDetail = all[0]
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

// resultPage is the number of results that are read in one round trip: payloads may be large.
const resultPage = 100

// claimsOf adds the results to claims.
func claimsOf(ctx context.Context, b Board, claims []blackboard.Snapshot) ([]ClaimDetail, error) {
	all := []ClaimDetail{}
	var made []*GrantDetail // with a result
	for _, c := range claims {
		v := ClaimDetail{Kind: "claim", Claim: c.Claim, Bids: c.Bids, Grants: []GrantDetail{}, Waits: []Wait{}}
		for _, g := range c.Grants {
			gv := GrantDetail{Grant: g, ToolSeconds: g.ToolTime.Seconds()}
			if by, ok := blackboard.PersonName(g.Agent); ok {
				gv.By = by
			}
			v.Grants = append(v.Grants, gv)
		}
		for i := range v.Grants {
			if v.Grants[i].ResultID != "" {
				made = append(made, &v.Grants[i])
			}
		}
		all = append(all, v)
	}
	for page := range slices.Chunk(made, resultPage) {
		var ids []string
		for _, g := range page {
			ids = append(ids, g.ResultID)
		}
		results, each, err := b.TryArtefacts(ctx, ids)
		if err = errors.Join(append(each, err)...); err != nil {
			return nil, err
		}
		for i, g := range page {
			m := MetaOf(results[i])
			g.Result, g.Says = &m, Gist(&results[i])
		}
	}
	return all, nil
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
