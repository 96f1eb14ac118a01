package embedded

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
)

// mode says what a script may do and whether it is logged.
type mode int

const (
	logged   mode = iota // executed after it is in the log
	volatile             // executed in the same order, never in the log
	readonly             // may not write
)

// luaScript is a script the server knows.
type luaScript struct {
	sha  string // hex, lower case
	body string
	mode mode
	// inLog: the body is on disk, so records may name it. Owned by the committer.
	inLog bool
}

// newScript reads the marks in a script's body.
func newScript(body string) *luaScript {
	sum := sha1.Sum([]byte(body))
	s := &luaScript{sha: hex.EncodeToString(sum[:]), body: body}
	for line := range strings.Lines(body) {
		switch {
		case strings.HasPrefix(line, "--!readonly"):
			s.mode = readonly
			return s
		case strings.HasPrefix(line, "--!volatile"):
			s.mode = volatile
		}
	}
	return s
}

// objection is the error for a script that cannot be replayed, or nothing.
func (s *luaScript) objection() string {
	if s.mode == logged && strings.Contains(s.body, "math.random") {
		return "ERR script uses math.random: a replay would give other numbers, pass them as arguments"
	}
	return ""
}
