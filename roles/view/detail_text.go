package view

import (
	"fmt"
	"strings"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
)

// ClaimStatus is a claim's status with the reason for its end.
func ClaimStatus(c blackboard.Claim) string {
	return string(c.Status) + words.Because(role.Clean(c.Reason))
}

// Bids lists the bids in the order they came in, ignores last.
func Bids(bids []blackboard.Bid) string {
	var said, ignored []string
	for _, b := range bids {
		if b.Type == blackboard.BidIgnore {
			ignored = append(ignored, b.Agent)
			continue
		}
		said = append(said, fmt.Sprintf("%s %s", b.Agent, b.Type))
	}
	if len(ignored) > 0 {
		said = append(said, "ignored by "+strings.Join(ignored, " "))
	}
	return role.Clean(strings.Join(said, ", "))
}

// GrantState is a grant's state or, of a finished review, its verdict.
func GrantState(g blackboard.Grant) string {
	s := strings.ReplaceAll(string(g.State), "_", " ")
	switch g.Verdict {
	case blackboard.Approve:
		s = "approves"
	case blackboard.Feedback:
		s = "rejects"
	}
	if g.Attempt > 1 {
		s += fmt.Sprintf(", attempt %d", g.Attempt)
	}
	return s
}

// GrantTime is how long the tool ran; without a tool how long the grant took.
func GrantTime(g blackboard.Grant) string {
	switch {
	case g.ToolTime > 0:
		return words.Span(g.ToolTime)
	case !g.StartedAt.IsZero() && !g.EndedAt.IsZero():
		return words.Span(g.EndedAt.Sub(g.StartedAt))
	}
	return ""
}

// ResultText names a grant's result, or the reason why there is none.
func ResultText(g GrantDetail) string {
	if g.Result == nil {
		return strings.TrimPrefix(words.Because(g.Reason), ": ")
	}
	a := blackboard.Artefact{ID: g.Result.ID, StructuralType: g.Result.StructuralType, Type: g.Result.Type, Version: g.Result.Version}
	return Named(a) + words.Because(g.Says)
}
