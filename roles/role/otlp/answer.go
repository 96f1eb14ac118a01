package otlp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	mostRead = 64 << 10 // bytes of an answer
	mostSaid = 200      // bytes of an answer that an error repeats
	longest  = time.Hour
)

// RefusedError is an answer by which sending the same again is useless.
type RefusedError struct {
	Status int
	Says   string
}

func (e *RefusedError) Error() string { return answered(e.Status, e.Says) }

// FaultError is an answer that is not about these spans: by the address or the headers of the
// requests the receiver takes none. The protocol has them dropped; here they wait until a person mends
// that, as they wait for a receiver that is away.
type FaultError struct {
	Status int
	Says   string // the text of the answer; of a redirect the address
}

func (e *FaultError) Error() string {
	if e.Status/100 == 2 {
		return fmt.Sprintf("send spans: the receiver answered with a page for people, as of a login or of another port: %q", e.Says)
	}
	return answered(e.Status, e.Says)
}

// OfHeaders says whether the receiver asks for other headers, such as a key.
func (e *FaultError) OfHeaders() bool {
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

// LaterError is an answer by which the same is sent again.
type LaterError struct {
	Status int
	After  time.Duration // at the earliest; 0: the receiver does not say
}

func (e *LaterError) Error() string {
	return fmt.Sprintf("send spans: the receiver answered %d %s", e.Status, http.StatusText(e.Status))
}

func answered(status int, says string) string {
	return fmt.Sprintf("send spans: the receiver answered %d %s: %q", status, http.StatusText(status), says)
}

// Remark is the receiver's word about spans that it took, in part or whole.
type Remark struct {
	Rejected int64 // spans that it did not take, and never will
	Says     string
}

// verdict is the meaning of an answer for the spans of the request.
func verdict(a *http.Response, said []byte) (Remark, error) {
	switch a.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		if isPage(a.Header, said) {
			return Remark{}, &FaultError{a.StatusCode, shorten(said)}
		}
		return remark(said), nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return Remark{}, &LaterError{a.StatusCode, retryAfter(a.Header.Get("Retry-After"))}
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusProxyAuthRequired, http.StatusGone, http.StatusUnsupportedMediaType:
		return Remark{}, &FaultError{a.StatusCode, shorten(said)}
	}
	if a.StatusCode/100 == 3 {
		return Remark{}, &FaultError{a.StatusCode, shorten([]byte(a.Header.Get("Location")))}
	}
	return Remark{}, &RefusedError{a.StatusCode, shorten(said)}
}

// isPage says whether a success is a page of HTML: a proxy's login, or the port of an interface for people. No receiver of
// spans answers so; other bodies than the protocol's are common, and harmless.
func isPage(header http.Header, said []byte) bool {
	kind, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	begin := bytes.ToLower(bytes.TrimSpace(said[:min(len(said), 1<<10)]))
	return len(begin) > 0 && (kind == "text/html" || bytes.HasPrefix(begin, []byte("<!doctype html")) || bytes.HasPrefix(begin, []byte("<html")))
}

// remark reads the answer's body, which is JSON as the request is. A number of 64 bits is a text in
// the protocol's JSON; some write it as a number. A body of another kind says nothing.
func remark(said []byte) Remark {
	var body struct {
		PartialSuccess struct {
			RejectedSpans json.RawMessage `json:"rejectedSpans"`
			ErrorMessage  string          `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(said, &body) != nil {
		return Remark{}
	}
	p := body.PartialSuccess
	n, _ := strconv.ParseInt(string(bytes.Trim(p.RejectedSpans, `"`)), 10, 64)
	return Remark{max(n, 0), shorten([]byte(p.ErrorMessage))}
}

// retryAfter is how long a receiver asks to wait: seconds, or until a date.
func retryAfter(text string) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(max(0, min(seconds, int(longest/time.Second)))) * time.Second
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return max(0, min(time.Until(until), longest))
}

func shorten(said []byte) string {
	said = bytes.TrimSpace(said)
	return strings.ToValidUTF8(string(said[:min(len(said), mostSaid)]), "")
}

// Refused says whether an error says that spans will not be taken.
func Refused(err error) bool {
	_, refused := errors.AsType[*RefusedError](err)
	return refused
}

// Fault is the error that says that the receiver takes no spans by this address or these headers; nil: it is
// another error.
func Fault(err error) *FaultError {
	fault, _ := errors.AsType[*FaultError](err)
	return fault
}

// Wait is how long the receiver asks to wait.
func Wait(err error) time.Duration {
	if later, ok := errors.AsType[*LaterError](err); ok {
		return later.After
	}
	return 0
}

// TooMany says whether the receiver asks for fewer requests, of any content.
func TooMany(err error) bool {
	later, ok := errors.AsType[*LaterError](err)
	return ok && later.Status == http.StatusTooManyRequests
}
