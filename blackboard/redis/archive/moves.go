package archive

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// claimFacts are those of a claim that the ledger has, too: as its record has them, or the last entries. There may be a
// million claims: a text is a digest, 0 where the ledger does not have it.
type claimFacts struct {
	artefact, status, reason uint32
	closed                   int64 // in microseconds since 1970; 0: not known
	held                     bool  // see facts
}

// claimsHeard are the claims in the ledger.
type claimsHeard map[recordID]*claimFacts

// of returns the facts of a claim, which an entry names.
func (h claimsHeard) of(id string) *claimFacts {
	key := keyOf(id)
	if h[key] == nil {
		h[key] = &claimFacts{}
	}
	return h[key]
}

// hear takes the facts that an entry has of claims.
func (h claimsHeard) hear(at entryTime, entry map[string]string) {
	claim, status := entry["claim"], entry["to"]
	if claim == "" && blackboard.EventKind(entry["kind"]) == blackboard.EventCancel {
		for _, one := range strings.Split(entry["claims"], ",") {
			if blackboard.ValidID(one) {
				h.of(one).end(at, string(blackboard.Terminated), "goal cancelled by "+entry["by"]+": "+entry["reason"])
			}
		}
	}
	if !blackboard.ValidID(claim) {
		return
	}
	c := h.of(claim)
	switch blackboard.EventKind(entry["kind"]) {
	case blackboard.EventOpen, blackboard.EventReject, blackboard.EventRetry:
		c.open(status, factIn(entry["artefact"]))
	case blackboard.EventLanding: // it reworks an artefact that its entry does not name
		c.open(string(blackboard.PendingExclusive), 0)
	case blackboard.EventConflict:
		if status == "reworked" {
			c.open(string(blackboard.PendingExclusive), factIn(entry["artefact"]))
		}
	case blackboard.EventGrant:
		c.status = factIn(status)
	case blackboard.EventComplete:
		c.end(at, status, entry["reason"])
	case blackboard.EventCancel:
		c.end(at, status, "cancelled by "+entry["by"]+": "+entry["reason"])
	case blackboard.EventTerminate:
		c.end(at, status, entry["reason"])
		if rework := entry["rework"]; blackboard.ValidID(rework) {
			h.of(rework).open(string(blackboard.PendingExclusive), c.artefact)
		}
	}
}

func (c *claimFacts) open(status string, artefact uint32) {
	*c = claimFacts{artefact: artefact, status: factIn(status), reason: factOf("")}
}

func (c *claimFacts) end(at entryTime, status, reason string) {
	c.status, c.reason, c.closed, c.held = factIn(status), factOf(reason), at.ms*1000, at.held
}

// factIn is the digest of a value in an entry, 0 if it is not there.
func factIn(value string) uint32 {
	if value == "" {
		return 0
	}
	return factOf(value)
}

// claimFactsOf are those of a record.
func claimFactsOf(l ClaimLine) (c claimFacts) {
	text := func(name string) uint32 { return factOf(string(l.Fields[name])) }
	c.artefact, c.status, c.reason = text("artefact_id"), text("status"), text("reason")
	c.closed, _ = strconv.ParseInt(string(l.Fields["closed_at"]), 10, 64)
	return c
}

// compare holds a claim's record to the ledger.
func (h claimsHeard) compare(id string, is claimFacts, clockTold bool) error {
	c, other := h[keyOf(id)], ""
	switch {
	case c == nil:
		return fmt.Errorf("claim %s is not in the ledger: %w", id, blackboard.ErrCorrupt)
	case c.artefact != 0 && c.artefact != is.artefact:
		other = "artefact_id"
	case c.status != 0 && c.status != is.status:
		other = "status"
	case c.reason != 0 && c.reason != is.reason:
		other = "reason"
	case apart(is.closed, c.closed, c.held, clockTold):
		other = "closed_at"
	default:
		return nil
	}
	return fmt.Errorf("claim %s is not what the ledger recorded: it has another %s: %w", id, other, blackboard.ErrCorrupt)
}

// apart says whether the time of a record is not that of its entry, which is 0 where it is not known.
func apart(is, entry int64, held, clockTold bool) bool {
	by := is - entry
	return entry != 0 && (by > createdApart || by < -createdApart && !held || by < -heldApart && !clockTold)
}

// outcomes are the ends of grants in a claim's record, by their results.
type outcome struct {
	result, agent string
	fact          uint32
}

func outcomesOf(l ClaimLine) (all []outcome) {
	for agent, stored := range l.Grants {
		var g store.StoredGrant
		if json.Unmarshal([]byte(stored), &g) != nil || g.ResultID == "" || g.State != blackboard.GrantDone && g.State != blackboard.GrantFailed {
			continue
		}
		all = append(all, outcome{g.ResultID, strings.Clone(agent), outcomeFact(agent, string(g.State), string(g.Verdict))})
	}
	slices.SortFunc(all, func(a, b outcome) int { return strings.Compare(a.agent, b.agent) })
	return all
}

// outcomeIn is the end of a grant in the entry of its result; 0: there is none.
func outcomeIn(entry map[string]string) uint32 {
	switch blackboard.EventKind(entry["kind"]) {
	case blackboard.EventResult:
		if entry["to"] != "" && (entry["verdict"] != "" || entry["structural_type"] != string(blackboard.Review)) {
			return outcomeFact(entry["agent"], entry["to"], entry["verdict"])
		}
	case blackboard.EventReview:
		return outcomeFact(humans, string(blackboard.GrantDone), entry["verdict"])
	case blackboard.EventReject:
		return outcomeFact(humans, string(blackboard.GrantDone), string(blackboard.Feedback))
	}
	return 0
}

