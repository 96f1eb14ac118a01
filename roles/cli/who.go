package cli

import (
	"errors"
	"fmt"
	"regexp"

	"sett/blackboard"
	"sett/roles/role"
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

// peoples are the commands that speak as a person.
var peoples = regexp.MustCompile(`^(answer|approve|reject|review|cancel|retry|land|leftovers drop)\b`)

// aPerson refuses a tool that speaks as a person, unless somebody confirms it on a
// terminal.
func aPerson(a *app) error {
	above, in := role.InTool(a.Env)
	if !in {
		return nil
	}
	ok := role.IsTerminal(a.Stdin)
	if ok {
		var err error
		ok, err = a.Confirm(fmt.Sprintf("This runs inside an agent's tool (%s). Are you a person, and do you want it?", role.Clean(above)), "")
		if err != nil && role.CodeOf(err) != role.Usage {
			return err
		}
	}
	if ok {
		return nil
	}
	return role.Fail(role.Usage, errors.New("a tool may not speak as a person: this runs inside an agent's tool ("+role.Clean(above)+")"),
		"type the command in a terminal of your own")
}
