package llm

import (
	"fmt"
	"strings"
)

// mostCompared is the most lines of a file, times lines of the searched text, that a search
// for the nearest text compares.
const mostCompared = 20_000_000

// nearest shows the part of a text that is most like the one that was not found.
func nearest(text, part string) string {
	lines, want := splitLines(text), splitLines(part)
	for i := range want {
		want[i] = strings.TrimSpace(want[i])
	}
	if len(lines) == 0 || len(want) == 0 || len(lines)*len(want) > mostCompared {
		return ""
	}
	trimmed := make([]string, len(lines))
	for i, line := range lines {
		trimmed[i] = strings.TrimSpace(line)
	}
	best, at := 0.0, 0
	for i := range trimmed {
		sum := 0.0
		for j := range want {
			if i+j < len(trimmed) {
				sum += alike(trimmed[i+j], want[j])
			}
		}
		if sum > best {
			best, at = sum, i
		}
	}
	switch best /= float64(len(want)); {
	case best > 0.999:
		return fmt.Sprintf(". The text at line %d differs from it in white space alone:\n%s", at+1, numbered(lines, at+1, at+len(want)))
	case best > 0.3:
		return fmt.Sprintf(". The nearest text is at line %d:\n%s", at+1, numbered(lines, at+1, at+len(want)))
	}
	return ", and nothing like it; look at the file with view"
}

// alike compares two lines: 1 is the same, 0 nothing in common. It counts the pairs of bytes that
// both have.
func alike(a, b string) float64 {
	if a == b {
		return 1
	}
	if len(a) < 2 || len(b) < 2 {
		return 0
	}
	pairs := make(map[[2]byte]int, len(a))
	for i := 0; i+1 < len(a); i++ {
		pairs[[2]byte{a[i], a[i+1]}]++
	}
	common := 0
	for i := 0; i+1 < len(b); i++ {
		p := [2]byte{b[i], b[i+1]}
		if pairs[p] > 0 {
			pairs[p]--
			common++
		}
	}
	return 0.99 * 2 * float64(common) / float64(len(a)+len(b)-2)
}
