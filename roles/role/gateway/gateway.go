// Package gateway has the words that cubs and `sett model-gateway` exchange: headers,
// tokens and refusals. Requests and answers themselves are those of the models' APIs.
package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf16"

	"sett/blackboard"
)

// The headers that a cub adds to a request. It drops the client's own credentials.
const (
	Agent   = "Sett-Agent"
	Claim   = "Sett-Claim"
	Attempt = "Sett-Attempt" // of the grant; 0: the call is for a bid
	Holder  = "Sett-Holder"  // of the grant
	Call    = "Sett-Call"    // a ULID, new for each request; of a bid: the same after a crash
)

// Kept is the header of an answer to a call for a bid that the same call got before: it
// cost nothing.
const Kept = "Sett-Kept"

// The kinds of errors by which the gateway ends a stream that has begun. Any other error in a stream is the provider's.
const (
	StoppedIdle     = "gateway_idle_timeout"
	StoppedTooLarge = "gateway_answer_too_large" // a repetition would be so, too
)

// Refused is the header of an answer that the gateway gives itself: a Refusal in JSON.
// ShouldRetry is the header that keeps SDKs from repeating such a request.
const (
	Refused     = "Sett-Refused"
	ShouldRetry = "X-Should-Retry"
)

// Refusal says why a call was not made, or not to its end.
type Refusal struct {
	Why     Why                  `json:"why"`
	Budget  *blackboard.Exceeded `json:"budget,omitempty"` // of Budget
	Message string               `json:"message"`
}

// OverBudget is the error that ends a tool whose call of the model no budget has room for.
type OverBudget struct{ Refusal Refusal }

func (e *OverBudget) Error() string {
	if e.Refusal.Message == "" && e.Refusal.Budget != nil {
		return e.Refusal.Budget.String()
	}
	return e.Refusal.Message
}

// FailureType is the type of the Failure.
func (e *OverBudget) FailureType() string { return blackboard.TypeBudgetExceeded }

// Why is the kind of a refusal.
type Why string

// The kinds, each with its status.
const (
	Budget     Why = "budget"      // 429: no budget has room for it
	Paused     Why = "paused"      // 429: a person stopped all spending
	NotRunning Why = "not_running" // 403: the grant is not running, or not the caller's
	Provider   Why = "provider"    // 502 or 504: the provider is out of reach, or its answer is broken
	Replay     Why = "replay"      // 409: the recording has no such request
	Request    Why = "request"     // 400, 401, 403, 404, 413: the request itself cannot be passed on
	Board      Why = "blackboard"  // 503: the account is out of reach
)

// Write writes the refusal into the header of an answer.
func (r Refusal) Write(h http.Header) {
	b, err := json.Marshal(r)
	if err != nil {
		return // it holds nothing but text
	}
	h.Set(Refused, ascii(string(b)))
	h.Set(ShouldRetry, "false")
}

// ascii writes the characters of a JSON text that a header may not hold as \u escapes.
func ascii(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r <= '~' {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			_, _ = fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// ReadRefusal returns the refusal of an answer; ok is false for the provider's own
// answers.
func ReadRefusal(h http.Header) (r Refusal, ok bool) {
	text := h.Get(Refused)
	return r, text != "" && json.Unmarshal([]byte(text), &r) == nil
}

// Port is where the role listens in its container.
const Port = 7071

// Host is the role's name on an instance's networks.
func Host(instance string) string { return "sett-" + instance + "-models" }

// Token is the token of an agent; the key is the instance's secret.
func Token(key, agent string) string {
	m := hmac.New(sha256.New, []byte(key))
	_, _ = io.WriteString(m, "agent:"+agent) // cannot fail
	return hex.EncodeToString(m.Sum(nil))
}

// Admits says whether a request carries the token of the agent that it names.
func Admits(key string, r *http.Request) bool {
	got, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	agent := r.Header.Get(Agent)
	return ok && agent != "" && hmac.Equal([]byte(got), []byte(Token(key, agent)))
}

// SetCall writes the headers of a call.
func SetCall(h http.Header, token string, c blackboard.Call) {
	h.Set("Authorization", "Bearer "+token)
	h.Set(Agent, c.Agent)
	h.Set(Claim, c.Claim)
	h.Set(Attempt, strconv.Itoa(c.Attempt))
	h.Set(Holder, c.Holder)
	h.Set(Call, c.ID)
}

// ReadCall reads the headers of a call; ok is false when one is missing or broken.
func ReadCall(h http.Header) (c blackboard.Call, ok bool) {
	attempt, err := strconv.Atoi(h.Get(Attempt))
	c = blackboard.Call{ID: h.Get(Call), Claim: h.Get(Claim), Agent: h.Get(Agent), Attempt: attempt, Holder: h.Get(Holder)}
	return c, err == nil && attempt >= 0 && blackboard.ValidID(c.ID) && blackboard.ValidID(c.Claim) && c.Agent != ""
}
