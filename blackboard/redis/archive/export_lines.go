package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// An export is JSON lines: a header, then artefacts, claims, workflows, the work
// that is open, models' calls under way and the ledger's entries, each kind in the order in which the
// instance has it, then a footer. Every line names its kind.

// Format is the version of that form. Import refuses another one.
const Format = 1

// Schema is that of the records in the lines. It is older than the schema in which the blackboard keeps
// them: in an export a record has all its fields, and a claim's grants are JSON.
const Schema = "1"

// The kinds of lines, in the order in which they come.
const (
	LineHeader   = "header"
	LineArtefact = "artefact"
	lineLost     = "lost" // among the artefacts
	LineClaim    = "claim"
	LineWorkflow = "workflow"
	LineOpen     = "open"
	LineCall     = "call" // of a model, under way
	LineEvent    = "event"
	lineFooter   = "footer"
)

// lineKinds lists them.
var lineKinds = []string{LineHeader, LineArtefact, LineClaim, LineWorkflow, LineOpen, LineCall, LineEvent, lineFooter}

// placeOf says where a kind stands among them; -1: it is unknown.
func placeOf(kind string) int {
	if kind == lineLost {
		kind = LineArtefact
	}
	return slices.Index(lineKinds, kind)
}

// HeaderLine is the first line: the origin of the file.
type HeaderLine struct {
	Kind       string    `json:"kind"`
	Format     int       `json:"format"`
	Schema     string    `json:"schema"`                // see Schema
	Instance   string    `json:"instance"`              // it comes from
	Workflow   string    `json:"workflow_id,omitempty"` // the goal that alone is in it; absent: everything
	ExportedAt time.Time `json:"exported_at"`           // by the blackboard's clock
	Position   string    `json:"position"`              // in the ledger, up to which everything is in the file
}

// ArtefactLine is an artefact in its usual JSON form. Stored has the fields that this
// form would change, as they are stored: text that is no UTF-8,
// metadata with white space in it, fields that this sett does not know.
type ArtefactLine struct {
	Kind     string              `json:"kind"`
	Artefact blackboard.Artefact `json:"artefact"`
	Stored   Fields              `json:"stored,omitempty"`
}

// lostLine stands for an artefact without a record, or with one that cannot be read or is
// not as the ledger recorded it: Stored. Type and workflow come from the ledger, if it has them.
type lostLine struct {
	Kind     string `json:"kind"`
	ID       string `json:"id"`
	Type     string `json:"type,omitempty"`
	Workflow string `json:"workflow_id,omitempty"`
	Stored   Fields `json:"stored,omitempty"`
}

// ClaimLine is a claim with all its stored fields, its bids in the order they
// came in, and its grants as they are stored, whether they can be read or not.
type ClaimLine struct {
	Kind     string           `json:"kind"`
	ID       string           `json:"id"`
	Fields   Fields           `json:"claim"`
	Bids     []blackboard.Bid `json:"bids"`
	Grants   Fields           `json:"grants"`
	Workflow string           `json:"workflow_id,omitempty"` // where the fields do not say
}

// fault returns the fault of the record; nil: none.
func (l ClaimLine) fault() error {
	_, err := store.DecodeClaim(l.ID, textOf(l.Fields))
	if err == nil {
		_, err = store.DecodeGrants(l.ID, textOf(l.Grants))
	}
	return err
}

// WorkflowLine is a workflow with all its stored fields, and with its account of models'
// calls. The sums by model, and the ids of the calls that have ended, are made anew.
type WorkflowLine struct {
	Kind     string `json:"kind"`
	ID       string `json:"id"`
	Fields   Fields `json:"workflow"`
	Spending Fields `json:"spending,omitempty"`
}

// newWorkflowLine leaves out the count that an import makes anew.
func newWorkflowLine(id string, stored, spending map[string]string) WorkflowLine {
	delete(stored, "suspended")
	delete(stored, "blocked")
	return WorkflowLine{LineWorkflow, id, fieldsOf(stored), fieldsOf(spending)}
}

// fault returns the fault of the record; nil: none.
func (l WorkflowLine) fault() error {
	_, err := store.DecodeWorkflow(l.ID, textOf(l.Fields))
	return err
}

func (l WorkflowLine) status() blackboard.WorkflowStatus {
	return blackboard.WorkflowStatus(l.Fields["status"])
}

// counts says whether the record counts open work, or may have a wrong count.
func (l WorkflowLine) counts() bool {
	for _, name := range []string{"outstanding", "gates", "questions"} {
		if n := l.Fields[name]; n != "" && n != "0" {
			return true
		}
	}
	return l.status() == blackboard.WorkflowActive || strings.HasPrefix(string(l.Fields["failures"]), "-")
}

// openLine is an entry in an index of open work, with its time in microseconds since
// 1970.
type openLine struct {
	Kind  string `json:"kind"`
	Index string `json:"index"`
	Agent string `json:"agent,omitempty"`
	ID    string `json:"id"`
	Since string `json:"since"`
}

