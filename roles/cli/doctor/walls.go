package doctor

import (
	"context"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role/confine"
)

// walls says how far this machine keeps tools of local mode from its files.
func (x *exam) walls(context.Context) []Finding {
	out := wallsOf(x.sheet.config, confine.Level())
	if x.meant != nil && out[0].Status == Warning {
		return out
	}
	bare := x.each(func(in *instance.Instance) []Finding {
		if c, err := in.Config(); err != nil || in.Runtime != config.RuntimeProcess || c.Local != nil {
			return nil
		}
		return []Finding{warning(in.Name, "local: {write: []} in its sett.yml, and "+x.at.UpLine(in), "%s", bareText)}
	})
	if len(bare) > 0 && out[0].Status == Skipped {
		return bare
	}
	return append(out, bare...)
}

// bareText is the finding about local mode without walls.
const bareText = "tools of local mode run without walls: they read and change your files, and Sett's own, with the ledger"

func wallsOf(c *config.Config, level int) []Finding {
	switch {
	case c == nil || c.Runtime != config.RuntimeProcess:
		return []Finding{skipped("they are for local mode")}
	case c.Local == nil && level == 0:
		return []Finding{warning("", "run a clan that you do not trust in containers; this system has no Landlock", "%s", bareText)}
	case c.Local == nil:
		return []Finding{warning("", "local: {write: []} in sett.yml keeps tools to their trees", "%s", bareText)}
	case level == 0:
		return []Finding{warning("", "run the clan in containers, or on Linux with landlock among its security modules", "%s", confine.Say(level))}
	case len(confine.Gaps(level)) > 0:
		return []Finding{warning("", "Linux 6.12 can, and containers do", "%s", confine.Say(level))}
	}
	return []Finding{fine("", "%s", confine.Say(level))}
}
