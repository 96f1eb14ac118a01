package term

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	proseWidth = 80 // the widest line of help, in columns
	nameWidth  = 24 // the widest name that its description stands beside
)

// Definitions is a table of names and their descriptions, which are wrapped in a column of their own.
type Definitions [][2]string

// String lays the table out. The description of a long name begins on the next line.
func (t Definitions) String() string {
	at := 0
	for _, row := range t {
		if n := utf8.RuneCountInString(row[0]); n <= nameWidth {
			at = max(at, n)
		}
	}
	var out strings.Builder
	for _, row := range t {
		gap := at - utf8.RuneCountInString(row[0])
		if gap < 0 {
			fmt.Fprintf(&out, "%s\n", row[0])
			row[0], gap = "", at
		}
		out.WriteString(wrap(row[0]+strings.Repeat(" ", gap+2), row[1]))
	}
	return out.String()
}

// Fill fills the paragraphs of a text. Indented lines, and those with columns, stand on
// their own, as in the manual; a wide one is wrapped at its last column.
func Fill(text string) string {
	var out strings.Builder
	var paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			out.WriteString(wrap("", strings.Join(paragraph, " ")))
			paragraph = nil
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		body := strings.TrimLeft(line, " ")
		switch column := strings.LastIndex(body, "  "); {
		case line == "":
			flush()
			out.WriteByte('\n')
		case body == line && column < 0:
			paragraph = append(paragraph, line)
		default:
			flush()
			head := len(line) - len(body)
			if column >= 0 {
				head += column + 2
			}
			out.WriteString(wrap(line[:head], line[head:]))
		}
	}
	flush()
	return out.String()
}

// wrap breaks a text into lines behind a head; all but the first are indented by as much.
func wrap(head, text string) string {
	var out strings.Builder
	indent := utf8.RuneCountInString(head)
	line, width := head, indent
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		if i > 0 && width+1+n > proseWidth {
			out.WriteString(line + "\n")
			line, width = strings.Repeat(" ", indent), indent
		} else if i > 0 {
			line, width = line+" ", width+1
		}
		line, width = line+word, width+n
	}
	out.WriteString(strings.TrimRight(line, " ") + "\n")
	return out.String()
}
