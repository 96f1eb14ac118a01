package modeltest

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"sett/contract/model"
)

// refusals are the faults with an error's status, in the words of both families of
// APIs.
var refusals = map[Fault]struct {
	status    int
	kind      string // of messages
	openKind  string // of the others
	code      string // of the others
	byDefault string
}{
	BadRequest:      {400, "invalid_request_error", "invalid_request_error", "", "the request is not valid"},
	Unauthorized:    {401, "authentication_error", "invalid_request_error", "invalid_api_key", "invalid key " + KeyMark},
	PaymentRequired: {402, "billing_error", "insufficient_quota", "insufficient_quota", "payment required"},
	TimedOut:        {408, "timeout_error", "server_error", "", "request timed out"},
	TooLarge:        {413, "request_too_large", "invalid_request_error", "", "request too large"},
	ContextOverflow: {400, "invalid_request_error", "invalid_request_error", "context_length_exceeded", "prompt is too long: 250000 tokens > 200000 maximum"},
	TooFast:         {429, "rate_limit_error", "requests", "rate_limit_exceeded", "too many requests"},
	OutOfMoney:      {429, "rate_limit_error", "insufficient_quota", "insufficient_quota", "your credit balance is too low"},
	ServerError:     {500, "api_error", "server_error", "", "internal server error"},
	Unavailable:     {503, "api_error", "server_error", "", "service unavailable"},
	Overloaded:      {529, "overloaded_error", "server_error", "overloaded", "Overloaded"},
}

// fault plays the faults that come instead of an answer.
func (a *answer) fault() bool {
	if r, ok := refusals[a.step.Fault]; ok {
		text := a.step.Text
		if text == "" {
			text = r.byDefault
		}
		kind := r.openKind
		if a.q.API == model.Messages {
			kind = r.kind
		}
		fail(a.w, a.q.API, r.status, kind, r.code, strings.ReplaceAll(text, KeyMark, key(a.q.Header)))
		return true
	}
	switch a.step.Fault {
	case NoModel:
		noModel(a.w, a.q)
	case Reset:
		c := a.hijack()
		_ = c.SetLinger(0)
		_ = c.Close()
	case CutHeaders:
		c := a.hijack()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Half")
		_ = c.Close()
	case SilentHeaders:
		<-a.r.Context().Done()
	case HTML, ErrorHTML:
		status := http.StatusOK
		if a.step.Fault == ErrorHTML {
			status = http.StatusBadGateway
		}
		a.w.Header().Set("Content-Type", "text/html")
		a.w.WriteHeader(status)
		_, _ = io.WriteString(a.w, "<!DOCTYPE html><html><body><h1>Sign in</h1></body></html>")
	case NoBody:
		a.w.WriteHeader(http.StatusOK)
	case Redirect:
		a.w.WriteHeader(http.StatusTemporaryRedirect)
	case HugeHeaders:
		a.w.Header().Set("X-Huge", strings.Repeat("x", 4<<20))
		a.w.WriteHeader(http.StatusOK)
	default:
		return false
	}
	return true
}

// middle plays the faults that come after the first chunk of a stream.
func (a *answer) middle() bool {
	switch a.step.Fault {
	case CutChunk:
		a.cutConnection()
	case CutBody:
		panic(http.ErrAbortHandler)
	case SilentStream:
		<-a.r.Context().Done()
	case TruncatedJSON:
		_, _ = io.WriteString(a.w, `data: {"type":"content_block_delta","choices":[{"delta":{"con`)
		a.flush()
	case CutStream:
	case StreamError:
		a.streamError()
	default:
		return true
	}
	return false
}

// streamError writes the error of a stream in the API's form.
func (a *answer) streamError() {
	text := a.step.Refusal
	if text == "" {
		text = "Overloaded " + key(a.q.Header)
	}
	switch a.q.API {
	case model.Chat:
		a.event("", obj{"error": obj{"message": text, "type": "server_error", "param": nil, "code": "server_error"}})
	case model.Messages:
		a.event("error", obj{"type": "error", "error": obj{"type": "overloaded_error", "message": text}})
	default:
		a.numbered("error", obj{"code": "server_error", "message": text, "param": nil})
	}
}

// cutConnection ends a chunked body in a chunk.
func (a *answer) cutConnection() {
	c := a.hijack()
	_, _ = io.WriteString(c, "400\r\ndata: {\"half\":")
	_ = c.Close()
}

// cutChunk begins a chunked body of its own and ends the connection in a chunk.
func (a *answer) cutChunk(text string) {
	c := a.hijack()
	_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s", len(text)+100, text)
	_ = c.Close()
}

func noModel(w http.ResponseWriter, q *Request) {
	kind := "invalid_request_error"
	if q.API == model.Messages {
		kind = "not_found_error"
	}
	fail(w, q.API, http.StatusNotFound, kind, "model_not_found", "there is no model "+strconv.Quote(q.Model))
}

// fail writes an error in the API's form.
func fail(w http.ResponseWriter, api model.API, status int, kind, code, message string) {
	if api == model.Messages {
		writeJSON(w, status, obj{"type": "error", "error": obj{"type": kind, "message": message}, "request_id": "req_1"})
		return
	}
	e := obj{"message": message, "type": kind, "param": nil, "code": nil}
	if code != "" {
		e["code"] = code
	}
	writeJSON(w, status, obj{"error": e})
}

// text writes the text of an answer chunk by chunk. It returns false when the stream is
// over.
func (a *answer) text(emit func(piece string)) bool {
	if a.step.Fault == Large || a.step.Fault == Endless {
		return a.large(emit)
	}
	for i, piece := range a.chunks(a.step.Text) {
		if !a.between(i) {
			return false
		}
		emit(piece)
	}
	return a.r.Context().Err() == nil
}

// large writes the text of Large and Endless.
func (a *answer) large(emit func(piece string)) bool {
	size := a.step.Size
	if size == 0 {
		size = 64 << 20
	}
	piece := strings.Repeat("x", 16<<10)
	for n := int64(0); n < size || a.step.Fault == Endless; n += int64(len(piece)) {
		if a.r.Context().Err() != nil {
			return false
		}
		emit(piece)
	}
	return true
}
