package config

import (
	"errors"
	"slices"
	"strings"
)

const (
	maxName     = 63 // the limit of a DNS label; names become host names
	maxMadeName = 40 // leaves room for the suffix of a second directory with the same name
)

// reservedNames are the names of Sett's own parts.
var reservedNames = []string{"orchestrator", "blackboard", "keeper", "notifier", "redis", "model-gateway", "repository"}

var errName = errors.New("a name has lower-case letters, digits and hyphens, " +
	"starts with a letter or digit, and is at most 63 characters long")

// ValidInstanceName returns an error for people if s is no valid name of an instance.
// Names become parts of keys, container names and host names.
func ValidInstanceName(s string) error {
	if !validName(s) {
		return errName
	}
	return nil
}

// MakeInstanceName makes a valid name from a directory's: in lower case, with hyphens
// for other characters, at most 40 characters, "sett" if nothing is left.
func MakeInstanceName(s string) string {
	name := cleanName(s, maxMadeName)
	if name == "" {
		return "sett"
	}
	return name
}

func validName(s string) bool {
	if s == "" || len(s) > maxName || s[0] == '-' {
		return false
	}
	return strings.IndexFunc(s, notInName) < 0
}

func reservedName(s string) bool { return slices.Contains(reservedNames, s) }

func notInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
}

// cleanName turns each run of other characters into one hyphen.
func cleanName(s string, most int) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return r == '-' || notInName(r) })
	name := strings.Join(words, "-")
	return strings.TrimRight(name[:min(len(name), most)], "-")
}
