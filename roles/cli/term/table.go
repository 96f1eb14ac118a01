package term

import (
	"fmt"
	"io"
	"strings"

	"sett/roles/role"
)

// Table shows rows under headings. Its columns are aligned by characters. On a terminal the
// widest columns are cut until a line has the terminal's width; the first one stays whole.
type Table struct {
	on   *Terminal
	Rows [][]Cell
}

// Cell is a text and its style.
type Cell struct {
	Text string
	As   Style
	Path bool // its end says more than its beginning, and stays when it is cut
}

// cut shortens a cell to so many columns.
func (c Cell) cut(columns int) string {
	if !c.Path || Width(c.Text) <= columns {
		return Cut(c.Text, columns)
	}
	for rest := c.Text; rest != ""; {
		_, rest = rest[:firstCluster(rest)], rest[firstCluster(rest):]
		if Width(rest) < columns {
			return "…" + rest
		}
	}
	return Cut(c.Text, columns)
}

// Table returns a table with these headings; none: a table without a heading line.
func (t *Terminal) Table(headings ...string) *Table {
	all := &Table{on: t}
	if len(headings) > 0 {
		row := make([]Cell, len(headings))
		for i, h := range headings {
			row[i] = Cell{Text: h, As: Dim}
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

// leastColumn is the width below which no column is cut.
const leastColumn = 8

// fit narrows the widest columns, but for the first, until all have room side by side.
func fit(widths []int, columns int) {
	total := 2 * (len(widths) - 1)
	for _, n := range widths {
		total += n
	}
	for ; total > columns; total-- {
		widest := 0
		for i := 1; i < len(widths); i++ {
			if widths[i] > leastColumn && (widest == 0 || widths[i] >= widths[widest]) {
				widest = i
			}
		}
		if widest == 0 {
			return
		}
		widths[widest]--
	}
}

// Widths are those of the columns, as wide as their widest cells.
func (t *Table) Widths() (widths []int) {
	for _, row := range t.Rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(c.Text))
		}
	}
	return widths
}

// Write prints the table.
func (t *Table) Write(w io.Writer) error {
	widths := t.Widths()
	if columns, _ := Size(w); columns > 0 {
		fit(widths, columns)
	}
	var b strings.Builder
	for _, row := range t.Rows {
		for len(row) > 0 && row[len(row)-1].Text == "" {
			row = row[:len(row)-1] // no blanks at the end of a line
		}
		for i, c := range row {
			text := c.cut(widths[i])
			b.WriteString(t.on.Paint(text, c.As))
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-Width(text)+2))
			}
		}
		b.WriteString("\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
