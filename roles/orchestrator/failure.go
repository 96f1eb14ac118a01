package orchestrator

import (
	"encoding/json"

	"sett/blackboard"
	"sett/roles/orchestrator/arbiter"
)

// questionOf makes the Question to a person before a rework begins. Its id follows
// from the rework's claim.
func questionOf(c blackboard.Claim, claim string, r *arbiter.Rework) *blackboard.Artefact {
	return &blackboard.Artefact{
		ID: blackboard.DerivedArtefactID("question", claim), StructuralType: blackboard.Question, Type: string(blackboard.Question),
		Payload: r.Ask, SourceArtefacts: append([]string{c.ArtefactID}, r.Context...), ProducedByRole: blackboard.RoleOrchestrator,
		ClaimID: claim, WorkflowID: c.WorkflowID, Summary: r.Ask,
	}
}

// failureOf makes a Failure of the orchestrator's own, of a type, in a claim. Its id
// follows from its subject, so that two orchestrators, or one that repeats itself,
// write the same one.
func failureOf(kind, subject string, c blackboard.Claim, r blackboard.FailureReport) blackboard.Artefact {
	payload, err := json.Marshal(r)
	if err != nil {
		payload = []byte(`{"reason":"unknown"}`)
	}
	return blackboard.Artefact{
		ID: blackboard.DerivedArtefactID(kind+"\x00"+subject, c.WorkflowID), StructuralType: blackboard.Failure, Type: kind,
		Payload: string(payload), SourceArtefacts: []string{c.ArtefactID}, ProducedByRole: blackboard.RoleOrchestrator,
		ClaimID: c.ID, WorkflowID: c.WorkflowID, Summary: r.Reason,
	}
}
