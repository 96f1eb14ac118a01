package cli

import (
	"strings"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
)

// artefactBrief is an artefact as why and graph tell of it. The names of its fields
// are part of the interface.
type artefactBrief struct {
	ID              string                    `json:"id"`
	LogicalID       string                    `json:"logical_id"`
	Version         int                       `json:"version"`
	StructuralType  blackboard.StructuralType `json:"structural_type"`
	Type            string                    `json:"type"`
	ProducedByRole  string                    `json:"produced_by_role"`
	ProducedByAgent string                    `json:"produced_by_agent"`
	By              string                    `json:"by,omitempty"` // the person
	Says            string                    `json:"says"`
	PayloadSize     int                       `json:"payload_size"` // bytes
	CreatedAt       time.Time                 `json:"created_at,omitzero"`

	title, maker string // for people
}

func briefOf(a *redis.Outline) artefactBrief {
	return artefactBrief{
		ID: a.ID, LogicalID: a.LogicalID, Version: a.Version, StructuralType: a.StructuralType, Type: a.Type,
		ProducedByRole: a.ProducedByRole, ProducedByAgent: a.ProducedByAgent, By: blackboard.PersonOf(a.Artefact), Says: gistOf(a),
		PayloadSize: a.PayloadSize, CreatedAt: a.CreatedAt, title: title(beginnings(a)), maker: shorten(maker(a.Artefact), 40),
	}
}

func (r artefactBrief) name() string { return r.title + " " + short(r.ID) }

// longestSaid is how much of a text is looked at for its gist, in bytes.
const longestSaid = 8 << 10

// beginnings are an artefact with as much of its texts as a line can show.
func beginnings(o *redis.Outline) blackboard.Artefact {
	a := o.Artefact
	a.Type = shorten(clean(a.Type[:min(len(a.Type), longestSaid)]), 40)
	a.Summary = a.Summary[:min(len(a.Summary), longestSaid)]
	if a.StructuralType != blackboard.Failure { // a report is JSON as a whole only
		a.Payload = a.Payload[:min(len(a.Payload), longestSaid)]
	}
	return a
}

// gistOf is what an artefact says, in one line; of one whose payload was too long
// to be read, how long it is.
func gistOf(o *redis.Outline) string {
	a := beginnings(o)
	said := gist(&a)
	if said == "" && o.PayloadSize > len(o.Payload) {
		said = size(o.PayloadSize)
	}
	return strings.TrimSpace(said)
}

// maker is who produced an artefact: the agent or person, else the role.
func maker(a blackboard.Artefact) string {
	if a.ProducedByRole == blackboard.RoleHuman {
		return clean(blackboard.PersonOf(a))
	}
	return clean(orElse(a.ProducedByAgent, a.ProducedByRole))
}

// structuralStyle is how what is said of an artefact of this type looks.
func structuralStyle(t blackboard.StructuralType) style {
	switch t {
	case blackboard.Terminal:
		return good
	case blackboard.Failure:
		return bad
	case blackboard.Question:
		return warn
	}
	return plain
}
