package cli

import "github.com/alecthomas/kong"

// globals are the flags that every command knows.
type globals struct {
	Directory string `short:"C" placeholder:"DIR" help:"Work as if started in DIR."`
	Config    string `short:"f" placeholder:"FILE" help:"Use FILE instead of sett.yml."`
	Name      string `placeholder:"NAME" help:"Name of the instance (default: $$SETT_INSTANCE, else the one of this workspace)."`
}

// groups order the commands on the first help page.
var groups = []kong.Group{
	{Key: "start", Title: "Start here:"},
	{Key: "life", Title: "Run a clan:"},
	{Key: "work", Title: "Give it work:"},
	{Key: "look", Title: "See what happens:"},
	{Key: "other", Title: "More:"},
}

// root is the command line: one field per command. Each has a
// Run(*app) error method in the file of its name.
type root struct {
	globals

	Version versionCmd `cmd:"" group:"other" help:"Say which sett this is."`
}
