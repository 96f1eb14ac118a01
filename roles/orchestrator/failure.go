package orchestrator

import (
	"encoding/json"

	"sett/blackboard"
	"sett/roles/orchestrator/arbiter"
)

// failureOf describes a Failure that the orchestrator itself writes.
type failureOf struct {
	kind     string // the artefact's type
	workflow string
	source   string // the artefact that was worked on
	claim    string
	about    string // what it may be written about only once
	report   blackboard.FailureReport
}

// question makes what a person is asked before a rework begins. Its id follows
// from the rework's claim.
func (l *leadership) question(c blackboard.Claim, claim string, r *arbiter.Rework) *blackboard.Artefact {
	return &blackboard.Artefact{
		ID: blackboard.DerivedArtefactID("question", claim), StructuralType: blackboard.Question, Type: string(blackboard.Question),
		Payload: r.Ask, SourceArtefacts: append([]string{c.ArtefactID}, r.Context...), ProducedByRole: blackboard.RoleOrchestrator,
		ClaimID: claim, WorkflowID: c.WorkflowID, Summary: r.Ask,
	}
}

// failure makes the artefact. Its id follows from what it is about, so that two
// orchestrators, or one that repeats itself, write the same one.
func (l *leadership) failure(f failureOf) blackboard.Artefact {
	payload, err := json.Marshal(f.report)
	if err != nil {
		payload = []byte(`{"reason":"unknown"}`)
	}
	subject := f.workflow
	return blackboard.Artefact{
		ID: blackboard.DerivedArtefactID(f.kind+"\x00"+f.about, subject), StructuralType: blackboard.Failure, Type: f.kind,
		Payload: string(payload), SourceArtefacts: []string{f.source}, ProducedByRole: blackboard.RoleOrchestrator,
		ClaimID: f.claim, WorkflowID: f.workflow, Summary: f.report.Reason,
	}
}
