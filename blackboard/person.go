package blackboard

import (
	"encoding/json"
	"strings"
)

// HumanAgent returns the name under which a person's review stands among the
// grants of a claim. No agent has such a name.
func HumanAgent(by string) string { return humanPrefix + by }

// IsHuman says whether a grant's agent is a person.
func IsHuman(agent string) bool { return strings.HasPrefix(agent, humanPrefix) }

// PersonName is the inverse of HumanAgent: the name of the person that a grant's
// agent is; empty and false when it is none.
func PersonName(agent string) (name string, ok bool) {
	if name, ok = strings.CutPrefix(agent, humanPrefix); !ok {
		return "", false
	}
	return name, true
}

const humanPrefix = RoleHuman + ":"

// signature is the metadata of an artefact that a person wrote. The scripts read it too
// (see redis/lua/_lib.lua, decide_gate).
type signature struct {
	By      string `json:"by"`
	Request string `json:"request"`
}

// SignedBy returns the metadata of an artefact that the named person writes. The
// request is an id of the one act of writing: after a lost reply the same request may
// be repeated, and the same words of another person are another request.
func SignedBy(name, request string) json.RawMessage {
	b, err := json.Marshal(signature{name, request})
	if err != nil {
		return nil // cannot be: it is text
	}
	return b
}

// PersonOf returns the name of the person who wrote an artefact, the role human when no
// name is recorded, and nothing when no person wrote it. The name is as it was written:
// clean it before it is shown on a terminal.
func PersonOf(a Artefact) string {
	if a.ProducedByRole != RoleHuman {
		return ""
	}
	var s signature
	if json.Unmarshal(a.Metadata, &s) != nil || s.By == "" {
		return RoleHuman
	}
	return s.By
}
