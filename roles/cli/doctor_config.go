package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

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

func (a *app) readSheet(ctx context.Context, runtime string) sheet {
	var s sheet
	if s.path, s.err = a.configFile(ctx); s.err != nil {
		return s
	}
	var src []byte
	if src, s.err = os.ReadFile(s.path); s.err != nil {
		return s
	}
	s.config, s.err = config.Parse(a.relative(s.path), src, config.DefaultRuntime(runtime), config.NoteRuntime(&s.explicit))
	if s.err != nil {
		s.config = nil
		return s
	}
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

// commands looks whether the programs that local mode runs are there, and the
// variables that agents inherit.
func (x *exam) commands(context.Context) []finding {
	c := x.sheet.config
	if c == nil {
		return []finding{skipped("no valid %s", configName)}
	}
	var out []finding
	own := *c
	own.Agents = append(own.Agents[:0:0], c.Agents...)
	for _, missing := range inheritVariables(&own, x.a.Lookup) {
		out = append(out, warning("", "export it", "%s is not set here, so it will not be there either", missing))
	}
	if containers, _ := x.inContainers(); !containers {
		for _, missing := range missingTools(c, x.root) {
			out = append(out, warning("", fmt.Sprintf("install it, or change command in %s", configName), "%s", missing))
		}
	}
	if len(out) == 0 {
		what := "agents' variables are set"
		if containers, _ := x.inContainers(); !containers {
			what = "agents' programs are there, and their variables set"
		}
		out = append(out, fine("", "%s", what))
	}
	return out
}
