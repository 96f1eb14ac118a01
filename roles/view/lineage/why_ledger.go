package lineage

import (
	"strconv"
	"time"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// near is more than the difference between the time of a move and that of its entry in
// the ledger.
const near = 50 * time.Millisecond

// The first and the largest page of entries, and the most entries that are read of the ledger for one
// claim: a busy clan has many entries between a claim's opening and its last bid, others have few.
const (
	firstPage   = 32
	ledgerPage  = 500
	mostEntries = 4 * ledgerPage
)

// record adds what only the ledger has: the rules that decided the bids, and what each
// grant was run with.
func (r *whyReader) record(c *WhyClaim, grants []blackboard.Grant) error {
	if c.Origin == blackboard.OriginArtefact {
		missing := len(c.Bids)
		err := r.entries(c.OpenedAt, func(e blackboard.Event) (done bool) {
			if e.Claim != c.ID {
				return false
			}
			if e.Kind == blackboard.EventBid {
				missing -= c.noteBid(e)
			}
			return missing <= 0 || e.Kind != blackboard.EventBid && e.Kind != blackboard.EventOpen
		})
		if err != nil {
			return err
		}
	}
	for i := range c.Grants {
		for _, g := range grants {
			if w := &c.Grants[i]; w.Agent == g.Agent && w.Phase == g.Phase && g.OfAgent() && !g.StartedAt.IsZero() {
				if err := r.recordStart(c.ID, w, g); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// noteBid takes the entry of a bid, and returns the number of bids that it records.
func (c *WhyClaim) noteBid(e blackboard.Event) (noted int) {
	for i := range c.Bids {
		if b := &c.Bids[i]; b.Agent == e.Agent {
			b.Rule, b.Reason = e.Attributes[blackboard.AttributeRule], e.Reason
			b.Line, _ = strconv.Atoi(e.Attributes[blackboard.AttributeLine])
			noted++
		}
	}
	return noted
}

// recordStart reads the entry of a grant's last start. That of a grant which a retry kept
// names another claim.
func (r *whyReader) recordStart(claim string, w *WhyGrant, g blackboard.Grant) error {
	return r.entries(g.StartedAt, func(e blackboard.Event) (done bool) {
		if e.Kind != blackboard.EventStart || e.Agent != g.Agent || e.Claim != claim && !w.Kept || e.Attributes["holder"] != g.Holder {
			return e.Time.After(g.StartedAt.Add(near))
		}
		w.Ran = e.Ran()
		return true
	})
}

// posted adds the person that posted a goal, whose artefact does not name one. It stays empty if the ledger has no such entry.
func (r *whyReader) posted(goal *view.Brief) error {
	return r.entries(goal.CreatedAt, func(e blackboard.Event) (done bool) {
		if e.Kind != blackboard.EventGoal || e.Artefact != goal.ID {
			return e.Time.After(goal.CreatedAt.Add(near))
		}
		if by := e.Attributes[blackboard.AttributeBy]; by != "" {
			goal.By, goal.Maker = by, words.Shorten(role.Clean(by), 40)
		}
		return true
	})
}

// entries gives f the entries of the ledger from a time on, until f is done or the
// entries are too many.
func (r *whyReader) entries(from time.Time, f func(blackboard.Event) (done bool)) error {
	after := blackboard.PositionAt(from.Add(-near))
	page := int64(firstPage)
	for read := int64(0); read < mostEntries; read, page = read+page, min(4*page, ledgerPage) {
		events, err := r.ledger.History(r.ctx, after, page)
		if err != nil {
			return err
		}
		for _, e := range events {
			if f(e) {
				return nil
			}
			after = e.ID
		}
		if int64(len(events)) < page {
			return nil
		}
	}
	return nil
}
