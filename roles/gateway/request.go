package gateway

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"sett/contract/env"
	"sett/contract/model"
)

// request is a client's request for an answer of a model, as far as it is read.
type request struct {
	api    model.API
	path   string
	header http.Header
	body   []byte
	hash   string // SHA-256 of the body
	stream bool

	at      map[string]span // of the fields below
	copies  int64           // answers to the same question; 1 in most cases
	limit   int64           // of the output, in tokens; 0: none
	limitBy string          // the field with it; empty: none
	hidden  bool            // the client did not ask for the usage of its stream
	free    bool            // it counts tokens only
}

// limitFields are the fields with a limit of the output, by API.
var limitFields = map[model.API][]string{
	model.Chat: {"max_completion_tokens", "max_tokens"}, model.Messages: {"max_tokens"}, model.Responses: {"max_output_tokens"},
}

// readRequest finds the fields of a body that count.
func readRequest(api model.API, path string, header http.Header, body []byte) (*request, error) {
	q := &request{api: api, path: path, header: header, body: body, copies: 1, free: strings.HasSuffix(path, "/count_tokens")}
	var err error
	if q.at, err = fields(body, append([]string{"model", "stream", "stream_options", "n"}, limitFields[api]...)...); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	q.hash = hex.EncodeToString(sum[:])
	if v, ok := q.at["stream"]; ok {
		q.stream = string(v.in(body)) == "true"
	}
	if n, ok, err := q.number("n"); err != nil || ok && n < 1 {
		return nil, fmt.Errorf("the field %q is no number above 0", "n")
	} else if ok && api == model.Chat {
		q.copies = n
	}
	for _, field := range limitFields[api] {
		n, ok, err := q.number(field)
		if err != nil || ok && n < 1 {
			return nil, fmt.Errorf("the field %q is no number above 0", field)
		}
		if ok && (q.limitBy == "" || n < q.limit) {
			q.limit, q.limitBy = n, field
		}
	}
	_, err = q.askUsage()
	return q, err
}

// number reads a field with a whole number; ok is false where it is missing or null.
func (q *request) number(field string) (n int64, ok bool, err error) {
	v, ok := q.at[field]
	if !ok || string(v.in(q.body)) == "null" {
		return 0, false, nil
	}
	n, err = strconv.ParseInt(string(v.in(q.body)), 10, 53)
	return n, true, err
}

// mostOutput is the limit of the output where neither request nor sett.yml has one.
const mostOutput = 32_000

// output is the most that the answer may have, in tokens, before a budget lowers it.
func (q *request) output(m env.Model) int64 {
	most := q.limit
	if most == 0 {
		most = m.MaxOutput
	}
	if most == 0 {
		most = mostOutput
		if m.Context > 0 {
			most = min(most, m.Context)
		}
	}
	return most
}

