package cli

import (
	"slices"

	"sett/blackboard"
)

// link is one step of the way from the goal: a claim, an artefact it yielded, or
// both.
type link struct{ claim, artefact string }

// chain returns the way from the goal to an artefact or claim, oldest first. An
// artefact leads to the claim it was made under, and that one to the claim it came
// of (a retry's, a rework's) or to its artefact. What is corrupt sends the way over
// the sources, or cuts it short; nothing is passed twice.
func (l *lineage) chain(claim, artefact string) []link {
	var way []link
	seen := map[string]bool{}
	at := link{claim, artefact}
	for at != (link{}) && !seen[at.claim] && !seen[at.artefact] {
		if at.claim == "" { // what led to the artefact?
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

// known says whether there is such a claim, though its record may be corrupt.
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

// before returns what a claim came of.
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

// firstSource is where the way goes on from an artefact that no claim led to: to
// what it was made from, else to the goal.
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
