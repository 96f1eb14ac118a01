package cub

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"sett/blackboard"
)

// mostEscaped is the most bytes of a Failure's JSON for each output of a tool. Text
// needs less. Binary output could take six times its size in JSON, and so the memory
// of a small container.
const mostEscaped = 2 * blackboard.MaxCapture

// encodeReport is json.Marshal of a report with a tool's outputs. The outputs may be
// large and the container small, so it holds only one copy of them.
func encodeReport(r blackboard.FailureReport, stdout, stderr []byte) (string, error) {
	r.Stdout, r.Stderr = "", ""
	frame, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	before, after, _ := strings.Cut(string(frame), `"stdout":"","stderr":""`)
	e := newEscaper()
	size := 0
	count := func(plain []byte, escaped string) { size += len(plain) + len(escaped) }
	e.escape(stdout, count)
	e.escape(stderr, count)
	var b strings.Builder
	b.Grow(len(frame) + size)
	add := func(plain []byte, escaped string) {
		b.Write(plain)
		b.WriteString(escaped)
	}
	b.WriteString(before + `"stdout":"`)
	e.escape(stdout, add)
	b.WriteString(`","stderr":"`)
	e.escape(stderr, add)
	b.WriteString(`"` + after)
	return b.String(), nil
}

// escaper has the escape sequences of ASCII characters in a JSON string.
type escaper [utf8.RuneSelf]string

func newEscaper() *escaper {
	e := &escaper{'"': `\"`, '\\': `\\`}
	for c := range ' ' {
		e[c] = fmt.Sprintf(`\u%04x`, c)
	}
	e['\n'], e['\r'], e['\t'] = `\n`, `\r`, `\t`
	return e
}

// escape splits text into plain parts, each followed by an escaped character. Bytes
// that are not UTF-8 become U+FFFD. It ends before the result is longer than
// mostEscaped, or longer than blackboard.MaxCapture after decoding.
func (e *escaper) escape(text []byte, emit func(plain []byte, escaped string)) {
	from, at, written, read := 0, 0, 0, 0
	for at < len(text) {
		escaped, n := "", 1
		if c := text[at]; c < utf8.RuneSelf {
			escaped = e[c]
			read++
		} else {
			var r rune
			if r, n = utf8.DecodeRune(text[at:]); r == utf8.RuneError && n == 1 {
				escaped = string(utf8.RuneError)
			}
			read += max(n, len(escaped))
		}
		written += max(n, len(escaped))
		if written > mostEscaped || read > blackboard.MaxCapture {
			break
		}
		if escaped != "" {
			emit(text[from:at], escaped)
			from = at + n
		}
		at += n
	}
	emit(text[from:at], "")
}