// edits are the changes of the body for the provider: the model's name, the usage of a
// streamed chat and, above 0, a lower limit of the output.
func (q *request) edits(m env.Model, lower int64) ([]edit, error) {
	var all []edit
	insert := ""
	name := string(encodeJSON(m.Model))
	if at, ok := q.at["model"]; ok {
		if string(at.in(q.body)) != name {
			all = append(all, edit{at, name})
		}
	} else {
		insert += `"model":` + name + ","
	}
	if lower > 0 {
		limited := false
		for _, field := range limitFields[q.api] {
			if n, ok, _ := q.number(field); ok {
				limited = true
				if n > lower {
					all = append(all, edit{q.at[field], strconv.FormatInt(lower, 10)})
				}
			} else if at, null := q.at[field]; null && !limited && q.limitBy == "" {
				limited = true
				all = append(all, edit{at, strconv.FormatInt(lower, 10)})
			}
		}
		if !limited {
			insert += fmt.Sprintf("%q:%d,", newLimit(q.api, m), lower)
		}
	}
	usage, err := q.askUsage()
	if err != nil {
		return nil, err
	}
	if usage != nil && usage.to == 0 {
		insert += usage.text
	} else if usage != nil {
		all = append(all, *usage)
	}
	if insert != "" {
		at := bytes.IndexByte(q.body, '{') + 1
		if space(q.body, at) < len(q.body) && q.body[space(q.body, at)] == '}' {
			insert = strings.TrimSuffix(insert, ",")
		}
		all = append(all, edit{span{at, at}, insert})
	}
	slices.SortFunc(all, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	return all, nil
}

// newLimit is the field for a limit that the request does not have.
func newLimit(api model.API, m env.Model) string {
	if api == model.Chat {
		return model.LimitOf(m.BaseURL)
	}
	return limitFields[api][0]
}

// askUsage is the change that has a streamed chat report its usage; nil: none is needed.
// Without a place it is a field to insert.
func (q *request) askUsage() (*edit, error) {
	const name = "include_usage"
	if q.api != model.Chat || !q.stream {
		return nil, nil
	}
	options, ok := q.at["stream_options"]
	if !ok || string(options.in(q.body)) == "null" {
		q.hidden = true
		if ok {
			return &edit{options, `{"include_usage":true}`}, nil
		}
		return &edit{text: `"stream_options":{"include_usage":true},`}, nil
	}
	inner, err := fields(options.in(q.body), name)
	if err != nil {
		return nil, fmt.Errorf("the field %q: %w", "stream_options", err)
	}
	at, ok := inner[name]
	at.from, at.to = at.from+options.from, at.to+options.from
	switch {
	case ok && string(at.in(q.body)) == "true":
		return nil, nil
	case ok:
		q.hidden = true
		return &edit{at, "true"}, nil
	}
	q.hidden = true
	begin := options.from + 1
	insert := `"include_usage":true,`
	if q.body[space(q.body, begin)] == '}' {
		insert = strings.TrimSuffix(insert, ",")
	}
	return &edit{span{begin, begin}, insert}, nil
}

// dropped are the headers of a client that the provider does not get, besides those of
// Sett and of the connection.
var dropped = []string{
	"Authorization", "X-Api-Key", "Api-Key", "Cookie", "Accept-Encoding", "Host", "Content-Length", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
	"X-Real-Ip", "Expect",
}

// hop are the headers of a connection.
var hop = []string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// outgoing are the headers for the provider.
func (q *request) outgoing(m env.Model, key string) http.Header {
	h := http.Header{}
	for name, values := range q.header {
		if !strings.HasPrefix(name, "Sett-") && !slices.Contains(dropped, name) && !slices.Contains(hop, name) && !listed(q.header, name) {
			h[name] = values
		}
	}
	h.Set("Content-Type", "application/json")
	h.Set("Accept-Encoding", "identity")
	if h.Get("User-Agent") == "" {
		h.Set("User-Agent", "sett")
	}
	if q.api == model.Messages && h.Get("Anthropic-Version") == "" {
		h.Set("Anthropic-Version", "2023-06-01")
	}
	switch {
	case key == "":
	case q.api == model.Messages:
		h.Set("X-Api-Key", key)
	default:
		h.Set("Authorization", "Bearer "+key)
	}
	for name, value := range m.Headers {
		h.Set(name, value)
	}
	return h
}

// listed says whether the header Connection names this one.
func listed(h http.Header, name string) bool {
	for _, line := range h["Connection"] {
		for one := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(one), name) {
				return true
			}
		}
	}
	return false
}

// encodeJSON writes a value without a line's end, and characters of HTML as they are.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return []byte("null") // of values that JSON cannot hold; there are none here
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// reader reads pieces one after another, and says how long they are.
func reader(pieces [][]byte) (io.Reader, int64) {
	var all []io.Reader
	size := int64(0)
	for _, p := range pieces {
		all, size = append(all, bytes.NewReader(p)), size+int64(len(p))
	}
	return io.MultiReader(all...), size
}
