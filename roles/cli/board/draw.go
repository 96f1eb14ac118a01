package board

import (
	"slices"
	"strings"
	"time"

	"sett/roles/cli/live"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// row is a line of a pane. Its texts may be hostile: paint cleans them.
type row struct {
	line   live.Styled
	key    string // the cursor stops at it; empty: it does not
	to     *place // that enter opens
	matter *view.Matter
	agent  string
	goal   string
	text   string // of the goal
}

// say is a row of one text.
func say(text string, as term.Style) row { return row{line: live.Styled{{Text: text, As: as}}} }

// blank divides rows.
var blank = row{}

func heading(text string) row { return say(text, term.Bold) }

// sheet makes the rows of a pane.
type sheet struct {
	m *model
	p *pane
}

// shown are the rows of the pane, without those that the filter leaves out.
func (m *model) shown() []row {
	p := m.here()
	all := sheet{m, p}.pageOf()
	if p.filter == "" {
		return all
	}
	wanted := strings.ToLower(p.filter)
	var some []row
	for _, r := range all {
		text := strings.ToLower(r.text)
		for _, piece := range r.line {
			text += strings.ToLower(piece.Text)
		}
		if strings.Contains(text, wanted) {
			some = append(some, r)
		}
	}
	if len(some) == 0 {
		return []row{say("nothing has "+p.filter, term.Dim)}
	}
	return some
}

func (s sheet) pageOf() []row {
	switch {
	case s.p.kind == paneHelp:
		return helpRows()
	case s.p.kind == paneLogs:
		return s.logRows()
	case s.p.problem != nil:
		rows := []row{say("it cannot be shown: "+s.p.problem.Error, term.Bad)}
		if s.p.problem.Hint != "" {
			rows = append(rows, say(s.p.problem.Hint, term.Plain))
		}
		return rows
	}
	switch v := s.p.values.(type) {
	case *present:
		return s.presentRows(v)
	case *goalList:
		return s.goalRows(v)
	case *goalValues:
		return s.oneGoalRows(v)
	case *thing:
		rows := s.matterRows(s.m.about(s.p))
		if len(rows) > 0 {
			rows = append(rows, blank)
		}
		return append(rows, s.textRows(v.Text)...)
	}
	return []row{say("is read…", term.Dim)}
}

func helpRows() []row {
	rows := []row{heading("Keys"), blank}
	for _, k := range keys {
		rows = append(rows, row{line: live.Styled{{Text: term.Pad(k[0], 10), As: term.Bold}, {Text: k[1]}}})
	}
	return append(rows, blank, say("In words that are typed: enter sends, alt+enter begins a new line, esc gives up.", term.Dim))
}

func (s sheet) logRows() []row {
	var rows []row
	if s.p.dropped {
		rows = append(rows, say("older lines: sett logs", term.Dim))
	}
	rows = append(rows, s.brokenLog()...)
	if s.p.problem != nil {
		rows = append(rows, say("no more comes: "+s.p.problem.Error, term.Bad))
	}
	if len(rows) == 0 {
		rows = []row{say("nothing yet; it is followed", term.Dim)}
	}
	return rows
}

// brokenLog breaks the lines of a log, each once for each width.
func (s sheet) brokenLog() []row {
	b := &s.p.broken
	if b.lines == nil || b.columns != s.m.columns {
		b.lines, b.log, b.columns = nil, 0, s.m.columns
	}
	for _, line := range s.p.log[b.log:] {
		line = clean(line)
		first := term.Wrap(line, max(s.m.columns-len(marker), 1))[0]
		b.lines = append(b.lines, say(first, term.Plain))
		if rest := strings.TrimLeft(line[len(first):], " "); rest != "" {
			for _, part := range term.Wrap(rest, max(s.m.columns-2*len(marker), 1)) {
				b.lines = append(b.lines, say(margin+part, term.Plain))
			}
		}
	}
	b.log = len(s.p.log)
	return b.lines
}

// textRows breaks a text, once for each width.
func (s sheet) textRows(text string) []row {
	if s.p.broken.lines == nil || s.p.broken.text != text || s.p.broken.columns != s.m.columns {
		s.p.broken.text, s.p.broken.columns, s.p.broken.lines = text, s.m.columns, []row{}
		for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
			for _, part := range term.Wrap(role.Clean(term.Untab(line)), max(s.m.columns-len(marker), 1)) {
				s.p.broken.lines = append(s.p.broken.lines, say(part, patchStyle(s.p, part)))
			}
		}
	}
	return s.p.broken.lines
}

