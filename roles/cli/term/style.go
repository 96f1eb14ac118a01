package term

import (
	"io"

	"sett/roles/role"
	"sett/roles/view"
)

// Style is the look of a text on a terminal.
type Style string

// The styles, named for their purpose instead of their look.
const (
	Plain  Style = ""
	Bold   Style = "1"
	Dim    Style = "2"
	Good   Style = "32"
	Warn   Style = "33"
	Bad    Style = "31"
	Accent Style = "36"
)

// hues tell agents apart. None of them means that something is wrong.
var hues = []Style{"36", "32", "35", "34", "33", "96", "92", "95", "94", "93"}

// Hue is the colour of the n-th of several.
func Hue(n int) Style { return hues[max(n, 0)%len(hues)] }

// Paint returns s in a style for stdout, or unchanged without colour. s must be clean.
func (t *Terminal) Paint(s string, as Style) string {
	if !t.Colour || as == Plain || s == "" {
		return s
	}
	return "\x1b[" + string(as) + "m" + s + "\x1b[0m"
}

// The values of --color, without auto.
const (
	colourAlways = "always"
	colourNever  = "never"
)

// Coloured says whether output to w is coloured: as --color says, else never with NO_COLOR,
// else with FORCE_COLOR (but for 0 and false), else if w is a terminal that is not dumb.
func Coloured(e role.Env, choice string, w io.Writer) bool {
	switch choice {
	case colourAlways:
		return true
	case colourNever:
		return false
	}
	if e.Getenv("NO_COLOR") != "" {
		return false
	}
	switch e.Getenv("FORCE_COLOR") {
	case "", "0", "false":
		return e.Getenv("TERM") != "dumb" && role.IsTerminal(w)
	}
	return true
}

// Of returns the style of a tone.
func Of(t view.Tone) Style {
	switch t {
	case view.Quiet:
		return Dim
	case view.Good:
		return Good
	case view.Warn:
		return Warn
	case view.Bad:
		return Bad
	}
	return Plain
}
