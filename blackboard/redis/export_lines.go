package redis

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"sett/blackboard"
)

// An export is JSON lines: a header, then artefacts, claims, workflows, the work
// that is open and the ledger's entries, each kind in the order in which the
// instance has it, then a footer. Every line names its kind.

// ExportFormat is the version of that form. Another one is refused.
const ExportFormat = 1

// The kinds of lines, in the order in which they come.
const (
	lineHeader   = "header"
	lineArtefact = "artefact"
	lineLost     = "lost" // among the artefacts
	lineClaim    = "claim"
	lineWorkflow = "workflow"
	lineOpen     = "open"
	lineEvent    = "event"
	lineFooter   = "footer"
)

// lineKinds lists them.
var lineKinds = []string{lineHeader, lineArtefact, lineClaim, lineWorkflow, lineOpen, lineEvent, lineFooter}

// placeOf says where a kind stands among them; -1: it is unknown.
func placeOf(kind string) int {
	if kind == lineLost {
		kind = lineArtefact
	}
	return slices.Index(lineKinds, kind)
}

// headerLine says what the file is.
type headerLine struct {
	Kind       string    `json:"kind"`
	Format     int       `json:"format"`
	Schema     string    `json:"schema"`                // of the instance's records
	Instance   string    `json:"instance"`              // it comes from
	Workflow   string    `json:"workflow_id,omitempty"` // the goal that alone is in it; absent: everything
	ExportedAt time.Time `json:"exported_at"`           // by the blackboard's clock
	Position   string    `json:"position"`              // in the ledger, up to which everything is in the file
}

// artefactLine is an artefact as everybody shows it. Stored has what that form
// cannot say exactly, field by field as it is stored: text that is no UTF-8,
// metadata with white space in it, fields that this sett does not know.
type artefactLine struct {
	Kind     string              `json:"kind"`
	Artefact blackboard.Artefact `json:"artefact"`
	Stored   fields              `json:"stored,omitempty"`
}

// lostLine stands for an artefact of which nothing is left on the blackboard, or
// only what is Stored, which nobody can read. Type and workflow are what the ledger
// says of it, if it does.
type lostLine struct {
	Kind     string `json:"kind"`
	ID       string `json:"id"`
	Type     string `json:"type,omitempty"`
	Workflow string `json:"workflow_id,omitempty"`
	Stored   fields `json:"stored,omitempty"`
}

// claimLine is a claim with all its stored fields, its bids in the order they
// came in, and its grants as they are stored, whether they can be read or not.
type claimLine struct {
	Kind     string           `json:"kind"`
	ID       string           `json:"id"`
	Fields   fields           `json:"claim"`
	Bids     []blackboard.Bid `json:"bids"`
	Grants   fields           `json:"grants"`
	Workflow string           `json:"workflow_id,omitempty"` // where the fields do not say
}

// fault says what is wrong with the record; nil: nothing.
func (l claimLine) fault() error {
	_, err := decodeClaim(l.ID, textOf(l.Fields))
	if err == nil {
		_, err = decodeGrants(l.ID, textOf(l.Grants))
	}
	return err
}

// workflowLine is a workflow with all its stored fields.
type workflowLine struct {
	Kind   string `json:"kind"`
	ID     string `json:"id"`
	Fields fields `json:"workflow"`
}

// fault says what is wrong with the record; nil: nothing.
func (l workflowLine) fault() error {
	_, err := decodeWorkflow(l.ID, textOf(l.Fields))
	return err
}

// openLine says that something is in an index of open work, and since when, in
// microseconds since 1970.
type openLine struct {
	Kind  string `json:"kind"`
	Index string `json:"index"`
	Agent string `json:"agent,omitempty"`
	ID    string `json:"id"`
	Since string `json:"since"`
}

// eventLine is an entry of the ledger.
type eventLine struct {
	Kind   string `json:"kind"`
	ID     string `json:"id"`
	Fields fields `json:"event"`
}

// footerLine ends a file that is whole. The digest is over all lines before it.
type footerLine struct {
	Kind string `json:"kind"`
	ExportCounts
	SHA256 string `json:"sha256"`
}

// ExportCounts says how much of each kind there is in an export.
type ExportCounts struct {
	Artefacts int `json:"artefacts"`
	Lost      int `json:"lost,omitempty"` // artefacts of which only the id is left, or what nobody can read
	Claims    int `json:"claims"`
	Workflows int `json:"workflows"`
	Open      int `json:"open"`
	Events    int `json:"events"`
}

