package cub

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"sett/blackboard"
)

// mostEscaped is how much of a Failure's JSON each of a tool's outputs may take. No
// text takes more; what was never text can take six times its size, and with it
// the memory that a small container has.
const mostEscaped = 2 * blackboard.MaxCapture

// encodeReport is json.Marshal of a report with a tool's outputs. Those may be large
// and the container small, so that they are held here once more and no oftener.
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

// escaper knows how the ASCII characters are written that do not stand for
// themselves in a JSON string.
type escaper [utf8.RuneSelf]string

func newEscaper() *escaper {
	e := &escaper{'"': `\"`, '\\': `\\`}
	for c := range ' ' {
		e[c] = fmt.Sprintf(`\u%04x`, c)
	}
	e['\n'], e['\r'], e['\t'] = `\n`, `\r`, `\t`
	return e
}

// escape takes text apart into what stands for itself and, each time, what follows
// escaped. What is not UTF-8 becomes U+FFFD. It ends where there would be more than
// mostEscaped, or whoever reads it would read more than blackboard.MaxCapture.
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