// humans is how grants name people, in front of their names.
const humans = "human:"

func outcomeFact(agent, state, verdict string) uint32 {
	if strings.HasPrefix(agent, humans) {
		agent = humans
	}
	return factOf(agent + " " + state + " " + verdict)
}

// ends holds the ends of a claim's grants to the entries of their results.
func (r recorded) ends(claim string, all []outcome) error {
	for _, o := range all {
		if s := r[o.result]; s == nil || s.outcome != 0 && s.outcome != o.fact {
			return fmt.Errorf("claim %s is not what the ledger recorded: the grant of %s has another end: %w", claim, o.agent, blackboard.ErrCorrupt)
		}
	}
	return nil
}

// goalFacts are those of a goal that the ledger has, too.
type goalFacts struct {
	status                 blackboard.WorkflowStatus
	by, terminal           uint32
	created, ended         int64 // in microseconds since 1970; 0: not known
	createdHeld, endedHeld bool
	terminals              int
	known                  bool // all entries of it tell whether they stored a Terminal
	readable               bool // of a record
}

// goalsHeard are the goals in the ledger.
type goalsHeard map[recordID]*goalFacts

// hear takes the facts that an entry has of its goal. The seals have those of the artefacts before it.
func (h goalsHeard) hear(at entryTime, entry map[string]string, seals recorded) {
	goal := entry["workflow"]
	if !blackboard.ValidID(goal) {
		return
	}
	key := keyOf(goal)
	if h[key] == nil {
		h[key] = &goalFacts{}
	}
	g := h[key]
	kind := blackboard.EventKind(entry["kind"])
	switch {
	case entry["workflow_status"] != "":
		g.status, g.ended, g.endedHeld = blackboard.WorkflowStatus(strings.Clone(entry["workflow_status"])), at.ms*1000, at.held
	case kind == blackboard.EventGoal:
		*g = goalFacts{status: blackboard.WorkflowActive, by: factIn(entry["by"]), created: at.ms * 1000, createdHeld: at.held, known: true}
	case kind == blackboard.EventRetry,
		kind == blackboard.EventRecount && slices.Contains(strings.Split(entry["to"], ", "), string(blackboard.WorkflowActive)):
		g.status, g.ended = blackboard.WorkflowActive, 0
	}
	g.hearTerminal(kind, entry, seals)
}

// hearTerminal takes the Terminals that count: those that an entry stored without a gate, or let through it.
func (g *goalFacts) hearTerminal(kind blackboard.EventKind, entry map[string]string, seals recorded) {
	const terminal = string(blackboard.Terminal)
	switch kind {
	case blackboard.EventResult:
		g.known = g.known && (entry["structural_type"] != "" || entry["artefact"] == "")
		if entry["structural_type"] != terminal || entry["gate"] != "" {
			return
		}
	case blackboard.EventApprove:
		s := seals[entry["artefact"]]
		if s == nil || s.kind() == 0 {
			g.known = g.known && s != nil && s.facts.fields[0] == factOf(blackboard.TypeGoalDefined)
			return
		}
		if s.kind() != factOf(terminal) {
			return
		}
	case blackboard.EventRecount:
		g.known = g.known && !strings.Contains(entry["to"], "terminals")
		return
	default:
		return
	}
	g.terminals, g.terminal = g.terminals+1, factIn(entry["artefact"])
}

// kind is the digest of the structural type.
func (s *seal) kind() uint32 { return s.facts.fields[1] }

// goalFactsOf are those of a record.
func goalFactsOf(l WorkflowLine) (g goalFacts) {
	g.status, g.readable = l.status(), l.fault() == nil
	g.by, g.terminal = factIn(string(l.Fields["by"])), factIn(string(l.Fields["terminal_id"]))
	g.created, _ = strconv.ParseInt(string(l.Fields["created_at"]), 10, 64)
	g.ended, _ = strconv.ParseInt(string(l.Fields["ended_at"]), 10, 64)
	g.terminals, _ = strconv.Atoi(cmp.Or(string(l.Fields["terminals"]), "0"))
	return g
}

// compare holds a goal's record to the ledger, if that has the goal.
func (h goalsHeard) compare(goal string, is goalFacts, clockTold bool) error {
	g := h[keyOf(goal)]
	if g == nil || !is.readable {
		return nil
	}
	other := ""
	switch {
	case g.status != "" && g.status != is.status:
		return fmt.Errorf("workflow %s is not what the ledger recorded: it is %s, recorded is %s: %w", goal, is.status, g.status, blackboard.ErrCorrupt)
	case g.by != 0 && is.by != 0 && g.by != is.by: // an older sett kept it in the ledger alone
		other = "by"
	case apart(is.created, g.created, g.createdHeld, clockTold):
		other = "created_at"
	case g.status == blackboard.WorkflowActive && is.ended != 0, apart(is.ended, g.ended, g.endedHeld, clockTold):
		other = "ended_at"
	case g.known && g.terminal != is.terminal:
		other = "terminal_id"
	case g.known && g.terminals != is.terminals:
		other = "number of terminals"
	default:
		return nil
	}
	return fmt.Errorf("workflow %s is not what the ledger recorded: it has another %s: %w", goal, other, blackboard.ErrCorrupt)
}
