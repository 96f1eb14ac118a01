package cli

import (
	"os/user"
	"strings"
	"unicode/utf8"

	"sett/blackboard"
)

// envUser names the person who types, for the record.
const envUser = "SETT_USER"

// whoHelp says so, at the end of the help of what people do.
const whoHelp = "Who did it is recorded: SETT_USER, else the name of the operating system's user."

// maxWho is how long a person's name may be, in characters.
const maxWho = 64

// who returns the name of the person who types.
func (a *app) who() string {
	name := a.Getenv(envUser)
	if strings.TrimSpace(name) == "" {
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
	}
	name = clean(strings.Join(strings.Fields(name), " "))
	if utf8.RuneCountInString(name) > maxWho {
		name = string([]rune(name)[:maxWho])
	}
	if name == "" {
		return blackboard.RoleHuman
	}
	return name
}

// humanArtefact is what a person writes about an artefact, which becomes its
// source.
func (a *app) humanArtefact(st blackboard.StructuralType, about blackboard.Artefact, payload string) blackboard.Artefact {
	signed, id := blackboard.SignedBy(a.who(), a.NewID()), a.NewID()
	return blackboard.Artefact{
		ID: id, LogicalID: id, Version: 1, StructuralType: st, Type: string(st), Payload: payload,
		SourceArtefacts: []string{about.ID}, ProducedByRole: blackboard.RoleHuman, WorkflowID: about.WorkflowID,
		Metadata: signed,
	}
}

// commandLine is a command on this instance as it can be typed where this one was.
func (a *app) commandLine(in *instance, args string) string {
	if a.flags.Name == "" && a.flags.Directory == "" {
		return "sett " + args
	}
	return "sett --name " + in.Name + " " + args
}
