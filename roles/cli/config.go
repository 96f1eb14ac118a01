package cli

import (
	"context"
	"slices"
	"time"

	"sett/contract/config"
	"sett/roles/cli/deploy"
	"sett/roles/cli/instance"
	"sett/roles/cli/starter"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/store"
)

type configCmd struct {
	Runtime string `enum:",docker,process" default:"" placeholder:"docker|process" help:"Read it as if this were its runtime."`
	Secrets bool   `name:"show-secrets" help:"Print secrets as they are."`
	Digest  bool   `help:"Print only the digest of the rights beyond the clan's containers and the repository."`
	Output  string `short:"o" enum:"yaml,json,jsonl,table" default:"yaml" placeholder:"FORMAT" help:"How to print: yaml, json or jsonl (json on one line); table is yaml."`
}

// Help is shown by `sett config --help`.
func (configCmd) Help() string {
	return `Prints sett.yml as it applies, with every default and without aliases. What is printed
is a sett.yml itself, and means the same. Or it says everything that is wrong with the
file, each with line, column and what to do about it, and ends with exit code 2. It
looks at nothing but the file: no engine, no image. But a file that names no runtime is
read with that of this repository's instance, as by sett up, and for a type in approve
that no agent's bids name it asks the blackboard of that instance, if it runs.

With -q it only checks, and prints nothing where all is well.

Passwords in URLs, and values of variables and build arguments with names such as
API_KEY or DB_PASSWORD, are printed as ` + config.Masked + `, unless --show-secrets says otherwise.
Values that variables take from this machine are never printed: no file has them. A note
says where this repository's instance keeps its commits, a bare git repository.

With --digest it prints one line, the SHA-256 of the rights that the file takes beyond
the clan's own containers and the repository, and the rights themselves as notes.
sett up --trust DIGEST agrees to exactly these.

Examples: sett config
          sett config -q && sett up
          sett config -o json --runtime process`
}

// Run prints the configuration.
func (c *configCmd) Run(a *app) error {
	said := ""
	var doubts []config.Warning
	conf, file, err := a.at.Config(config.WithRuntime(c.Runtime), config.NoteRuntime(&said), config.NoteWarnings(&doubts))
	if err != nil || a.flags.Quiet {
		return err
	}
	for _, doubt := range standing(a, doubts) {
		a.Sayf("sett: warning: %s\n", role.CleanText(doubt.String()))
	}
	if c.Digest {
		return digest(a, conf, said, file)
	}
	masked := false
	if !c.Secrets {
		conf, masked = conf.WithoutSecrets()
	}
	o := term.Form{Output: c.Output}
	if o.ForPeople() {
		o.Output = "yaml"
	}
	if err := a.Emit(o, term.Shown{Whole: conf.Sett()}); err != nil {
		return err
	}
	if o.Output != "yaml" {
		return nil
	}
	if masked {
		a.Sayf("sett: note: secrets are masked; --show-secrets prints them\n")
	}
	if in, err := a.at.Find(); err == nil && store.Open(in.StoreDir()).Exists() {
		a.Printf("\n# Instance %s keeps the commits of goals and results in %s\n", in.Name, role.Clean(a.at.Tilde(in.StoreDir())))
	}
	return nil
}

// digest prints the digest of the rights, and the rights as notes.
func digest(a *app, c *config.Config, runtime, file string) error {
	rights, err := instance.Rights(a.at, c, runtime, file)
	if err != nil {
		return err
	}
	for _, r := range rights {
		a.Sayf("sett: note: %s %s\n", role.Clean(r.Key), role.Clean(r.Text))
	}
	a.Printf("%s\n", config.RightsDigest(rights))
	return nil
}

// standing leaves out the doubts that the running instance removes.
func standing(a *app, doubts []config.Warning) []config.Warning {
	if !slices.ContainsFunc(doubts, func(w config.Warning) bool { return w.Gate != "" }) {
		return doubts
	}
	ctx, cancel := context.WithTimeout(a.ctx, boardTime)
	defer cancel()
	b, _, done, err := a.at.Board(ctx)
	if err != nil {
		return doubts // nothing runs, or does not answer
	}
	defer done()
	return deploy.Doubts(ctx, b, doubts)
}

// boardTime is the time that an instance gets to answer a command that can do without.
const boardTime = 2 * time.Second

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