// patchStyle lets the lines of a patch stand out.
func patchStyle(p *pane, line string) term.Style {
	if p.kind != paneGoal || parts[p.part] != partChanges {
		return term.Plain
	}
	switch {
	case strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "@@"):
		return term.Accent
	case strings.HasPrefix(line, "+"):
		return term.Good
	case strings.HasPrefix(line, "-"):
		return term.Bad
	}
	return term.Plain
}

// The marks before a line: of the cursor, and of others.
const (
	marker = "> "
	margin = "  "
)

// draw is the screen: as many lines as it has rows, none wider than its columns.
func (m *model) draw(paint func(string, term.Style) string) []string {
	foot := m.foot()
	head := []live.Styled{m.title(), m.tabs()}
	room := max(m.rows-len(head)-len(foot), 0)
	lines := slices.Concat(head, m.window(room))
	for len(lines) < len(head)+room {
		lines = append(lines, nil)
	}
	lines = append(lines, foot...)
	if len(lines) > m.rows {
		lines = lines[len(lines)-m.rows:]
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		for j := range l {
			l[j].Text = role.Clean(term.Untab(l[j].Text))
		}
		_, out[i] = l.Cut(m.columns, paint)
	}
	return out
}

// body is how many rows of the pane are shown.
func (m *model) body() int { return max(m.rows-2-len(m.foot()), 1) }

