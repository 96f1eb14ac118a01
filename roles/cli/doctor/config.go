package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"

	"sett/contract/config"
	"sett/roles/cli/deploy"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/words"
)

// sheet is sett.yml as it is.
type sheet struct {
	path    string
	config  *config.Config // nil: there is none that is valid
	runtime string         // the one that it names itself; empty: none
	err     error
}

func readSheet(_ context.Context, at *instance.Locator) sheet {
	var s sheet
	if s.path, s.err = at.ConfigFile(); s.err != nil {
		return s
	}
	var src []byte
	if src, s.err = instance.Source(at, s.path); s.err != nil {
		return s
	}
	s.config, s.err = config.Parse(at.Relative(s.path), src, instance.KeptRuntime(at), config.NoteRuntime(&s.runtime))
	if s.err != nil {
		s.config = nil
		return s
	}
	return s
}

// configuration looks at sett.yml.
func (x *exam) configuration(context.Context) []Finding {
	s := x.sheet
	file := x.at.Relative(s.path)
	var several *config.Errors
	switch {
	case s.err == nil:
		return []Finding{fine("", "%s: %s, runtime %s", file, words.Count(len(s.config.Agents), "agent"), s.config.Runtime)}
	case errors.As(s.err, &several):
		first := several.Problems[0]
		return []Finding{problem("", "sett config shows them all", "%s in %s; the first, line %d: %s", words.Count(len(several.Problems), "error"), file, first.Line, first.Message)}
	case x.root == "" && x.at.Flags.Config == "":
		return []Finding{skipped("no workspace here: no git repository and no %s", instance.ConfigName)}
	case errors.Is(s.err, os.ErrNotExist) && x.at.Flags.Config == "":
		return []Finding{warning("", "sett init", "%s does not exist", file)}
	case role.CodeOf(s.err) == role.Usage:
		return []Finding{wrong("", s.err)}
	}
	return []Finding{problem("", "", "read %s: %v", file, role.Cause(s.err))}
}

// commands looks whether the programs that local mode runs are there, and the
// variables that agents inherit.
func (x *exam) commands(context.Context) []Finding {
	c := x.sheet.config
	if c == nil {
		return []Finding{skipped("no valid %s", instance.ConfigName)}
	}
	var out []Finding
	_, unset, err := c.HostValues(x.at.Lookup)
	for _, sentence := range unset {
		out = append(out, warning("", "export it", "%s", sentence))
	}
	if err != nil {
		out = append(out, problem("", "export it; sett up needs it", "%v", err))
	}
	if containers, _ := x.inContainers(); !containers {
		for _, missing := range deploy.MissingTools(c, x.root) {
			out = append(out, warning("", fmt.Sprintf("install it, or change command in %s", instance.ConfigName), "%s", missing.Text))
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
