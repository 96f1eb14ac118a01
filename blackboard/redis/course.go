package redis

import (
	"context"
	"strconv"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// PutOpeningCourse puts on the board how claims on the artefacts of one type and producer
// are opened, by settings of this digest. Cleared says that all other courses were
// dropped. ErrStale: another leads. ErrRefused: other settings are in force.
func (b Leader) PutOpeningCourse(ctx context.Context, epoch, settings string, c blackboard.OpeningCourse) (cleared bool, err error) {
	bids := make([][5]string, len(c.Bids))
	for i, bid := range c.Bids {
		bids[i] = [...]string{bid.Agent, string(bid.Type), bid.Reason, bid.Rule, lineText(bid.Line)}
	}
	// Lists are never null, which a script could not count.
	course := store.Encode(map[string]any{"most": c.MaxArtefacts, "bidders": store.Encode(append([]string{}, c.Bidders...)), "bids": bids,
		"due": append([]string{}, c.Due...), "steps": c.Steps, "tell": c.Tell})
	return b.putCourse(ctx, epoch, settings, "open", c.Type, c.Agent, course)
}

// PutBidsCourse is PutOpeningCourse for the steps of claims with the same bids.
func (b Leader) PutBidsCourse(ctx context.Context, epoch, settings string, c blackboard.BidsCourse) (cleared bool, err error) {
	return b.putCourse(ctx, epoch, settings, "bids", formatBids(c.Bids), "", c.Steps)
}

func (b Leader) putCourse(ctx context.Context, epoch, settings, kind, about, agent, course string) (cleared bool, err error) {
	r, err := b.c.Do(ctx, "course", epoch, settings, kind, about, agent, course, strconv.Itoa(blackboard.MaxCourses))
	if err == nil && r.Status == "cleared" {
		return true, nil
	}
	return false, store.Done(r, err, "put a course on the board")
}

// lineText is a line of sett.yml as scripts take it; empty: unknown.
func lineText(line int) string {
	if line <= 0 {
		return ""
	}
	return strconv.Itoa(line)
}
