package tool

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sett/blackboard"
)

// Input is what a tool reads on stdin: one JSON object.
type Input struct {
	ClaimType    blackboard.BidType    `json:"claim_type"`      // review, claim or exclusive
	Target       blackboard.Artefact   `json:"target_artefact"` // what the claim is about
	ContextChain []blackboard.Artefact `json:"context_chain"`   // oldest first; never null in JSON
}

// artefact has the fields of a blackboard.Artefact without its MarshalJSON, which
// would escape HTML characters whatever the encoder around it is told.
type artefact blackboard.Artefact

// Encode returns the object followed by a newline. Characters that are special
// only in HTML are written as they are, so that a payload of source code stays
// readable for scripts that do not parse JSON properly. The only possible error
// is metadata that is not JSON.
func (in Input) Encode() ([]byte, error) {
	b, err := encode(struct {
		ClaimType    blackboard.BidType `json:"claim_type"`
		Target       artefact           `json:"target_artefact"`
		ContextChain []artefact         `json:"context_chain"`
	}{in.ClaimType, plain(in.Target), plainAll(in.ContextChain)})
	if err != nil {
		return nil, fmt.Errorf("encode tool input: %w", err)
	}
	return b, nil
}

// EncodeBid returns what a bid script reads on stdin: the target artefact's JSON
// object with context_chain added to it and with claim_id naming the claim to bid
// on (instead of the claim that the artefact itself came from), and a newline.
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
