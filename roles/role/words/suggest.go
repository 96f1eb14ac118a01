package words

import (
	"strings"

	"sett/contract/spelling"
)

// DidYouMean is a hint for a word that is none of the known ones: the likeliest,
// or all of them; otherwise, if there are none, the last resort.
func DidYouMean(s string, known []string, otherwise string) string {
	if k := spelling.Nearest(s, known); k != "" {
		return "did you mean " + k + "?"
	}
	if len(known) == 0 {
		return otherwise
	}
	return "one of: " + strings.Join(known, ", ")
}
