package cli

import (
	"sett/contract/config"
)

type configCmd struct {
	Runtime string `enum:",docker,process" default:"" placeholder:"docker|process" help:"Read it as if this were its runtime."`
	Secrets bool   `name:"show-secrets" help:"Print secrets as they are."`
	Output  string `short:"o" enum:"yaml,json,jsonl,table" default:"yaml" placeholder:"FORMAT" help:"How to print: yaml, json or jsonl (json on one line); table is yaml."`
}

// Help is shown by `sett config --help`.
func (configCmd) Help() string {
	return `Prints sett.yml as it applies, with every default and without aliases. What is printed
is a sett.yml itself, and means the same. Or it says everything that is wrong with the
file, each with line, column and what to do about it, and ends with exit code 2. It
looks at nothing but the file: no engine, no image.

With -q it only checks, and prints nothing where all is well.

Passwords in URLs, and values of variables and build arguments with names such as
API_KEY or DB_PASSWORD, are printed as ` + config.Masked + `, unless --show-secrets says otherwise.
Values that variables take from this machine are never printed: no file has them.

Examples: sett config
          sett config -q && sett up
          sett config -o json --runtime process`
}

// Run prints the configuration.
func (c *configCmd) Run(a *app) error {
	conf, _, err := a.configuration(a.ctx, config.WithRuntime(c.Runtime))
	if err != nil || a.flags.Quiet {
		return err
	}
	masked := false
	if !c.Secrets {
		conf, masked = conf.WithoutSecrets()
	}
	o := outputs{c.Output}
	if o.forPeople() {
		o.Output = "yaml"
	}
	if err := a.emit(o, shown{whole: conf.Sett()}); err != nil {
		return err
	}
	if masked && o.Output == "yaml" {
		a.sayf("sett: note: secrets are masked; --show-secrets prints them\n")
	}
	return nil
}
