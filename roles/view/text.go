package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
)

// Title is an artefact's type, with its version unless that is the first, and
// with its structural type where that says more.
func Title(a blackboard.Artefact) string {
	s := role.Clean(a.Type)
	if a.Version > 1 {
		s = fmt.Sprintf("%s v%d", s, a.Version)
	}
	if a.StructuralType == blackboard.Terminal {
		return s + FinalResult
	}
	if st := string(a.StructuralType); a.StructuralType != blackboard.Standard && !strings.Contains(s, st) {
		s += ", " + st
	}
	return s
}

// FinalResult ends the title of a Terminal. A text with an id has the id before it.
const FinalResult = " (final result)"

// WithID adds the short form of an id to an artefact's title.
func WithID(title, id string) string {
	title, final := strings.CutSuffix(title, FinalResult)
	if title += " " + words.Short(id); final {
		title += FinalResult
	}
	return title
}

// Named is an artefact's title with its id.
func Named(a blackboard.Artefact) string { return WithID(Title(a), a.ID) }

// Gist is an artefact in one line: the reason of a Failure, the text of a Question,
// else its summary, else the beginning of its payload. Behind it stands that memory ran out.
func Gist(a *blackboard.Artefact) string { return marked(a, withKill(a, words.Quote(says(a)))) }

// AlteredMark stands before the text of an artefact that differs from its entry in the ledger.
const AlteredMark = "ALTERED, not as recorded"

// marked puts the mark of an altered artefact before a text about it.
func marked(a *blackboard.Artefact, text string) string {
	if a == nil || !a.Altered {
		return text
	}
	return AlteredMark + words.Because(text)
}

// Whole is a text of several lines, below the mark of an artefact that is altered.
func Whole(a *blackboard.Artefact, text string) string {
	if !a.Altered {
		return text
	}
	return AlteredMark + ":\n" + text
}

// longestReason is the length, in characters, of a reason that has a line of its own. A cub's
// reasons are shorter.
const longestReason = 600

// Reason is Gist for the end of a goal: with its cause, and with commands that it names.
func Reason(a *blackboard.Artefact) string {
	text := withKill(a, words.Line(says(a), longestReason))
	if a != nil && a.Altered {
		return AlteredMark + ": " + text
	}
	return text
}

// withKill adds to a text that the kernel killed a process for memory in the run that made
// the artefact.
func withKill(a *blackboard.Artefact, text string) string {
	if a == nil || len(a.Metadata) == 0 {
		return text
	}
	var m map[string]json.RawMessage
	var kill blackboard.MemoryKill
	if json.Unmarshal(a.Metadata, &m) != nil || json.Unmarshal(m[blackboard.MetadataMemoryKill], &kill) != nil || kill.Text() == "" {
		return text
	}
	if text == "" {
		return kill.Text()
	}
	return text + "; " + kill.Text()
}

// says is the text of an artefact that its gist is taken from.
func says(a *blackboard.Artefact) string {
	if a == nil {
		return ""
	}
	switch a.StructuralType {
	case blackboard.Failure:
		var report blackboard.FailureReport
		if json.Unmarshal([]byte(a.Payload), &report) == nil && report.Reason != "" {
			if lost := report.Lost(); lost != "" {
				return report.Reason + " (" + lost + ")"
			}
			return report.Reason
		}
	case blackboard.Question, blackboard.Answer:
		return a.Payload
	}
	if a.Summary != "" {
		return a.Summary
	}
	if a.StructuralType == blackboard.Review && blackboard.VerdictOf(a.Payload) == blackboard.Approve {
		return ""
	}
	return a.Payload
}

// longestSaid is the length, in bytes, of the part of a text that Gist reads.
const longestSaid = 8 << 10

// Beginnings are an artefact with as much of its texts as a line can show.
func Beginnings(o *blackboard.Outline) blackboard.Artefact {
	a := o.Artefact
	a.Type = words.Shorten(role.Clean(a.Type[:min(len(a.Type), longestSaid)]), 40)
	a.Summary = a.Summary[:min(len(a.Summary), longestSaid)]
	if a.StructuralType != blackboard.Failure { // a report is JSON as a whole only
		a.Payload = a.Payload[:min(len(a.Payload), longestSaid)]
	}
	return a
}

// GistOf is Gist for an outline; if its payload was too long to be read, the payload's
// size. A commit that the type does not tell of is in front.
func GistOf(o *blackboard.Outline) string {
	a := Beginnings(o)
	said := words.Quote(says(&a))
	if said == "" && o.PayloadSize > len(o.Payload) {
		said = words.Size(o.PayloadSize)
	}
	if said = strings.TrimSpace(said); o.Commit != "" && o.Type != blackboard.TypeCodeCommit && said != o.Commit {
		said = "commit " + role.Clean(words.Commit(o.Commit)) + words.Because(said)
	}
	return marked(&a, withKill(&a, said))
}

// Maker is the producer of an artefact: the agent or person, else the role.
func Maker(a blackboard.Artefact) string {
	if a.ProducedByRole == blackboard.RoleHuman {
		return role.Clean(blackboard.PersonOf(a))
	}
	return role.Clean(cmp.Or(a.ProducedByAgent, a.ProducedByRole))
}
