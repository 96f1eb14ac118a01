package cli

import (
	"context"
	"errors"
	"os"
	"regexp"

	"sett/contract/config"
	"sett/roles/role"
)

// sheet is sett.yml as it is.
type sheet struct {
	path     string
	config   *config.Config // nil: there is none that is valid
	explicit bool           // it says itself where agents run
	err      error
}

// saysRuntime finds the key in a file that is known to be valid.
var saysRuntime = regexp.MustCompile(`(?m)^["']?runtime["']?\s*:|^\s*\{.*["']?runtime["']?\s*:`)

func (a *app) readSheet(ctx context.Context) sheet {
	var s sheet
	if s.path, s.err = a.configFile(ctx); s.err != nil {
		return s
	}
	var src []byte
	if src, s.err = os.ReadFile(s.path); s.err != nil {
		return s
	}
	s.config, s.err = config.Parse(a.relative(s.path), src)
	if s.err != nil {
		s.config = nil
		return s
	}
	s.explicit = saysRuntime.Match(src)
	return s
}

// configuration looks at sett.yml.
func (x *exam) configuration(context.Context) []finding {
	s := x.sheet
	file := x.a.relative(s.path)
	var several *config.Errors
	switch {
	case s.err == nil:
		return []finding{fine("", "%s: %s, runtime %s", file, count(len(s.config.Agents), "agent"), s.config.Runtime)}
	case errors.As(s.err, &several):
		first := several.Problems[0]
		return []finding{problem("", "sett config shows them all", "%s in %s; the first, line %d: %s", count(len(several.Problems), "error"), file, first.Line, first.Message)}
	case x.root == "" && x.a.flags.Config == "":
		return []finding{skipped("no workspace here: no git repository and no %s", configName)}
	case errors.Is(s.err, os.ErrNotExist) && x.a.flags.Config == "":
		return []finding{warning("", "sett init", "%s does not exist", file)}
	case role.CodeOf(s.err) == role.Usage:
		return []finding{wrong("", s.err)}
	}
	return []finding{problem("", "", "read %s: %v", file, cause(s.err))}
}
