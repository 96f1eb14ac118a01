package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"sett/contract/model"
)

type obj = map[string]any

// largeMark stands for a text that is written piece by piece.
const largeMark = "@large@"

// answer is one answer under way.
type answer struct {
	w      http.ResponseWriter
	r      *http.Request
	q      *Request
	step   Step
	pause  time.Duration
	number int // of events
}

func (a *answer) play() {
	if a.step.Pause > 0 {
		a.pause = a.step.Pause
	}
	for name, value := range a.step.Header {
		a.w.Header().Set(name, value)
	}
	a.wait(a.step.Wait)
	a.until(a.step.Begin)
	if a.r.Context().Err() != nil || a.fault() {
		return
	}
	a.resolve()
	switch {
	case a.q.Stream && a.q.API == model.Chat:
		a.chatStream()
	case a.q.Stream && a.q.API == model.Messages:
		a.messagesStream()
	case a.q.Stream:
		a.responsesStream()
	case a.q.API == model.Chat:
		a.whole(a.chat())
	case a.q.API == model.Messages:
		a.whole(a.messages())
	default:
		a.whole(a.responses())
	}
}

// resolve fills in the open parts of the step.
func (a *answer) resolve() {
	s := &a.step
	if s.Structured != nil {
		b, err := json.Marshal(s.Structured)
		if err != nil {
			panic(err)
		}
		if name := forcedTool(a.q); name != "" {
			s.Calls = append(s.Calls, Call{Name: name, Arguments: string(b)})
		} else {
			s.Text = string(b)
		}
	}
	switch {
	case s.Fault == WrongSchema:
		s.Text = `{"unexpected":[1,2,3]}`
	case s.Fault == Large || s.Fault == Endless:
		s.Text = largeMark
	case s.Fault == Empty:
		s.Text, s.Calls = "", nil
	case s.Fault != "" && s.Text == "" && len(s.Calls) == 0:
		s.Text = "The answer that fails."
	}
	s.Text = strings.ReplaceAll(s.Text, KeyMark, key(a.q.Header))
	for i := range s.Calls {
		if s.Calls[i].ID == "" {
			s.Calls[i].ID = fmt.Sprintf("call_%d", i+1)
		}
	}
	if s.Usage == nil {
		out := len(s.Text) + len(s.Refusal)
		for _, c := range s.Calls {
			out += len(c.Name) + len(c.Arguments)
		}
		s.Usage = &model.Usage{Input: int64(len(a.q.Body)/4 + 1), Output: int64(out/4 + 1)}
	}
}

// forcedTool is the tool that the request forces.
func forcedTool(q *Request) string {
	var choice struct {
		ToolChoice json.RawMessage `json:"tool_choice"`
	}
	_ = json.Unmarshal(q.Body, &choice)
	var c struct {
		Type, Name string
		Function   struct{ Name string }
	}
	if json.Unmarshal(choice.ToolChoice, &c) != nil || c.Type != "tool" && c.Type != "function" {
		return ""
	}
	return c.Name + c.Function.Name
}

// chunks are the pieces of a text in a stream.
func (a *answer) chunks(text string) []string {
	n := a.step.Chunks
	if n == 0 {
		n = 4
	}
	var all []string
	for i := range n {
		if piece := text[i*len(text)/n : (i+1)*len(text)/n]; piece != "" {
			all = append(all, piece)
		}
	}
	return all
}

func (a *answer) wait(d time.Duration) {
	if d > 0 {
		select {
		case <-a.r.Context().Done():
		case <-time.After(d):
		}
	}
}

func (a *answer) until(c <-chan struct{}) {
	if c != nil {
		select {
		case <-a.r.Context().Done():
		case <-c:
		}
	}
}

// between is called before each chunk of a text but the first. It returns false when
// the stream is over.
func (a *answer) between(i int) bool {
	if i == 0 {
		return true
	}
	if i == 1 {
		a.until(a.step.Middle)
		if !a.middle() {
			return false
		}
	}
	a.wait(a.pause)
	return a.r.Context().Err() == nil
}

// event writes an event of a stream and sends it at once.
func (a *answer) event(name string, data any) {
	b := encode(data)
	if name != "" {
		_, _ = fmt.Fprintf(a.w, "event: %s\n", name)
	}
	_, _ = fmt.Fprintf(a.w, "data: %s\n\n", b)
	a.flush()
}

func (a *answer) flush() { _ = http.NewResponseController(a.w).Flush() }

func (a *answer) startStream() {
	a.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	a.w.Header().Set("Cache-Control", "no-cache")
	a.w.Header().Set("X-Request-Id", "req_1")
	a.w.WriteHeader(http.StatusOK)
	a.flush()
}

// whole writes an answer that is no stream.
func (a *answer) whole(v obj) {
	b := encode(v)
	a.w.Header().Set("X-Request-Id", "req_1")
	switch a.step.Fault {
	case Large, Endless:
		a.w.Header().Set("Content-Type", "application/json")
		before, after, _ := bytes.Cut(b, []byte(largeMark))
		_, _ = a.w.Write(before)
		a.large(func(piece string) { _, _ = io.WriteString(a.w, piece) })
		_, _ = a.w.Write(after)
		return
	case TruncatedJSON:
		b = b[:len(b)/2]
	case CutBody, SilentStream, StreamError:
		a.w.Header().Set("Content-Type", "application/json")
		a.w.Header().Set("Content-Length", fmt.Sprint(len(b)))
		_, _ = a.w.Write(b[:len(b)/2])
		a.flush()
		if a.step.Fault == SilentStream {
			<-a.r.Context().Done()
		}
		panic(http.ErrAbortHandler)
	case CutChunk:
		a.cutChunk(string(b[:len(b)/2]))
		return
	}
	a.w.Header().Set("Content-Type", "application/json")
	_, _ = a.w.Write(b)
}

// writeJSON writes an answer.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(v))
}

func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// hijack takes the connection.
func (a *answer) hijack() *net.TCPConn {
	c, _, err := http.NewResponseController(a.w).Hijack()
	if err != nil {
		panic(err)
	}
	return c.(*net.TCPConn)
}
