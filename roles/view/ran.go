package view

import (
	"strings"

	"sett/blackboard"
	"sett/roles/role"
)

// Program names the image and the program of a start; empty: neither is known.
func Program(r blackboard.Ran) string {
	return listed("image", shortDigest(r.Image), "program", shortDigest(r.Program), "pin", shortDigest(r.Pin))
}

// Ran has the program and the settings of a grant's run; empty: nothing of it is known.
func Ran(r blackboard.Ran) string {
	return listed("image", shortDigest(r.Image), "program", shortDigest(r.Program), "pin", shortDigest(r.Pin), "sett.yml", shortDigest(r.Config), "sett", r.Sett)
}

// listed joins pairs of a name and a value, without the empty values.
func listed(pairs ...string) string {
	var said []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			said = append(said, pairs[i]+" "+pairs[i+1])
		}
	}
	return role.Clean(strings.Join(said, ", "))
}

// shortDigest is the beginning of a digest, as long as engines show it.
func shortDigest(digest string) string {
	digest = strings.TrimPrefix(digest, "sha256:")
	return digest[:min(len(digest), 12)]
}
