package cli

import (
	"fmt"
	"strings"

	"sett/contract/config"
	"sett/roles/role"
)

// upLine is the sett up that starts this instance, and no other, as it can be typed
// where this command was: with the directory, the file, the name and the place that it
// would not find by itself.
func (a *app) upLine(in *instance) string {
	at := *a
	at.flags = globals{}
	words := []string{"sett"}
	if here, err := at.workspace(a.ctx); err != nil || here != in.Workspace {
		at.flags.Directory = in.Workspace
		words = append(words, "-C", role.ShellWord(in.Workspace))
	}
	if file, err := at.configFile(a.ctx); in.ConfigFile != "" && (err != nil || file != in.ConfigFile) {
		at.flags.Config = in.ConfigFile
		words = append(words, "-f", role.ShellWord(in.ConfigFile))
	}
	words = append(words, "up")
	if at.upFinds(in.Workspace) != in.Name {
		words = append(words, "--name", in.Name)
	}
	if c, _, err := at.configuration(a.ctx, config.DefaultRuntime(in.Runtime)); err == nil && in.Runtime != "" && c.Runtime != in.Runtime {
		words = append(words, "--runtime", in.Runtime)
	}
	return clean(strings.Join(words, " "))
}

// upFinds is the name of the instance that a sett up for the workspace takes, where
// none is named; empty: it cannot tell, or makes one.
func (a *app) upFinds(root string) string {
	if name, err := a.wanted(); err != nil || name != "" {
		return name
	}
	all, err := a.instances()
	if err != nil {
		return ""
	}
	if own, err := ofWorkspace(all, root); err == nil && own != nil {
		return own.Name
	}
	return ""
}

func (a *app) notRunning(in *instance) error {
	return role.Fail(role.NotFound, fmt.Errorf("instance %s is not running", in.Name), "%s", a.upLine(in))
}
