package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"sett/blackboard"
	"sett/contract/model"
)

// taped is an answer on a tape, a file of its own.
type taped struct {
	API     model.API         `json:"api"`
	Path    string            `json:"path"`
	Request json.RawMessage   `json:"request,omitempty"` // without its volatile parts; empty: of kept answers
	Attempt int               `json:"attempt"`           // of the grant that asked
	Call    string            `json:"call,omitempty"`    // of kept answers
	Stream  bool              `json:"stream"`
	Status  int               `json:"status"`
	Header  map[string]string `json:"header"`
	Parts   []tapedPart       `json:"parts"`

	began time.Time
	size  int64
}

// tapedPart is a part of an answer.
type tapedPart struct {
	After int64  `json:"after_ms"` // since the request came
	Text  string `json:"text,omitempty"`
	Bytes []byte `json:"bytes,omitempty"` // of parts that are no text

	raw []byte
}

// got is the answer as a provider would give it.
func (t *taped) got() *got {
	g := &got{status: t.Status, header: http.Header{}}
	for name, value := range t.Header {
		g.header.Set(name, value)
	}
	var body bytes.Buffer
	for _, p := range t.Parts {
		body.WriteString(p.Text)
		body.Write(p.Bytes)
	}
	if t.Stream && strings.HasPrefix(g.header.Get("Content-Type"), "text/event-stream") {
		g.stream, g.rest = true, io.NopCloser(&body)
		return g
	}
	g.head = body.Bytes()
	return g
}

// Bounds of an answer on a tape.
const (
	mostKept     = 4 << 20
	mostRecorded = mostAnswer
)

// take puts a part of the answer on the call's tape, which keeps its memory.
func (c *call) take(text []byte) {
	if c.tape == nil || len(text) == 0 {
		return
	}
	most := int64(mostKept)
	if c.up.record != nil {
		most = mostRecorded
	}
	if c.tape.size += int64(len(text)); c.tape.size > most {
		c.tape = nil
		return
	}
	c.tape.Parts = append(c.tape.Parts, tapedPart{After: c.s.now().Sub(c.tape.began).Milliseconds(), raw: text})
}

// keep stores the answer, where somebody may ask for it again.
func (c *call) keep() {
	if c.tape == nil || !c.whole || c.kept {
		return
	}
	t := c.tape
	for i := range t.Parts {
		p := &t.Parts[i]
		c.s.mask.bytes(p.raw)
		if utf8.Valid(p.raw) {
			p.Text = string(p.raw)
		} else {
			p.Bytes = p.raw
		}
	}
	if !c.q.free && t.Status < 300 && t.size <= mostKept {
		if err := c.s.answers.put(c.id, c.key, *t); err != nil {
			c.s.log.Warn("answer not kept", "error", err)
		}
	}
	if c.up.record != nil {
		t.Request, t.Call, t.Attempt = c.canonical, "", 0
		c.s.mask.bytes(t.Request)
		if err := c.up.record.put(c.id, c.key, *t); err != nil {
			c.s.log.Error("answer not recorded", "error", err, "model", c.up.Name)
		}
	}
}

// volatile are the fields of a request that do not tell it from another.
var volatile = []string{"model", "stream_options", "metadata", "user", "safety_identifier", "prompt_cache_key", "service_tier", "store"}

// canonical is a request without its volatile parts, in a fixed order.
func canonical(q *request, ignore []*regexp.Regexp) []byte {
	d := json.NewDecoder(bytes.NewReader(q.body))
	d.UseNumber()
	var v map[string]any
	if d.Decode(&v) != nil {
		return encodeJSON(string(q.body))
	}
	for _, field := range volatile {
		delete(v, field)
	}
	if len(ignore) == 0 {
		return encodeJSON(v)
	}
	return encodeJSON(without(v, ignore))
}

// without removes all matches of the patterns from the strings of a value.
func without(v any, ignore []*regexp.Regexp) any {
	switch v := v.(type) {
	case string:
		for _, re := range ignore {
			v = re.ReplaceAllString(v, "")
		}
		return v
	case []any:
		for i := range v {
			v[i] = without(v[i], ignore)
		}
	case map[string]any:
		for name := range v {
			v[name] = without(v[name], ignore)
		}
	}
	return v
}

// keyOf names a request on a tape.
func keyOf(q *request, canonical []byte) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s\n%s\n", q.api, q.path)
	_, _ = h.Write(canonical)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// tape is a directory of answers. The first equal request of a grant gets the first
// answer, the next one the second.
type tape struct {
	dir    string
	mu     sync.Mutex
	number map[string]int // of equal requests, by grant, attempt and key
}

// openTape opens a directory; a tape that is written to is made.
func openTape(dir string, write bool) (*tape, error) {
	t := &tape{dir: dir, number: map[string]int{}}
	if write {
		return t, os.MkdirAll(dir, 0o700)
	}
	_, err := os.ReadDir(dir)
	return t, err
}

// mostNumbered bounds the requests that are counted.
const mostNumbered = 100_000

func numberName(q blackboard.Call, key string) string {
	return fmt.Sprint(q.Claim, " ", q.Agent, " ", q.Attempt, " ", key)
}

// next is the number of this request among the equal ones of its grant's attempt.
func (t *tape) next(q blackboard.Call, key string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.number) >= mostNumbered {
		t.number = map[string]int{}
	}
	name := numberName(q, key)
	t.number[name]++
	return t.number[name] - 1
}

func (t *tape) file(key string, n int) string {
	return filepath.Join(t.dir, fmt.Sprintf("%s-%d.json", key, n))
}

// put writes an answer.
func (t *tape) put(q blackboard.Call, key string, answer taped) error {
	return writeTaped(t.file(key, t.next(q, key)), answer)
}

// get reads the answer to the next request with this key; nil: there is none.
func (t *tape) get(q blackboard.Call, key string) (answer *taped, number int, err error) {
	number = t.next(q, key)
	answer, err = readTaped(t.file(key, number))
	return answer, number, err
}

// all returns every answer on the tape to a request of the path.
func (t *tape) all(path string) ([]*taped, error) {
	const most = 2000
	files, err := filepath.Glob(filepath.Join(t.dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var all []*taped
	for _, f := range files[:min(len(files), most)] {
		answer, err := readTaped(f)
		if err != nil {
			return nil, err
		}
		if answer != nil && answer.Path == path {
			all = append(all, answer)
		}
	}
	return all, nil
}

// readTaped reads an answer; nil: there is none.
func readTaped(file string) (*taped, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var answer taped
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return &answer, nil
}

// writeTaped writes an answer as a whole.
func writeTaped(file string, answer taped) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if answer.Request != nil {
		e.SetIndent("", "  ")
	}
	if err := e.Encode(answer); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), ".answer-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(b.Bytes())
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
	}
	return err
}