// count counts a line of a kind.
func (c *ExportCounts) count(kind string) {
	switch kind {
	case lineArtefact:
		c.Artefacts++
	case lineLost:
		c.Lost++
	case lineClaim:
		c.Claims++
	case lineWorkflow:
		c.Workflows++
	case lineOpen:
		c.Open++
	case lineEvent:
		c.Events++
	}
}

// fields are those of a stored record.
type fields map[string]exact

func fieldsOf(m map[string]string) fields {
	out := make(fields, len(m))
	for k, v := range m {
		out[k] = exact(v)
	}
	return out
}

func textOf(f fields) map[string]string {
	out := make(map[string]string, len(f))
	for k, v := range f {
		out[k] = string(v)
	}
	return out
}

// exact is a text that survives being written as JSON byte for byte: what is no
// UTF-8 is written as {"base64": "…"}.
type exact string

type base64Text struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON writes a string, or an object when that would lose something.
func (e exact) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(e)) {
		return json.Marshal(string(e))
	}
	return json.Marshal(base64Text{[]byte(e)})
}

// UnmarshalJSON reads either.
func (e *exact) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("{")) {
		var t base64Text
		err := json.Unmarshal(b, &t)
		*e = exact(t.Base64)
		return err
	}
	if !bytes.HasPrefix(b, []byte(`"`)) {
		return errors.New("want a string")
	}
	if text := b[1 : len(b)-1]; bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text) {
		*e = exact(text) // as nearly all are: that it is JSON was seen to
		return nil
	}
	var s string
	err := json.Unmarshal(b, &s)
	*e = exact(s)
	return err
}

// artefactFields is the stored form of an artefact.
func artefactFields(a blackboard.Artefact) map[string]string {
	p := putOf(a)
	return map[string]string{
		"id": a.ID, "logical_id": a.LogicalID, "version": strconv.Itoa(a.Version), "structural_type": string(a.StructuralType),
		"type": a.Type, "payload": a.Payload, "source_artefacts": p.SourcesJSON, "produced_by_role": a.ProducedByRole,
		"produced_by_agent": a.ProducedByAgent, "claim_id": a.ClaimID, "workflow_id": a.WorkflowID, "summary": a.Summary,
		"metadata": p.Metadata, "created_at": strconv.FormatInt(a.CreatedAt.UnixMicro(), 10),
	}
}

// lineOfArtefact makes the line from which the stored fields can be made again.
func lineOfArtefact(id string, stored map[string]string) (artefactLine, error) {
	a, err := decodeArtefact(id, stored)
	if err == nil && a.ID != id {
		err = fmt.Errorf("read artefact %s: it says that it is %q: %w", id, a.ID, blackboard.ErrCorrupt)
	}
	if err != nil {
		return artefactLine{}, err
	}
	for _, text := range []*string{&a.Payload, &a.Summary, &a.Type, &a.ProducedByRole, &a.ProducedByAgent} {
		if !utf8.ValidString(*text) {
			*text = ""
		}
	}
	if !utf8.Valid(a.Metadata) {
		a.Metadata = nil
	}
	said := artefactFields(a)
	// Metadata is compacted on the way.
	written, err := json.Marshal(json.RawMessage(said["metadata"]))
	if err != nil {
		return artefactLine{}, err
	}
	said["metadata"] = string(written)
	line := artefactLine{Kind: lineArtefact, Artefact: a}
	for field, value := range stored {
		if s, ok := said[field]; !ok || s != value {
			if line.Stored == nil {
				line.Stored = fields{}
			}
			line.Stored[field] = exact(value)
		}
	}
	return line, nil
}

// storedFields returns the artefact as it was stored, or why it cannot have been.
func (l artefactLine) storedFields() (map[string]string, error) {
	stored := artefactFields(l.Artefact)
	for field, value := range l.Stored {
		stored[field] = string(value)
	}
	a, err := decodeArtefact(stored["id"], stored)
	if err == nil && (!blackboard.ValidID(a.ID) || a.ID != l.Artefact.ID) {
		err = fmt.Errorf("%q is no id of an artefact", a.ID)
	}
	return stored, err
}
