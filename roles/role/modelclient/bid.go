package modelclient

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"sett/blackboard"
	"sett/roles/role"
)

// The bounds of a bid.
const (
	BidOutput  = 4000             // tokens of an answer, its reasoning included
	BidTimeout = 60 * time.Second // of all calls for it; then it is ignore
)

// mostReason bounds the reason of a bid in the ledger, in bytes.
const mostReason = 500

// bidSchema is the form of a bid.
func bidSchema() *Schema {
	return &Schema{Name: "bid", JSON: json.RawMessage(
		`{"type":"object","properties":{"bid":{"type":"string","enum":["review","claim","exclusive","ignore"]},"reason":{"type":"string"}},"required":["bid","reason"],"additionalProperties":false}`)}
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
