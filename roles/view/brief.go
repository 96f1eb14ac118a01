package view

import (
	"time"

	"sett/blackboard"
	"sett/roles/role/words"
)

// Brief is an artefact in a lineage. The names of its fields are part of the interface.
type Brief struct {
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
	Commit          string                    `json:"commit,omitempty"`  // that it names
	Altered         bool                      `json:"altered,omitempty"` // it differs from its entry in the ledger

	Title string `json:"-"` // for people, with its version
	Maker string `json:"-"` // for people
}

// BriefOf describes an outline. Its text has been read, unless it is very long.
func BriefOf(a *blackboard.Outline) Brief {
	return Brief{
		ID: a.ID, LogicalID: a.LogicalID, Version: a.Version, StructuralType: a.StructuralType, Type: a.Type,
		ProducedByRole: a.ProducedByRole, ProducedByAgent: a.ProducedByAgent, By: blackboard.PersonOf(a.Artefact), Says: GistOf(a),
		PayloadSize: a.PayloadSize, CreatedAt: a.CreatedAt, Commit: a.CommitHash(), Altered: a.Altered, Title: Title(Beginnings(a)), Maker: words.Shorten(Maker(a.Artefact), 40),
	}
}

// Name is the artefact for people, with its id.
func (r Brief) Name() string { return WithID(r.Title, r.ID) }
