package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	line "sett/roles/role/gateway"
)

// replay answers from the recording.
func (c *call) replay() (*got, int, *line.Refusal) {
	answer, number, err := c.up.replay.get(c.id, c.key)
	if err != nil {
		why := refusal(line.Replay, "model %s: read the recording: %v", c.up.Name, err)
		return nil, http.StatusConflict, &why
	}
	if answer == nil {
		why := refusal(line.Replay, "model %s: %s", c.up.Name, c.unknownRequest(number))
		return nil, http.StatusConflict, &why
	}
	c.answered = answer.Status < 300
	return answer.got(), 0, nil
}

// unknownRequest says how a request differs from the recorded one that is most like it.
func (c *call) unknownRequest(number int) string {
	all, err := c.up.replay.all(c.q.path)
	switch {
	case err != nil:
		return "read the recording: " + err.Error()
	case len(all) == 0:
		return "the recording has no request to " + c.q.path
	}
	asked := pretty(c.canonical)
	best, score := []string(nil), -1
	for _, t := range all {
		lines := pretty(t.Request)
		before, after := common(lines, asked)
		if before == len(lines) && before == len(asked) {
			return fmt.Sprintf("the recording has %d answers to this request of a grant, and this is number %d", number, number+1)
		}
		if n := (before+after)<<10 + min(alike(lines, asked, before), 1<<10-1); n > score {
			best, score = lines, n
		}
	}
	return "the recording does not have this request; the nearest one differs (- recorded, + asked)\n" + strings.TrimSuffix(difference(best, asked), "\n")
}

// pretty are the lines of a JSON text.
func pretty(text []byte) []string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", " ") != nil {
		return strings.Split(string(text), "\n")
	}
	return strings.Split(b.String(), "\n")
}

// common counts the equal lines at the beginning and at the end.
func common(a, b []string) (before, after int) {
	most := min(len(a), len(b))
	for before < most && a[before] == b[before] {
		before++
	}
	for after < most-before && a[len(a)-1-after] == b[len(b)-1-after] {
		after++
	}
	return before, after
}

// alike counts the equal bytes at the beginning of the first lines that differ.
func alike(a, b []string, line int) int {
	n := 0
	if line < len(a) && line < len(b) {
		for n < len(a[line]) && n < len(b[line]) && a[line][n] == b[line][n] {
			n++
		}
	}
	return n
}

// mostShown bounds the lines of each side of a difference.
const mostShown = 4

// difference shows the lines that differ, and of long ones the part around the first
// character that does.
func difference(recorded, asked []string) string {
	before, after := common(recorded, asked)
	a, b := recorded[before:len(recorded)-after], asked[before:len(asked)-after]
	at := alike(a, b, 0)
	var text strings.Builder
	side := func(mark string, lines []string) {
		for i, l := range lines {
			if i == mostShown {
				_, _ = fmt.Fprintf(&text, "%s … and %d lines more\n", mark, len(lines)-i)
				return
			}
			from := 0
			if i == 0 {
				from = at
			}
			_, _ = fmt.Fprintf(&text, "%s %s\n", mark, around(strings.TrimSpace(l), from))
		}
	}
	side("-", a)
	side("+", b)
	return text.String()
}

// around is the part of a line near a byte.
func around(text string, at int) string {
	const left, right = 60, 120
	from, to := max(0, at-left), min(len(text), at+right)
	from, to = min(from, len(text)), max(to, min(from, len(text)))
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	shown := text[from:to]
	if from > 0 {
		shown = "…" + shown
	}
	if to < len(text) {
		shown += "…"
	}
	return shown
}
