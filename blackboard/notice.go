package blackboard

import (
	"strconv"
	"strings"
)

// Notice names the item that the orchestrator has to decide about. It is a hint: a
// decision that relies on more than the id has the blackboard check it.
type Notice struct {
	Artefact string // needs a claim
	Claim    string // needs a look
	// Revision and Bids come with a claim whose bids are all in: its revision then, and
	// the bids in the order they came in. Zero and nil otherwise.
	Revision int64
	Bids     []Bid
}

// ParseNotice reads a notice to the orchestrator. The empty notice is about the
// instance as a whole. ok is false for a text that Sett does not write.
func ParseNotice(notice string) (n Notice, ok bool) {
	if notice == "" {
		return n, true
	}
	if id, is := strings.CutPrefix(notice, "+"); is {
		return Notice{Artefact: id}, ValidID(id)
	}
	words := strings.Split(notice, " ")
	n.Claim = words[0]
	if !ValidID(n.Claim) || len(words) == 1 {
		return n, ValidID(n.Claim)
	}
	revision, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil {
		return n, false
	}
	for _, word := range words[2:] {
		agent, bid, is := strings.Cut(word, "=")
		if !is || agent == "" || !BidType(bid).Valid() {
			return Notice{Claim: n.Claim}, false
		}
		n.Bids = append(n.Bids, Bid{Agent: agent, Type: BidType(bid)})
	}
	n.Revision = revision
	return n, true
}

// TargetNotice says that a claim wants bids, with the facts for a bid by rule.
type TargetNotice struct {
	Claim  string
	Target Target // its type and its agent
	Script bool   // only agents without a table are due; the bids of the others are in
}

// ParseTarget reads a notice of a claim that wants bids.
func ParseTarget(notice string) (n TargetNotice, ok bool) {
	notice, n.Script = strings.CutPrefix(notice, "?")
	parts := strings.SplitN(notice, " ", 3)
	if len(parts) != 3 || !ValidID(parts[0]) || parts[2] == "" {
		return TargetNotice{}, false
	}
	n.Claim, n.Target = parts[0], Target{Agent: parts[1], Type: parts[2]}
	return n, true
}

// ParseAssignment reads a notice to waiting workers: a worker's incarnation and the
// claim that it was assigned.
func ParseAssignment(notice string) (incarnation, claim string, ok bool) {
	incarnation, claim, ok = strings.Cut(notice, " ")
	return incarnation, claim, ok && incarnation != "" && ValidID(claim)
}
