package cli

import (
	"slices"
	"strings"
)

// suggest returns the known word that s was most likely meant to be, or "".
func suggest(s string, known []string) string {
	s = strings.ToLower(s)
	best, least := "", len(s)/3+2
	for _, k := range known {
		d := distance(s, strings.ToLower(k))
		if len(s) >= 3 && strings.Contains(strings.ToLower(k), s) {
			d = min(d, 1)
		}
		if d < least && d < len(k) {
			best, least = k, d
		}
	}
	return best
}

// didYouMean is a hint for a word that is none of the known ones: the likeliest,
// or all of them; otherwise, if there are none, the last resort.
func didYouMean(s string, known []string, otherwise string) string {
	if k := suggest(s, known); k != "" {
		return "did you mean " + k + "?"
	}
	if len(known) == 0 {
		return otherwise
	}
	return "one of: " + strings.Join(known, ", ")
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > 64 || len(y) > 64 {
		return max(len(x), len(y)) // far from everything; spares the work
	}
	var before, above []int
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(x); i++ {
		before, above, row = above, row, make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = slices.Min([]int{above[j] + 1, row[j-1] + 1, above[j-1] + cost})
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(y)]
}
