package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"unsafe"

	"sett/blackboard"
)

// put is an artefact as the scripts take it.
type put struct {
	ID             string                    `json:"id"`
	LogicalID      string                    `json:"logical_id"`
	StructuralType blackboard.StructuralType `json:"structural_type"`
	Type           string                    `json:"type"`
	Sources        []string                  `json:"sources"`
	SourcesJSON    string                    `json:"sources_json"` // stored as it is: cjson cannot tell [] from {}
	Role           string                    `json:"role"`
	Agent          string                    `json:"agent"`
	Claim          string                    `json:"claim"`
	Workflow       string                    `json:"workflow"`
	Summary        string                    `json:"summary"`
	Metadata       string                    `json:"metadata"`
	Commit         string                    `json:"commit,omitempty"`
	Opens          string                    `json:"opens,omitempty"` // id of its claim; empty: it gets none
	Record         string                    `json:"record"`          // see RecordOf
}

// PutOf describes an artefact.
func PutOf(a blackboard.Artefact) put { //nolint:revive // it is handed to scripts only
	p := put{
		ID: a.ID, LogicalID: a.LogicalID, StructuralType: a.StructuralType, Type: a.Type,
		Sources: a.SourceArtefacts, Role: a.ProducedByRole, Agent: a.ProducedByAgent, Claim: a.ClaimID,
		Workflow: a.WorkflowID, Summary: a.Summary, Metadata: string(a.Metadata), Commit: a.Commit,
	}
	if a.StructuralType == blackboard.Standard {
		p.Opens = blackboard.BiddingClaimID(a.ID)
	}
	if p.LogicalID == "" {
		p.LogicalID = p.ID
	}
	if p.Sources == nil {
		p.Sources = []string{}
	}
	if p.Metadata == "" {
		p.Metadata = "{}"
	}
	p.SourcesJSON = Encode(p.Sources)
	p.Record = RecordOf(map[string]string{
		"logical_id": p.LogicalID, "structural_type": string(p.StructuralType), "type": p.Type, "source_artefacts": p.SourcesJSON,
		"produced_by_role": p.Role, "produced_by_agent": p.Agent, "claim_id": p.Claim, "workflow_id": p.Workflow,
		"summary": p.Summary, "metadata": p.Metadata, "commit": p.Commit,
	})
	return p
}

// recordFields are those of a stored artefact that its maker gives, but for its id and payload.
var recordFields = [...]string{
	"logical_id", "structural_type", "type", "source_artefacts", "produced_by_role", "produced_by_agent", "claim_id", "workflow_id",
	"summary", "metadata", "commit",
}

// RecordOf returns the digest of a stored artefact, without its payload, that the ledger has: the first 16 digits of the
// SHA-256 of its fields as a list in JSON.
func RecordOf(stored map[string]string) string {
	values := make([]string, len(recordFields))
	for i, name := range recordFields {
		values[i] = string([]rune(stored[name])) // what is no UTF-8 is stored so, too
	}
	sum := sha256.Sum256([]byte(Encode(values)))
	return hex.EncodeToString(sum[:8])
}

// Arguments returns the four arguments in which a script takes an artefact:
// description, payload, the payload's size and its SHA-256.
func Arguments(a blackboard.Artefact) []string {
	// Not a copy: payloads may be large where memory is not.
	sum := sha256.Sum256(unsafe.Slice(unsafe.StringData(a.Payload), len(a.Payload)))
	return []string{Encode(PutOf(a)), a.Payload, strconv.Itoa(len(a.Payload)), hex.EncodeToString(sum[:])}
}

// Encode writes values that always can be written as JSON.
func Encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
