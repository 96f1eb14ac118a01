package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
)

type unearthCmd struct {
	ID   string `arg:"" help:"The artefact: any part of its id's beginning or end that is unique, or @last, the newest goal."`
	Meta bool   `help:"Show everything but the payload."`
	textOrJSON
}

// Help is shown by `sett unearth --help`.
func (unearthCmd) Help() string {
	return `Writes an artefact's payload to stdout, byte for byte. Only on a terminal it ends with a
newline in any case, and shows control characters instead of obeying them.
For @last that is the goal's own text; a note on stderr names its result.

Examples:
  sett unearth 7XK2ABCD > result.txt
  sett unearth 7XK2ABCD --meta`
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
	b, _, done, err := a.board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	id, kind, err := a.resolve(a.ctx, b, c.ID, redis.KindArtefact, redis.KindClaim)
	if err != nil {
		return err
	}
	if kind == redis.KindClaim {
		return role.Fail(role.NotFound, fmt.Errorf("%s is a claim; only artefacts have a payload", short(id)), "sett show %s", short(id))
	}
	artefact, err := b.Artefact(a.ctx, id)
	if err != nil {
		return err
	}
	switch {
	case c.json() && c.Meta:
		return a.printJSON(metaOf(artefact))
	case c.json():
		return a.printJSON(artefact)
	case c.Meta:
		return a.metaTable(artefact)
	}
	if c.ID == lastGoal {
		a.sayf("note: this is the goal itself, %s; %s\n", short(artefact.ID), a.outcomeOf(b, artefact))
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

// outcomeOf says where to find what came of a goal.
func (a *app) outcomeOf(b *redis.Board, goal blackboard.Artefact) string {
	if w, err := b.Workflow(a.ctx, goal.WorkflowID); err == nil && w.TerminalID != "" {
		return fmt.Sprintf("sett unearth %s prints its result", short(w.TerminalID))
	}
	return "sett hoard --workflow " + lastGoal + " lists what came of it"
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
