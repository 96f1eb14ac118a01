package live

import (
	"strings"

	"sett/roles/cli/term"
)

// Row is a line about an event, in its columns. All texts are clean.
type Row struct {
	Clock, Goal, Kind, Who, What string // an empty Goal has no column
	KindAs, WhatAs               term.Style
}

const (
	kindWidth = 9
	goalWidth = 8
	narrow    = 60 // columns: below, a row has no time, and one blank between its columns
	leastText = 24 // columns that the text has beside the others
)

// Lines breaks a row into lines of so many columns. All but the first are indented as far
// as the text, or a little on a narrow terminal.
func (r Row) Lines(columns, who int, paint func(string, term.Style) string) []string {
	head, painted := term.Pad(r.Kind, kindWidth)+"  "+term.Pad(r.Who, who)+"  ", ""
	painted = paint(term.Pad(r.Kind, kindWidth), r.KindAs) + head[kindWidth:]
	if len(r.Kind) > kindWidth {
		painted = paint(r.Kind, r.KindAs) + head[len(r.Kind):]
	}
	if r.Goal != "" {
		head, painted = term.Pad(r.Goal, goalWidth)+"  "+head, term.Pad(r.Goal, goalWidth)+"  "+painted
	}
	head, painted = r.Clock+"  "+head, paint(r.Clock, term.Dim)+"  "+painted
	indent := term.Width(head)
	if columns < narrow || columns-indent < leastText {
		head, painted, indent = r.Kind+" "+r.Who+"  ", paint(r.Kind, r.KindAs)+" "+r.Who+"  ", 2
	}
	first, rest := hang(r.What, columns-term.Width(head), columns-indent)
	lines := []string{strings.TrimRight(painted+paint(first, r.WhatAs), " ")}
	for _, line := range rest {
		lines = append(lines, strings.Repeat(" ", indent)+paint(line, r.WhatAs))
	}
	return lines
}

// hang breaks a text into a first line and others of another width.
func hang(text string, first, others int) (head string, rest []string) {
	if first < 1 {
		return "", term.Wrap(text, others)
	}
	head = term.Wrap(text, first)[0]
	tail := strings.TrimLeft(text[len(head):], " ")
	if tail == "" {
		return head, nil
	}
	return head, term.Wrap(tail, others)
}
