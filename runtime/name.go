package runtime

import (
	"errors"
	"fmt"
	"strings"
)

// MaxName is the longest name of a unit, in bytes. With prefixes and suffixes, it stays
// below the 255 bytes of a file name.
const MaxName = 200

// ErrName says that a name cannot be a unit's.
var ErrName = errors.New("want letters, digits, '.', '_' or '-', beginning with a letter or digit, at most 200 bytes")

// CheckName accepts names that every engine accepts, and that are plain file names on
// every system and cannot leave their directory. Its error wraps ErrName.
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

// AgentOf is the inverse of AgentUnit.
func AgentOf(unit string) (agent string, ok bool) { return strings.CutPrefix(unit, agentPrefix) }
