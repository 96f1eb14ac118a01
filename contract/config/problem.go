package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Problem is one error of a sett.yml.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`    // from 1
	Column  int    `json:"column"`  // from 1, in characters
	Message string `json:"message"` // one line
	Excerpt string `json:"excerpt"` // the source line and a caret below the column
	Hint    string `json:"hint"`    // the remedy; may be empty
}

// String returns the problem for people: place and message, the excerpt indented
// below, the hint last.
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

// Errors is the error of Parse: all problems in file order, at least one.
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

// latest returns the place further down.
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

	shownLine int    // the number of the shown line
	shownText []rune // its text without secrets; kept because a long line can have many problems
}

func newReporter(file, source string) *reporter {
	return &reporter{file: file, lines: strings.Split(source, "\n")}
}

// add records a problem at a place. A place outside the file is moved into it.
func (r *reporter) add(at position, hint, format string, args ...any) {
	r.problems = append(r.problems, r.problem(at, hint, fmt.Sprintf(format, args...)))
}

func (r *reporter) problem(at position, hint, message string) Problem {
	at.line = min(max(at.line, 1), len(r.lines))
	at.column = max(at.column, 1)
	return Problem{
		File: r.file, Line: at.line, Column: at.column,
		Message: printable(message),
		Excerpt: excerpt(at, r.shown(at.line)),
		Hint:    printable(hint),
	}
}

// err returns the problems in file order, or nil. A problem that an alias brings to
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

// excerptWidth is the most characters of a source line to show.
const excerptWidth = 100

// mask hides passwords of URLs, and values of names of secrets: a faulty file ends up
// in logs and issue trackers, secrets should not. The number of characters stays.
func mask(s string) string {
	hide := func(s string) string { return strings.Repeat("*", utf8.RuneCountInString(s)) }
	s = urlPassword().ReplaceAllStringFunc(s, func(match string) string {
		part := urlPassword().FindStringSubmatch(match)
		return part[1] + hide(part[2]) + "@"
	})
	var b strings.Builder
	done := 0
	for _, m := range settingName().FindAllStringSubmatchIndex(s, -1) {
		name := max(m[2], m[4]) // the group that is not there has -1
		if m[1] < done || !secretName(s[name:max(m[3], m[5])]) {
			continue
		}
		value := settingValue().FindString(s[m[1]:])
		b.WriteString(s[done:m[1]] + hide(value))
		done = m[1] + len(value)
	}
	return b.String() + s[done:]
}

var (
	// urlPassword finds the password of a URL, which may hold an @ itself.
	urlPassword = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(://[^:@/\s]*:)(\S+)@`) })
	// settingName finds a name with a value, and settingValue the value, in any form of
	// YAML, and the name and default of a reference.
	settingName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*):?[-+]|([A-Za-z_][A-Za-z0-9_]*)["']?(?:=|:\s)\s*`)
	})
	settingValue = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^("(?:[^"\\]|\\.)*"?|'[^']*'?|[^,\]}"'\s][^,\]}"']*)`)
	})
)

// shown returns a line without secrets.
func (r *reporter) shown(line int) []rune {
	if r.shownLine != line {
		r.shownLine, r.shownText = line, []rune(printable(mask(r.lines[line-1])))
	}
	return r.shownText
}

// excerpt shows the line with a caret below the column.
func excerpt(at position, runes []rune) string {
	column := min(at.column-1, len(runes))
	first := 0
	if column >= excerptWidth {
		first = column - excerptWidth/2
	}
	shown := string(runes[first:min(first+excerptWidth, len(runes))])
	if first+excerptWidth < len(runes) {
		shown += "…"
	}
	gutter := fmt.Sprintf("%4d | ", at.line)
	blank := strings.Repeat(" ", len(gutter)-2) + "| "
	return strings.TrimRight(gutter+shown, " ") + "\n" +
		blank + strings.Repeat(" ", column-first) + "^"
}

// printable replaces characters that move a terminal's cursor or hide text. The
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

// quote returns s in quotes, shortened for a message.
func quote(s string) string {
	const most = 60
	s = mask(s)
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
