package view

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
)

// MostOpen is the number of open items of each kind that are read to name their waits.
// The oldest matter most, and a heap of thousands has one cause.
const MostOpen = 200

// Open is the open work of a goal or of all goals.
type Open struct {
	Claims []blackboard.Snapshot // oldest first
	More   int                   // open claims that were not looked at

	workflow  string // the one goal; empty: all goals
	corrupt   []corruptClaim
	unclaimed []blackboard.Outline // artefacts without their claim
	gates     []blackboard.Outline // artefacts that wait for approval
	landings  []turn               // goals that are about to land
	lost      []string             // artefacts that want a claim or approval and have no record any more
}

// corruptClaim is an open claim with an unreadable record, or with none.
type corruptClaim struct {
	id  string
	err error
}

// text says so.
func (c corruptClaim) text() string {
	if errors.Is(c.err, blackboard.ErrNotFound) {
		return lostRecord("claim", c.id)
	}
	return fmt.Sprintf("claim %s has a corrupt record, which is left alone%s", words.Short(c.id), words.Because(role.Clean(c.err.Error())))
}

func lostRecord(kind, id string) string {
	return fmt.Sprintf("%s %s is lost, its record is gone; cancelling its goal ends the wait", kind, words.Short(id))
}

// Unreadable names the open claims and artefacts with a lost record, and claims that cannot be read. Nothing takes them on.
func (o Open) Unreadable() (all []string) {
	for _, c := range o.corrupt {
		all = append(all, c.text())
	}
	for _, id := range o.lost {
		all = append(all, lostRecord("artefact", id))
	}
	return all
}

// ReadOpen reads the open work of one goal or (empty) of all.
func ReadOpen(ctx context.Context, b Board, workflow string) (Open, error) {
	o := Open{workflow: workflow}
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
		o.More += max(len(*ids)-MostOpen, 0)
		*ids = (*ids)[:min(len(*ids), MostOpen)]
	}
	if err := o.readClaims(ctx, b, work.Claims); err != nil {
		return o, err
	}
	if o.unclaimed, err = o.readShown(ctx, b, work.Unclaimed); err != nil {
		return o, err
	}
	if o.gates, err = o.readShown(ctx, b, gates); err != nil {
		return o, err
	}
	return o, o.readLandings(ctx, b)
}

// turn is a goal's place among those that are about to land.
type turn struct {
	goal  blackboard.Workflow
	after string   // the goal before it; empty: none
	needs []string // the commands of a person, without the program, that after waits for; none: it goes on by itself
}

// readLandings reads the goals that are about to land.
func (o *Open) readLandings(ctx context.Context, b Board) error {
	ids, err := b.Landing.OpenLandings(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	o.More += max(len(ids)-MostOpen, 0)
	all, err := workflows(ctx, b, ids)
	if err != nil {
		return err
	}
	before, needs := "", []string(nil)
	for _, w := range all {
		if o.workflow == "" || o.workflow == w.ID {
			t := turn{goal: w, after: before}
			if ahead, ok := w.Ahead(all); ok {
				if needs == nil {
					if needs, err = needsOf(ctx, b, ahead.ID); err != nil {
						return err
					}
				}
				t.after, t.needs = ahead.ID, needs
			}
			o.landings = append(o.landings, t)
		}
		if !w.Passes() {
			before = w.ID
		}
	}
	return nil
}

// ofWorkflow keeps the items of one goal.
func ofWorkflow(ctx context.Context, b Board, workflow string, work blackboard.Work, gates []string) (blackboard.Work, []string, error) {
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

func (o *Open) readClaims(ctx context.Context, b Board, ids []string) error {
	all, each, err := b.Snapshots(ctx, ids)
	for i, c := range all {
		switch {
		case each[i] != nil: // also of a record that is gone
			o.corrupt = append(o.corrupt, corruptClaim{ids[i], each[i]})
		case !c.Claim.Status.Closed(): // else closed meanwhile
			o.Claims = append(o.Claims, c)
		}
	}
	return err
}

// readShown reads artefacts as far as a line about each needs it. An unreadable one
// keeps its place, with its id alone; a missing one is lost.
func (o *Open) readShown(ctx context.Context, b Board, ids []string) ([]blackboard.Outline, error) {
	all, each, err := b.OutlinesWithTexts(ctx, ids, MaxShown)
	var out []blackboard.Outline
	for i, a := range all {
		switch {
		case errors.Is(each[i], blackboard.ErrNotFound):
			o.lost = append(o.lost, ids[i])
			continue
		case each[i] != nil:
			a = blackboard.Outline{Artefact: blackboard.Artefact{ID: ids[i], Type: "corrupt record", Version: 1, StructuralType: blackboard.Standard,
				ProducedByRole: "nobody knows", CreatedAt: blackboard.IDTime(ids[i])}}
		}
		out = append(out, a)
	}
	return out, err
}

// Waits returns the waits of a goal, or (empty) of all open work; and the number of
// open items that were not read.
func (r Reader) Waits(ctx context.Context, workflow string) (waits []Wait, more int, err error) {
	o, err := ReadOpen(ctx, r.Board, workflow)
	if err != nil {
		return nil, 0, err
	}
	s, err := r.Scene(ctx, o)
	if err != nil {
		return nil, 0, err
	}
	return s.Waits(o), o.More, nil
}

// account is a workflow with its claims, read at one time.
type account struct {
	workflow blackboard.Workflow
	claims   []blackboard.Snapshot // oldest first, without corrupt ones
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
func readAccount(ctx context.Context, b Board, id string) (account, error) {
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
