package term

import (
	"errors"
	"os"
	"strings"

	"github.com/rivo/uniseg"
	"golang.org/x/term"

	"sett/roles/role"
)

// Width is the number of columns that a clean text takes on a terminal.
func Width(s string) int { return uniseg.StringWidth(s) }

// Size returns the columns and rows of the terminal that w is, or writes to; zeroes: there is
// none, or it does not say.
func Size(w any) (columns, rows int) {
	if s, ok := w.(interface{ Columns() int }); ok {
		return s.Columns(), 0
	}
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
	if !wider(s, columns) {
		return s
	}
	if columns < 1 {
		return ""
	}
	head, _ := split(s, columns-1)
	return strings.TrimRight(head[:outsideEscape(s, len(head))], " ") + "…"
}

// wider says whether a text takes more columns. It reads no more of the text than it has to.
func wider(s string, columns int) bool {
	_, tail := split(s, columns)
	return tail != ""
}

// Untab puts blanks in the place of tabs, up to the next column that eight divides, as
// terminals do.
func Untab(s string) string {
	before, after, found := strings.Cut(s, "\t")
	if !found {
		return s
	}
	var out strings.Builder
	for found {
		out.WriteString(before + strings.Repeat(" ", 8-Width(before)%8)) // a tab begins at a column that eight divides
		before, after, found = strings.Cut(after, "\t")
	}
	return out.String() + before
}

// Pad fills a text up to a number of columns with blanks.
func Pad(s string, columns int) string {
	return s + strings.Repeat(" ", max(columns-Width(s), 0))
}

// Wrap breaks a clean line into lines of so many columns, between words where it can. It looks
// at each part of the line a few times at most: a line may have a million characters.
func Wrap(s string, columns int) []string {
	columns = max(columns, 1)
	var lines []string
	for wider(s, columns) {
		head, _ := split(s, columns+1)
		at := strings.LastIndexByte(head, ' ')
		if at <= 0 || strings.TrimSpace(head[:at]) == "" {
			head, _ = split(s, columns)
			at = outsideEscape(s, max(len(head), firstCluster(s)))
		}
		lines = append(lines, strings.TrimRight(s[:at], " "))
		s = strings.TrimLeft(s[at:], " ")
	}
	if s == "" && len(lines) > 0 {
		return lines
	}
	return append(lines, s)
}

// Fold breaks each line of a clean text that is wider than the terminal; the rest is indented
// as far as the line, and by more. Lines that are commands stay whole, so that they
// can be copied, and lines of a file with their number. Without a terminal it changes nothing.
func Fold(w any, text, more string) string { return foldBehind(w, "", text, more) }

// foldBehind is Fold for a text whose first line gets a label in front of it. Behind one, no
// line is a command.
func foldBehind(w any, label, text, more string) string {
	columns, _ := Size(w)
	if columns <= 0 {
		return text
	}
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		body := strings.TrimLeft(line, " ")
		head := line[:len(line)-len(body)]
		if columns-len(head)-len(more) < leastColumn || Width(label+line) <= columns || label == "" && (isCommand(body) || isExcerpt(body)) {
			out, label = append(out, line), ""
			continue
		}
		body, command := cutCommand(body)
		first, room := "", columns-Width(label)-len(head)
		if word, _, _ := strings.Cut(body, " "); label == "" || Width(word) <= room {
			first = Wrap(body, room)[0]
		}
		label = ""
		out = append(out, head+first)
		if tail := strings.TrimLeft(body[len(first):], " "); tail != "" {
			for _, rest := range Wrap(tail, columns-len(head)-len(more)) {
				out = append(out, head+more+rest)
			}
		}
		if command != "" {
			out = append(out, strings.Split(Fold(w, head+more+command, ""), "\n")...)
		}
	}
	return strings.Join(out, "\n")
}

// cutCommand cuts the command off that a line ends with, behind a semicolon or colon.
func cutCommand(line string) (text, command string) {
	for _, mark := range []string{"; sett ", ": sett "} {
		if at := strings.LastIndex(line, mark); at > 0 {
			return line[:at+1], line[at+2:]
		}
	}
	return line, ""
}

// isCommand says whether a line is one to be typed, and no sentence that begins with one: a
// sentence has a comma or semicolon outside of quotes.
func isCommand(line string) bool {
	program, _, more := strings.Cut(line, " ")
	quoted := false
	for _, r := range line {
		if r == '"' {
			quoted = !quoted
		}
		if !quoted && (r == ',' || r == ';') {
			return false
		}
	}
	return more && (program == "sett" || program == "git" || program == "cd" || program == "export")
}

// isExcerpt says whether a line shows one of a file, as "12 | text", or marks a place in it.
func isExcerpt(line string) bool {
	number, _, found := strings.Cut(line, "| ")
	return found && strings.Trim(number, "0123456789 ") == ""
}

// Hang lays a clean text out behind a label: on the terminal w it is broken, and its further
// lines are indented as far.
func Hang(w any, label, text string) string {
	columns, _ := Size(w)
	room := columns - Width(label)
	if columns <= 0 || room < leastColumn || Width(text) <= room {
		return label + text
	}
	return label + strings.Join(Wrap(text, room), "\n"+strings.Repeat(" ", Width(label)))
}

// Fitted is an error with lines that have the width of the terminal w, once role.Report has
// printed it there; without a terminal the error as it is.
func Fitted(w any, err error) error {
	columns, _ := Size(w)
	if err == nil || columns <= 0 {
		return err
	}
	var lines []string
	for i, line := range strings.Split(strings.TrimRight(role.CleanText(err.Error()), "\n"), "\n") {
		if i == 0 {
			line = foldBehind(w, role.ErrorLabel, line, "  ")
		} else {
			line = Fold(w, "  "+line, "  ")
			line = line[2:]
		}
		lines = append(lines, strings.ReplaceAll(line, "\n  ", "\n")) // it indents all but the first by two
	}
	var e *role.Error
	next := ""
	if errors.As(err, &e) && e.Hint != "" {
		if next = role.CleanText(e.Hint); !isCommand(next) {
			next = foldBehind(w, role.HintLabel, next, "  ")
		}
	}
	return role.Fail(role.CodeOf(err), fitted{err, strings.Join(lines, "\n")}, "%s", next)
}

// fitted is an error in other lines.
type fitted struct {
	error
	text string
}

func (f fitted) Error() string { return f.text }
func (f fitted) Unwrap() error { return f.error }

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

// outsideEscape moves a break in a clean text before the escape that it would cut, such as
// \x1b, unless nothing would be left in front of it.
func outsideEscape(s string, at int) int {
	const longest = len(`\U0010ffff`)
	from := max(at-longest+1, 0)
	start := from + strings.LastIndexByte(s[from:at], '\\')
	if start < from || start+1 >= len(s) || strings.TrimSpace(s[:start]) == "" {
		return at
	}
	size := map[byte]int{'x': len(`\x1b`), 'u': len(`\u200b`), 'U': longest}[s[start+1]]
	if start+max(size, len(`\r`)) > at {
		return start
	}
	return at
}

func firstCluster(s string) int {
	cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(s, -1)
	return len(cluster)
}
