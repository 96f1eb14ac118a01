package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// YAML returns a value as a YAML document, with the names and the order of
// encoding/json. Values may hold anything: it escapes characters that a terminal
// would obey, or a parser of YAML would change.
func YAML(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode YAML: %w", err)
	}
	w := yamlWriter{in: json.NewDecoder(&b)}
	w.in.UseNumber()
	if err := w.value(0, false); err != nil {
		return nil, fmt.Errorf("encode YAML: %w", err)
	}
	return w.out.Bytes(), nil
}

// yamlWriter turns the tokens of a JSON document into YAML.
type yamlWriter struct {
	in  *json.Decoder
	out bytes.Buffer
}

// value writes the next value after a key or a dash, and ends its line. A longer value
// gets lines of its own, indented by indent spaces; inline says that the first line
// has begun already.
func (w *yamlWriter) value(indent int, inline bool) error {
	t, err := w.in.Token()
	if err != nil {
		return err
	}
	switch t := t.(type) {
	case json.Delim:
		return w.collection(t, indent, inline)
	case string:
		w.space(indent, inline)
		w.text(t, indent)
	default:
		w.space(indent, inline)
		if t == nil {
			t = "null"
		}
		fmt.Fprintf(&w.out, "%v\n", t)
	}
	return nil
}

// space separates a value on the line from the text before it.
func (w *yamlWriter) space(indent int, inline bool) {
	if indent > 0 && !inline {
		w.out.WriteByte(' ')
	}
}

// collection writes an object or a list after its opening.
func (w *yamlWriter) collection(open json.Delim, indent int, inline bool) error {
	empty := !w.in.More()
	if empty {
		w.space(indent, inline)
		w.out.WriteString(map[json.Delim]string{'{': "{}\n", '[': "[]\n"}[open])
	} else if indent > 0 && !inline {
		w.out.WriteByte('\n')
	}
	for first := true; w.in.More(); first = false {
		if !first || !inline {
			w.out.WriteString(strings.Repeat(" ", indent))
		}
		if open == '[' {
			w.out.WriteString("- ")
			if err := w.value(indent+2, true); err != nil {
				return err
			}
			continue
		}
		key, err := w.in.Token()
		if err != nil {
			return err
		}
		w.out.WriteString(scalar(key.(string)) + ":")
		if err := w.value(indent+2, false); err != nil {
			return err
		}
	}
	_, err := w.in.Token() // its end
	return err
}

// text writes a string, as a block when its lines need no escapes.
func (w *yamlWriter) text(s string, indent int) {
	body, ends := strings.CutSuffix(s, "\n")
	if !isBlock(body) {
		w.out.WriteString(scalar(s) + "\n")
		return
	}
	w.out.WriteString(map[bool]string{true: "|\n", false: "|-\n"}[ends])
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" {
			w.out.WriteString(strings.Repeat(" ", max(indent, 2)) + line)
		}
		w.out.WriteByte('\n')
	}
}

// isBlock says whether a text of several lines can be a block.
func isBlock(s string) bool {
	if !strings.Contains(s, "\n") || strings.ContainsAny(s[:1], " \n") || strings.HasSuffix(s, "\n") {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return r != '\n' && (!unicode.IsPrint(r) || r == unicode.ReplacementChar) }) < 0 &&
		!strings.Contains(s+"\n", " \n")
}

// bare are the strings without quotes: words with no other meaning in YAML.
var bare = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./@+-]*( [A-Za-z0-9_./@+(),-]+)*$`)
})

// reserved are words with another meaning in YAML, or in its older version.
var reserved = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// scalar returns a string for one line: unchanged, else as JSON, which is YAML too,
// without unprintable characters.
func scalar(s string) string {
	if bare().MatchString(s) && !slices.Contains(reserved, strings.ToLower(s)) {
		return s
	}
	b := append(make([]byte, 0, len(s)+2), '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r >= ' ' && r < 0x7f:
			b = append(b, byte(r))
		case unicode.IsPrint(r):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			b = fmt.Appendf(b, `\U%08x`, r)
		default:
			const hex = "0123456789abcdef"
			b = append(b, '\\', 'u', hex[r>>12], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		}
	}
	return string(append(b, '"'))
}
