package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/roles/cli/commit"
	"sett/roles/cli/grammar"
	"sett/roles/cli/instance"
	"sett/roles/cli/ledger"
	"sett/roles/cli/status"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/view/report"
)

type reportCmd struct {
	Goal   string   `arg:"" optional:"" help:"The goal: any part of its id's beginning or end that is unique (default: @last, the newest goal; of a ledger with one goal: that)."`
	Output string   `short:"o" enum:"html,md,json,yaml,timeline,graph" default:"html" placeholder:"FORMAT" help:"How to write it: html (one page that needs no other file), md, json or yaml; timeline or graph: that picture alone, as SVG."`
	File   string   `placeholder:"FILE" help:"Write to FILE, which is there when it is whole; else to stdout."`
	Force  bool     `help:"Overwrite FILE."`
	Bare   bool     `name:"no-patches" help:"Name commits by their hashes alone, which is much faster where there are many."`
	Only   []string `placeholder:"FIELDS" help:"With -o json or yaml: these fields alone, with commas between them. sett report fields lists them."`
	Ledger string   `placeholder:"EXPORT" help:"Read an export of sett ledger export instead of an instance."`
}

// Help is shown by `sett report --help`.
func (reportCmd) Help() string {
	return `Tells the whole story of a goal, to keep or to hand on: what came of it, its timeline and the
graph of its artefacts as pictures, every decision with its reason, reviews and reworks, the words of
people, commits with their patches, the images and programs that ran, models and their cost, failures, the
ledger, and how to verify all of it. Times are in UTC. A goal that has ended gives the same bytes each
time. The page needs no script, and prints.

With --ledger it reads an export, without an instance, and names the patches that it lacks. --only
leaves out the other fields, and does not read what only they need.

Examples:
  sett report --file goal.html
  sett report 7XK2ABCD -o md
  sett report @last -o json | jq .outcome
  sett report @last -o json --only outcome,lacks
  sett report --ledger ledger.jsonl --file goal.html`
}

// Run writes the report.
func (c *reportCmd) Run(a *app) error {
	path, err := wholeFile(a, c.File, c.Force, "a report")
	if err != nil {
		return err
	}
	if err := c.fields(); err != nil {
		return err
	}
	r, compared, err := c.read(a)
	if err != nil {
		return err
	}
	return cmp.Or(c.write(a, r, path), compared.Failure(a.Sayf))
}

// write writes the report to a file, or to stdout if path is empty.
func (c *reportCmd) write(a *app, r *report.Report, path string) error {
	write := func(w io.Writer) error {
		switch c.Output {
		case "html":
			return term.WriteAll(w, r.HTML())
		case "md":
			return term.WriteAll(w, r.Markdown())
		case "timeline":
			return term.WriteAll(w, r.DrawTimeline().File("The goal's work over time"))
		case "graph":
			return term.WriteAll(w, r.DrawGraph().File("What was made from what"))
		}
		on := a.Terminal
		on.Stdout = w
		whole := any(r)
		if len(c.Only) > 0 {
			whole = r.Only(c.Only)
		}
		return on.Emit(term.Form{Output: c.Output}, term.Shown{Whole: whole})
	}
	if path == "" {
		return write(a.Stdout)
	}
	if err := ledger.WriteWhole(path, c.Force, write); err != nil {
		return err
	}
	a.Sayf("sett: wrote %s\n", role.Clean(c.File))
	return nil
}

// fields checks the names of the fields that are wanted.
func (c *reportCmd) fields() error {
	if len(c.Only) == 0 {
		return nil
	}
	if c.Output != "json" && c.Output != "yaml" {
		return role.Fail(role.Usage, errors.New("--only is for -o json and -o yaml"), "")
	}
	all := report.Fields()
	for _, f := range c.Only {
		if !slices.Contains(all, f) {
			return role.Fail(role.Usage, fmt.Errorf("a report has no field %q", f), "its fields: %s", strings.Join(all, ", "))
		}
	}
	return nil
}

