package term

import (
	"os"
	"strings"

	"github.com/rivo/uniseg"
	"golang.org/x/term"

	"sett/roles/role"
)

// Width is the number of columns that a clean text takes on a terminal.
func Width(s string) int { return uniseg.StringWidth(s) }

// Size returns the columns and rows of the terminal that w is; zeroes: it is none, or
// does not say.
func Size(w any) (columns, rows int) {
	f, ok := w.(*os.File)
	if !ok || !role.IsTerminal(f) {
		return 0, 0
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

// Cut shortens a clean text to a number of columns. A text that was cut ends with an
// ellipsis.
func Cut(s string, columns int) string {
	if Width(s) <= columns {
		return s
	}
	if columns < 1 {
		return ""
	}
	head, _ := split(s, columns-1)
	return strings.TrimRight(head, " ") + "…"
}

// Pad fills a text up to a number of columns with blanks.
func Pad(s string, columns int) string {
	return s + strings.Repeat(" ", max(columns-Width(s), 0))
}

// Wrap breaks a clean line into lines of so many columns, between words where it can.
func Wrap(s string, columns int) []string {
	columns = max(columns, 1)
	var lines []string
	for Width(s) > columns {
		head, _ := split(s, columns+1)
		at := strings.LastIndexByte(head, ' ')
		if at <= 0 || strings.TrimSpace(head[:at]) == "" {
			head, _ = split(s, columns)
			at = max(len(head), firstCluster(s))
		}
		lines = append(lines, strings.TrimRight(s[:at], " "))
		s = strings.TrimLeft(s[at:], " ")
	}
	if s == "" && len(lines) > 0 {
		return lines
	}
	return append(lines, s)
}

// Fold breaks each line of a clean text that is wider than the terminal; what goes on is
// indented as far as the line, and by more. Without a terminal it changes nothing.
func Fold(w any, text, more string) string {
	columns, _ := Size(w)
	if columns <= 0 {
		return text
	}
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		body := strings.TrimLeft(line, " ")
		head := line[:len(line)-len(body)]
		if columns-len(head)-len(more) < leastColumn || Width(line) <= columns {
			out = append(out, line)
			continue
		}
		first := Wrap(body, columns-len(head))[0]
		out = append(out, head+first)
		for _, rest := range Wrap(strings.TrimLeft(body[len(first):], " "), columns-len(head)-len(more)) {
			out = append(out, head+more+rest)
		}
	}
	return strings.Join(out, "\n")
}

// split cuts a text behind as many columns, between characters as people see them.
func split(s string, columns int) (head, tail string) {
	at, state := 0, -1
	for rest := s; rest != ""; {
		var cluster string
		var width int
		cluster, rest, width, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if columns -= width; columns < 0 {
			break
		}
		at += len(cluster)
	}
	return s[:at], s[at:]
}

func firstCluster(s string) int {
	cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(s, -1)
	return len(cluster)
}
