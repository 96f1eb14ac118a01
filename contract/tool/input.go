package tool

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sett/blackboard"
)

// Input is the JSON object that a tool reads on stdin.
type Input struct {
	ClaimType    blackboard.BidType    `json:"claim_type"`          // review, claim or exclusive
	Target       blackboard.Artefact   `json:"target_artefact"`     // the artefact of the claim
	ContextChain []blackboard.Artefact `json:"context_chain"`       // oldest first; never null in JSON
	Retry        Retry                 `json:"retry,omitzero"`      // of a grant that a person has tried again
	Workspace    *Workspace            `json:"workspace,omitempty"` // the tool's tree; nil: it has none
}

// Workspace is the private tree in which a tool starts.
type Workspace struct {
	Commit   string     `json:"commit"`             // checked out; empty: there is no commit yet
	Base     string     `json:"base"`               // the commit that the goal began with
	Before   string     `json:"before,omitempty"`   // the commit that this claim's work began with, where the tree has some of it; empty: it has none
	Branch   string     `json:"branch,omitempty"`   // checked out; empty: HEAD is detached
	Unmerged []Unmerged `json:"unmerged,omitempty"` // commits that would not merge
	Pointers []string   `json:"pointers,omitempty"` // files of git LFS without their content, which was not at hand: the first hundred
}

// Unmerged is a commit that the tree does not have, because it conflicts with one before.
type Unmerged struct {
	ArtefactID string `json:"artefact_id"`
	Commit     string `json:"commit"`
}

// Retry says why a person has a failed grant tried again.
type Retry struct {
	FailureID string `json:"failure_id,omitempty"` // of the Failure before, which is in the context chain; empty: another grant failed
	Why       string `json:"why,omitempty"`        // the person's words
}

// artefact has the fields of a blackboard.Artefact without its MarshalJSON: that
// method escapes HTML characters, even where the encoder must not.
type artefact blackboard.Artefact

// Encode returns the object followed by a newline. It does not escape characters
// that are special only in HTML, so that scripts without a JSON parser can read a
// payload of source code. The only possible error is metadata that is not JSON.
func (in Input) Encode() ([]byte, error) {
	b, err := encode(struct {
		ClaimType    blackboard.BidType `json:"claim_type"`
		Target       artefact           `json:"target_artefact"`
		ContextChain []artefact         `json:"context_chain"`
		Retry        Retry              `json:"retry,omitzero"`
		Workspace    *Workspace         `json:"workspace,omitempty"`
	}{in.ClaimType, plain(in.Target), plainAll(in.ContextChain), in.Retry, in.Workspace})
	if err != nil {
		return nil, fmt.Errorf("encode tool input: %w", err)
	}
	return b, nil
}

// EncodeBid returns the input of a bid script: the target artefact's JSON object
// with context_chain added, and a newline. Its claim_id is the claim to bid on, not
// the claim that produced the artefact.
func EncodeBid(target blackboard.Artefact, claimID string, chain []blackboard.Artefact) ([]byte, error) {
	b, err := encode(struct {
		artefact
		ClaimID      string     `json:"claim_id"` // shallower than the artefact's own, so it wins
		ContextChain []artefact `json:"context_chain"`
	}{plain(target), claimID, plainAll(chain)})
	if err != nil {
		return nil, fmt.Errorf("encode bid input: %w", err)
	}
	return b, nil
}

func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// plain gives a its JSON form, as blackboard.Artefact.MarshalJSON does: no nulls,
// the time in UTC.
func plain(a blackboard.Artefact) artefact {
	if a.SourceArtefacts == nil {
		a.SourceArtefacts = []string{}
	}
	if len(a.Metadata) == 0 {
		a.Metadata = json.RawMessage("{}")
	}
	a.CreatedAt = a.CreatedAt.UTC()
	return artefact(a)
}

func plainAll(chain []blackboard.Artefact) []artefact {
	out := make([]artefact, len(chain))
	for i, a := range chain {
		out[i] = plain(a)
	}
	return out
}
