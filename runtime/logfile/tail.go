package logfile

import (
	"io"
	"os"
	"strings"
)

// The last words of a unit are at most so many lines and bytes. A stack trace is looked through for its
// beginning, and is no part of them.
const (
	TailLines  = 20
	tailBytes  = 8 << 10
	TraceLines = 4000
	traceBytes = 512 << 10
)

// Tail returns the last words of a text, as UTF-8.
func Tail(text string) string {
	same := func(line string) string { return line }
	text = strings.Join(WithoutTraces(strings.Split(text, "\n"), same), "\n")
	if over := len(text) - tailBytes; over > 0 {
		text = text[over:]
		// It probably begins in the middle of a line.
		if _, rest, ok := strings.Cut(text, "\n"); ok && rest != "" {
			text = rest
		}
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	text = strings.Join(lines[max(0, len(lines)-TailLines):], "\n")
	return strings.ToValidUTF8(text, "\uFFFD")
}

// Tail returns the last words of a unit's log after the offset; empty when they
// cannot be read.
func (d Dir) Tail(name string, offset int64) string {
	f, err := os.Open(d.Path(name))
	if err != nil {
		return ""
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return ""
	}
	if offset > st.Size() {
		offset = 0 // the log was truncated meanwhile
	}
	offset = max(offset, st.Size()-traceBytes)
	text, _ := io.ReadAll(io.NewSectionReader(f, offset, st.Size()-offset))
	return Tail(string(text))
}
