package view

import (
	"fmt"
	"strings"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
)

// DescribeOpened puts an opened claim into words together with the bids on it.
func DescribeOpened(open blackboard.Event, bids []blackboard.Event) EventLine {
	l := Describe(open, nil)
	if len(bids) == 0 {
		return l
	}
	n, wants := 0, []string{}
	for _, b := range bids {
		agents := strings.Count(b.Agent, ",") + 1
		n += agents
		switch {
		case b.To != string(blackboard.BidIgnore):
			kind := b.To
			if kind == string(blackboard.BidClaim) {
				kind = "parallel"
			}
			wants = append(wants, words.Listed(b.Agent)+" "+kind)
		case !ByRule(b) && b.Reason != "no entry of bids fits" && b.Reason != "bid script":
			wants = append(wants, words.Listed(b.Agent)+" ignores it"+words.Because(b.Reason))
		}
	}
	said := "no agent wants it"
	if len(wants) > 0 {
		said = strings.Join(wants, ", ")
	}
	l.What = role.Clean(fmt.Sprintf("claim %s on %s %s, %s: %s", words.Short(open.Claim), open.Attributes["type"], words.Short(open.Artefact), words.Count(n, "bid"), said))
	return l
}

// ByRule says whether an agent ignores a claim by its rules, not because of a fault.
func ByRule(bid blackboard.Event) bool {
	return bid.To == string(blackboard.BidIgnore) && (bid.Reason == "" || bid.Reason == "its own work")
}
