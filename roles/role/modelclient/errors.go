package modelclient

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
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
	ErrContext  = errors.New("the conversation is longer than the model's context window")
)

// errNoJSON is an event that is broken.
var errNoJSON = errors.New("an event of the answer is no JSON")

// cut is an ErrCut with words of its own.
type cut struct{ error }

func (c cut) Unwrap() error { return c.error }

func (c cut) Is(target error) bool { return target == ErrCut }

// StatusError is a provider's or the gateway's refusal of a request, or the error that ends a stream.
type StatusError struct {
	Status  int    // 0: within a stream
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
		text = cmp.Or(http.StatusText(e.Status), "without a reason")
	}
	if e.Refused != nil && e.Refused.Why == gateway.Provider {
		return text // the gateway tells of it only
	} else if e.Refused != nil {
		return fmt.Sprintf("the model gateway refuses: %s", text)
	}
	if e.Status == 0 && (e.Type == gateway.StoppedIdle || e.Type == gateway.StoppedTooLarge) {
		return "the model gateway ended the answer: " + text
	}
	does, kind := "ended the answer", ""
	if e.Status != 0 {
		does = "answers " + strconv.Itoa(e.Status)
	}
	if e.Type != "" {
		kind = " (" + e.Type + ")"
	}
	return fmt.Sprintf("the model's provider %s%s: %s", does, kind, text)
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
	if e.Refused != nil || e.Status != 0 && e.Status != http.StatusBadRequest && e.Status != http.StatusRequestEntityTooLarge {
		return false
	}
	return e.says(overflows)
}

// says finds one of the words in the error's.
func (e *StatusError) says(one []string) bool {
	said := strings.ToLower(e.Type + " " + e.Message)
	return slices.ContainsFunc(one, func(words string) bool { return strings.Contains(said, words) })
}

// lastings are the types of errors within a stream that a repetition would meet again.
var lastings = []string{"invalid_", "authentication", "permission", "not_found", "billing", "insufficient_quota", "content_filter", "context_length", "too_large"}

// lasting says whether a repetition would fail in the same way.
func (e *StatusError) lasting() bool {
	kind := strings.ToLower(e.Type)
	if code, err := strconv.Atoi(kind); err == nil {
		return code >= 400 && code < 500 && code != http.StatusRequestTimeout && code != http.StatusConflict && code != http.StatusTooManyRequests
	}
	return e.overflow() || slices.ContainsFunc(lastings, func(word string) bool { return strings.Contains(kind, word) })
}

// loads are the words of a provider that has too much to do.
var loads = []string{"overloaded", "rate_limit", "too many requests", "unavailable", "429", "503", "529"}

// overloaded says whether an answer ended because the provider has too much to do.
func overloaded(err error) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Status == 0 && status.says(loads)
}

// unknownField are the words of refusals of a field, with any value: of OpenAI, Azure, Mistral and pydantic.
var unknownField = []string{"unsupported parameter", "not supported with this model", "extra_forbidden", "extra inputs are not permitted", "extra fields not permitted", "unrecognized", "unknown"}

// refusesField says whether the provider does not know a field of the request.
func refusesField(err error, field string) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Refused == nil && (status.Status == http.StatusBadRequest || status.Status == http.StatusUnprocessableEntity) &&
		status.says([]string{field}) && status.says(unknownField)
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
// {"error":"…"}, {"message":"…"} and {"detail":"…"} of other servers. Gemini's chat has a list of
// them, and the first one counts; Mistral and FastAPI have lists of faults for a text.
func errorText(body []byte) (kind, message string) {
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Code    json.RawMessage `json:"code"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	var all []json.RawMessage
	if json.Unmarshal(body, &all) == nil && len(all) > 0 {
		body = all[0]
	}
	if json.Unmarshal(body, &outer) != nil {
		return "", ""
	}
	var inner struct {
		Type    json.RawMessage `json:"type"`
		Code    json.RawMessage `json:"code"`
		Status  json.RawMessage `json:"status"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(outer.Error, &inner) == nil && inner.Message != "" {
		return cmp.Or(text(inner.Code), text(inner.Type), text(inner.Status), number(inner.Code)), inner.Message
	}
	return text(outer.Code), cmp.Or(text(outer.Error), faults(outer.Message), faults(outer.Detail))
}

// faults is a text, or a list of faults as one: body.max_tokens: Extra inputs are not permitted (extra_forbidden).
func faults(v json.RawMessage) string {
	var within struct {
		Detail json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(v, &within) == nil && len(within.Detail) > 0 {
		v = within.Detail
	}
	var list []struct {
		Type string            `json:"type"`
		At   []json.RawMessage `json:"loc"`
		Says string            `json:"msg"`
	}
	if json.Unmarshal(v, &list) != nil {
		return text(v)
	}
	var all []string
	for _, f := range list {
		var at []string
		for _, part := range f.At {
			at = append(at, cmp.Or(text(part), string(part)))
		}
		all = append(all, fmt.Sprintf("%s: %s (%s)", strings.Join(at, "."), f.Says, f.Type))
	}
	return strings.Join(all, "; ")
}

// number returns a JSON number as it stands there; any other value gives nothing.
func number(v json.RawMessage) string {
	var n json.Number
	if len(v) == 0 || v[0] == '"' || json.Unmarshal(v, &n) != nil {
		return ""
	}
	return n.String()
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
