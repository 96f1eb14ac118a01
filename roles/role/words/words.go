package words

import (
	"fmt"
	"strconv"
	"strings"

	"sett/blackboard"
	"sett/roles/role"
)

// FirstLine is the gist of an error.
func FirstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return role.Clean(line)
}

// maxQuote is the length of a quotation within a line, in characters.
const maxQuote = 120

// Quote is the beginning of a text as part of a line: its first line that is not
// empty, shortened.
func Quote(s string) string { return Line(s, maxQuote) }

// Line is the first line of a text that is not empty, with at most so many characters.
func Line(s string, most int) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			return Shorten(role.Clean(line[:min(len(line), 4*most+4)]), most)
		}
	}
	return ""
}

// Short is the ending of an id, safe to show: an imported record may have anything in
// the place of one.
func Short(id string) string { return role.Clean(blackboard.ShortID(id)) }

// Land is the command, without the program's name, that lands the result of a goal by hand on the branch that
// it waits for. Without --onto it would land on the current branch, and the goal would go on waiting.
func Land(id, branch string) string {
	if branch == "" {
		return "land " + id
	}
	return "land " + id + " --onto " + role.ShellWord(role.Clean(branch))
}

// Listed is a list as the ledger writes it, for people.
func Listed(list string) string { return strings.ReplaceAll(list, ",", ", ") }

// Because is a reason as the end of a line; empty without one.
func Because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + Shorten(reason, maxQuote)
}

// Count says how many: "1 agent", "2 agents", or in other words where many are not
// called as one is with an s.
func Count(n int, one string, many ...string) string {
	switch {
	case n == 1:
		return "1 " + one
	case len(many) > 0:
		return strconv.Itoa(n) + " " + many[0]
	}
	return strconv.Itoa(n) + " " + one + "s"
}

// Commit shortens the hash of a commit.
func Commit(hash string) string { return hash[:min(len(hash), 10)] }

// Shorten cuts s to at most n characters, with an ellipsis for the rest.
func Shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return strings.TrimRight(string(r[:max(n-1, 0)]), " ") + "…"
}

// Shorts shortens ids.
func Shorts(ids []string) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = Short(id)
	}
	return out
}

// Indent puts a prefix before every line of a text.
func Indent(s, by string) string {
	return by + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n"+by)
}

// Size says roughly how many bytes there are: 12 B, 3.4 kB, 10.5 MB, 2.0 GB.
func Size(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000*1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1000*1000*1000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
