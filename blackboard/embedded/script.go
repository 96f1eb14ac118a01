package embedded

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// mode says whether a script may write and whether it is logged.
type mode int

const (
	logged   mode = iota // executed after it is in the log
	volatile             // executed in the same order, never in the log
	readonly             // may not write
)

// luaScript is a script the server knows.
type luaScript struct {
	sha   string // hex, lower case
	body  string
	mode  mode
	own   bool               // it surely has an end
	proto *lua.FunctionProto // the body, compiled
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

// compile refuses a script that is no Lua or cannot be replayed: it returns the error
// to answer, or nothing.
func (s *luaScript) compile() (objection string) {
	if s.mode == logged && strings.Contains(s.body, "math.random") {
		return "ERR script uses math.random: a replay would give other numbers, pass them as arguments"
	}
	chunk, err := parse.Parse(strings.NewReader(s.body), "user_script")
	if err == nil {
		s.proto, err = lua.Compile(chunk, "user_script")
	}
	if err != nil {
		return "ERR Error compiling script (new function): " + err.Error()
	}
	return ""
}
