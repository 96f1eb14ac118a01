package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sett/blackboard"
)

// eventLine is an entry of the ledger as people read it.
type eventLine struct {
	Kind  blackboard.EventKind
	Agent string // who did it; the orchestrator for decisions
	What  string // one line, harmless for a terminal
	As    style  // of the whole
}

const (
	theOrchestrator = "orchestrator"
	maxQuote        = 120 // characters of a payload or reason within a line
)

// describe puts an event into words. The artefact is the one the event is about,
// for its summary or payload; nil when it was not read.
func describe(e blackboard.Event, a *blackboard.Artefact) eventLine {
	l := eventLine{Kind: e.Kind, Agent: e.Agent}
	switch e.Kind {
	case blackboard.EventGoal:
		l.Agent, l.What = blackboard.RoleUser, goalText(e, a)
		l.describeGate(e)
	case blackboard.EventBid:
		l.describeBid(e)
	case blackboard.EventStart:
		l.What = fmt.Sprintf("claim %s: %s%s", short(e.Claim), e.Phase, again(e))
	case blackboard.EventWait:
		l.What = fmt.Sprintf("claim %s waits for the workspace, held by %s", short(e.Claim), holders(e.Attributes["held_by"]))
		l.As = dim
	case blackboard.EventResult:
		l.describeResult(e, a)
	case blackboard.EventRequeue:
		l.What = fmt.Sprintf("claim %s: queued again%s%s", short(e.Claim), again(e), because(e.Reason))
	case blackboard.EventAnswer:
		l.Agent = e.Attributes[blackboard.AttributeBy]
		l.What = fmt.Sprintf("Answer %s to Question %s, %s goes on%s", short(e.Artefact), short(e.Attributes["question"]), e.Agent, because(gist(a)))
	case blackboard.EventApprove, blackboard.EventReject, blackboard.EventReview, blackboard.EventCancel, blackboard.EventRetry, blackboard.EventImport:
		l.Agent = e.Attributes[blackboard.AttributeBy]
		l.describePerson(e, a)
	case blackboard.EventRestore:
		l.What = "working tree put back to " + commit(e.To)
		if ref := e.Attributes["leftovers"]; ref != "" {
			l.What += ", leftovers kept in " + ref
		}
	case blackboard.EventAgent:
		l.What = e.To + because(e.Reason)
	case blackboard.EventInstance:
		l.Agent, l.What = e.Attributes[blackboard.AttributeBy], "instance "+e.To
	default:
		l.Agent = theOrchestrator
		l.describeDecision(e, a)
	}
	l.describeEnd(e)
	l.Agent, l.What = clean(l.Agent), clean(l.What)
	return l
}

// describeDecision is for what the orchestrator does.
func (l *eventLine) describeDecision(e blackboard.Event, a *blackboard.Artefact) {
	switch e.Kind {
	case blackboard.EventOpen:
		l.What = fmt.Sprintf("claim %s on %s %s, %s", short(e.Claim), e.Attributes["type"], short(e.Artefact), bidders(e))
	case blackboard.EventRefuse:
		l.What = fmt.Sprintf("no claim on artefact %s%s", short(e.Artefact), because(e.Reason))
		l.As = bad
	case blackboard.EventAssign:
		l.What = fmt.Sprintf("claim %s: a waiting worker of %s has it", short(e.Claim), e.Agent)
		l.As = dim
	case blackboard.EventGrant:
		l.What = fmt.Sprintf("claim %s: %s by %s", short(e.Claim), e.Phase, listed(e.Agent))
	case blackboard.EventComplete:
		l.What = fmt.Sprintf("claim %s complete%s", short(e.Claim), because(e.Reason))
		l.As = dim
	case blackboard.EventTerminate:
		l.What = fmt.Sprintf("claim %s terminated%s", short(e.Claim), because(e.Reason))
		if stopped := e.Attributes["cancelled"]; stopped != "" {
			l.What += "; cancelled: " + listed(stopped)
		}
		switch rework := e.Attributes["rework"]; {
		case rework == "":
			l.As = bad
		case e.Asked() != "":
			l.What += fmt.Sprintf("; Question %s, before %s reworks as claim %s%s", short(e.Asked()), e.Agent, short(rework), because(gist(a)))
			l.As = warn
		default:
			l.What += fmt.Sprintf("; %s reworks as claim %s", e.Agent, short(rework))
		}
	case blackboard.EventLeader:
		l.What = "leads, epoch " + e.Attributes["epoch"]
	case blackboard.EventPolicy:
		l.What = "wait for approval from now on: " + orElse(strings.ReplaceAll(e.Attributes["approve"], " ", ", "), "no types")
	default:
		l.What = strings.TrimSpace(strings.Join([]string{e.From, e.To, e.Reason}, " "))
	}
}

