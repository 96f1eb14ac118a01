package ttytest

import "bytes"

// Paper is a terminal of so many columns that is only written to. It keeps the text as it
// comes.
type Paper struct {
	bytes.Buffer
	Wide int
}

// Columns is the width.
func (p *Paper) Columns() int { return p.Wide }
