package redis

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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
}

func putOf(a blackboard.Artefact) put {
	p := put{
		ID: a.ID, LogicalID: a.LogicalID, StructuralType: a.StructuralType, Type: a.Type,
		Sources: a.SourceArtefacts, Role: a.ProducedByRole, Agent: a.ProducedByAgent, Claim: a.ClaimID,
		Workflow: a.WorkflowID, Summary: a.Summary, Metadata: string(a.Metadata),
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
	p.SourcesJSON = encode(p.Sources)
	return p
}

// artefactArgs returns the four arguments in which a script takes an artefact:
// description, payload, the payload's size and its SHA-256.
func artefactArgs(a blackboard.Artefact) []string {
	// Not a copy: payloads may be large where memory is not.
	sum := sha256.Sum256(unsafe.Slice(unsafe.StringData(a.Payload), len(a.Payload)))
	return []string{encode(putOf(a)), a.Payload, strconv.Itoa(len(a.Payload)), hex.EncodeToString(sum[:])}
}

// encode writes values that always can be written as JSON.
func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// PostGoal stores a goal, which starts a workflow. The artefact is a Standard one
// of type GoalDefined whose WorkflowID is its own ID. Posting it again changes
// nothing. ErrStopping when the instance takes no new work.
func (b *Board) PostGoal(ctx context.Context, a blackboard.Artefact) error {
	r, err := b.do(ctx, "goal", artefactArgs(a)...)
	if err != nil {
		return fmt.Errorf("post goal %s: %w", a.ID, err)
	}
	if err := refused(r); err != nil {
		return fmt.Errorf("post goal %s: %w", a.ID, err)
	}
	return nil
}

// PostAnswer stores a person's Answer to a Question and resumes the grant that
// asked. It returns the agent that goes on. ErrRefused says why the question no
// longer waits for one.
func (b *Board) PostAnswer(ctx context.Context, questionID string, a blackboard.Artefact, by string) (agent string, err error) {
	r, err := b.do(ctx, "answer", append(append([]string{questionID}, artefactArgs(a)...), by)...)
	if err == nil {
		err = refused(r)
	}
	if err != nil {
		return "", fmt.Errorf("answer question %s: %w", questionID, err)
	}
	return r.text(0), nil
}
