package config

import (
	"strings"

	"sett/contract/spelling"
)

// didYouMean is the hint for an unknown word.
func didYouMean(s string, known []string) string {
	if k := spelling.Nearest(s, known); k != "" {
		return "did you mean \"" + k + "\"?"
	}
	return "one of: " + strings.Join(known, ", ")
}
