package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/cli/ledger"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
)

type ledgerCmd struct {
	Export ledgerExportCmd `cmd:"" help:"Write the ledger and every artefact as JSON lines."`
	Import ledgerImportCmd `cmd:"" help:"Read an export into an instance that has no artefacts yet."`
}

// Help is shown by `sett ledger --help`.
func (ledgerCmd) Help() string {
	return `Takes everything that happened out of an instance, and brings it into another: to keep a
copy, to move a clan to another machine, or to hand a goal's whole history to somebody.

Examples:
  sett ledger export --file ledger.jsonl --bundle
  sett ledger import ledger.jsonl`
}

type ledgerExportCmd struct {
	Goal  string `arg:"" optional:"" help:"Only this goal: any part of the beginning or end of its id or of one of its artefacts' or claims', or @last."`
	File  string `placeholder:"FILE" help:"Write to FILE, which is there when it is whole; else to stdout."`
	Force bool   `help:"Overwrite FILE."`

	Bundle bool `help:"Also write FILE.bundle, a git bundle with the commits and their history."`
}

// Help is shown by `sett ledger export --help`.
func (ledgerExportCmd) Help() string {
	return `Writes everything that an instance, or one goal, ever was: artefacts with their payloads,
claims with bids and grants, and every entry of the ledger, as it is at one moment; the clan
may go on working. It holds each payload to the digest in the ledger, and looks for every
claim and bid that the ledger names. Records that are lost or corrupt are named, and exported
as far as they are there: exit code 1.

The first line is a header, the last a footer with a SHA-256 over all lines before it. A line's
"kind" says what it is: header, artefact, lost (an artefact that is not there, or not as the
ledger has it), claim, workflow, open (what there is to do), event, footer. Text that is no UTF-8 is written as {"base64": "…"}.
Not in it: the instance's own state (who leads, which agents live, who holds the workspace) and
the workspace itself. With --bundle the commits of results, those that goals start from and
the leftovers of tools are in FILE.bundle, and every commit that the ledger names is compared
with it.

Examples:
  sett ledger export --file ledger.jsonl
  sett ledger export @last > goal.jsonl
  sett ledger export --file ledger.jsonl --bundle`
}

// Run exports.
func (c *ledgerExportCmd) Run(a *app) error {
	if c.Bundle && (c.File == "" || c.File == "-") {
		return role.Fail(role.Usage, errors.New("--bundle needs a file to stand beside"), "--file FILE")
	}
	path, err := wholeFile(a, c.File, c.Force, "an export")
	if err != nil {
		return err
	}
	b, in, lacks, done, err := instance.BoardToExport(a.ctx, a.at)
	if err != nil {
		return err
	}
	defer done()
	var broken lostRecords
	if lacks != nil && lacks.Removed == nil { // else the export says so
		broken.add(lacks)
	}
	goal := ""
	if c.Goal != "" {
		if goal, err = a.resolveWorkflow(a.ctx, b, c.Goal); err != nil {
			return err
		}
	}
	amount := ""
	write := func(w io.Writer) (err error) {
		amount, err = ledger.Export(a.ctx, &a.Terminal, b, w, goal, broken.add)
		return err
	}
	to, incompleteBundle := "stdout", error(nil)
	if path == "" {
		err = write(a.Stdout)
	} else {
		to = role.Clean(c.File)
		var bundle func() error
		if c.Bundle {
			bundle = func() (err error) {
				incompleteBundle, err = ledger.ExportBundle(a.ctx, a.at, b, in, goal, path+ledger.BundleSuffix, c.Force)
				return err
			}
		}
		err = ledger.WriteBefore(path, c.Force, write, bundle) // a ledger is there with its bundle, or not at all
	}
	if errors.Is(err, blackboard.ErrCorrupt) {
		return role.Fail(role.Failed, fmt.Errorf("nothing was exported: %w", err), "the blackboard holds something else than what was written to it; sett ledger export GOAL still takes out other goals")
	}
	if err != nil {
		return err
	}
	a.Sayf("sett: exported %s from instance %s to %s\n", amount, in.Name, to)
	if !c.Bundle {
		err = ledger.NoteUnbundled(a.ctx, a.at, b, in, goal)
	}
	return errors.Join(err, incompleteBundle, incomplete(a, broken))
}

// mostBroken is how many lost or corrupt records are named.
const mostBroken = 100

// lostRecords are the lost and corrupt records of an export.
type lostRecords struct {
	named []error // the first of them
	count int
}

func (l *lostRecords) add(err error) {
	if l.count++; len(l.named) < mostBroken {
		l.named = append(l.named, err)
	}
}

// warn names them.
func (l *lostRecords) warn(a *app) {
	for _, err := range l.named {
		a.Sayf("sett: warning: %s\n", role.Clean(err.Error()))
	}
	if more := l.count - len(l.named); more > 0 {
		a.Sayf("sett: warning: and %d more\n", more)
	}
}

// incomplete names the lost and corrupt records of an export, and fails if there are
// any.
func incomplete(a *app, broken lostRecords) error {
	if broken.count == 0 {
		return nil
	}
	broken.warn(a)
	return role.Fail(role.Failed, fmt.Errorf("exported, but %s lost or corrupt", words.Count(broken.count, "record is", "records are")),
		"the export is whole but for these, and can be imported; what they were is in an older one")
}

