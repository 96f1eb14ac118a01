package gateway

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"testing"

	"sett/contract/model"
)

var seeds = []string{
	`{"model":"a","usage":{"input_tokens":1,"x":"}"},"b":[{"usage":2}]}`, `{"a":"\\\"","model" : "x\\" , "n":1.5e3}`, `{}`, `{"usage":null}`, `{"a":{"model":1}}`,
	`{"model":1,"model":2}`, `{"MODEL":1}`, `{"a":[[],{}],"usage":[1,2]}`, `{"content":"\"usage\":{\"input_tokens\":0}","usage":{"input_tokens":7}}`, ` { "model" : true } `,
}

// FuzzFields: a field of a text that is JSON has the value that encoding/json finds; a
// body with edits has that value instead, and all others as they were.
func FuzzFields(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		at, err := fields(text, "model", "usage")
		if err != nil || !json.Valid(text) {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatalf("%q is an object for us: %v", text, err)
		}
		for _, name := range []string{"model", "usage"} {
			v, ok := at[name]
			if raw, has := want[name]; has != ok || ok && !bytes.Equal(v.in(text), raw) {
				t.Fatalf("%q: %s is %q, want %q", text, name, part(text, at, name), raw)
			}
		}
		v, ok := at["model"]
		if !ok {
			return
		}
		edited := slices.Concat(splice(text, []edit{{v, `"other"`}})...)
		var got map[string]json.RawMessage
		if err := json.Unmarshal(edited, &got); err != nil || string(got["model"]) != `"other"` || len(got) != len(want) {
			t.Fatalf("%q edited is %q: %v", text, edited, err)
		}
	})
}

// FuzzTap: a field that passes by in parts has the value that stands in the whole.
func FuzzTap(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		at, err := fields(text, "usage")
		if err != nil || !json.Valid(text) || size < 1 {
			return
		}
		tap := &tap{field: "usage"}
		for from := 0; from < len(text); from += size {
			tap.write(text[from:min(from+size, len(text))])
		}
		if got, want := bytes.TrimSpace(tap.value), part(text, at, "usage"); !bytes.Equal(got, want) || tap.depth != 0 {
			t.Fatalf("%q in parts of %d: %q, want %q", text, size, got, want)
		}
	})
}

// FuzzEvents: a stream in any parts is the same stream.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("event: a\ndata: {\"delta\":{\"text\":\"x\"}}\n\ndata: [DONE]\r\n\r\nrest"), 3)
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		if size < 1 {
			return
		}
		stream, hold := &events{r: &parts{text, size}}, &seam{mask: newMask(map[string]string{"a": providerKey})}
		var out []byte
		used := &counted{}
		for {
			event, err := stream.next()
			if len(event) > 0 {
				data := eventData(event)
				used.event(model.Chat, data.in(event))
				errorIn(data.in(event))
				for _, e := range hold.add(event, texts(event, data)) {
					out = append(out, e...)
				}
			}
			if err != nil {
				break
			}
		}
		for _, e := range hold.end() {
			out = append(out, e...)
		}
		if len(out) != len(text) || !bytes.Contains(text, []byte("sk-test-")) && !bytes.Equal(out, text) {
			t.Fatalf("%q in parts of %d is %q", text, size, out)
		}
	})
}

// parts reads a text in parts of a size.
type parts struct {
	text []byte
	size int
}

func (p *parts) Read(b []byte) (int, error) {
	if len(p.text) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.text[:min(p.size, len(p.text))])
	p.text = p.text[n:]
	return n, nil
}
