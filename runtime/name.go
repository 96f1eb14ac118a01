package runtime

import (
	"errors"
	"fmt"
	"strings"
)

// MaxName is the longest name of a unit, in bytes. It keeps names, with what is added
// to them, within a file name's 255.
const MaxName = 200

// ErrName says what a unit can be called.
var ErrName = errors.New("want letters, digits, '.', '_' or '-', beginning with a letter or digit, at most 200 bytes")

// CheckName holds units' names to what engines take, and to what is a plain file name
// everywhere that can never leave its directory. Its error wraps ErrName.
func CheckName(name string) error {
	ok := len(name) > 0 && len(name) <= MaxName
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		ok = alnum || i > 0 && (c == '.' || c == '_' || c == '-')
	}
	if !ok {
		return fmt.Errorf("unusable name %q: %w", name, ErrName)
	}
	return nil
}

const agentPrefix = "agent-"

// AgentUnit is the name of an agent's unit.
func AgentUnit(agent string) string { return agentPrefix + agent }

// AgentOf returns whose unit AgentUnit has named so.
func AgentOf(unit string) (agent string, ok bool) { return strings.CutPrefix(unit, agentPrefix) }
