package env

import (
	"slices"
	"strings"
)

// WithoutSecrets returns an environment without the variables of Secret, for
// processes that must not have the blackboard's credentials, and without those of Sett
// that are empty. It does not change the given slice.
func WithoutSecrets(environ []string) []string {
	rest, _ := SplitSecrets(environ)
	return rest
}

// SplitSecrets parts the variables of Secret from the others. It drops Credentials,
// whose descriptor belongs to one process alone, and Sett's variables without a value, as
// Whole adds them. It does not change the given slice.
func SplitSecrets(environ []string) (rest, secret []string) {
	for _, v := range environ {
		switch name, value, _ := strings.Cut(v, "="); {
		case unset(name, value):
		case slices.Contains(Secret, name):
			secret = append(secret, v)
		case name != Credentials:
			rest = append(rest, v)
		}
	}
	return rest, secret
}
