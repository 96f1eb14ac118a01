package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"unicode"
)

// counted are the words that a sentence should do without.
var counted = []string{"what", "who", "whom", "whose", "whatever", "whoever"}

// tally counts words of comment, and the counted ones among them.
type tally struct{ hits, words int }

func (t tally) plus(o tally) tally { return tally{t.hits + o.hits, t.words + o.words} }

// rate returns the counted words per 1,000.
func (t tally) rate() float64 { return 1000 * float64(t.hits) / float64(max(t.words, 1)) }

// file is a counted file with its lines that have one of the words.
type file struct {
	name string
	tally
	lines []line
}

// line is a line of comment.
type line struct {
	number int
	text   string
}

// count tallies the lines of comment of a file.
func count(name string, comments []line) file {
	f := file{name: name}
	for _, l := range comments {
		hits := 0
		for word := range strings.FieldsFuncSeq(l.text, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '’' }) {
			word = strings.ToLower(word)
			word = strings.TrimSuffix(strings.TrimSuffix(word, "'s"), "’s")
			f.words++
			if slices.Contains(counted, word) {
				hits++
			}
		}
		if f.hits += hits; hits > 0 {
			f.lines = append(f.lines, l)
		}
	}
	return f
}

// commentLines returns the lines of comment of a Go or Lua file, without
// directives.
func commentLines(name, text string) ([]line, error) {
	if path.Ext(name) == ".lua" {
		return luaComments(text), nil
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", name, err)
	}
	var lines []line
	for _, group := range f.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:") || strings.HasPrefix(c.Text, "//nolint") {
				continue
			}
			at := fset.Position(c.Pos()).Line
			for l := range strings.Lines(c.Text) {
				lines = append(lines, line{at, strings.TrimSpace(l)})
				at++
			}
		}
	}
	return lines, nil
}

// luaComments returns the text after -- on each line, outside quotes. Long comments
// count line by line, from --[[ to ]].
func luaComments(text string) []line {
	var lines []line
	long := false
	for i, l := range strings.Split(text, "\n") {
		comment := ""
		switch at := luaComment(l); {
		case long:
			comment = l
		case at >= 0:
			comment = l[at:]
			long = strings.HasPrefix(comment, "--[[")
		}
		if long && strings.Contains(l, "]]") {
			long = false
		}
		if comment != "" {
			lines = append(lines, line{i + 1, strings.TrimSpace(comment)})
		}
	}
	return lines
}

// luaComment returns the place of the -- that begins a comment, or -1.
func luaComment(l string) int {
	quote := byte(0)
	for i := 0; i < len(l); i++ {
		switch c := l[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && strings.HasPrefix(l[i:], "--"):
			return i
		}
	}
	return -1
}
