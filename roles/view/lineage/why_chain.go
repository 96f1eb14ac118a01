package lineage

import (
	"slices"

	"sett/blackboard"
)

// link is one step of the chain from the goal: a claim, an artefact made under it, or
// both.
type link struct{ claim, artefact string }

// chain returns the links from the goal to an artefact or claim, oldest first. It goes
// back from an artefact to the claim that it was made under, and from a claim to the claim
// before it (for a retry or a rework) or to its artefact. Where a record is corrupt it
// goes back over the sources, or stops. It visits nothing twice.
func (l *lineage) chain(claim, artefact string) []link {
	var way []link
	seen := map[string]bool{}
	at := link{claim, artefact}
	for at != (link{}) && !seen[at.claim] && !seen[at.artefact] {
		if at.claim == "" { // find the claim that led to the artefact
			if c := l.madeUnder(at.artefact); l.known(c) && at.artefact != l.workflow.ID && !seen[c] {
				at.claim = c
			}
		}
		way = append(way, at)
		if at.artefact != "" {
			seen[at.artefact] = true
		}
		seen[at.claim] = at.claim != ""
		if c, ok := l.claims[at.claim]; ok {
			at = l.before(c)
		} else {
			at = link{artefact: l.firstSource(at.artefact, seen)}
		}
	}
	slices.Reverse(way)
	return way
}

// known says whether the goal has such a claim. Its record may be corrupt.
func (l *lineage) known(claim string) bool {
	_, ok := l.claims[claim]
	return ok || l.unread[claim] != nil
}

func (l *lineage) madeUnder(artefact string) string {
	if a := l.artefacts[artefact]; a != nil {
		return a.ClaimID
	}
	return ""
}

// before returns the claim or the artefact that a claim was opened for.
func (l *lineage) before(c blackboard.Claim) link {
	if _, ok := l.claims[c.RetryOf]; ok {
		return link{claim: c.RetryOf}
	}
	if c.Origin == blackboard.OriginRework {
		for _, review := range c.AdditionalContextIDs {
			if from := l.madeUnder(review); from != c.ID && l.claims[from].ArtefactID == c.ArtefactID {
				return link{claim: from}
			}
		}
		if from := blackboard.BiddingClaimID(c.ArtefactID); l.claims[from].ID != "" {
			return link{claim: from}
		}
	}
	return link{artefact: c.ArtefactID}
}

// firstSource is the artefact before one without a claim: its first readable source that
// is not in seen, else the goal; empty: there is none.
func (l *lineage) firstSource(artefact string, seen map[string]bool) string {
	a := l.artefacts[artefact]
	if a == nil || artefact == l.workflow.ID {
		return ""
	}
	for _, source := range append(slices.Clone(a.SourceArtefacts), l.workflow.ID) {
		if !seen[source] && l.artefacts[source] != nil {
			return source
		}
	}
	return ""
}
