package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
)

type unearthCmd struct {
	ID       string `arg:"" help:"The artefact: any part of its id's beginning or end that is unique, or @last, the newest goal."`
	Meta     bool   `xor:"part" help:"Show everything but the payload."`
	Raw      bool   `xor:"part" help:"Write the payload also of a CodeCommit: the hash."`
	Diff     bool   `xor:"part" help:"Of a CodeCommit: its patch, against the commit's first parent."`
	Previous bool   `xor:"part" help:"Of a CodeCommit that is a rework: the patch since its previous version."`
	// Its own, as without it the payload is written.
	Output string `short:"o" enum:",table,json,jsonl,yaml" default:"" placeholder:"FORMAT" help:"Show the artefact with its fields instead: table, json, jsonl (one line) or yaml."`
}

// Help is shown by `sett unearth --help`.
func (unearthCmd) Help() string {
	return `Writes an artefact's payload to stdout, byte for byte. Only on a terminal it ends with a
newline in any case, and shows control characters instead of obeying them.
Of a CodeCommit, whose payload is a hash, it shows the commit, on a terminal and in a pipe
alike, as git show --stat does; --diff writes the patch, for git apply when it is not a
terminal that reads it, and --raw the hash. With -o json or yaml there is a "commit" beside
the artefact's fields (null when the repository has it no more), with --diff its "patch".
With -o it shows the artefact instead: its fields as a table, or, for programs, the fields
and the payload; --meta leaves the payload out. For @last that is the goal's own text; a note on stderr names its result.

Examples:
  sett unearth 7XK2ABCD > result.txt
  sett unearth 7XK2ABCD --meta
  sett unearth 7XK2ABCD --diff | git apply
  git checkout "$(sett unearth 7XK2ABCD --raw)"`
}

// artefactMeta is an artefact with its payload described instead of shown.
type artefactMeta struct {
	ID              string                    `json:"id"`
	LogicalID       string                    `json:"logical_id"`
	Version         int                       `json:"version"`
	StructuralType  blackboard.StructuralType `json:"structural_type"`
	Type            string                    `json:"type"`
	PayloadSize     int                       `json:"payload_size"` // bytes
	PayloadSHA256   string                    `json:"payload_sha256"`
	SourceArtefacts []string                  `json:"source_artefacts"`
	ProducedByRole  string                    `json:"produced_by_role"`
	ProducedByAgent string                    `json:"produced_by_agent"`
	ClaimID         string                    `json:"claim_id"`
	WorkflowID      string                    `json:"workflow_id"`
	Summary         string                    `json:"summary"`
	Metadata        json.RawMessage           `json:"metadata"`
	CreatedAt       time.Time                 `json:"created_at"`
}

func metaOf(a blackboard.Artefact) artefactMeta {
	sum := sha256.Sum256([]byte(a.Payload))
	m := artefactMeta{
		ID: a.ID, LogicalID: a.LogicalID, Version: a.Version, StructuralType: a.StructuralType, Type: a.Type,
		PayloadSize: len(a.Payload), PayloadSHA256: hex.EncodeToString(sum[:]), SourceArtefacts: a.SourceArtefacts,
		ProducedByRole: a.ProducedByRole, ProducedByAgent: a.ProducedByAgent, ClaimID: a.ClaimID, WorkflowID: a.WorkflowID,
		Summary: a.Summary, Metadata: a.Metadata, CreatedAt: a.CreatedAt.UTC(),
	}
	if m.SourceArtefacts == nil {
		m.SourceArtefacts = []string{}
	}
	if len(m.Metadata) == 0 {
		m.Metadata = json.RawMessage("{}")
	}
	return m
}

// Run writes the payload.
func (c *unearthCmd) Run(a *app) error {
	if c.Raw && c.Output != "" {
		return role.Fail(role.Usage, errors.New("--raw and -o can't be used together"), "sett unearth --help")
	}
	on, err := a.about(c.ID)
	if err != nil {
		return err
	}
	defer on.done()
	if on.kind == redis.KindClaim {
		return role.Fail(role.NotFound, fmt.Errorf("%s is a claim; only artefacts have a payload", short(on.id)),
			"%s", a.commandLine(on.in, "show "+short(on.id)))
	}
	artefact, err := on.b.Artefact(a.ctx, on.id)
	if err != nil {
		return err
	}
	if c.patches() || artefact.Type == blackboard.TypeCodeCommit && !c.Meta && !c.Raw {
		return c.showCommit(a, on.b, on.in, artefact)
	}
	if c.Output != "" || c.Meta {
		return c.describe(a, artefact)
	}
	if c.ID == lastGoal {
		a.sayf("sett: note: this is the goal itself, %s; %s\n", short(artefact.ID), a.outcomeOf(on.b, on.in, artefact))
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

// describe shows the artefact's fields; programs get the payload with them, unless
// --meta says otherwise.
func (c *unearthCmd) describe(a *app, artefact blackboard.Artefact) error {
	o := outputs{orElse(c.Output, "table")}
	s := shown{whole: artefact, table: func() error { return a.metaTable(artefact) }}
	if c.Meta {
		s.whole = metaOf(artefact)
	}
	return a.emit(o, s)
}

// outcomeOf says where to find what came of a goal.
func (a *app) outcomeOf(b *redis.Board, in *instance, goal blackboard.Artefact) string {
	if w, err := b.Workflow(a.ctx, goal.WorkflowID); err == nil && w.TerminalID != "" {
		return a.commandLine(in, "unearth "+short(w.TerminalID)) + " prints its result"
	}
	return a.commandLine(in, "hoard --workflow "+lastGoal) + " lists what came of it"
}

// onTerminal is a payload as a terminal may show it.
func onTerminal(payload string) string {
	payload = cleanText(payload)
	if payload != "" && !strings.HasSuffix(payload, "\n") {
		payload += "\n"
	}
	return payload
}

// metaTable shows an artefact's fields, one a line.
func (a *app) metaTable(artefact blackboard.Artefact) error {
	m := metaOf(artefact)
	t := a.table()
	for _, f := range []struct {
		name  string
		value any
	}{
		{"id", m.ID}, {"logical_id", m.LogicalID}, {"version", m.Version}, {"structural_type", m.StructuralType}, {"type", m.Type},
		{"payload", fmt.Sprintf("%d bytes, sha256 %s", m.PayloadSize, m.PayloadSHA256)},
		{"source_artefacts", strings.Join(m.SourceArtefacts, " ")}, {"produced_by_role", m.ProducedByRole},
		{"produced_by_agent", m.ProducedByAgent}, {"claim_id", m.ClaimID}, {"workflow_id", m.WorkflowID}, {"summary", m.Summary},
		{"metadata", string(m.Metadata)}, {"created_at", m.CreatedAt.Format(time.RFC3339Nano)},
	} {
		value := fmt.Sprint(f.value)
		if value == "" {
			value = "-"
		}
		t.row(cell{f.name, dim}, value)
	}
	return t.write(a.Stdout)
}
