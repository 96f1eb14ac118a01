package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"sett/roles/role"
)

// printf prints data, on stdout. What could not be written, the command ends with.
func (a *app) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(a.Stdout, format, args...); err != nil && a.lost != nil {
		a.lost.CompareAndSwap(nil, &err)
	}
}

// unprinted is the error of what printf could not write, as on a full disk.
func (a *app) unprinted() error {
	if err := a.lost.Load(); err != nil {
		return fmt.Errorf("print: %w", *err)
	}
	return nil
}

// sayf talks, on stderr, which --quiet silences.
func (a *app) sayf(format string, args ...any) { _, _ = fmt.Fprintf(a.Stderr, format, args...) }

// style is how a text looks on a terminal.
type style string

// The styles: what they are for, not what they look like.
const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	good   style = "32"
	warn   style = "33"
	bad    style = "31"
	accent style = "36"
)

// paint returns s in a style for stdout, or as it is where there is no colour. s
// must be clean.
func (a *app) paint(s string, as style) string {
	if !a.colour || as == plain || s == "" {
		return s
	}
	return "\x1b[" + string(as) + "m" + s + "\x1b[0m"
}

// What --color takes.
const (
	colourAlways = "always"
	colourNever  = "never"
)

// coloured says whether what is written to w may be coloured: as --color says; else
// a terminal that is not dumb, unless somebody said NO_COLOR.
func coloured(e role.Env, choice string, w io.Writer) bool {
	switch choice {
	case colourAlways:
		return true
	case colourNever:
		return false
	}
	return e.Getenv("NO_COLOR") == "" && e.Getenv("TERM") != "dumb" && role.IsTerminal(w)
}

// clean makes a text safe to show within a line (see role.Clean).
func clean(s string) string { return role.Clean(s) }

// cleanText is clean for texts of several lines: line feeds and tabs stay.
func cleanText(s string) string { return role.CleanText(s) }

func harmful(r rune) bool { return role.Harmful(r) }

// shorten cuts s to at most n characters, with an ellipsis for the rest.
func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return strings.TrimRight(string(r[:max(n-1, 0)]), " ") + "…"
}

// age says roughly how long something has been: 12s, 3m, 2h, 5d. Nothing for
// less than nothing, as clocks may differ.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(d, 0)/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// span says how long something took: 85ms, 1.2s, 3m4s.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", max(d, 0).Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// clock shows a time of day in the user's zone, with the date unless it is today's.
func (a *app) clock(t time.Time) string {
	t, now := t.Local(), a.Now().Local()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04:05.000")
	}
	return t.Format("2006-01-02 15:04:05.000")
}

// parseSince reads what --since takes: a duration before now (10m, 2h), a time
// (RFC 3339), a date and time or a time of today. Empty is the zero time.
func (a *app) parseSince(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(s); err == nil {
		return a.Now().Add(-d), nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	for _, layout := range []string{time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	today := a.Now().Local().Format(time.DateOnly)
	for _, layout := range []string{time.DateTime, "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, today+" "+s, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, role.Fail(role.Usage, fmt.Errorf("--since: cannot read %q", clean(s)),
		"a duration such as 10m or 2h, or a time such as 15:04 or 2006-01-02T15:04:05Z")
}

// confirm asks a question on the terminal and says whether the answer is yes.
// Without a terminal nobody can be asked: that is an error which names the flag
// that answers beforehand.
func (a *app) confirm(question, flag string) (bool, error) {
	nobody := role.Fail(role.Usage, errors.New("nobody here to confirm it"), "add %s", flag)
	if !role.IsTerminal(a.Stdin) {
		return false, nobody
	}
	_, _ = fmt.Fprintf(a.prompt, "%s [y/N] ", question) // also where --quiet silences all else
	line, err := bufio.NewReader(a.Stdin).ReadString('\n')
	if errors.Is(err, io.EOF) && line == "" {
		_, _ = fmt.Fprintln(a.prompt)
		return false, nobody
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read answer: %w", err)
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}
