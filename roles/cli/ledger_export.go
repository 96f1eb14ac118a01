package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
)

type ledgerExportCmd struct {
	Goal  string `arg:"" optional:"" help:"Only this goal: any part of the beginning or end of its id or of one of its artefacts' or claims', or @last."`
	File  string `placeholder:"FILE" help:"Write to FILE, which is there when it is whole; else to stdout."`
	Force bool   `help:"Overwrite FILE."`
}

// Help is shown by `sett ledger export --help`.
func (ledgerExportCmd) Help() string {
	return `Writes everything that an instance, or one goal, ever was: artefacts with their payloads,
claims with bids and grants, and every entry of the ledger, as it is at one moment; the clan
may go on working. Each payload is compared with what the ledger recorded of it. Records
that are lost or corrupt are named, and exported as far as they are there: exit code 1.

The first line is a header, the last a footer with a SHA-256 over all lines before it. A line's
"kind" says what it is: header, artefact, lost (an artefact that is not there), claim, workflow,
open (what there is to do), event, footer. Text that is no UTF-8 is written as {"base64": "…"}.
Not in it: the instance's own state (who leads, which agents live, who holds the workspace) and
the workspace itself.

Examples:
  sett ledger export --file ledger.jsonl
  sett ledger export @last > goal.jsonl`
}

// Run exports.
func (c *ledgerExportCmd) Run(a *app) error {
	path, err := c.path(a)
	if err != nil {
		return err
	}
	b, in, done, err := a.board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	var broken []error
	o := redis.ExportOptions{Progress: a.progress("exporting"), Broken: func(err error) { broken = append(broken, err) }}
	if c.Goal != "" {
		if o.Goal, err = a.resolveWorkflow(a.ctx, b, c.Goal); err != nil {
			return err
		}
	}
	var got redis.ExportCounts
	write := func(w io.Writer) (err error) {
		got, err = b.Export(a.ctx, w, o)
		return err
	}
	to := "stdout"
	if path == "" {
		err = write(a.Stdout)
	} else {
		to = clean(c.File)
		err = writeWhole(path, c.Force, write)
	}
	if errors.Is(err, blackboard.ErrCorrupt) {
		return role.Fail(role.Failed, err, "the blackboard holds something else than what was written to it; sett ledger export GOAL still takes out other goals")
	}
	if err != nil {
		return err
	}
	a.sayf("sett: exported %s from instance %s to %s\n", amount(got), in.Name, to)
	return a.incomplete(broken)
}

// mostBroken is how many records are named that an export has not as they were.
const mostBroken = 20

// incomplete names what an export has not as it was, and fails if there is any.
func (a *app) incomplete(broken []error) error {
	if len(broken) == 0 {
		return nil
	}
	for _, err := range broken[:min(len(broken), mostBroken)] {
		a.sayf("sett: warning: %s\n", clean(err.Error()))
	}
	if more := len(broken) - mostBroken; more > 0 {
		a.sayf("sett: warning: and %d more\n", more)
	}
	return role.Fail(role.Failed, fmt.Errorf("exported, but %s lost or corrupt", count(len(broken), "record is", "records are")),
		"the export is whole but for these, and can be imported; what they were is in an older one")
}

// path returns where to write; empty is stdout. It looks before the work begins
// for what would be in the way at its end.
func (c *ledgerExportCmd) path(a *app) (string, error) {
	if c.File == "" || c.File == "-" {
		if role.IsTerminal(a.Stdout) {
			return "", role.Fail(role.Usage, errors.New("an export is not written to a terminal"), "--file FILE, or a pipe")
		}
		return "", nil
	}
	path, err := a.pathOf(c.File)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, nil
	case err != nil:
		return "", fmt.Errorf("write %s: %w", clean(c.File), cause(err))
	case !info.Mode().IsRegular():
		return "", role.Fail(role.Usage, fmt.Errorf("write %s: it is no file", clean(c.File)), "--file takes the name of a file")
	case !c.Force:
		return "", role.Fail(role.Usage, fmt.Errorf("write %s: it exists", clean(c.File)), "--force overwrites it")
	}
	return filepath.EvalSymlinks(path)
}

// writeWhole writes a file that is there as a whole or not at all. One that exists
// is left alone without force.
func writeWhole(path string, force bool, write func(io.Writer) error) (err error) {
	dir, base := filepath.Split(path)
	f, err := os.CreateTemp(dir, "."+base+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", clean(path), cause(err))
	}
	defer func() { _ = os.Remove(f.Name()) }()
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", clean(path), cause(err))
	}
	return putInPlace(f.Name(), path, force)
}

// putInPlace gives a file its name. Without force that is refused when somebody
// else took the name meanwhile.
func putInPlace(temporary, path string, force bool) error {
	place := os.Rename
	if !force {
		place = os.Link
	}
	err := place(temporary, path)
	if !force && err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(temporary, path) // a file system without links
	}
	if err == nil {
		err = syncDirectory(filepath.Dir(path))
	}
	if err != nil {
		var l *os.LinkError
		if errors.As(err, &l) {
			err = l.Err
		}
		return fmt.Errorf("write %s: %w", clean(path), cause(err))
	}
	return nil
}

// syncDirectory makes a name in it last.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return d.Sync()
}
