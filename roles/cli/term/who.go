package term

import (
	"os/user"
	"strings"
	"unicode/utf8"

	"sett/blackboard"
	"sett/roles/role"
)

// EnvUser is the environment variable with the user's name, for the record.
const EnvUser = "SETT_USER"

// maxWho is the longest name of a user, in characters.
const maxWho = 64

// Who returns the user's name: from SETT_USER, else from the system.
func (t *Terminal) Who() string {
	name := t.Getenv(EnvUser)
	if strings.TrimSpace(name) == "" {
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
	}
	name = role.Clean(strings.Join(strings.Fields(name), " "))
	if utf8.RuneCountInString(name) > maxWho {
		name = string([]rune(name)[:maxWho])
	}
	if name == "" {
		return blackboard.RoleHuman
	}
	return name
}
