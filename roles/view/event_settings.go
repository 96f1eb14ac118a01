package view

import (
	"cmp"
	"strings"

	"sett/blackboard"
	"sett/roles/role/words"
)

// describeInstance is for a start, a stop or a restart by a person, and for other settings of an instance that runs.
func (l *EventLine) describeInstance(e blackboard.Event) {
	l.Agent = e.Attributes[blackboard.AttributeBy]
	changed := changedText(e)
	switch part := e.Attributes["part"]; {
	case part != "":
		l.What = "restarts " + part
		return
	case e.From != "" && e.From == e.To && changed == "":
		l.What = "instance goes on with sett " + e.Attributes["sett"]
		return
	case e.From != "" && e.From == e.To:
		l.What = "changes the settings: " + changed
	case changed != "":
		l.What = "instance " + e.To + " with changed settings: " + changed
	default:
		l.What = "instance " + e.To
	}
	if commit := e.Attributes["commit"]; commit != "" {
		l.What += ", at commit " + words.Commit(commit)
	}
	if e.From == string(blackboard.InstanceEnded) {
		l.What += "; it had ended without a stop"
	}
}

// changedText names the changed settings of an entry; empty: they are as before, or the first.
func changedText(e blackboard.Event) string {
	names := strings.Fields(e.Attributes["changed"])
	if len(names) == 0 {
		return ""
	}
	if len(names) == 1 && names[0] == "unknown" {
		return "their names are not known"
	}
	text := strings.Join(names, ", ")
	if before, more, some := strings.Cut(text, ", +"); some {
		text = before + " and " + more + " more"
	}
	return text
}

// describePolicy is for the types that wait for approval, and the branch that goals land on.
func (l *EventLine) describePolicy(e blackboard.Event) {
	branch, lands := e.Attributes["land"]
	if lands || e.Attributes["setting"] == "land" {
		l.What = "goals land from now on: " + cmp.Or(branch, "nowhere")
	} else {
		l.What = "wait for approval from now on: " + cmp.Or(strings.ReplaceAll(e.Attributes["approve"], " ", ", "), "no types")
	}
	if by := e.Attributes[blackboard.AttributeBy]; by != "" {
		l.What += ", set by " + by
	}
}

// adoptedText says how much of the ledger was there, of as much as the instance had seen. An entry of an older Sett does not tell.
func adoptedText(e blackboard.Event) string {
	known := e.Attributes["known_entries"]
	if known == "" {
		return ""
	}
	text := ": " + e.Attributes["entries"] + " entries in its ledger of " + known + " that were seen"
	if last := e.Attributes["known_last"]; last != "" {
		text += ", up to " + last
	}
	return text
}
