package cli

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
	"sett/roles/role"
	"sett/runtime"
)

// logLine is one line of a log.
type logLine struct {
	source source
	text   string // as it was written
	time   time.Time
	level  string // empty: it is no line of ours
	msg    string
	attrs  []attr
}

// attr is one attribute. What was no string is kept as JSON.
type attr struct {
	key, value string
	quoted     bool // it was a string
}

// redisLine is a line that Redis logs: process and role, time, importance, message.
var redisLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\d+:[A-Z] (\d\d \w{3} \d{4} \d\d:\d\d:\d\d\.\d{3}) ([.*#-]) (.*)$`)
})

// parseRedis reads such a line. Its time is that of a container, which is UTC's.
func parseRedis(text string) (logLine, bool) {
	m := redisLine().FindStringSubmatch(text)
	if m == nil {
		return logLine{}, false
	}
	at, err := time.Parse("02 Jan 2006 15:04:05.000", m[1])
	if err != nil {
		return logLine{}, false
	}
	level := map[string]string{"#": "WARN", "*": "INFO"}[m[2]]
	if level == "" {
		level = "DEBUG"
	}
	return logLine{text: text, time: at, level: level, msg: m[3]}, true
}

// parseLine reads a line as slog writes it in JSON, or Redis; another is kept as text.
func parseLine(text string) logLine {
	l := logLine{text: text}
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
			return logLine{text: text}
		}
		name, _ := key.(string)
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return logLine{text: text}
		}
		value := string(raw)
		quoted := raw[0] == '"' && json.Unmarshal(raw, &value) == nil
		switch name {
		case "time":
			l.time, _ = time.Parse(time.RFC3339Nano, value) // the zero time is older than all
		case "level":
			l.level = value
		case "msg":
			l.msg = value
		case "component", "instance": // the prefix and the command say so
		default:
			l.attrs = append(l.attrs, attr{name, value, quoted})
		}
	}
	return l
}

// about says whether the line concerns a claim, or a workflow, of whose id part is a
// beginning or an ending.
func (l logLine) about(what, part string) bool {
	fits := func(id string) bool { return strings.HasPrefix(id, part) || strings.HasSuffix(id, part) }
	if what == aboutClaim && l.source.claim != "" && fits(l.source.claim) {
		return true
	}
	for _, a := range l.attrs {
		if a.key == what && fits(a.value) {
			return true
		}
	}
	return false
}

// readLog hands the lines of a log to f, with the time of the line before where
// they have none, until its end or, when it is followed, the context's.
func readLog(ctx context.Context, logs runtime.Logs, s source, o runtime.LogOptions, f func(logLine)) error {
	r, err := logs.Logs(ctx, s.unit, o)
	if err != nil {
		return err
	}
	defer r.Close()
	in := bufio.NewReader(r)
	var last time.Time
	for {
		text, err := in.ReadBytes('\n')
		if len(text) > 0 {
			l := parseLine(string(bytes.TrimRight(text, "\r\n")))
			l.source = s
			if l.time.IsZero() {
				l.time = last
			}
			last = l.time
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

// logPrinter prints lines as the flags want them.
type logPrinter struct {
	a     *app
	c     *logsCmd
	width int
}

func (p *logPrinter) wants(l logLine) bool {
	return (p.c.Claim == "" || l.about(aboutClaim, p.c.Claim)) && (p.c.Workflow == "" || l.about(aboutWorkflow, p.c.Workflow))
}

// print prints one line of a stream.
func (p *logPrinter) print(l logLine) error {
	return p.c.entry(p.a.Stdout, p.record(l), func() error { return p.line(l) })
}

// logRecord is a line as -o json prints it.
type logRecord struct {
	Time       time.Time                  `json:"time,omitzero"` // absent: no line before it had one
	Part       string                     `json:"part"`          // the agent, or Sett's own part
	Unit       string                     `json:"unit"`          // the process or container of it
	Level      string                     `json:"level,omitempty"`
	Message    string                     `json:"message"` // the whole line, where it is no line of ours
	Attributes map[string]json.RawMessage `json:"attributes,omitempty"`
}

func (p *logPrinter) record(l logLine) logRecord {
	r := logRecord{Time: l.time.UTC(), Part: l.source.part, Unit: l.source.unit, Level: l.level, Message: l.msg}
	if l.level == "" || p.c.Raw {
		r.Level, r.Message = "", l.text
		return r
	}
	for _, at := range l.attrs {
		if r.Attributes == nil {
			r.Attributes = map[string]json.RawMessage{}
		}
		r.Attributes[at.key] = at.json()
	}
	return r
}

// json returns the value as it was logged.
func (at attr) json() json.RawMessage {
	if !at.quoted {
		return json.RawMessage(at.value)
	}
	text, err := json.Marshal(at.value)
	if err != nil {
		return json.RawMessage(`""`)
	}
	return text
}

// line shows a line to people.
func (p *logPrinter) line(l logLine) error {
	prefix := p.a.paint(fmt.Sprintf("%-*s", p.width, clean(l.source.part)), accent)
	text := l.text
	if !p.c.Raw {
		text = p.a.readable(l, true)
	} else if role.IsTerminal(p.a.Stdout) {
		text = clean(text)
	}
	if len(p.c.Agents) == 1 {
		prefix = ""
	} else {
		prefix += "  "
	}
	_, err := fmt.Fprintf(p.a.Stdout, "%s%s\n", prefix, text)
	return err
}

// readable shows a line for people: time, level, message and what goes with it.
func (a *app) readable(l logLine, colour bool) string {
	if l.level == "" {
		return clean(l.text)
	}
	paint := func(s string, as style) string {
		if !colour {
			return s
		}
		return a.paint(s, as)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", paint(a.clock(l.time), dim), paint(fmt.Sprintf("%-5s", clean(l.level)), levelStyle(l.level)), clean(l.msg))
	for _, at := range l.attrs {
		if at.value == "" || at.value == "null" && !at.quoted || at.key == "agent" && at.value == l.source.part {
			continue
		}
		fmt.Fprintf(&b, " %s%s", paint(clean(at.key)+"=", dim), at.readable())
	}
	return b.String()
}

// longest is how many characters of a value are shown; --raw shows all.
const longest = 160

// readable returns the value for people: ids by their endings, as everywhere.
func (at attr) readable() string {
	if blackboard.ValidID(at.value) {
		return blackboard.ShortID(at.value)
	}
	value := shorten(clean(at.value), longest)
	if at.quoted && strings.ContainsAny(value, " =\"") {
		value = `"` + strings.ReplaceAll(value, `"`, `\"`) + `"`
	}
	return value
}

func levelStyle(level string) style {
	switch level {
	case "ERROR":
		return bad
	case "WARN":
		return warn
	case "DEBUG":
		return dim
	}
	return plain
}
