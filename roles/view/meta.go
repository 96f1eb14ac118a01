package view

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"sett/blackboard"
)

// Meta is an artefact with its payload described instead of shown.
type Meta struct {
	ID              string                    `json:"id"`
	LogicalID       string                    `json:"logical_id"`
	Version         int                       `json:"version"`
	StructuralType  blackboard.StructuralType `json:"structural_type"`
	Type            string                    `json:"type"`
	PayloadSize     int                       `json:"payload_size"` // bytes
	PayloadSHA256   string                    `json:"payload_sha256"`
	SourceArtefacts []string                  `json:"source_artefacts"`
	ProducedByRole  string                    `json:"produced_by_role"`
	ProducedByAgent string                    `json:"produced_by_agent"`
	ClaimID         string                    `json:"claim_id"`
	WorkflowID      string                    `json:"workflow_id"`
	Summary         string                    `json:"summary"`
	Metadata        json.RawMessage           `json:"metadata"`
	CreatedAt       time.Time                 `json:"created_at"`
	Commit          string                    `json:"commit,omitempty"`  // that it names
	Altered         bool                      `json:"altered,omitempty"` // it differs from its entry in the ledger
}

// MetaOf describes an artefact that was read whole.
func MetaOf(a blackboard.Artefact) Meta {
	sum := sha256.Sum256([]byte(a.Payload))
	m := Meta{
		ID: a.ID, LogicalID: a.LogicalID, Version: a.Version, StructuralType: a.StructuralType, Type: a.Type,
		PayloadSize: len(a.Payload), PayloadSHA256: hex.EncodeToString(sum[:]), SourceArtefacts: a.SourceArtefacts,
		ProducedByRole: a.ProducedByRole, ProducedByAgent: a.ProducedByAgent, ClaimID: a.ClaimID, WorkflowID: a.WorkflowID,
		Summary: a.Summary, Metadata: a.Metadata, CreatedAt: a.CreatedAt.UTC(), Commit: a.CommitHash(), Altered: a.Altered,
	}
	if m.SourceArtefacts == nil {
		m.SourceArtefacts = []string{}
	}
	if len(m.Metadata) == 0 {
		m.Metadata = json.RawMessage("{}")
	}
	return m
}
