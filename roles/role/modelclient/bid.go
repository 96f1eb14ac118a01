package modelclient

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"sett/blackboard"
	"sett/contract/env"
	"sett/contract/prompt"
	"sett/contract/tool"
	"sett/roles/role"
)

// The bounds of a bid.
const (
	bidOutput  = 4000             // tokens of an answer, its reasoning included
	bidTimeout = 60 * time.Second // of all calls for it; then it is ignore
)

// mostReason bounds the reason of a bid in the ledger, in bytes.
const mostReason = 500

// bidSchema is the form of a bid.
func bidSchema() *Schema {
	return &Schema{Name: "bid", JSON: json.RawMessage(
		`{"type":"object","properties":{"bid":{"type":"string","enum":["review","claim","exclusive","ignore"]},"reason":{"type":"string"}},"required":["bid","reason"],"additionalProperties":false}`)}
}

// BidRequest is the request for an agent's bid. Left are the parts of the input that its prompt had no
// room for.
func BidRequest(role, instructions string, in tool.Input, limits env.LLM) (q Request, left []string) {
	p := prompt.New(prompt.Task{
		Role: role, Instructions: instructions, Form: prompt.FormBid, Input: in, Room: prompt.RoomFor(limits.Context, bidOutput),
	})
	return Request{System: p.System, Messages: []Message{{Text: p.User}}, MaxOutput: bidOutput, Temperature: limits.Temperature}, p.Left
}

// LimitBid bounds the time of all calls for a bid.
func LimitBid(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, bidTimeout, fmt.Errorf("it took longer than %s", bidTimeout))
}

// Bid asks for a bid, and the model's reason.
func (c *Client) Bid(ctx context.Context, q Request) (bid blackboard.BidType, reason string, err error) {
	var answer struct {
		Bid    blackboard.BidType `json:"bid"`
		Reason string             `json:"reason"`
	}
	q.Schema = bidSchema()
	_, err = c.Structured(ctx, q, func(v json.RawMessage) error {
		if err := json.Unmarshal(v, &answer); err != nil {
			return err
		}
		if !answer.Bid.Valid() {
			return fmt.Errorf("bid is %q, want review, claim, exclusive or ignore", OneReason(string(answer.Bid)))
		}
		return nil
	})
	return answer.Bid, answer.Reason, err
}

// OneReason makes a short line of a model's words.
func OneReason(s string) string {
	s = role.Clean(strings.Join(strings.Fields(s), " "))
	if len(s) > mostReason {
		s = strings.ToValidUTF8(s[:mostReason], "") + "…"
	}
	return s
}
