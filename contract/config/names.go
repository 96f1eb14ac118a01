package config

import (
	"errors"
	"slices"
	"strings"
)

const (
	maxName     = 63 // what DNS allows a label; names become host names
	maxMadeName = 40 // leaves room for what tells two directories of one name apart
)

// reservedNames are those of the parts that Sett itself starts.
var reservedNames = []string{"orchestrator", "blackboard", "keeper", "notifier", "redis"}

var errName = errors.New("a name has lower-case letters, digits and hyphens, " +
	"starts with a letter or digit, and is at most 63 characters long")

// ValidInstanceName says what is wrong with s as the name of an instance: nil,
// or an error for people. Names become parts of keys, container names and host
// names.
func ValidInstanceName(s string) error {
	if !validName(s) {
		return errName
	}
	return nil
}

// MakeInstanceName makes a valid name of a directory's: lower case, what is not
// allowed turned into hyphens, at most 40 characters, "sett" if nothing is left.
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

// cleanName turns runs of what a name cannot hold into one hyphen each.
func cleanName(s string, most int) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return r == '-' || notInName(r) })
	name := strings.Join(words, "-")
	return strings.TrimRight(name[:min(len(name), most)], "-")
}