// callLine is a model's call under way. The gateway of the instance that imports it
// settles it as an estimate.
type callLine struct {
	Kind   string `json:"kind"`
	ID     string `json:"id"`
	Fields Fields `json:"call"`
}

// EventLine is an entry of the ledger.
type EventLine struct {
	Kind   string `json:"kind"`
	ID     string `json:"id"`
	Fields Fields `json:"event"`
}

// FooterLine ends a file that is whole. The digest is over all lines before it.
type FooterLine struct {
	Kind string `json:"kind"`
	Counts
	SHA256 string `json:"sha256"`
}

// Counts are the lines of an export by kind.
type Counts struct {
	Artefacts int `json:"artefacts"`
	Lost      int `json:"lost,omitempty"` // see lostLine
	Claims    int `json:"claims"`
	Workflows int `json:"workflows"`
	Open      int `json:"open"`
	Calls     int `json:"calls,omitempty"` // of models, under way
	Events    int `json:"events"`
}

// Count counts a line of a kind.
func (c *Counts) Count(kind string) {
	switch kind {
	case LineArtefact:
		c.Artefacts++
	case lineLost:
		c.Lost++
	case LineClaim:
		c.Claims++
	case LineWorkflow:
		c.Workflows++
	case LineOpen:
		c.Open++
	case LineCall:
		c.Calls++
	case LineEvent:
		c.Events++
	}
}

// Fields are those of a stored record.
type Fields map[string]Exact

func fieldsOf(m map[string]string) Fields {
	out := make(Fields, len(m))
	for k, v := range m {
		out[k] = Exact(v)
	}
	return out
}

func textOf(f Fields) map[string]string {
	out := make(map[string]string, len(f))
	for k, v := range f {
		out[k] = string(v)
	}
	return out
}

// Exact is a text that JSON keeps byte for byte: one that is no UTF-8 is written as
// {"base64": "…"}.
type Exact string

type base64Text struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON writes a string, or an object when that would lose something.
func (e Exact) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(e)) {
		return json.Marshal(string(e))
	}
	return json.Marshal(base64Text{[]byte(e)})
}

// UnmarshalJSON reads either.
func (e *Exact) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("{")) {
		var t base64Text
		err := json.Unmarshal(b, &t)
		*e = Exact(t.Base64)
		return err
	}
	if !bytes.HasPrefix(b, []byte(`"`)) {
		return errors.New("want a string")
	}
	if text := b[1 : len(b)-1]; bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text) {
		*e = Exact(text) // as nearly all are: that it is JSON was seen to
		return nil
	}
	var s string
	err := json.Unmarshal(b, &s)
	*e = Exact(s)
	return err
}

// artefactFields is the stored form of an artefact.
func artefactFields(a blackboard.Artefact) map[string]string {
	p := store.PutOf(a)
	fields := map[string]string{
		"id": a.ID, "logical_id": a.LogicalID, "version": strconv.Itoa(a.Version), "structural_type": string(a.StructuralType),
		"type": a.Type, "payload": a.Payload, "source_artefacts": p.SourcesJSON, "produced_by_role": a.ProducedByRole,
		"produced_by_agent": a.ProducedByAgent, "claim_id": a.ClaimID, "workflow_id": a.WorkflowID, "summary": a.Summary,
		"metadata": p.Metadata, "created_at": strconv.FormatInt(a.CreatedAt.UnixMicro(), 10),
	}
	if a.Commit != "" {
		fields["commit"] = a.Commit
	}
	return fields
}

// lineOfArtefact makes the line from which the stored fields can be made again.
func lineOfArtefact(id string, stored map[string]string) (ArtefactLine, error) {
	a, err := store.DecodeArtefact(id, stored)
	if err == nil && a.ID != id {
		err = fmt.Errorf("read artefact %s: it says that it is %q: %w", id, a.ID, blackboard.ErrCorrupt)
	}
	if err != nil {
		return ArtefactLine{}, err
	}
	for _, text := range []*string{&a.Payload, &a.Summary, &a.Type, &a.ProducedByRole, &a.ProducedByAgent, &a.Commit} {
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
		return ArtefactLine{}, err
	}
	said["metadata"] = string(written)
	line := ArtefactLine{Kind: LineArtefact, Artefact: a}
	for field, value := range stored {
		if s, ok := said[field]; !ok || s != value {
			if line.Stored == nil {
				line.Stored = Fields{}
			}
			line.Stored[field] = Exact(value)
		}
	}
	return line, nil
}

// storedFields returns the artefact as it was stored, or why it cannot have been.
func (l ArtefactLine) storedFields() (map[string]string, error) {
	stored := artefactFields(l.Artefact)
	for field, value := range l.Stored {
		stored[field] = string(value)
	}
	a, err := store.DecodeArtefact(stored["id"], stored)
	if err == nil && (!blackboard.ValidID(a.ID) || a.ID != l.Artefact.ID) {
		err = fmt.Errorf("%q is no id of an artefact", a.ID)
	}
	return stored, err
}
