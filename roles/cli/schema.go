package cli

import (
	"sett/contract/config"
	"sett/roles/cli/starter"
)

type schemaCmd struct {
	Output string `short:"o" enum:"json" default:"json" placeholder:"FORMAT" help:"How to print: json, the one form it has."`
}

// Help is shown by `sett schema --help`.
func (schemaCmd) Help() string {
	return `Prints the JSON Schema (draft 2020-12) of sett.yml, for editors, which then complete
and explain its keys and underline mistakes, and for other tools. sett config knows more:
the schema lets through what takes comparing one value with another.

Editors with a YAML language server find the schema by the first line of the file,
which sett init has written:
  ` + starter.SchemaLine + `
The schema lies beside sett.yml, so that it is there for everybody who clones the
repository, and offline. After an upgrade of sett, print it anew.

Example: sett schema > ` + starter.SchemaName
}

// Run prints the schema.
func (*schemaCmd) Run(a *app) error {
	a.Printf("%s", config.Schema())
	return nil
}
