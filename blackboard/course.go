package blackboard

// Opening by a course: an ordinary claim is opened, bid on and granted by the scripts
// that store its artefact, when all of that is known beforehand. The leader puts it on
// the board, for the artefacts of one type and one producer.

// OpeningCourse says how the claim on an artefact is opened without the orchestrator.
type OpeningCourse struct {
	Type, Agent  string // of the artefact; its producer is empty for people
	MaxArtefacts int    // of a workflow; 0: any number
	Bidders      []string
	Bids         []TableBid // of agents whose settings alone say their bid, in the order in which they count
	Due          []string   // the other bidders, which bid themselves
	Steps        string     // of the claim, when no agents are due; see BidsCourse
	Tell         bool       // the orchestrator is told of the claim, since a silence may end
}

// TableBid is a bid that follows from the settings.
type TableBid struct {
	Bid
	Reason string
	Rule   string
	Line   int // of Rule in sett.yml; 0: unknown
}

// BidsCourse gives the steps of a claim with these bids, while each grant ends well:
// "review:a,b;parallel:c;exclusive:+d". A step with a plus is left to the orchestrator.
type BidsCourse struct {
	Bids  []Bid
	Steps string
}

// MaxCourses is the most courses on a board. Its writer drops all when there are more.
const MaxCourses = 4096
