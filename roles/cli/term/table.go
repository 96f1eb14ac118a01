package term

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"sett/roles/role"
)

// Table shows rows under headings. Its columns are aligned by characters.
type Table struct {
	on   *Terminal
	Rows [][]Cell
}

// Cell is a text and its style.
type Cell struct {
	Text string
	As   Style
}

// Table returns a table with these headings; none: a table without a heading line.
func (t *Terminal) Table(headings ...string) *Table {
	all := &Table{on: t}
	if len(headings) > 0 {
		row := make([]Cell, len(headings))
		for i, h := range headings {
			row[i] = Cell{h, Dim}
		}
		all.Rows = append(all.Rows, row)
	}
	return all
}

// Row adds a row. A value is a cell, or anything that fmt prints; both are made
// safe to show.
func (t *Table) Row(values ...any) {
	row := make([]Cell, len(values))
	for i, v := range values {
		c, ok := v.(Cell)
		if !ok {
			c = Cell{Text: fmt.Sprint(v)}
		}
		c.Text = role.Clean(c.Text)
		row[i] = c
	}
	t.Rows = append(t.Rows, row)
}

// Write prints the table.
func (t *Table) Write(w io.Writer) error {
	var widths []int
	for _, row := range t.Rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.Text))
		}
	}
	var b strings.Builder
	for _, row := range t.Rows {
		for len(row) > 0 && row[len(row)-1].Text == "" {
			row = row[:len(row)-1] // no blanks at the end of a line
		}
		for i, c := range row {
			b.WriteString(t.on.Paint(c.Text, c.As))
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.Text)+2))
			}
		}
		b.WriteString("\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
