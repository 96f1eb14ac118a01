// Package model has the words about language models that sett.yml, the gateway, the
// blackboard and `sett llm` share: the three APIs, tokens, prices and budgets. It
// speaks to no model.
package model

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// API is the wire format that a model is asked in.
type API string

// The APIs. Each has paths of its own, so one address serves all.
const (
	Chat      API = "chat"      // POST /v1/chat/completions
	Messages  API = "messages"  // POST /v1/messages
	Responses API = "responses" // POST /v1/responses
)

// APIs are all of them, in the order of the documents.
func APIs() []API { return []API{Chat, Messages, Responses} }

// Usage counts the tokens of calls. The counts of a provider are brought into this form:
// no token is in two of the first four.
type Usage struct {
	Input      int64 `json:"input"`       // neither read from a cache nor written to one
	Cached     int64 `json:"cached"`      // read from a cache
	CacheWrite int64 `json:"cache_write"` // written to one
	Output     int64 `json:"output"`      // with those of Reasoning
	Reasoning  int64 `json:"reasoning"`   // of Output
}

// Tokens is the sum that a budget's tokens count.
func (u Usage) Tokens() int64 { return u.Input + u.Cached + u.CacheWrite + u.Output }

// Add returns the sum of two counts.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Cached + v.Cached, u.CacheWrite + v.CacheWrite, u.Output + v.Output, u.Reasoning + v.Reasoning}
}

// Money is an amount in billionths of the currency that sett.yml's prices are in. Scripts
// of the blackboard compare it exactly up to nine million units of that currency.
type Money int64

// Unit is one unit of the currency.
const Unit Money = 1e9

// String writes the amount with at least two and at most nine digits after the point.
func (m Money) String() string {
	sign, n := "", uint64(m)
	if m < 0 {
		sign, n = "-", uint64(-m)
	}
	digits := strconv.FormatUint(n%uint64(Unit), 10)
	digits = strings.TrimRight(strings.Repeat("0", 9-len(digits))+digits, "0")
	for len(digits) < 2 {
		digits += "0"
	}
	return sign + strconv.FormatUint(n/uint64(Unit), 10) + "." + digits
}

// MarshalJSON writes units of the currency, as a number: 0.3.
func (m Money) MarshalJSON() ([]byte, error) {
	return []byte(strings.TrimSuffix(strings.TrimRight(m.String(), "0"), ".")), nil
}

// UnmarshalJSON reads the output of MarshalJSON. Parts of a billionth are an error.
func (m *Money) UnmarshalJSON(text []byte) error {
	units, ok := new(big.Rat).SetString(string(text))
	if !ok {
		return fmt.Errorf("%.40q is no amount of money", text)
	}
	billionths := units.Mul(units, big.NewRat(int64(Unit), 1))
	if !billionths.IsInt() || !billionths.Num().IsInt64() {
		return fmt.Errorf("%.40s is no whole number of billionths, or too large", text)
	}
	*m = Money(billionths.Num().Int64())
	return nil
}

// Price is the price of a million tokens of each kind.
type Price struct {
	Input      Money `json:"input"`
	Cached     Money `json:"cached"`
	CacheWrite Money `json:"cache_write"`
	Output     Money `json:"output"`
}

// Cost returns the price of that many tokens, rounded up to a billionth; MostMoney where it is more.
func (p Price) Cost(u Usage) Money {
	sum := new(big.Int)
	for _, part := range []struct {
		tokens int64
		price  Money
	}{{u.Input, p.Input}, {u.Cached, p.Cached}, {u.CacheWrite, p.CacheWrite}, {u.Output, p.Output}} {
		sum.Add(sum, new(big.Int).Mul(big.NewInt(part.tokens), big.NewInt(int64(part.price))))
	}
	sum.Add(sum, big.NewInt(million-1))
	if sum.Quo(sum, big.NewInt(million)); sum.Cmp(big.NewInt(int64(MostMoney))) > 0 {
		return MostMoney
	}
	return Money(sum.Int64())
}

const million = 1_000_000

// Budget bounds the calls of a goal or of a grant. A zero is no bound.
type Budget struct {
	Cost   Money         `json:"cost,omitempty"`
	Tokens int64         `json:"tokens,omitempty"`
	Calls  int64         `json:"calls,omitempty"`
	Time   time.Duration `json:"time,omitempty"` // of running agents with a model
}

// The policies when a budget has no room for a call.
const (
	OnBudgetFail = "fail" // the grant fails
	OnBudgetAsk  = "ask"  // a person is asked for more
)
