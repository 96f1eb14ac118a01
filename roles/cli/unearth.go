package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"sett/blackboard"
	"sett/roles/cli/commit"
	"sett/roles/cli/grammar"
	"sett/roles/cli/instance"
	"sett/roles/cli/ledger"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

type unearthCmd struct {
	ID string `arg:"" help:"The artefact: any part of its id's beginning or end that is unique; @result, the newest goal's result; or @last, that goal itself."`
	payloadForm
}

// payloadForm is how a command prints an artefact.
type payloadForm struct {
	Meta     bool `xor:"part" help:"Show everything but the payload."`
	Raw      bool `xor:"part" help:"Write the payload also where it is the hash of a commit."`
	Diff     bool `xor:"part" help:"Of an artefact with a commit: its patch, against the commit's first parent."`
	Previous bool `xor:"part" help:"Of one that is a rework: the patch since its previous version."`
	// Not term.Form: without -o the payload is written.
	Output string `short:"o" enum:",table,json,jsonl,yaml" default:"" placeholder:"FORMAT" help:"Show the artefact with its fields instead: table, json, jsonl (one line) or yaml."`
}

// Help is shown by `sett unearth --help`.
func (unearthCmd) Help() string {
	return `Writes an artefact's payload to stdout, byte for byte. Only on a terminal it ends with a
newline in any case, and shows control characters instead of obeying them.
Where the payload is the hash of a commit, as that of a CodeCommit is, it shows the commit, on
a terminal and in a pipe alike, as git show --stat does, and with --raw the hash. Of any
artefact with a commit, --diff writes the patch, for git apply when it is not a terminal that
reads it. With -o json or yaml there is a "commit" beside the artefact's fields (null when
the repository has it no more), with --diff its "patch".
With -o it shows the artefact instead: its fields as a table, or, for programs, the fields
and the payload; --meta leaves the payload out. For @last that is the goal's own text; sett result prints its result.

Examples:
  sett unearth 7XK2ABCD > draft.txt
  sett unearth 7XK2ABCD --meta
  sett unearth 7XK2ABCD --diff | git apply`
}

// Run writes the payload.
func (c *unearthCmd) Run(a *app) error {
	if err := c.check("unearth"); err != nil {
		return err
	}
	on, err := a.about(c.ID)
	if err != nil {
		return err
	}
	defer on.done()
	if on.kind == blackboard.KindClaim {
		return role.Fail(role.NotFound, fmt.Errorf("%s is a claim; only artefacts have a payload", words.Short(on.id)),
			"%s", a.at.CommandLine(on.in, "show "+words.Short(on.id)))
	}
	if c.ID == grammar.LastGoal && c.plain() {
		a.Sayf("sett: note: this is the goal itself, %s; %s\n", words.Short(on.id), outcomeOf(a, on))
	}
	return c.print(a, on)
}

// check refuses flags that exclude each other.
func (c payloadForm) check(command string) error {
	if c.Raw && c.Output != "" {
		return role.Fail(role.Usage, errors.New("--raw and -o can't be used together"), "sett %s --help", command)
	}
	return nil
}

// plain says whether the payload alone is wanted.
func (c payloadForm) plain() bool { return !c.Meta && !c.patches() && c.Output == "" }

// print writes the payload of an artefact, or the other parts of it that are wanted. It fails then if the artefact is not as
// the ledger recorded it.
func (c payloadForm) print(a *app, on subject) error {
	artefact, err := on.b.Records.Artefact(a.ctx, on.id)
	if err != nil {
		return err
	}
	return errors.Join(c.write(a, on, artefact), ledger.Recorded(a.ctx, on.b, artefact))
}

