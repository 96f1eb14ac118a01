package redis

import (
	"strconv"
	"strings"

	"sett/blackboard"
)

// Matter is what a notice says there is to decide about. It is a hint like any
// other: who relies on more than the id has the script check it.
type Matter struct {
	Artefact string // needs a claim
	Claim    string // needs a look
	// With a claim whose bids are all in: its revision then, and the bids in the
	// order they came in. Zero and nil otherwise.
	Revision int64
	Bids     []blackboard.Bid
}

// ParseMatter reads a notice of OrchestratorEvents. The empty notice is about the
// instance as a whole. ok is false when nobody of Sett's wrote it.
func ParseMatter(notice string) (m Matter, ok bool) {
	if notice == "" {
		return m, true
	}
	if id, is := strings.CutPrefix(notice, "+"); is {
		return Matter{Artefact: id}, blackboard.ValidID(id)
	}
	words := strings.Split(notice, " ")
	m.Claim = words[0]
	if !blackboard.ValidID(m.Claim) || len(words) == 1 {
		return m, blackboard.ValidID(m.Claim)
	}
	revision, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil {
		return m, false
	}
	for _, word := range words[2:] {
		agent, bid, is := strings.Cut(word, "=")
		if !is || agent == "" || !blackboard.BidType(bid).Valid() {
			return Matter{Claim: m.Claim}, false
		}
		m.Bids = append(m.Bids, blackboard.Bid{Agent: agent, Type: blackboard.BidType(bid)})
	}
	m.Revision = revision
	return m, true
}
