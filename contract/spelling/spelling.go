// Package spelling finds the known word that is nearest to a misspelt one, for
// hints such as "did you mean …?". It knows neither the meaning of the words nor
// the text of the hint.
package spelling

import (
	"slices"
	"strings"
)

// longest is the length, in characters, above which a word is far from every other:
// comparing longer words would cost too much.
const longest = 64

// Nearest returns the known word nearest to s, or the empty string when no word is
// near. Upper and lower case are equal. A part of three or more characters is near
// to its word. Of words equally near the first wins.
func Nearest(s string, known []string) string {
	s = strings.ToLower(s)
	best, least := "", len(s)/3+2
	for _, k := range known {
		lower := strings.ToLower(k)
		d := distance(s, lower)
		if len(s) >= 3 && strings.Contains(lower, s) {
			d = min(d, 1)
		}
		if d < least && d < len(k) {
			best, least = k, d
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > longest || len(y) > longest {
		return max(len(x), len(y))
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
