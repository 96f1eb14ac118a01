package view

import (
	"fmt"

	"sett/blackboard"
	"sett/roles/role/words"
)

// describeConflict is for commits of one goal that do not merge.
func (l *EventLine) describeConflict(e blackboard.Event) {
	claim, conflict, review := words.Short(e.Claim), words.Short(e.Attributes["conflict"]), words.Short(e.Attributes[blackboard.AttributeResult])
	switch e.To {
	case "waits":
		l.What, l.As = fmt.Sprintf("claim %s: %s waits until Conflict %s is settled%s", claim, e.Agent, conflict, words.Because(e.Reason)), Warn
		l.Agent = blackboard.RoleRepository
		l.describeGate(e)
	case "settled":
		l.What = fmt.Sprintf("claim %s: %s goes on, artefact %s settles Conflict %s", claim, e.Agent, words.Short(e.Attributes["settled"]), conflict)
	case "refused":
		l.What, l.As = fmt.Sprintf("Review %s of artefact %s%s", review, words.Short(e.Artefact), words.Because(e.Reason)), Warn
	default:
		l.What = fmt.Sprintf("%s reworks artefact %s as claim %s%s", e.Agent, words.Short(e.Artefact), claim, words.Because(e.Reason))
		if e.Asked() != "" {
			l.What, l.As = fmt.Sprintf("Question %s, before %s", words.Short(e.Asked()), l.What), Warn
		}
	}
}

// describeLand is for a result that a person landed, or found landed.
func (l *EventLine) describeLand(e blackboard.Event) {
	branch, commit, how := e.Attributes["branch"], words.Commit(e.Attributes["commit"]), e.Attributes["how"]
	switch {
	case how != blackboard.AlreadyThere:
		l.What = fmt.Sprintf("landed commit %s on %s by hand (%s)", commit, branch, how)
	case e.Attributes["moved_how"] != "":
		l.What = fmt.Sprintf("found commit %s landed on %s by hand (%s, by %s at %s)", commit, branch, e.Attributes["moved_how"], e.Attributes["moved_by"], e.Attributes["moved_at"])
	default:
		l.What = fmt.Sprintf("found the result on %s already, at commit %s", branch, commit)
	}
}

// describeLanding is for a step of a goal's landing.
func (l *EventLine) describeLanding(e blackboard.Event) {
	l.Agent = blackboard.RoleRepository
	branch, commit := e.Attributes["branch"], words.Commit(e.Attributes["commit"])
	if why := e.Attributes[blackboard.AttributeTrouble]; why != "" {
		l.What, l.As = "does not land yet; trouble: "+why+"; it is tried again", Bad
		return
	}
	switch blackboard.LandingState(e.To) {
	case blackboard.LandingBarred:
		l.What, l.As = fmt.Sprintf("cannot land%s; or sett %s", words.Because(e.Reason), words.Land(words.Short(e.Workflow), branch)), Warn
	case blackboard.LandingVerifying:
		l.What = fmt.Sprintf("Landing %s to verify: commit %s for %s", words.Short(e.Attributes[blackboard.AttributeResult]), commit, branch)
		l.describeGate(e)
	case blackboard.LandingMoving:
		l.What, l.As = fmt.Sprintf("lands commit %s on %s (%s)", commit, branch, e.Attributes["how"]), Quiet
	case blackboard.LandingRefused:
		l.What, l.As = fmt.Sprintf("Review %s of the result%s", words.Short(e.Attributes[blackboard.AttributeResult]), words.Because(e.Reason)), Warn
	case blackboard.LandingReworked:
		l.What = fmt.Sprintf("%s reworks the result as claim %s", e.Agent, words.Short(e.Claim))
		if e.Asked() != "" {
			l.What, l.As = fmt.Sprintf("Question %s, before %s", words.Short(e.Asked()), l.What), Warn
		}
	case blackboard.LandingLanded:
		l.What, l.As = fmt.Sprintf("landed commit %s on %s (%s)", commit, branch, e.Attributes["how"]), Good
	case blackboard.LandingNone:
		l.What = "nothing lands" + words.Because(e.Reason)
	default:
		l.What, l.As = "branch "+branch+" has moved: once more", Quiet
	}
}