func (c payloadForm) write(a *app, on subject, artefact blackboard.Artefact) error {
	if c.patches() || artefact.NamesCommit() && !c.Meta && !c.Raw && (c.Output != "" || isHash(artefact)) {
		return c.showCommit(a, on.b, on.in, artefact)
	}
	if c.Output != "" || c.Meta {
		return c.describe(a, artefact)
	}
	payload := artefact.Payload
	if role.IsTerminal(a.Stdout) {
		payload = onTerminal(payload)
	}
	if _, err := io.WriteString(a.Stdout, payload); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// isHash says whether an artefact's payload is the hash of its commit, and nothing else.
func isHash(a blackboard.Artefact) bool { return strings.TrimSpace(a.Payload) == a.CommitHash() }

// describe shows the artefact's fields; programs get the payload with them, unless
// --meta says otherwise.
func (c payloadForm) describe(a *app, artefact blackboard.Artefact) error {
	o := term.Form{Output: cmp.Or(c.Output, "table")}
	s := term.Shown{Whole: artefact, Table: func() error { return metaTable(a, artefact) }}
	if c.Meta {
		s.Whole = view.MetaOf(artefact)
	}
	return a.Emit(o, s)
}

// outcomeOf returns the command that prints the goal's result, or lists its artefacts.
func outcomeOf(a *app, goal subject) string {
	if _, err := terminalOf(a.ctx, goal.b, goal.id); err == nil {
		return a.at.CommandLine(goal.in, "result") + " prints its result"
	}
	return a.at.CommandLine(goal.in, "hoard --workflow "+grammar.LastGoal) + " lists what came of it"
}

// onTerminal is a payload as a terminal may show it.
func onTerminal(payload string) string {
	payload = role.CleanText(payload)
	if payload != "" && !strings.HasSuffix(payload, "\n") {
		payload += "\n"
	}
	return payload
}

// metaTable shows an artefact's fields, one a line.
func metaTable(a *app, artefact blackboard.Artefact) error {
	m := view.MetaOf(artefact)
	t := a.Table()
	for _, f := range []struct {
		name  string
		value any
	}{
		{"id", m.ID}, {"logical_id", m.LogicalID}, {"version", m.Version}, {"structural_type", m.StructuralType}, {"type", m.Type},
		{"payload", fmt.Sprintf("%d bytes, sha256 %s", m.PayloadSize, m.PayloadSHA256)},
		{"source_artefacts", strings.Join(m.SourceArtefacts, " ")}, {"produced_by_role", m.ProducedByRole},
		{"produced_by_agent", m.ProducedByAgent}, {"claim_id", m.ClaimID}, {"workflow_id", m.WorkflowID}, {"summary", m.Summary},
		{"metadata", string(m.Metadata)}, {"created_at", m.CreatedAt.Format(time.RFC3339Nano)}, {"commit", m.Commit},
	} {
		value := fmt.Sprint(f.value)
		if value == "" && f.name == "commit" {
			continue
		}
		if value == "" {
			value = "-"
		}
		t.Row(term.Cell{Text: f.name, As: term.Dim}, value)
	}
	return t.Write(a.Stdout)
}

// commitArtefact is an artefact with the commit that it names.
type commitArtefact struct {
	artefact blackboard.Artefact
	commit   *commit.Commit
	err      error // why there is none
}

// MarshalJSON writes the artefact's fields, then "commit": null with the reason in
// "commit_error" where it cannot be read.
func (c commitArtefact) MarshalJSON() ([]byte, error) {
	c.artefact.Commit = "" // the hash is in the commit
	out, err := json.Marshal(c.artefact)
	if err != nil {
		return nil, err
	}
	more := struct {
		Commit *commit.Commit `json:"commit"`
		Error  string         `json:"commit_error,omitempty"`
	}{Commit: c.commit}
	if c.err != nil {
		more.Error = c.err.Error()
	}
	rest, err := json.Marshal(more)
	if err != nil {
		return nil, err
	}
	return append(append(out[:len(out)-1], ','), rest[1:]...), nil
}

// showCommit shows the commit that an artefact names, or its patch. Programs that read the artefact are
// not kept from it by a commit that cannot be read, unless they want its patch.
func (c payloadForm) showCommit(a *app, b *instance.Board, in *instance.Instance, artefact blackboard.Artefact) error {
	v, err := c.readCommit(a, b, in, artefact)
	if err != nil && (c.patches() || c.Output == "" || a.ctx.Err() != nil) {
		return err
	}
	o := term.Form{Output: cmp.Or(c.Output, "table")}
	return a.Emit(o, term.Shown{Whole: commitArtefact{artefact, v, err}, Table: func() error {
		switch {
		case c.patches():
			return v.WritePatch(&a.Terminal)
		case c.Output == "":
			return v.Write(&a.Terminal)
		}
		if err := metaTable(a, artefact); err != nil || v == nil {
			return err
		}
		a.Printf("\n")
		return v.Write(&a.Terminal)
	}})
}

// readCommit reads the commit that an artefact names, with its patch if wanted.
func (c payloadForm) readCommit(a *app, b *instance.Board, in *instance.Instance, artefact blackboard.Artefact) (*commit.Commit, error) {
	if !artefact.NamesCommit() {
		return nil, role.Fail(role.Usage, fmt.Errorf("%s %s names no commit: it has no patch", role.Clean(words.Shorten(artefact.Type, 40)), words.Short(artefact.ID)),
			"%s", a.at.CommandLine(in, "unearth "+words.Short(artefact.ID)))
	}
	g := commit.In(a.ctx, a.at, in)
	hash, err := g.HashOf(a.ctx, artefact)
	if err != nil {
		return nil, err
	}
	v, err := g.Commit(a.ctx, hash)
	if err != nil || !c.patches() {
		return v, err
	}
	base := v.Base()
	if c.Previous {
		if base, err = previousCommit(a.ctx, b, g, artefact); err != nil {
			return nil, err
		}
	}
	v.Patch, err = g.Patch(a.ctx, base, hash)
	return v, err
}

// previousCommit returns the commit of an artefact's previous version.
func previousCommit(ctx context.Context, b *instance.Board, g commit.Repository, artefact blackboard.Artefact) (string, error) {
	versions, err := b.Index.Versions(ctx, artefact.LogicalID)
	if err != nil {
		return "", err
	}
	for i, id := range versions {
		if id != artefact.ID || i == 0 {
			continue
		}
		previous, err := b.Records.Artefact(ctx, versions[i-1])
		if err != nil {
			return "", err
		}
		return g.HashOf(ctx, previous)
	}
	return "", role.Fail(role.Usage, fmt.Errorf("artefact %s is the first version", words.Short(artefact.ID)),
		"%s", g.Hint("unearth "+words.Short(artefact.ID)+" --diff"))
}

// patches says whether a patch is wanted.
func (c payloadForm) patches() bool { return c.Diff || c.Previous }
