// Package logline reads the logs of an instance's units line by line, and formats a line
// for people. sett logs prints such lines, and sett up the last lines of a part that
// fails.
package logline

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"

	"sett/blackboard"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/runtime"
)

// Source is one unit's log.
type Source struct {
	Unit, Part string
	Claim      string // of a worker
	Over       bool   // the unit has ended: its log does not grow
}

// The attributes that About compares with an id.
const (
	Claim    = "claim"
	Workflow = "workflow"
)

// Line is one line of a log.
type Line struct {
	Source Source
	Text   string // as the unit wrote it
	Time   time.Time
	Level  string // empty: neither sett nor Redis wrote it
	Msg    string
	Attrs  []Attribute
}

// Attribute is one attribute of a line. A value that is not a string stays JSON.
type Attribute struct {
	Key, Value string
	Quoted     bool // the value is a string
}

// redisLine matches a line of Redis: process and role, time, importance, message.
var redisLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\d+:[A-Z] (\d\d \w{3} \d{4} \d\d:\d\d:\d\d\.\d{3}) ([.*#-]) (.*)$`)
})

// parseRedis reads a line of Redis. Its time is UTC, as in a container.
func parseRedis(text string) (Line, bool) {
	m := redisLine().FindStringSubmatch(text)
	if m == nil {
		return Line{}, false
	}
	at, err := time.Parse("02 Jan 2006 15:04:05.000", m[1])
	if err != nil {
		return Line{}, false
	}
	level := map[string]string{"#": "WARN", "*": "INFO"}[m[2]]
	if level == "" {
		level = "DEBUG"
	}
	return Line{Text: text, Time: at, Level: level, Msg: m[3]}, true
}

// Parse reads a line that slog wrote in JSON, or that Redis wrote. Any other line stays
// plain text.
func Parse(text string) Line {
	l := Line{Text: text}
	if redis, ok := parseRedis(text); ok {
		return redis
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return l
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return Line{Text: text}
		}
		name, _ := key.(string)
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return Line{Text: text}
		}
		value := string(raw)
		quoted := raw[0] == '"' && json.Unmarshal(raw, &value) == nil
		switch name {
		case "time":
			l.Time, _ = time.Parse(time.RFC3339Nano, value) // the zero time is older than all
		case "level":
			l.Level = value
		case "msg":
			l.Msg = value
		case "component", "instance": // the prefix and the command say so
		default:
			l.Attrs = append(l.Attrs, Attribute{name, value, quoted})
		}
	}
	return l
}

// About says whether the line is about a claim or a workflow with an id that begins or
// ends with part. key is Claim or Workflow.
func (l Line) About(key, part string) bool {
	fits := func(id string) bool { return strings.HasPrefix(id, part) || strings.HasSuffix(id, part) }
	if key == Claim && l.Source.Claim != "" && fits(l.Source.Claim) {
		return true
	}
	for _, a := range l.Attrs {
		if a.Key == key && fits(a.Value) {
			return true
		}
	}
	return false
}

// Attr returns the value of an attribute; for a worker's line about no claim, of the one
// that the worker is for.
func (l Line) Attr(key string) string {
	for _, a := range l.Attrs {
		if a.Key == key {
			return a.Value
		}
	}
	if key == Claim {
		return l.Source.Claim
	}
	return ""
}

// Tool returns the line that a tool or a bid script wrote; empty: it is one of Sett's own.
func (l Line) Tool() string {
	if l.isOutput() {
		return l.Attr("line")
	}
	return ""
}

// isOutput says whether the line is a tool's, which may be empty.
func (l Line) isOutput() bool { return l.Level != "" && (l.Msg == "stderr" || l.Msg == "stdout") }

// ByTool says whether a line of an agent is not Sett's own: a tool wrote it, or nobody knows.
// Sett's warnings and errors count, too: they are about the tool.
func (l Line) ByTool() bool {
	return l.Level == "" || l.Level == "WARN" || l.Level == "ERROR" || l.isOutput()
}

