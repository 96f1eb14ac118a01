package model

import (
	"encoding/json"
	"strconv"
)

// MostCount is the highest number of tokens that a provider's word is taken for.
const MostCount int64 = 1 << 40

// Count is a number of tokens as a provider writes it in JSON. A number that is below zero, above MostCount or
// not whole, and what is no number at all, count as none: it is no reason to drop the answer.
type Count struct {
	Tokens int64
	Known  bool
}

var _ json.Unmarshaler = (*Count)(nil)

// UnmarshalJSON never fails.
func (c *Count) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if *c = (Count{}); err == nil && n >= 0 && n <= MostCount {
		*c = Count{n, true}
	}
	return nil
}