// wholeFile returns the path of a file to write as a whole; empty is stdout. It checks before the work begins
// that the file can be written at the end.
func wholeFile(a *app, file string, force bool, what string) (string, error) {
	if file == "" || file == "-" {
		if role.IsTerminal(a.Stdout) {
			return "", role.Fail(role.Usage, errors.New(what+" is not written to a terminal"), "--file FILE, or a pipe")
		}
		return "", nil
	}
	path, err := a.at.Path(file)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, nil
	case err != nil:
		return "", fmt.Errorf("write %s: %w", role.Clean(file), role.Cause(err))
	case !info.Mode().IsRegular():
		return "", role.Fail(role.Usage, fmt.Errorf("write %s: it is no file", role.Clean(file)), "--file takes the name of a file")
	case !force:
		return "", role.Fail(role.Usage, fmt.Errorf("write %s: it exists", role.Clean(file)), "--force overwrites it")
	}
	return filepath.EvalSymlinks(path)
}

type ledgerImportCmd struct {
	File  string `arg:"" optional:"" help:"The export; - for stdin."`
	Abort bool   `help:"Clear away what an import left that was killed, instead."`

	Bundle string `placeholder:"FILE" help:"The git bundle with the commits (default: FILE.bundle beside the export, if it is there)."`
}

// Help is shown by `sett ledger import --help`.
func (ledgerImportCmd) Help() string {
	return `Brings what sett ledger export wrote into an instance that has no artefacts yet. It is there
as a whole at the end, or not at all; meanwhile no goal can be posted. What was open goes on:
questions can be answered, agents of the same names take up their work. What was being worked
on is dealt with as after a crash: a Failure, or another attempt where the agent has retries.
The ledger goes on behind what was imported, with an entry of who imported it. Into a
blackboard that lost its ledger it brings a copy back, and the instance goes on with that.

An import that was killed is cleared away by the next one, or with --abort.
` + whoHelp + `

Examples:
  sett ledger import ledger.jsonl
  sett ledger import ledger.jsonl --bundle commits.bundle
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
	b, at, gone, done, err := instance.BoardToFill(a.ctx, a.at)
	if err != nil {
		return err
	}
	defer done()
	if c.Abort {
		return c.abort(a, b, at.Name)
	}
	var bundled bool
	var altered lostRecords
	var unbundled error
	a.Hold.On() // it clears away its part of an import
	amount, lost, err := ledger.ImportCompared(a.ctx, &a.Terminal, b, term.ReadUntil(a.ctx, in), from, func() error {
		bundled, unbundled = ledger.ImportBundle(a.ctx, a.at, at, c.Bundle, c.File) // so that agents find the commits
		return unbundled
	}, altered.add)
	switch {
	case err != nil && unbundled != nil:
		return unbundled
	case ledger.Malformed(err):
		return role.Fail(role.Failed, fmt.Errorf("%s: %w", role.Clean(from), cleaned(err)), "nothing was imported")
	case errors.Is(err, blackboard.ErrStale):
		return role.Fail(role.Failed, errors.New("the import was not heard of for a while, and another one or an --abort has taken its place"), "sett ledger import --help")
	case errors.Is(err, blackboard.ErrRefused):
		return role.Fail(role.Failed, cleaned(err), "one import at a time, into an instance that has no artefacts: sett up in another workspace, or with another --name")
	case err != nil:
		return err
	}
	if gone {
		if err := instance.AdoptBoard(a.ctx, a.at, at, b); err != nil {
			return err
		}
		if err := b.Control.SetInstance(a.ctx, blackboard.InstanceMove{State: blackboard.InstanceRunning, By: a.at.Who(), With: "sett ledger import"}); err != nil {
			return err
		}
	}
	a.Sayf("sett: imported %s into instance %s\n", amount, at.Name)
	if lost > 0 {
		a.Sayf("sett: warning: %s lost or corrupt before the export\n", words.Count(lost, "more artefact was", "more artefacts were"))
	}
	altered.warn(a)
	if bundled {
		return ledger.CompareCommits(a.ctx, a.at, b, at, "")
	}
	return ledger.NoteMissing(a.ctx, a.at, b, at)
}

// cleaned makes an error with text from a file safe to print.
func cleaned(err error) error { return errors.New(role.Clean(err.Error())) }

// open opens the file, and returns its name.
func (c *ledgerImportCmd) open(a *app) (io.ReadCloser, string, error) {
	if c.File == "" || c.File == "-" {
		return io.NopCloser(a.Stdin), "stdin", nil
	}
	path, err := a.at.Path(c.File)
	if err != nil {
		return nil, "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, "", role.Fail(role.Usage, fmt.Errorf("read %s: %w", role.Clean(c.File), role.Cause(err)), "")
	}
	return f, filepath.Base(path), nil
}

func (c *ledgerImportCmd) abort(a *app, b *instance.Board, instance string) error {
	err := ledger.Abort(a.ctx, &a.Terminal, b)
	if errors.Is(err, blackboard.ErrNotFound) {
		return role.Fail(role.NotFound, fmt.Errorf("no import of instance %s was left unfinished", instance), "")
	}
	if err != nil {
		return err
	}
	a.Sayf("sett: cleared away what an import left in instance %s\n", instance)
	return nil
}