// IsAgent says whether a unit is an agent's.
func (s Source) IsAgent() bool { return s.Unit != s.Part }

// Said shows a line behind the agent's name and the time, as "vet 08:50:41 │ line". The
// name has so many columns, and the terminal others: 0: there is none, else a line that is
// wider is broken.
func (l Line) Said(t *term.Terminal, width, columns int, hue term.Style) string {
	clock := "--:--:--"
	if !l.Time.IsZero() {
		clock = term.Seconds(t.Clock(l.Time))
	}
	head := term.Pad(role.Clean(l.Source.Part), width) + " " + clock + " │"
	plain := func(s string, _ term.Style) string { return s }
	text, painted := role.Clean(term.Untab(l.Tool())), ""
	switch {
	case l.isOutput():
	case l.Level == "":
		text = role.Clean(term.Untab(l.Text))
	default:
		text, painted = l.own(plain), l.own(t.Paint)
	}
	lines := []string{text}
	if room := columns - term.Width(head) - 1; columns > 0 && term.Width(text) > room {
		lines, painted = term.Wrap(text, room), ""
	}
	if painted != "" {
		lines[0] = painted
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(t.Paint(head, hue)+" "+line, " ")
		head = strings.Repeat(" ", term.Width(head)-1) + "│"
	}
	return strings.Join(lines, "\n")
}

// Read calls f with each line of a log, until the end of the log, or of the context if the
// log is followed. A line without a time gets the time of the line before.
func Read(ctx context.Context, logs runtime.Logs, s Source, o runtime.LogOptions, f func(Line)) error {
	r, err := logs.Logs(ctx, s.Unit, o)
	if err != nil {
		return err
	}
	defer r.Close()
	in := bufio.NewReader(r)
	var last time.Time
	for {
		text, err := in.ReadBytes('\n')
		if len(text) > 0 {
			l := Parse(string(bytes.TrimRight(text, "\r\n")))
			l.Source = s
			if l.Time.IsZero() {
				l.Time = last
			}
			last = l.Time
			f(l)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// JSON returns the value as the unit logged it.
func (at Attribute) JSON() json.RawMessage {
	if !at.Quoted {
		return json.RawMessage(at.Value)
	}
	text, err := json.Marshal(at.Value)
	if err != nil {
		return json.RawMessage(`""`)
	}
	return text
}

// Show returns the line for people: time, level, message and attributes.
func (l Line) Show(t *term.Terminal, colour bool) string {
	if l.Level == "" {
		return role.Clean(l.Text)
	}
	paint := func(s string, as term.Style) string {
		if !colour {
			return s
		}
		return t.Paint(s, as)
	}
	return paint(t.Clock(l.Time), term.Dim) + " " + l.own(paint)
}

// own shows a line of Sett's own without its time.
func (l Line) own(paint func(string, term.Style) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", paint(fmt.Sprintf("%-5s", role.Clean(l.Level)), levelStyle(l.Level)), role.Clean(l.Msg))
	for _, at := range l.Attrs {
		if at.Value == "" || at.Value == "null" && !at.Quoted || at.Key == "agent" && at.Value == l.Source.Part {
			continue
		}
		fmt.Fprintf(&b, " %s%s", paint(role.Clean(at.Key)+"=", term.Dim), at.readable())
	}
	return b.String()
}

// longest is the number of characters of a value that Show keeps.
const longest = 160

// readable returns the value for people. An id is shortened to its ending.
func (at Attribute) readable() string {
	if blackboard.ValidID(at.Value) {
		return blackboard.ShortID(at.Value)
	}
	value := words.Shorten(role.Clean(at.Value), longest)
	if at.Quoted && strings.ContainsAny(value, " =\"") {
		value = `"` + strings.ReplaceAll(value, `"`, `\"`) + `"`
	}
	return value
}

func levelStyle(level string) term.Style {
	switch level {
	case "ERROR":
		return term.Bad
	case "WARN":
		return term.Warn
	case "DEBUG":
		return term.Dim
	}
	return term.Plain
}
