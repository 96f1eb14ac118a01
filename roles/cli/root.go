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

	Demo demoCmd `cmd:"" group:"start" help:"See a clan at work, in a repository made for it."`
	Init initCmd `cmd:"" group:"start" help:"Write sett.yml and an example agent to begin with."`

	Up      upCmd      `cmd:"" group:"life" help:"Start the clan, or apply what changed in sett.yml."`
	Down    downCmd    `cmd:"" group:"life" help:"Stop the clan; what happened is kept."`
	List    listCmd    `cmd:"" group:"life" help:"List instances and how they are."`
	Restart restartCmd `cmd:"" group:"life" help:"Restart one agent."`

	Forage forageCmd `cmd:"" group:"work" help:"Give the clan a goal."`
	Try    tryCmd    `cmd:"" group:"work" help:"Run one agent as its cub would, with nothing recorded."`

	Logs    logsCmd    `cmd:"" group:"look" help:"Show what agents and Sett's own parts logged."`
	Goals   goalsCmd   `cmd:"" group:"look" help:"List goals."`
	Show    showCmd    `cmd:"" group:"look" help:"Say what a goal, claim or artefact is, and what it waits for."`
	Watch   watchCmd   `cmd:"" group:"look" help:"Show what happened and what happens."`
	Hoard   hoardCmd   `cmd:"" group:"look" help:"List artefacts."`
	Unearth unearthCmd `cmd:"" group:"look" help:"Print an artefact's payload."`

	Version versionCmd `cmd:"" group:"other" help:"Say which sett this is."`
}
