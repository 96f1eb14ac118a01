package cli

import (
	"github.com/alecthomas/kong"

	"sett/roles/cli/instance"
)

// globals are the flags that every command knows.
type globals struct {
	instance.Flags
	Color string `enum:"auto,always,never" default:"auto" placeholder:"WHEN" help:"Colour the output: auto (a terminal, unless NO_COLOR is set; FORCE_COLOR: always), always or never."`
	Quiet bool   `short:"q" help:"Nothing on standard error but errors, and what has to be asked."`
}

// groups order the commands on the first help page.
var groups = []kong.Group{
	{Key: "start", Title: "Start here:"},
	{Key: "life", Title: "Run a clan:"},
	{Key: "work", Title: "Give it work:"},
	{Key: "part", Title: "Take part:"},
	{Key: "take", Title: "Take its commits:"},
	{Key: "look", Title: "See what happens:"},
	{Key: "other", Title: "More:"},
}

// root is the command line: one field per command. Each has a
// Run(*app) error method in the file of its name.
type root struct {
	globals

	Demo demoCmd   `cmd:"" group:"start" help:"See a clan at work, in a repository made for it."`
	Init initCmd   `cmd:"" group:"start" help:"Write sett.yml and an example agent to begin with."`
	Conf configCmd `cmd:"" name:"config" group:"start" help:"Check sett.yml and print what applies."`

	Plan planCmd `cmd:"" group:"start" help:"Draw the clan: types, agents, gates, ends."`

	Up      upCmd      `cmd:"" group:"life" help:"Start the clan, or apply what changed in sett.yml."`
	Down    downCmd    `cmd:"" group:"life" help:"Stop the clan; what happened is kept."`
	List    listCmd    `cmd:"" group:"life" help:"List instances and how they are."`
	Restart restartCmd `cmd:"" group:"life" help:"Restart one agent."`

	Forage forageCmd `cmd:"" group:"work" help:"Give the clan a goal."`
	Wait   waitCmd   `cmd:"" group:"work" help:"Wait for a goal's end, or for something a person has to do."`
	Try    tryCmd    `cmd:"" group:"work" help:"Run one agent as its cub would, with nothing recorded."`

	Questions questionsCmd `cmd:"" group:"part" help:"List what waits for a person."`
	Answer    answerCmd    `cmd:"" group:"part" help:"Answer a question."`
	Approve   approveCmd   `cmd:"" group:"part" help:"Let pass what waits for approval."`
	Reject    rejectCmd    `cmd:"" group:"part" help:"Turn down what waits for approval."`
	Review    reviewCmd    `cmd:"" group:"part" help:"Review an artefact beside the agents."`
	Cancel    cancelCmd    `cmd:"" group:"part" help:"Stop a claim or a goal."`
	Retry     retryCmd     `cmd:"" group:"part" help:"Try a failed claim again."`

	Diff      diffCmd      `cmd:"" group:"take" help:"Show all that a goal changed."`
	Land      landCmd      `cmd:"" group:"take" help:"Bring the commit of a result to your branch."`
	Checkout  checkoutCmd  `cmd:"" group:"take" help:"Make a directory, or a branch, with the commit of a result."`
	Leftovers leftoversCmd `cmd:"" group:"take" help:"See and settle what failed and stopped tools left."`

	Logs    logsCmd    `cmd:"" group:"look" help:"Show what agents and Sett's own parts logged."`
	Goals   goalsCmd   `cmd:"" group:"look" help:"List goals."`
	Show    showCmd    `cmd:"" group:"look" help:"Say what a goal, claim or artefact is, and what it waits for."`
	Watch   watchCmd   `cmd:"" group:"look" help:"Show what happened and what happens."`
	Hoard   hoardCmd   `cmd:"" group:"look" help:"List artefacts."`
	Result  resultCmd  `cmd:"" group:"look" help:"Print the final result of a goal."`
	Unearth unearthCmd `cmd:"" group:"look" help:"Print an artefact's payload."`
	Models  modelsCmd  `cmd:"" group:"look" help:"Show what calls of models took; stop them all."`
	Why     whyCmd     `cmd:"" group:"look" help:"Say how an artefact or claim came to be."`
	Blame   blameCmd   `cmd:"" group:"look" help:"Say who wrote the lines of a file: agent, reviewers, goal, or a person."`
	Graph   graphCmd   `cmd:"" group:"look" help:"Show what was made from what, as a tree or for other tools."`

	Report reportCmd `cmd:"" group:"look" help:"Write the whole story of a goal as one page, to keep or hand on."`

	Board boardCmd `cmd:"" group:"look" help:"Show the clan at work, on the terminal."`

	UI uiCmd `cmd:"" name:"ui" group:"look" help:"Show the clan at work, in a browser."`

	Ledger  ledgerCmd  `cmd:"" group:"other" help:"Take everything out of an instance, or bring it into another."`
	Schema  schemaCmd  `cmd:"" group:"other" help:"Print the JSON Schema of sett.yml."`
	Doctor  doctorCmd  `cmd:"" group:"other" help:"Look for what is wrong here, and say what to do."`
	Version versionCmd `cmd:"" group:"other" help:"Say which sett this is."`

	Completion completionCmd `cmd:"" group:"other" help:"Print a script that completes what is typed in a shell."`
	Complete   completeCmd   `cmd:"" name:"__complete" group:"other" hidden:"" help:"What such a script asks."`
	Man        manCmd        `cmd:"" group:"other" help:"Print the manual page, or write those of all commands."`
}
