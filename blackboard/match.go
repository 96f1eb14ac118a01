package blackboard

import "strings"

// Match says whether an artefact type fits a pattern, in which '*' stands for
// any characters, also none, and everything else for itself. The Lua function fits
// says the same; testdata/match.txt has cases for both.
func Match(pattern, artefactType string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return pattern == artefactType
	}
	rest, ok := strings.CutPrefix(artefactType, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1:last] {
		// The earliest fit leaves most for the parts that follow.
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, parts[last])
}
