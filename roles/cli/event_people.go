package cli

import (
	"fmt"
	"strings"

	"sett/blackboard"
)

// describePerson is for what people do. The artefact is what they wrote, if it was
// read.
func (l *eventLine) describePerson(e blackboard.Event, a *blackboard.Artefact) {
	switch e.Kind {
	case blackboard.EventApprove:
		l.What, l.As = fmt.Sprintf("approves artefact %s", short(e.Artefact)), good
	case blackboard.EventReject:
		l.What, l.As = fmt.Sprintf("rejects artefact %s as claim %s%s", short(e.Artefact), short(e.Claim), because(gist(a))), warn
	case blackboard.EventReview:
		l.What, l.As = fmt.Sprintf("claim %s: approves", short(e.Claim)), good
		if e.Attributes["verdict"] == string(blackboard.Feedback) {
			l.What, l.As = fmt.Sprintf("claim %s: rejects%s", short(e.Claim), because(gist(a))), warn
		}
	case blackboard.EventCancel:
		l.describeCancel(e)
	case blackboard.EventRetry:
		l.What = fmt.Sprintf("claim %s tried again as claim %s%s", short(e.Attributes["retry_of"]), short(e.Claim), because(e.Reason))
		if question := e.Asked(); question != "" {
			l.What, l.As = l.What+"; Question "+short(question)+" waits for an answer again", warn
		}
	case blackboard.EventImport:
		l.What = fmt.Sprintf("%s artefacts, %s claims and %s entries of the ledger imported from %s",
			e.Attributes["artefact_count"], e.Attributes["claim_count"], e.Attributes["event_count"], e.Attributes["source"])
	}
}

func (l *eventLine) describeCancel(e blackboard.Event) {
	l.What, l.As = "claim "+short(e.Claim), bad
	if e.Claim == "" {
		l.What = "goal " + short(e.Workflow)
	}
	l.What += " cancelled" + because(e.Reason)
	if stopped := stoppedText(e); stopped != "" {
		l.What += "; stopped: " + stopped
	}
}

// describeGate adds that an artefact is held.
func (l *eventLine) describeGate(e blackboard.Event) {
	if e.Held() != "" {
		l.What, l.As = l.What+"; waits for approval", warn
	}
}

// describeEnd adds how the goal ended, when it did.
func (l *eventLine) describeEnd(e blackboard.Event) {
	if status := e.GoalEnded(); status != "" {
		l.What += "; goal " + string(status)
		l.As = workflowStyle(status)
	}
}

// aboutOf returns the artefact that a line about an event quotes; empty: none.
func aboutOf(e blackboard.Event) string {
	switch e.Kind {
	case blackboard.EventGoal, blackboard.EventResult, blackboard.EventAnswer:
		return e.Artefact
	case blackboard.EventReject, blackboard.EventReview:
		return e.Attributes[blackboard.AttributeResult]
	case blackboard.EventTerminate:
		return e.Asked()
	}
	return ""
}

// stoppedText says what a cancellation stopped: "2 claims, writer, lint".
func stoppedText(e blackboard.Event) string {
	var parts []string
	if claims := e.Attributes["claims"]; claims != "" {
		parts = append(parts, count(strings.Count(claims, ",")+1, "claim"))
	}
	if agents := e.Attributes["cancelled"]; agents != "" {
		parts = append(parts, listed(agents))
	}
	return strings.Join(parts, ", ")
}
