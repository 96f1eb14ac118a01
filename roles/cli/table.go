package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table shows rows under headings, aligned by characters.
type table struct {
	a    *app
	rows [][]cell
}

// cell is a text and how it looks.
type cell struct {
	text string
	as   style
}

// table returns a table with these headings; none: a list without.
func (a *app) table(headings ...string) *table {
	t := &table{a: a}
	if len(headings) > 0 {
		row := make([]cell, len(headings))
		for i, h := range headings {
			row[i] = cell{h, dim}
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// row adds a row. A value is a cell, or anything that fmt prints; both are made
// safe to show.
func (t *table) row(values ...any) {
	row := make([]cell, len(values))
	for i, v := range values {
		c, ok := v.(cell)
		if !ok {
			c = cell{text: fmt.Sprint(v)}
		}
		c.text = clean(c.text)
		row[i] = c
	}
	t.rows = append(t.rows, row)
}

// write prints the table.
func (t *table) write(w io.Writer) error {
	var widths []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		for len(row) > 0 && row[len(row)-1].text == "" {
			row = row[:len(row)-1] // no blanks at the end of a line
		}
		for i, c := range row {
			b.WriteString(t.a.paint(c.text, c.as))
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text)+2))
			}
		}
		b.WriteString("\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
