package modelclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"sett/roles/role/gateway"
)

// The kinds of errors that a caller can act upon.
var (
	ErrOverflow = errors.New("the request is longer than the model's context")
	ErrCut      = errors.New("the answer broke off")
	ErrTooLarge = errors.New("the answer is too large")
)

// StatusError is a provider's or the gateway's refusal of a request.
type StatusError struct {
	Status  int
	Type    string // of the provider, such as rate_limit_error; may be empty
	Message string
	// Refused is the gateway's own refusal; nil: the provider's.
	Refused *gateway.Refusal
	After   time.Duration // the provider's Retry-After; 0: none
}

func (e *StatusError) Error() string {
	text := e.Message
	if e.Refused != nil && e.Refused.Message != "" {
		text = e.Refused.Message
	}
	if text == "" {
		text = http.StatusText(e.Status)
	}
	if e.Refused != nil {
		return fmt.Sprintf("the model gateway refuses: %s", text)
	}
	if e.Type != "" {
		return fmt.Sprintf("the model's provider answers %d (%s): %s", e.Status, e.Type, text)
	}
	return fmt.Sprintf("the model's provider answers %d: %s", e.Status, text)
}

// Withheld returns the gateway's refusal of a call for a reason that passes, and about which neither the model
// nor its provider was asked: a budget, a pause of all calls, or a blackboard that is away.
func Withheld(err error) (r gateway.Refusal, ok bool) {
	var status *StatusError
	if !errors.As(err, &status) || status.Refused == nil {
		return r, false
	}
	switch status.Refused.Why {
	case gateway.Budget, gateway.Paused, gateway.Board:
		return *status.Refused, true
	}
	return r, false
}

// Is finds ErrOverflow in the words of the providers.
func (e *StatusError) Is(target error) bool { return target == ErrOverflow && e.overflow() }

// overflows are the words by which providers and servers say that a prompt is too long.
var overflows = []string{
	"context_length_exceeded", "prompt is too long", "maximum context length", "context window", "exceeds the available context", "exceed_context_size",
	"input length and `max_tokens` exceed", "too many tokens",
}

func (e *StatusError) overflow() bool {
	if e.Refused != nil || e.Status != http.StatusBadRequest && e.Status != http.StatusRequestEntityTooLarge {
		return false
	}
	said := strings.ToLower(e.Type + " " + e.Message)
	for _, words := range overflows {
		if strings.Contains(said, words) {
			return true
		}
	}
	return false
}

// mostMessage is the longest message of a provider that is kept, in bytes.
const mostMessage = 1000

// refusal reads an error answer. Body is its beginning.
func refusal(status int, header http.Header, body []byte) *StatusError {
	e := &StatusError{Status: status}
	if r, ok := gateway.ReadRefusal(header); ok {
		e.Refused = &r
	}
	e.Type, e.Message = errorText(body)
	if e.Message == "" {
		e.Message = strings.Join(strings.Fields(string(body)), " ")
	}
	e.Message = excerpt(e.Message)
	if after, err := time.ParseDuration(header.Get("Retry-After") + "s"); err == nil && after > 0 {
		e.After = after
	}
	return e
}

// errorText reads the forms of the APIs: {"error":{"type","code","message"}}, also
// {"error":"…"}, {"message":"…"} and {"detail":"…"} of other servers.
func errorText(body []byte) (kind, message string) {
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Code    json.RawMessage `json:"code"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return "", ""
	}
	var inner struct {
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(outer.Error, &inner) == nil && inner.Message != "" {
		kind = inner.Type
		if code := text(inner.Code); code != "" {
			kind = code
		}
		return kind, inner.Message
	}
	if message = text(outer.Error); message == "" {
		message = outer.Message
	}
	if message == "" {
		message = text(outer.Detail)
	}
	return text(outer.Code), message
}

// text returns a JSON string; any other value gives nothing.
func text(v json.RawMessage) (s string) {
	_ = json.Unmarshal(v, &s) // another value is no text
	return s
}

// excerpt cuts a text to the size of a message.
func excerpt(s string) string {
	if len(s) <= mostMessage {
		return s
	}
	to := mostMessage
	for to > 0 && !utf8.RuneStart(s[to]) {
		to--
	}
	return s[:to] + "…"
}
