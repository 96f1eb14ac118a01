package cli

import (
	"sett/blackboard"
)

// whoHelp ends the help of the commands that record a person's name.
const whoHelp = "Who did it is recorded: SETT_USER, else the name of the operating system's user."

// humanArtefact is a person's artefact about another, which is its source.
func humanArtefact(a *app, st blackboard.StructuralType, about blackboard.Artefact, payload string) blackboard.Artefact {
	signed, id := blackboard.SignedBy(a.Who(), a.NewID()), a.NewID()
	return blackboard.Artefact{
		ID: id, LogicalID: id, Version: 1, StructuralType: st, Type: string(st), Payload: payload,
		SourceArtefacts: []string{about.ID}, ProducedByRole: blackboard.RoleHuman, WorkflowID: about.WorkflowID,
		Metadata: signed,
	}
}
