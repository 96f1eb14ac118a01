package cli

import (
	"context"
	"errors"
	"slices"

	"sett/blackboard"
	"sett/blackboard/redis"
)

// mostOpen is how much open work of each kind is looked at to name what it waits
// for. The oldest is what matters, and a heap of thousands has one cause.
const mostOpen = 200

// openWork is work that waits for something: what is on the blackboard besides
// costs nothing to leave out.
type openWork struct {
	workflow  string                // that all of it is of; empty: of any
	claims    []blackboard.Snapshot // oldest first
	corrupt   []corruptClaim
	unclaimed []redis.Outline // artefacts without their claim
	gates     []redis.Outline // artefacts that wait for approval
	lost      []string        // artefacts that want a claim or approval and have no record any more
	more      int             // that was not looked at
}

// corruptClaim is an open claim whose record cannot be read.
type corruptClaim struct {
	id  string
	err error
}

// readOpen reads the open work of one goal or (empty) of all.
func readOpen(ctx context.Context, b *redis.Board, workflow string) (openWork, error) {
	o := openWork{workflow: workflow}
	work, err := b.OpenWork(ctx)
	if err != nil {
		return o, err
	}
	gates, err := b.OpenGates(ctx)
	if err != nil {
		return o, err
	}
	if workflow != "" {
		if work, gates, err = ofWorkflow(ctx, b, workflow, work, gates); err != nil {
			return o, err
		}
	}
	for _, ids := range []*[]string{&work.Claims, &work.Unclaimed, &gates} {
		o.more += max(len(*ids)-mostOpen, 0)
		*ids = (*ids)[:min(len(*ids), mostOpen)]
	}
	if err := o.readClaims(ctx, b, work.Claims); err != nil {
		return o, err
	}
	if o.unclaimed, err = o.readShown(ctx, b, work.Unclaimed); err != nil {
		return o, err
	}
	o.gates, err = o.readShown(ctx, b, gates)
	return o, err
}

// ofWorkflow leaves what is of a goal.
func ofWorkflow(ctx context.Context, b *redis.Board, workflow string, work redis.Work, gates []string) (redis.Work, []string, error) {
	claims, err := b.WorkflowClaims(ctx, workflow)
	if err != nil {
		return work, nil, err
	}
	artefacts, err := b.WorkflowArtefacts(ctx, workflow)
	own := map[string]bool{}
	for _, id := range slices.Concat(claims, artefacts) {
		own[id] = true
	}
	foreign := func(id string) bool { return !own[id] }
	work.Claims, work.Unclaimed = slices.DeleteFunc(work.Claims, foreign), slices.DeleteFunc(work.Unclaimed, foreign)
	return work, slices.DeleteFunc(gates, foreign), err
}

func (o *openWork) readClaims(ctx context.Context, b *redis.Board, ids []string) error {
	all, each, err := b.Snapshots(ctx, ids)
	for i, c := range all {
		switch {
		case errors.Is(each[i], blackboard.ErrNotFound): // of an import that was given up
		case each[i] != nil:
			o.corrupt = append(o.corrupt, corruptClaim{ids[i], each[i]})
		case !c.Claim.Status.Closed(): // else closed meanwhile
			o.claims = append(o.claims, c)
		}
	}
	return err
}

// readShown reads artefacts as far as a line about each needs it. What cannot be
// read keeps its place, with its id alone; what is gone is lost.
func (o *openWork) readShown(ctx context.Context, b *redis.Board, ids []string) ([]redis.Outline, error) {
	all, each, err := b.OutlinesWithTexts(ctx, ids, maxShown)
	var out []redis.Outline
	for i, a := range all {
		switch {
		case errors.Is(each[i], blackboard.ErrNotFound):
			o.lost = append(o.lost, ids[i])
			continue
		case each[i] != nil:
			a = redis.Outline{Artefact: blackboard.Artefact{ID: ids[i], Type: "corrupt record", Version: 1, StructuralType: blackboard.Standard,
				ProducedByRole: "nobody knows", CreatedAt: blackboard.IDTime(ids[i])}}
		}
		out = append(out, a)
	}
	return out, err
}

// waitsOf returns what a goal waits for, or (empty) everything that is open; and
// how much more is open than was looked at.
func (a *app) waitsOf(ctx context.Context, b *redis.Board, in *instance, workflow string) (waits []wait, more int, err error) {
	o, err := readOpen(ctx, b, workflow)
	if err != nil {
		return nil, 0, err
	}
	s, err := a.readScene(ctx, b, in, o)
	if err != nil {
		return nil, 0, err
	}
	return s.waits(o), o.more, nil
}

// account is a workflow with its claims, as read at one time.
type account struct {
	workflow blackboard.Workflow
	claims   []blackboard.Snapshot // oldest first, without those whose record is corrupt
}

// open returns the claims that are open.
func (w account) open() []blackboard.Snapshot {
	var out []blackboard.Snapshot
	for _, c := range w.claims {
		if !c.Claim.Status.Closed() {
			out = append(out, c)
		}
	}
	return out
}

// readAccount reads a workflow and its claims.
func readAccount(ctx context.Context, b *redis.Board, id string) (account, error) {
	var w account
	var err error
	if w.workflow, err = b.Workflow(ctx, id); err != nil {
		return w, err
	}
	ids, err := b.WorkflowClaims(ctx, id)
	if err != nil {
		return w, err
	}
	claims, each, err := b.Snapshots(ctx, ids)
	for i, c := range claims {
		if each[i] == nil {
			w.claims = append(w.claims, c)
		}
	}
	return w, err
}

// humansOnly says whether nothing of a workflow can go on before a person
// answers or approves: all its work is held by gates or in open claims, and each of
// those has a question open and no other grant that could change it.
func humansOnly(w blackboard.Workflow, open []blackboard.Snapshot) bool {
	if w.Status.Ended() || w.Outstanding == 0 || w.Outstanding != len(open)+w.Gates {
		return false
	}
	for _, c := range open {
		asking := false
		for _, g := range c.Grants {
			switch g.State {
			case blackboard.GrantQueued, blackboard.GrantRunning, blackboard.GrantFailed:
				return false // a failure is the orchestrator's to act on
			case blackboard.GrantAwaitingAnswer:
				asking = true
			}
		}
		if !asking {
			return false
		}
	}
	return true
}