// read reads the report of the goal that is meant.
func (c *reportCmd) read(a *app) (*report.Report, *ledger.Comparison, error) {
	if c.Ledger != "" {
		return c.fromExport(a)
	}
	on, err := a.about(cmp.Or(c.Goal, grammar.LastGoal))
	if err != nil {
		return nil, nil, err
	}
	defer on.done()
	goal, err := a.resolveWorkflow(a.ctx, on.b, cmp.Or(c.Goal, grammar.LastGoal))
	if err != nil {
		return nil, nil, err
	}
	repo := commit.In(a.ctx, a.at, on.in)
	from, compared := sourcesOf(a, on.b, on.in.Name)
	from.Now = on.b.ServerTime
	from.Only = c.Only
	if c.Output == "timeline" || c.Output == "graph" {
		from.Only = []string{c.Output}
	}
	from.Commits = func(ctx context.Context, artefact blackboard.Artefact) (report.Commit, error) {
		if c.Bare {
			return report.Commit{Hash: role.Clean(artefact.CommitHash()), Files: []report.File{}}, nil
		}
		return patchOf(ctx, repo, artefact)
	}
	r, err := report.Read(a.ctx, from, goal)
	return r, compared, err
}

// sourcesOf is where a report is read from, but for commits.
func sourcesOf(a *app, b *instance.Board, name string) (report.Sources, *ledger.Comparison) {
	on, compared := ledger.Compare(b, status.BoardOf(b))
	return report.Sources{Board: on, Ledger: b.Ledger, Sett: a.Build.Version, Instance: name, Spending: b.Calls.Spending}, compared
}

// fromExport reads the report from an export, on a blackboard of this process.
func (c *reportCmd) fromExport(a *app) (*report.Report, *ledger.Comparison, error) {
	path, err := a.at.Path(c.Ledger)
	if err != nil {
		return nil, nil, err
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, nil, role.Fail(role.Usage, fmt.Errorf("read %s: %w", role.Clean(c.Ledger), role.Cause(err)), "")
	}
	defer func() { _ = in.Close() }()
	b, done, err := instance.Scratch(a.ctx)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	quiet := a.Terminal
	quiet.Stderr = io.Discard
	if _, _, err := ledger.Import(a.ctx, &quiet, b, term.ReadUntil(a.ctx, in), filepath.Base(path), nil); ledger.Malformed(err) {
		return nil, nil, role.Fail(role.Failed, fmt.Errorf("%s: %w", role.Clean(c.Ledger), cleaned(err)), "sett ledger export writes such a file")
	} else if err != nil {
		return nil, nil, err
	}
	goal, err := a.resolveWorkflow(a.ctx, b, cmp.Or(c.Goal, grammar.LastGoal))
	if err != nil {
		return nil, nil, err
	}
	from, compared := sourcesOf(a, b, "of "+filepath.Base(path))
	r, err := report.Read(a.ctx, from, goal)
	return r, compared, err
}

// patchOf reads the commit that an artefact names, with its patch.
func patchOf(ctx context.Context, repo commit.Repository, artefact blackboard.Artefact) (report.Commit, error) {
	hash, err := repo.HashOf(ctx, artefact)
	if err != nil {
		return report.Commit{}, err
	}
	read, err := repo.Commit(ctx, hash)
	if err != nil {
		return report.Commit{}, err
	}
	patch, err := repo.Patch(ctx, read.Base(), hash)
	if err != nil {
		return report.Commit{}, err
	}
	c := report.Commit{Hash: read.Hash, Author: role.Clean(read.Author), Date: read.Date.UTC(), Subject: role.Clean(read.Subject), Patch: patch, Files: []report.File{}}
	for _, f := range read.Files {
		c.Files = append(c.Files, report.File{Path: role.Clean(f.Path), Added: f.Added, Deleted: f.Deleted, Binary: f.Binary})
	}
	return c, nil
}
