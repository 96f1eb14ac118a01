package landing

import (
	"context"

	"sett/blackboard"
	"sett/roles/role/git"
)

// ledger reads entries of the ledger from a position on.
type ledger interface {
	History(ctx context.Context, from string, most int64) ([]blackboard.Event, error)
}

// page is how many entries of the ledger are read at once.
const page = 1000

// Recorded says whether the ledger has an entry of a result's landing on a branch.
func Recorded(ctx context.Context, entries ledger, result blackboard.Artefact, branch string) (bool, error) {
	for after := blackboard.PositionAt(result.CreatedAt); ; {
		events, err := entries.History(ctx, after, page)
		if err != nil {
			return false, err
		}
		for _, e := range events {
			if after = e.ID; e.Lands(result.ID, branch) {
				return true, nil
			}
		}
		if len(events) < page {
			return false, nil
		}
	}
}

// of ends the reflog's words about a landing, before the id of its artefact.
const of = ", artefact "

// why is the reflog's message of the landing. Found reads it.
func (p *Plan) why() string {
	if p.Artefact == "" {
		return git.LandWords + p.How
	}
	return git.LandWords + p.How + of + p.Artefact
}

// Found is the record of a landing that was made before. Its maker is told where the reflog has it as Sett's own move.
func (p *Plan) Found(ctx context.Context) blackboard.LandedByHand {
	l := blackboard.LandedByHand{Word: blackboard.FoundLandedWord(p.Artefact, p.Branch), Workflow: p.Goal, Artefact: p.Artefact, Branch: p.Branch, Commit: p.To, How: p.How}
	m := git.LandMove(ctx, p.repo, p.Branch, of+p.Artefact)
	if m == nil {
		return l
	}
	if still, err := p.repo.IsAncestor(ctx, m.To, p.To); err == nil && still { // it was not undone
		l.Before, l.Commit, l.Earlier = m.From, m.To, &blackboard.Moved{By: m.By, At: m.At, How: m.How}
	}
	return l
}
