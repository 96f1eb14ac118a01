package cub

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"sett/blackboard"
	"sett/roles/cub/toolrun"
)

// mostEscaped is the most bytes of a Failure's JSON for each output of a tool. Text
// needs less. Binary output could take six times its size in JSON, and so the memory
// of a small container.
const mostEscaped = 2 * blackboard.MaxCapture

// Of an output that takes more, this end is kept, and the beginning that leaves so much room for it
// and for the line between them: in JSON, and decoded. No gap that the runner left is in either part.
const (
	keptEnd     = 32 << 10
	roomEscaped = 8 * keptEnd
	roomDecoded = 4 * keptEnd
)

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
	outs := [2][][]byte{e.fit(stdout, r.StdoutSize), e.fit(stderr, r.StderrSize)}
	size := 0
	count := func(plain []byte, escaped string) { size += len(plain) + len(escaped) }
	e.escape(outs[0], count)
	e.escape(outs[1], count)
	var b strings.Builder
	b.Grow(len(frame) + size)
	add := func(plain []byte, escaped string) {
		b.Write(plain)
		b.WriteString(escaped)
	}
	b.WriteString(before + `"stdout":"`)
	e.escape(outs[0], add)
	b.WriteString(`","stderr":"`)
	e.escape(outs[1], add)
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

// fit returns the parts of an output that its report holds: the whole, or the beginning and the end
// where that would be longer than mostEscaped in JSON, or than blackboard.MaxCapture after decoding.
// Size is that of all that the tool wrote.
func (e *escaper) fit(text []byte, size int64) [][]byte {
	if e.fitting(text, mostEscaped, blackboard.MaxCapture) == len(text) {
		return [][]byte{text}
	}
	end := len(text) - keptEnd
	for n := 0; n < utf8.UTFMax-1 && !utf8.RuneStart(text[end]); n++ {
		end++
	}
	begin := e.fitting(text[:end], mostEscaped-roomEscaped, blackboard.MaxCapture-roomDecoded)
	left := max(size, int64(len(text))) - int64(begin+len(text)-end)
	gap := "\n" + toolrun.Gap(left, "the report would be too long")
	return [][]byte{text[:begin], []byte(gap), text[end:]}
}

// fitting is the length of the longest beginning of a text with at most so many bytes in JSON, and
// so many after decoding.
func (e *escaper) fitting(text []byte, mostWritten, mostRead int) int {
	at, written, read := 0, 0, 0
	for at < len(text) {
		escaped, n := e.next(text[at:])
		written += max(n, len(escaped))
		if text[at] < utf8.RuneSelf {
			read++
		} else {
			read += max(n, len(escaped))
		}
		if written > mostWritten || read > mostRead {
			break
		}
		at += n
	}
	return at
}

// next returns the length of a text's first character, and its escape sequence in JSON; empty: it has none.
// Bytes that are not UTF-8 become U+FFFD.
func (e *escaper) next(text []byte) (escaped string, n int) {
	if c := text[0]; c < utf8.RuneSelf {
		return e[c], 1
	}
	r, n := utf8.DecodeRune(text)
	if r == utf8.RuneError && n == 1 {
		return string(utf8.RuneError), 1
	}
	return "", n
}

// escape splits texts into plain parts, each followed by an escaped character.
func (e *escaper) escape(texts [][]byte, emit func(plain []byte, escaped string)) {
	for _, text := range texts {
		from := 0
		for at := 0; at < len(text); {
			escaped, n := e.next(text[at:])
			if escaped != "" {
				emit(text[from:at], escaped)
				from = at + n
			}
			at += n
		}
		emit(text[from:], "")
	}
}
