package cli

import (
	"encoding/json"
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
// source. The metadata's request tells one writing from every other: when its reply
// is lost it may be repeated, and somebody else's same words are not it.
func (a *app) humanArtefact(st blackboard.StructuralType, about blackboard.Artefact, payload string) blackboard.Artefact {
	metadata, err := json.Marshal(map[string]string{"by": a.who(), "request": a.NewID()})
	if err != nil {
		metadata = nil // cannot be: it is text
	}
	id := a.NewID()
	return blackboard.Artefact{
		ID: id, LogicalID: id, Version: 1, StructuralType: st, Type: string(st), Payload: payload,
		SourceArtefacts: []string{about.ID}, ProducedByRole: blackboard.RoleHuman, WorkflowID: about.WorkflowID,
		Metadata: metadata,
	}
}

// commandLine is a command on this instance as it can be typed where this one was.
func (a *app) commandLine(in *instance, args string) string {
	if a.flags.Name == "" && a.flags.Directory == "" {
		return "sett " + args
	}
	return "sett --name " + in.Name + " " + args
}
