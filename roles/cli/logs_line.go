package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"sett/roles/cli/logline"
	"sett/roles/cli/term"
	"sett/roles/role"
)

// logPrinter prints lines as the flags want them.
type logPrinter struct {
	a     *app
	c     *logsCmd
	width int
	parts []string // all that there are, for their colours
	said  bool     // only what tools said, in the form for that
}

func (p *logPrinter) wants(l logline.Line) bool {
	return p.about(l) && (!p.said || p.c.All || !l.Source.IsAgent() || l.ByTool())
}

// about says whether a line is about the claim or goal that lines have to be about.
func (p *logPrinter) about(l logline.Line) bool {
	if p.c.about != "" && !l.About(logline.Claim, p.c.about) {
		return false
	}
	return (p.c.Claim == "" || l.About(logline.Claim, p.c.Claim)) && (p.c.Workflow == "" || l.About(logline.Workflow, p.c.Workflow))
}

// print prints one line of a stream.
func (p *logPrinter) print(l logline.Line) error {
	return p.c.Entry(p.a.Stdout, p.record(l), func() error { return p.line(l) })
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

func (p *logPrinter) record(l logline.Line) logRecord {
	r := logRecord{Time: l.Time.UTC(), Part: l.Source.Part, Unit: l.Source.Unit, Level: l.Level, Message: l.Msg}
	if l.Level == "" || p.c.Raw {
		r.Level, r.Message = "", l.Text
		return r
	}
	for _, at := range l.Attrs {
		if r.Attributes == nil {
			r.Attributes = map[string]json.RawMessage{}
		}
		r.Attributes[at.Key] = at.JSON()
	}
	return r
}

// line shows a line to people.
func (p *logPrinter) line(l logline.Line) error {
	hue := term.Hue(slices.Index(p.parts, l.Source.Part))
	if p.said {
		columns, _ := term.Size(p.a.Stdout)
		return term.WriteAll(p.a.Stdout, l.Said(&p.a.Terminal, p.width, columns, hue)+"\n")
	}
	prefix := p.a.Paint(fmt.Sprintf("%-*s", p.width, role.Clean(l.Source.Part)), hue)
	text := l.Text
	if !p.c.Raw {
		text = l.Show(&p.a.Terminal, true)
	} else if role.IsTerminal(p.a.Stdout) {
		text = role.Clean(text)
	}
	if len(p.c.Agents) == 1 {
		prefix = ""
	} else {
		prefix += "  "
	}
	_, err := fmt.Fprintf(p.a.Stdout, "%s%s\n", prefix, text)
	return err
}