func (l *eventLine) describeBid(e blackboard.Event) {
	l.What = fmt.Sprintf("claim %s: %s%s", short(e.Claim), e.To, because(e.Reason))
	if e.To == string(blackboard.BidIgnore) {
		l.As = dim
	}
	if strings.Contains(e.Agent, ",") { // the orchestrator took several silences for bids
		l.Agent = theOrchestrator
		l.What = fmt.Sprintf("claim %s: %s for %s%s", short(e.Claim), e.To, listed(e.Agent), because(e.Reason))
	}
}

func (l *eventLine) describeResult(e blackboard.Event, a *blackboard.Artefact) {
	kind := blackboard.StructuralType(e.Attributes[blackboard.AttributeStructuralType])
	what := e.Attributes["type"] + " " + short(e.Artefact)
	switch kind {
	case blackboard.Review:
		what, l.As = "approves", good
		if e.Attributes["verdict"] == string(blackboard.Feedback) {
			what, l.As = "rejects", warn
		}
	case blackboard.Question:
		what, l.As = "asks, Question "+short(e.Artefact), warn
	case blackboard.Failure:
		what, l.As = "fails, "+what, bad
	case blackboard.Terminal:
		what, l.As = e.Attributes["type"]+", Terminal "+short(e.Artefact), good
	default:
		if v := e.Attributes["version"]; v != "" && v != "1" {
			what = e.Attributes["type"] + " v" + v + " " + short(e.Artefact)
		}
	}
	said := gist(a)
	if said == "" {
		said = e.Reason
	}
	l.What = "claim " + short(e.Claim) + ": " + what + because(said) + took(e.Attributes["tool_us"])
	l.describeGate(e)
}

// gist is what an artefact says, in one line: why it failed, what it asks, else
// its summary, else how its payload begins.
func gist(a *blackboard.Artefact) string {
	if a == nil {
		return ""
	}
	switch a.StructuralType {
	case blackboard.Failure:
		var report blackboard.FailureReport
		if json.Unmarshal([]byte(a.Payload), &report) == nil && report.Reason != "" {
			return quote(report.Reason)
		}
	case blackboard.Question, blackboard.Answer:
		return quote(a.Payload)
	}
	if a.Summary != "" {
		return quote(a.Summary)
	}
	if a.StructuralType == blackboard.Review && blackboard.VerdictOf(a.Payload) == blackboard.Approve {
		return ""
	}
	return quote(a.Payload)
}

func goalText(e blackboard.Event, a *blackboard.Artefact) string {
	if a != nil {
		return quote(a.Payload)
	}
	return fmt.Sprintf("%s, %s bytes", e.Attributes["type"], e.Attributes["size"])
}

// quote is the beginning of a text as part of a line: its first line that is not
// empty, shortened.
func quote(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			return shorten(clean(line[:min(len(line), 4*maxQuote+4)]), maxQuote)
		}
	}
	return ""
}

// short is the ending of an id, safe to show: an imported record may have anything in
// the place of one.
func short(id string) string { return clean(blackboard.ShortID(id)) }

// listed is a list as the ledger writes it, for people.
func listed(list string) string { return strings.ReplaceAll(list, ",", ", ") }

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + shorten(reason, maxQuote)
}

func again(e blackboard.Event) string {
	if n := e.Attributes["attempt"]; n != "" && n != "1" {
		return ", attempt " + n
	}
	return ""
}

func bidders(e blackboard.Event) string {
	var all []string
	if json.Unmarshal([]byte(e.Attributes["bidders"]), &all) != nil {
		return "to be bid for"
	}
	return count(len(all), "agent") + " to bid"
}

// count says how many: "1 agent", "2 agents", or in other words where many are not
// called as one is with an s.
func count(n int, one string, many ...string) string {
	switch {
	case n == 1:
		return "1 " + one
	case len(many) > 0:
		return strconv.Itoa(n) + " " + many[0]
	}
	return strconv.Itoa(n) + " " + one + "s"
}

// holders reads a list of claim:agent.
func holders(list string) string {
	all := strings.Split(list, ",")
	for i, h := range all {
		claim, agent, _ := strings.Cut(h, ":")
		all[i] = fmt.Sprintf("%s (claim %s)", agent, short(claim))
	}
	return strings.Join(all, ", ")
}

func commit(hash string) string { return hash[:min(len(hash), 10)] }

// took says how long a tool ran, when that is known.
func took(us string) string {
	n, err := strconv.ParseInt(us, 10, 64)
	if err != nil || n <= 0 {
		return ""
	}
	return " (" + span(time.Duration(n)*time.Microsecond) + ")"
}
