package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
)

// EventLine is an entry of the ledger as people read it.
type EventLine struct {
	Kind  blackboard.EventKind
	Agent string // made the move; the orchestrator for decisions
	What  string // one line, harmless for a terminal
	As    Tone   // of the whole
}

// Describe puts an entry into words. The artefact is the one that the entry quotes (see
// About); nil: it was not read.
func Describe(e blackboard.Event, a *blackboard.Artefact) EventLine {
	l := EventLine{Kind: e.Kind, Agent: e.Agent}
	switch e.Kind {
	case blackboard.EventGoal:
		l.Agent, l.What = cmp.Or(e.Attributes[blackboard.AttributeBy], blackboard.RoleUser), goalText(e, a)
		l.describeGate(e)
	case blackboard.EventBid:
		l.describeBid(e)
	case blackboard.EventStart:
		l.What = fmt.Sprintf("claim %s: %s%s", words.Short(e.Claim), e.Phase, again(e))
		if program := Program(e.Ran()); program != "" {
			l.What += ", " + program
		}
	case blackboard.EventWait:
		l.What, l.As = waitText(e), Quiet
	case blackboard.EventResult:
		l.describeResult(e, a)
	case blackboard.EventRequeue:
		l.What = fmt.Sprintf("claim %s: queued again%s%s", words.Short(e.Claim), again(e), words.Because(e.Reason))
	case blackboard.EventAnswer:
		l.Agent = e.Attributes[blackboard.AttributeBy]
		l.What = fmt.Sprintf("Answer %s to Question %s, %s goes on%s", words.Short(e.Artefact), words.Short(e.Attributes["question"]), e.Agent, words.Because(Gist(a)))
	case blackboard.EventApprove, blackboard.EventReject, blackboard.EventReview, blackboard.EventCancel, blackboard.EventRetry, blackboard.EventImport:
		l.Agent = e.Attributes[blackboard.AttributeBy]
		l.describePerson(e, a)
	case blackboard.EventLand:
		l.Agent, l.As = e.Attributes[blackboard.AttributeBy], Good
		l.describeLand(e)
	case blackboard.EventClock:
		l.Agent, l.What, l.As = blackboard.RoleOrchestrator, clockText(e), Warn
	case blackboard.EventRestore:
		l.What = "working tree put back to " + words.Commit(e.To)
		if ref := e.Attributes["leftovers"]; ref != "" {
			l.What += ", leftovers kept in " + ref
		}
	case blackboard.EventAgent:
		l.What = e.To + words.Because(e.Reason)
	case blackboard.EventInstance:
		l.describeInstance(e)
	case blackboard.EventSettled:
		l.Agent, l.What = e.Attributes[blackboard.AttributeBy], "the ledger begins"
		switch e.Reason {
		case "":
		case "adopted":
			l.What, l.As = "adopted the blackboard as it was"+adoptedText(e), Warn
		default:
			l.What, l.As = "the blackboard is "+e.Reason, Warn
		}
	case blackboard.EventCall, blackboard.EventBudget, blackboard.EventModels:
		l.describeSpending(e)
	default:
		l.Agent = blackboard.RoleOrchestrator
		l.describeDecision(e, a)
	}
	l.describeEnd(e)
	l.Agent, l.What = role.Clean(l.Agent), role.Clean(l.What)
	return l
}

// withheldText are the reasons for which an agent's bid waits for its model.
var withheldText = map[string]string{
	string(blackboard.WithheldBudget): "a budget is used up", string(blackboard.WithheldPaused): "all calls of models are paused",
}

// clockText says what time it is where the ledger cannot.
func clockText(e blackboard.Event) string {
	at, _ := strconv.ParseInt(e.Attributes["at"], 10, 64)
	return fmt.Sprintf("the blackboard's clock was set back: it is %s, and entries have the time of this one until then",
		time.UnixMicro(at).UTC().Format(time.RFC3339))
}

// waitText names the wait of a grant, or of a bid.
func waitText(e blackboard.Event) string {
	claim := words.Short(e.Claim)
	switch why, bid := withheldText[e.Reason]; {
	case bid && e.To != "":
		return fmt.Sprintf("claim %s: its bid waits for the model no longer", claim)
	case bid:
		return fmt.Sprintf("claim %s: its bid waits for the model: %s", claim, why)
	case e.WaitsForModel():
		return fmt.Sprintf("claim %s waits for the model: %s", claim, withheldText[string(blackboard.WithheldPaused)])
	case !slices.Contains([]blackboard.WaitKind{blackboard.WaitRepository, blackboard.WaitModel, blackboard.WaitBlackboard}, blackboard.WaitKind(e.Reason)):
		return fmt.Sprintf("claim %s waits for the workspace, held by %s", claim, holders(e.Attributes["held_by"]))
	case e.To != "":
		return fmt.Sprintf("claim %s waits no longer for the %s", claim, e.Reason)
	}
	return fmt.Sprintf("claim %s waits for the %s", claim, e.Reason)
}