// window are the rows of the pane that are shown: the cursor is among them.
func (m *model) window(room int) []live.Styled {
	p, all := m.here(), m.shown()
	at := m.cursor(all)
	last := max(len(all)-room, 0)
	switch {
	case p.tail:
		p.top = last
	case at >= 0 && at < p.top:
		p.top = at
		if m.first(all) == at {
			p.top = 0
		}
	case at >= p.top+room:
		p.top = at - room + 1
	}
	p.top = min(max(p.top, 0), last)
	var lines []live.Styled
	for i := p.top; i < min(p.top+room, len(all)); i++ {
		mark := live.Piece{Text: margin}
		if i == at {
			mark = live.Piece{Text: marker, As: term.Accent}
		}
		line := append(live.Styled{mark}, all[i].line...)
		if i == at {
			for j := range line {
				if line[j].As == term.Plain {
					line[j].As = term.Bold
				}
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// first is the index of the first row at which the cursor stops.
func (m *model) first(all []row) int {
	for i, r := range all {
		if r.key != "" {
			return i
		}
	}
	return -1
}

// title says which instance it is, and whether the values are those of now.
func (m *model) title() live.Styled {
	line := live.Styled{{Text: "sett ", As: term.Dim}, {Text: m.instance, As: term.Bold}}
	if why := m.troubled(); why != "" {
		line = append(line, live.Piece{Text: " · OLD, as of " + term.Seconds(m.clock(m.old)) + ": " + why, As: term.Bad})
	} else if v, ok := m.stack[0].values.(*present); ok && v.Instance.State != "" {
		as := term.Plain
		if v.Instance.State != "running" {
			as = term.Warn
		}
		line = append(line, live.Piece{Text: " is " + v.Instance.State, As: as})
	}
	if n := len(m.matters); n > 0 {
		line = append(line, live.Piece{Text: " · " + words.Count(n, "matter waits", "matters wait") + " for you", As: term.Warn})
	}
	switch p := m.here(); {
	case m.troubled() != "":
	case p.values == nil && p.problem == nil && p.kind != paneLogs && p.kind != paneHelp:
		line = append(line, live.Piece{Text: " · is read…", As: term.Dim})
	default:
		line = append(line, live.Piece{Text: " · live", As: term.Good})
	}
	return line
}

// troubled is why the values may be old; empty: they are not.
func (m *model) troubled() string {
	if m.away != "" {
		return m.away
	}
	return m.lost
}

// tabs names the panes, and the one that is shown.
func (m *model) tabs() live.Styled {
	p := m.here()
	tab := func(name string, on bool) live.Piece {
		if on {
			return live.Piece{Text: "[" + name + "]", As: term.Accent}
		}
		return live.Piece{Text: " " + name + " ", As: term.Dim}
	}
	line := live.Styled{tab("1 Now", p.kind == paneNow), tab("2 Goals", p.kind == paneGoals)}
	switch p.kind {
	case paneGoal:
		line = append(line, live.Piece{Text: " goal " + words.Short(p.id) + ":"})
		for i, name := range parts {
			line = append(line, tab(name, i == p.part))
		}
	case paneThing:
		line = append(line, tab(words.Short(p.id), true))
	case paneLogs:
		line = append(line, tab("log of "+p.title, true))
	case paneHelp:
		line = append(line, tab("keys", true))
	}
	if p.status != "" {
		line = append(line, live.Piece{Text: " " + p.status, As: term.Warn})
	}
	if p.filter != "" || m.filters {
		line = append(line, live.Piece{Text: " /" + p.filter, As: term.Warn})
		if m.filters {
			line = append(line, live.Piece{Text: "▏"})
		}
	}
	return line
}

const mostPrompt = 6 // lines of words that are typed

// foot are the lines at the bottom: the act that is prepared, a message, the keys.
func (m *model) foot() []live.Styled {
	hint := "enter opens  a answers  y n approve, reject  l log  / filters  ? keys  q leaves"
	if m.filters {
		hint = "enter keeps the filter, esc ends it"
	}
	var lines []live.Styled
	if p := m.asked; p != nil {
		lines = append(lines, live.Styled{{Text: p.label, As: term.Warn}})
		if p.typed {
			lines = append(lines, p.lines(m.columns)...)
		}
		switch {
		case p.busy:
			hint = "it is being done…"
		case p.asking && p.typed:
			hint = "This cannot be undone. y: do it, n: change the words, esc: no"
		case p.asking:
			hint = "enter: yes, esc: no"
		default:
			hint = "enter sends, alt+enter begins a new line, esc gives up"
		}
	}
	if m.message != "" {
		as := term.Good
		if m.bad {
			as = term.Bad
		}
		all := term.Wrap(role.Clean(m.message), m.columns)
		for _, part := range all[:min(3, len(all))] {
			lines = append(lines, live.Styled{{Text: part, As: as}})
		}
	}
	as := term.Dim
	if m.asked != nil && m.asked.asking {
		as = term.Warn
	}
	return append(lines, live.Styled{{Text: hint, As: as}})
}

// lines are the words that are typed, as many of their last lines as there is room for.
func (p *prompt) lines(columns int) []live.Styled {
	mark := "▏"
	if p.busy || p.asking {
		mark = ""
	}
	text := string(p.text[:p.at]) + mark + string(p.text[p.at:])
	var out []live.Styled
	for line := range strings.SplitSeq(text, "\n") {
		for _, part := range term.Wrap(role.Clean(term.Untab(line)), max(columns-2, 1)) {
			out = append(out, live.Styled{{Text: "  " + part}})
		}
	}
	return out[max(len(out)-mostPrompt, 0):]
}

// passed is how long ago the values of a pane were read.
func (s sheet) since() time.Duration { return max(s.m.now.Sub(s.p.at), 0) }
