package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
)

type ledgerImportCmd struct {
	File  string `arg:"" optional:"" help:"The export; - for stdin."`
	Abort bool   `help:"Clear away what an import left that was killed, instead."`
}

// Help is shown by `sett ledger import --help`.
func (ledgerImportCmd) Help() string {
	return `Brings what sett ledger export wrote into an instance that has no artefacts yet. It is there
as a whole at the end, or not at all; meanwhile no goal can be posted. What was open goes on:
questions can be answered, agents of the same names take up their work. What was being worked
on is dealt with as after a crash: a Failure, or another attempt where the agent has retries.
The ledger goes on behind what was imported, with an entry of who imported it.

An import that was killed is cleared away by the next one, or with --abort.
` + whoHelp + `

Examples:
  sett ledger import ledger.jsonl
  gunzip < ledger.jsonl.gz | sett ledger import -
  sett ledger import --abort`
}

// Run imports.
func (c *ledgerImportCmd) Run(a *app) error {
	if (c.File == "") != c.Abort {
		return role.Fail(role.Usage, errors.New("want a FILE, or --abort"), "sett ledger import --help")
	}
	in, from, err := c.open(a)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	b, instance, done, err := a.board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	if c.Abort {
		return c.abort(a, b, instance.Name)
	}
	o := redis.ImportOptions{Token: a.NewID(), By: a.who(), Source: from, Progress: a.progress("importing")}
	got, err := b.Import(a.ctx, in, o)
	var format *redis.FormatError
	switch {
	case errors.As(err, &format):
		return role.Fail(role.Failed, fmt.Errorf("%s: %w", clean(from), cleaned(err)), "nothing was imported")
	case errors.Is(err, blackboard.ErrStale):
		return role.Fail(role.Failed, errors.New("the import was not heard of for a while, and another one or an --abort has taken its place"), "sett ledger import --help")
	case errors.Is(err, blackboard.ErrRefused):
		return role.Fail(role.Failed, cleaned(err), "one import at a time, into an instance that has no artefacts: sett up in another workspace, or with another --name")
	case err != nil:
		return err
	}
	a.sayf("sett: imported %s into instance %s\n", amount(got), instance.Name)
	if got.Lost > 0 {
		a.sayf("sett: warning: %s lost before it was exported\n", count(got.Lost, "more artefact was", "more artefacts were"))
	}
	return nil
}

// cleaned is an error whose text has something of a file in it.
func cleaned(err error) error { return errors.New(clean(err.Error())) }

// open opens the file, and says what it is called.
func (c *ledgerImportCmd) open(a *app) (io.ReadCloser, string, error) {
	if c.File == "" || c.File == "-" {
		return io.NopCloser(a.Stdin), "stdin", nil
	}
	path, err := a.pathOf(c.File)
	if err != nil {
		return nil, "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, "", role.Fail(role.Usage, fmt.Errorf("read %s: %w", clean(c.File), cause(err)), "")
	}
	return f, filepath.Base(path), nil
}

func (c *ledgerImportCmd) abort(a *app, b *redis.Board, instance string) error {
	err := b.AbortImport(a.ctx, a.NewID(), a.who())
	if errors.Is(err, blackboard.ErrNotFound) {
		return role.Fail(role.NotFound, fmt.Errorf("no import of instance %s was left unfinished", instance), "")
	}
	if err != nil {
		return err
	}
	a.sayf("sett: cleared away what an import left in instance %s\n", instance)
	return nil
}
