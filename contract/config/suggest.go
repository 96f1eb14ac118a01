package config

import (
	"strings"

	"sett/contract/spelling"
)

// didYouMean is the hint for a word that is none of the known ones.
func didYouMean(s string, known []string) string {
	if k := spelling.Nearest(s, known); k != "" {
		return "did you mean \"" + k + "\"?"
	}
	return "one of: " + strings.Join(known, ", ")
}
