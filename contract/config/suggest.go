package config

import (
	"slices"
	"strings"
)

// suggest returns the known word that s was most likely meant to be, or "".
func suggest(s string, known []string) string {
	s = strings.ToLower(s)
	best, least := "", len(s)/3+2
	for _, k := range known {
		distance := editDistance(s, k)
		if len(s) >= 3 && strings.HasPrefix(k, s) {
			distance = min(distance, 1)
		}
		if distance < least && distance < len(k) {
			best, least = k, distance
		}
	}
	return best
}

// didYouMean is the hint for a word that is none of the known ones.
func didYouMean(s string, known []string) string {
	if k := suggest(s, known); k != "" {
		return "did you mean \"" + k + "\"?"
	}
	return "one of: " + strings.Join(known, ", ")
}

// editDistance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b. Words much longer than any key are far from
// everything; that spares the work.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > 64 {
		return len(x)
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