// describeDecision is for entries of the orchestrator.
func (l *EventLine) describeDecision(e blackboard.Event, a *blackboard.Artefact) {
	switch e.Kind {
	case blackboard.EventOpen:
		l.What = fmt.Sprintf("claim %s on %s %s, %s", words.Short(e.Claim), e.Attributes["type"], words.Short(e.Artefact), bidders(e))
	case blackboard.EventRefuse:
		l.What = fmt.Sprintf("no claim on artefact %s%s", words.Short(e.Artefact), words.Because(e.Reason))
		l.As = Bad
	case blackboard.EventAssign:
		l.What = fmt.Sprintf("claim %s: a waiting worker of %s has it", words.Short(e.Claim), e.Agent)
		l.As = Quiet
	case blackboard.EventGrant:
		l.What = fmt.Sprintf("claim %s: %s by %s", words.Short(e.Claim), e.Phase, words.Listed(e.Agent))
	case blackboard.EventComplete:
		l.What = fmt.Sprintf("claim %s complete%s", words.Short(e.Claim), words.Because(e.Reason))
		l.As = Quiet
	case blackboard.EventTerminate:
		l.What = fmt.Sprintf("claim %s terminated%s", words.Short(e.Claim), words.Because(e.Reason))
		if stopped := e.Attributes["cancelled"]; stopped != "" {
			l.What += "; cancelled: " + words.Listed(stopped)
		}
		switch rework := e.Attributes["rework"]; {
		case rework == "":
			l.As = Bad
		case e.Asked() != "":
			l.What += fmt.Sprintf("; Question %s, before %s reworks as claim %s%s", words.Short(e.Asked()), e.Agent, words.Short(rework), words.Because(Gist(a)))
			l.As = Warn
		default:
			l.What += fmt.Sprintf("; %s reworks as claim %s", e.Agent, words.Short(rework))
		}
	case blackboard.EventLeader:
		l.What = "leads, epoch " + e.Attributes["epoch"]
		if sett := e.Attributes["sett"]; sett != "" {
			l.What += ", sett " + sett
		}
	case blackboard.EventLanding:
		l.describeLanding(e)
	case blackboard.EventConflict:
		l.describeConflict(e)
	case blackboard.EventPolicy:
		l.describePolicy(e)
	case blackboard.EventRecount:
		l.What = fmt.Sprintf("goal %s counted anew: %s, was %s%s", words.Short(e.Workflow), e.To, e.From, words.Because(e.Reason))
		l.As = Warn
	case blackboard.EventOverrun:
		client := e.Attributes[blackboard.AttributeClient]
		if e.Agent != "" {
			client = "agent " + e.Agent + " (" + client + ")"
		}
		l.What = "a script of " + client + " was ended" + words.Because(e.Reason)
		l.As = Bad
	default:
		l.What = strings.TrimSpace(strings.Join([]string{e.From, e.To, e.Reason}, " "))
	}
}

func (l *EventLine) describeBid(e blackboard.Event) {
	does := map[blackboard.BidType]string{blackboard.BidClaim: "bids parallel on", blackboard.BidIgnore: "ignores"}[blackboard.BidType(e.To)]
	l.What = fmt.Sprintf("%s claim %s%s", cmp.Or(does, "bids "+e.To+" on"), words.Short(e.Claim), words.Because(e.Reason))
	if rule := e.Attributes[blackboard.AttributeRule]; rule != "" {
		l.What += fmt.Sprintf(" by %q", rule)
	}
	if e.To == string(blackboard.BidIgnore) {
		l.As = Quiet
	}
	if strings.Contains(e.Agent, ",") { // the orchestrator took several silences for bids
		l.Agent = blackboard.RoleOrchestrator
		l.What = fmt.Sprintf("records %s for %s on claim %s%s", e.To, words.Listed(e.Agent), words.Short(e.Claim), words.Because(e.Reason))
	}
}

func (l *EventLine) describeResult(e blackboard.Event, a *blackboard.Artefact) {
	kind := blackboard.StructuralType(e.Attributes[blackboard.AttributeStructuralType])
	what := e.Attributes["type"] + " " + words.Short(e.Artefact)
	switch kind {
	case blackboard.Review:
		what, l.As = "approves", Good
		if e.Attributes["verdict"] == string(blackboard.Feedback) {
			what, l.As = "rejects", Warn
		}
	case blackboard.Question:
		what, l.As = "asks, Question "+words.Short(e.Artefact), Warn
	case blackboard.Failure:
		what, l.As = "fails, "+what, Bad
	case blackboard.Terminal:
		what, l.As = what+FinalResult, Good
	default:
		if v := e.Attributes["version"]; v != "" && v != "1" {
			what = e.Attributes["type"] + " v" + v + " " + words.Short(e.Artefact)
		}
	}
	said := Gist(a)
	if said == "" {
		said = e.Reason
	}
	l.What = "claim " + words.Short(e.Claim) + ": " + what + words.Because(said) + words.Took(e.Attributes["tool_us"])
	l.describeGate(e)
}

func goalText(e blackboard.Event, a *blackboard.Artefact) string {
	if a != nil {
		return marked(a, words.Quote(a.Payload))
	}
	return fmt.Sprintf("%s, %s bytes", e.Attributes["type"], e.Attributes["size"])
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
	return words.Count(len(all), "agent") + " to bid"
}

// holders reads a list of claim:agent.
func holders(list string) string {
	all := strings.Split(list, ",")
	for i, h := range all {
		claim, agent, _ := strings.Cut(h, ":")
		all[i] = fmt.Sprintf("%s (claim %s)", agent, words.Short(claim))
	}
	return strings.Join(all, ", ")
}
