package config

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/goccy/go-yaml"
)

func TestYAML(t *testing.T) {
	out, err := YAML(struct {
		Name  string          `json:"name"`
		Empty []string        `json:"empty"`
		None  map[string]any  `json:"none"`
		Lists [][]int         `json:"lists"`
		Rows  []any           `json:"rows"`
		Text  string          `json:"text"`
		Open  string          `json:"open"`
		Raw   json.RawMessage `json:"raw"`
	}{"a word", []string{}, map[string]any{}, [][]int{{1, 2}, {}}, []any{map[string]any{"a": 1, "b": nil}, "yes", 1.5}, "one\n\ntwo\n", "one\ntwo",
		json.RawMessage(`{"n":12345678901234567890,"on":"01"}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := `name: a word
empty: []
none: {}
lists:
  - - 1
    - 2
  - []
rows:
  - a: 1
    b: null
  - "yes"
  - 1.5
text: |
  one

  two
open: |-
  one
  two
raw:
  "n": 12345678901234567890
  "on": "01"
`
	if string(out) != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
	for value, want := range map[any]string{"x": "x\n", 1: "1\n", true: "true\n", "a\nb": "|-\n  a\n  b\n"} {
		if out, err := YAML(value); err != nil || string(out) != want {
			t.Errorf("%v: %q, %v", value, out, err)
		}
	}
}

// FuzzYAML: any text, as a key and as a value, alone and within lists, reads back
// as it was, and there is nothing in it that a terminal obeys.
func FuzzYAML(f *testing.F) {
	for _, s := range []string{
		"", "\n", "\n\n", " x", "x ", "x\n ", "a\nb", "a\n\n", "\ta\nb", "a \nb", "- a", "a: b", "a #b", "#", "|", "null", "~", "1", "1e3", "0x1", ".inf",
		"2026-01-02", "\x1b[2J\u009b\u202e\ufeff\u2028\u0085\x00\x7f\r\n", "\U000e0041\U0001f600", `"\`, "'", "---", "...", "a\n---\nb", "<<", "=", "%", "@x", "!x", "&x", "*x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "\ufffd")
		in := map[string]any{"k" + s: s, "list": []any{s, []any{s}, map[string]any{"in": s, "after": "x"}}, "text": s + "\n" + s}
		out, err := YAML(in)
		if err != nil {
			t.Fatal(err)
		}
		if i := strings.IndexFunc(string(out), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
			t.Fatalf("%q", out[i:])
		}
		var back map[string]any
		if err := yaml.Unmarshal(out, &back); err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		if !reflect.DeepEqual(back, in) {
			t.Fatalf("%q becomes %q\n%s", in, back, out)
		}
	})
}
