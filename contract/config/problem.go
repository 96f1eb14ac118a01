package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Problem is one thing that is wrong with a sett.yml.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`    // from 1
	Column  int    `json:"column"`  // from 1, in characters
	Message string `json:"message"` // one line
	Excerpt string `json:"excerpt"` // the source line and a caret below the column
	Hint    string `json:"hint"`    // what to do about it; may be empty
}

// String returns the problem as people read it: place and message, the excerpt
// indented below, the hint last.
func (p Problem) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
	for line := range strings.Lines(p.Excerpt) {
		b.WriteString("\n  " + strings.TrimRight(line, "\n"))
	}
	if p.Hint != "" {
		b.WriteString("\n  hint: " + p.Hint)
	}
	return b.String()
}

// Errors is the error Parse returns: everything it found, in file order, at
// least one.
type Errors struct{ Problems []Problem }

// Error returns all problems, one after the other.
func (e *Errors) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.String()
	}
	return strings.Join(texts, "\n")
}

// position is a place in the source: line and column from 1.
type position struct{ line, column int }

// latest returns the place that is further down.
func latest(a, b position) position {
	if a.line > b.line || a.line == b.line && a.column > b.column {
		return a
	}
	return b
}

// reporter collects the problems of one file.
type reporter struct {
	file     string
	lines    []string
	problems []Problem
}

func newReporter(file, source string) *reporter {
	return &reporter{file: file, lines: strings.Split(source, "\n")}
}

// add records a problem at a place, which is moved into the file if it lies
// outside.
func (r *reporter) add(at position, hint, format string, args ...any) {
	at.line = min(max(at.line, 1), len(r.lines))
	at.column = max(at.column, 1)
	p := Problem{
		File: r.file, Line: at.line, Column: at.column,
		Message: printable(fmt.Sprintf(format, args...)),
		Excerpt: excerpt(at, r.lines[at.line-1]),
		Hint:    printable(hint),
	}
	r.problems = append(r.problems, p)
}

// err returns what was collected, in file order, or nil. What an alias brings to
// several places is reported once.
func (r *reporter) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return &Errors{Problems: slices.Compact(r.problems)}
}

// excerptWidth is how many characters of a long source line are shown.
const excerptWidth = 100

// urlPassword finds the password of a URL.
var urlPassword = regexp.MustCompile(`(://[^:@/\s]*:)([^@\s]+)@`)

// mask hides passwords of URLs. A file with a fault in it ends up in logs and
// issue trackers; they should not. The number of characters stays.
func mask(s string) string {
	return urlPassword.ReplaceAllStringFunc(s, func(match string) string {
		part := urlPassword.FindStringSubmatch(match)
		return part[1] + strings.Repeat("*", utf8.RuneCountInString(part[2])) + "@"
	})
}

// excerpt shows the line with a caret below the column.
func excerpt(at position, line string) string {
	runes := []rune(printable(mask(line)))
	column := min(at.column-1, len(runes))
	first := 0
	if column >= excerptWidth {
		first = column - excerptWidth/2
	}
	shown := string(runes[first:])
	if utf8.RuneCountInString(shown) > excerptWidth {
		shown = string([]rune(shown)[:excerptWidth]) + "…"
	}
	gutter := fmt.Sprintf("%4d | ", at.line)
	blank := strings.Repeat(" ", len(gutter)-2) + "| "
	return strings.TrimRight(gutter+shown, " ") + "\n" +
		blank + strings.Repeat(" ", column-first) + "^"
}

// printable replaces what could move a terminal's cursor or hide text. The
// number of characters stays.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == '\u2028', r == '\u2029':
			return '\uFFFD'
		}
		return r
	}, s)
}

// quote returns s in quotes, shortened to what fits into a message.
func quote(s string) string {
	const most = 60
	s = mask(s)
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
