package view

import (
	"fmt"
	"strings"

	"sett/blackboard"
	"sett/roles/role/words"
)

// describePerson is for entries of people. The artefact is the text they wrote, if it
// was read.
func (l *EventLine) describePerson(e blackboard.Event, a *blackboard.Artefact) {
	switch e.Kind {
	case blackboard.EventApprove:
		l.What, l.As = fmt.Sprintf("approves artefact %s", words.Short(e.Artefact)), Good
	case blackboard.EventReject:
		l.What, l.As = fmt.Sprintf("rejects artefact %s as claim %s%s", words.Short(e.Artefact), words.Short(e.Claim), words.Because(Gist(a))), Warn
	case blackboard.EventReview:
		l.What, l.As = fmt.Sprintf("claim %s: approves", words.Short(e.Claim)), Good
		if e.Attributes["verdict"] == string(blackboard.Feedback) {
			l.What, l.As = fmt.Sprintf("claim %s: rejects%s", words.Short(e.Claim), words.Because(Gist(a))), Warn
		}
	case blackboard.EventCancel:
		l.describeCancel(e)
	case blackboard.EventRetry:
		l.describeRetry(e)
	case blackboard.EventImport:
		l.What = fmt.Sprintf("%s artefacts, %s claims and %s entries of the ledger imported from %s",
			e.Attributes["artefact_count"], e.Attributes["claim_count"], e.Attributes["event_count"], e.Attributes["source"])
	}
}

func (l *EventLine) describeRetry(e blackboard.Event) {
	l.What = fmt.Sprintf("claim %s tried again as claim %s", words.Short(e.Attributes["retry_of"]), words.Short(e.Claim))
	if e.Claim == "" {
		l.What = fmt.Sprintf("goal %s goes on after %s %s", words.Short(e.Workflow), e.Attributes["type"], words.Short(e.Artefact))
	}
	l.What += words.Because(e.Reason)
	if question := e.Asked(); question != "" {
		l.What, l.As = l.What+"; Question "+words.Short(question)+" waits for an answer again", Warn
	}
}

func (l *EventLine) describeCancel(e blackboard.Event) {
	l.What, l.As = "claim "+words.Short(e.Claim), Bad
	if e.Claim == "" {
		l.What = "goal " + words.Short(e.Workflow)
	}
	l.What += " cancelled" + words.Because(e.Reason)
	if stopped := Stopped(e); stopped != "" {
		l.What += "; stopped: " + stopped
	}
}

// describeGate adds that an artefact is held.
func (l *EventLine) describeGate(e blackboard.Event) {
	if e.Held() != "" {
		l.What, l.As = l.What+"; waits for approval", Warn
	}
}

// describeEnd adds the status with which the goal ended.
func (l *EventLine) describeEnd(e blackboard.Event) {
	if status := e.GoalEnded(); status != "" {
		l.What += "; goal " + string(status)
		l.As = WorkflowTone(status)
	}
}

// About returns the artefact that a line about an event quotes; empty: none.
func About(e blackboard.Event) string {
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

// Stopped lists the work that a cancellation stopped: "2 claims, writer, lint".
func Stopped(e blackboard.Event) string {
	var parts []string
	if claims := e.Attributes["claims"]; claims != "" {
		parts = append(parts, words.Count(strings.Count(claims, ",")+1, "claim"))
	}
	if agents := e.Attributes["cancelled"]; agents != "" {
		parts = append(parts, words.Listed(agents))
	}
	return strings.Join(parts, ", ")
}
