package doctor

import (
	"context"

	"sett/contract/config"
	"sett/roles/role/confine"
)

// walls says how far this machine keeps tools of local mode from its files.
func (x *exam) walls(context.Context) []Finding { return wallsOf(x.sheet.config, confine.Level()) }

func wallsOf(c *config.Config, level int) []Finding {
	switch {
	case c == nil || c.Runtime != config.RuntimeProcess:
		return []Finding{skipped("they are for local mode")}
	case c.Local == nil && level == 0:
		return []Finding{skipped("sett.yml wants none, and this system has no Landlock")}
	case c.Local == nil:
		return []Finding{skipped("sett.yml wants none: local: {write: []} keeps tools to their trees")}
	case level == 0:
		return []Finding{warning("", "run the clan in containers, or on Linux with landlock among its security modules", "%s", confine.Say(level))}
	case len(confine.Gaps(level)) > 0:
		return []Finding{warning("", "Linux 6.12 can, and containers do", "%s", confine.Say(level))}
	}
	return []Finding{fine("", "%s", confine.Say(level))}
}
