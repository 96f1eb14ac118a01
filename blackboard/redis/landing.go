package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// OpenLandings returns the ids of the goals whose results wait to land, in the order of
// the goals' ends.
func (b Index) OpenLandings(ctx context.Context) ([]string, error) {
	return b.c.Sorted(ctx, b.c.Keys.Landings())
}

// SetLanding says on which branch achieved goals land from now on; empty: on none.
// ErrStale when the epoch is no longer the leader's.
func (b Leader) SetLanding(ctx context.Context, epoch, branch string) error {
	r, err := b.c.Do(ctx, "lands", epoch, branch)
	return store.Done(r, err, "set the branch that goals land on")
}

// Land takes the landing of a goal one step further. ErrStale: the lead is another's, or
// the landing is no longer as the step expects it; ErrRefused: it is over, or
// its goal was cancelled, and the step is not the end of it.
func (b Leader) Land(ctx context.Context, s blackboard.LandingStep) error {
	details := map[string]any{
		"landing": landingText(s.To), "state": s.To.State, "over": s.Over, "people": s.To.People, "reason": s.To.Reason, "of": s.To.Artefact,
		"branch": s.To.Branch, "tip": s.To.Tip, "commit": s.To.Commit, "how": s.To.How, "trouble": s.To.Trouble,
	}
	written := s.Artefact // the one artefact that the script takes
	if s.Artefact != nil {
		details["artefact"] = store.PutOf(*s.Artefact)
	}
	if s.Rework != nil {
		r := reworkDetails(&s.Rework.Rework)
		r["artefact"] = s.Rework.Artefact
		if s.Rework.Question != nil {
			written = s.Rework.Question
		}
		details["rework"] = r
	}
	args := []string{s.Epoch, s.Workflow, landingText(s.From), store.Encode(details), "", "", ""}
	if written != nil {
		args = append(args[:4], store.Arguments(*written)[1:]...)
	}
	r, err := b.c.Do(ctx, "land", args...)
	if err == nil && r.Status == "stale" && r.Text(0) == "leader" {
		err = fmt.Errorf("%w: %w", blackboard.ErrNotLeader, blackboard.ErrStale)
	}
	return store.Done(r, err, "land goal %s", s.Workflow)
}

// NoteLanded records a landing that a person made, or found made, and has the orchestrator look at the branch.
func (b People) NoteLanded(ctx context.Context, l blackboard.LandedByHand, by string) error {
	movedBy, movedAt, movedHow := "", "", ""
	if m := l.Earlier; m != nil {
		movedBy, movedAt, movedHow = m.By, m.At.UTC().Format(time.RFC3339), m.How
	}
	return b.decide(ctx, "record the landing of "+l.Artefact, l.Workflow, "landed", l.Word, l.Workflow, l.Artefact, l.Branch, l.Before, l.Commit, l.How, by,
		movedBy, movedAt, movedHow)
}

// landingText is the record of a landing, as the blackboard stores it.
func landingText(l blackboard.Landing) string {
	text, err := json.Marshal(l)
	if err != nil {
		panic(err) // texts can always be written
	}
	return string(text)
}

// reworkDetails describes a rework for a script.
func reworkDetails(r *blackboard.Rework) map[string]any {
	d := map[string]any{"id": r.ClaimID, "agent": r.Agent, "context": store.Encode(append([]string{}, r.Context...))} // [] for none, not null
	if r.Question != nil {
		d["question"] = store.PutOf(*r.Question)
	}
	return d
}
