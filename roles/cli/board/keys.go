package board

import (
	"slices"

	"sett/roles/role"
)

// keys are the keys for people, with their meaning.
var keys = [][2]string{
	{"1 2", "Now, Goals"}, {"↑ ↓ j k", "next, previous; PgUp PgDn g G go farther"}, {"enter", "open"}, {"esc u", "back"},
	{"← → tab", "parts of a goal"}, {"/", "show only lines with a text; esc ends it"}, {"s", "in Goals: only those of a status"},
	{"l", "follow the log of an agent, or of a goal"}, {"a", "answer a question"}, {"y n", "approve, or reject with a reason"},
	{"x t", "cancel a goal, or try a failed one again"}, {"r", "read anew"}, {"ctrl+l", "draw anew"}, {"?", "these keys"}, {"q", "leave"},
}

// key takes a key that was pressed.
func (m *model) key(k string) []effect {
	switch {
	case k == "ctrl+c":
		return []effect{leaves{}}
	case k == "ctrl+z":
		return []effect{suspends{}}
	case k == "ctrl+l":
		return []effect{redraws{}}
	case m.asked != nil:
		return m.promptKey(k)
	case m.filters:
		m.filterKey(k)
		return nil
	}
	if m.moves(k) {
		return nil
	}
	return m.command(k)
}

// command takes a key that does something else than move the cursor.
func (m *model) command(k string) []effect {
	p := m.here()
	switch k {
	case "q", "Q":
		return []effect{leaves{}}
	case "1":
		return m.home(paneNow)
	case "2":
		return m.home(paneGoals)
	case "?":
		if p.kind != paneHelp {
			m.push(place{kind: paneHelp})
		}
	case "esc", "u", "backspace":
		if p.filter != "" && k == "esc" {
			p.filter = ""
			return nil
		}
		return m.back()
	case "enter":
		if r := m.row(); r != nil && r.to != nil {
			return m.open(*r.to)
		}
	case "tab", "right":
		return m.turn(1)
	case "shift+tab", "left":
		return m.turn(-1)
	case "/":
		if p.kind != paneHelp {
			m.filters = true
		}
	case "s":
		if p.kind == paneGoals {
			p.status = statuses[(slices.Index(statuses, p.status)+1)%len(statuses)]
			p.values, p.top, p.on, p.line = nil, 0, "", -1
			return m.stir()
		}
	case "r":
		return m.stir()
	case "l":
		return m.logs()
	case "a":
		m.answer()
	case "y":
		m.approve()
	case "n":
		m.reject()
	case "x":
		m.cancel()
	case "t":
		m.retry()
	}
	return nil
}

// turn shows the next part of a goal, or the other of Now and Goals.
func (m *model) turn(by int) []effect {
	p := m.here()
	switch p.kind {
	case paneGoal:
		p.part = (p.part + by + len(parts)) % len(parts)
		p.top, p.on, p.line = 0, "", -1
		return m.stir()
	case paneNow:
		return m.home(paneGoals)
	case paneGoals:
		return m.home(paneNow)
	}
	return nil
}

// logs follows the log of the agent or goal that is meant.
func (m *model) logs() []effect {
	p := m.here()
	r := m.row()
	switch {
	case p.kind == paneLogs:
		return nil
	case r != nil && r.agent != "":
		return m.open(place{kind: paneLogs, title: r.agent, args: []string{"--", r.agent}})
	case r != nil && r.goal != "":
		return m.open(place{kind: paneLogs, title: "goal " + r.goal, args: []string{"--workflow=" + r.goal}})
	case p.kind == paneGoal:
		return m.open(place{kind: paneLogs, title: "goal " + p.id, args: []string{"--workflow=" + p.id}})
	}
	return m.open(place{kind: paneLogs, title: "all"})
}

// filterKey takes a key of the filter.
func (m *model) filterKey(k string) {
	p := m.here()
	text := []rune(p.filter)
	switch k {
	case "enter":
		m.filters = false
	case "esc":
		m.filters, p.filter = false, ""
	case "backspace", "ctrl+h":
		if len(text) > 0 {
			p.filter = string(text[:len(text)-1])
		}
	case "ctrl+u":
		p.filter = ""
	case "space":
		p.filter += " "
	case "up", "down", "pgup", "pgdown":
		m.moves(k)
	default:
		if len([]rune(k)) == 1 && !role.Harmful([]rune(k)[0]) && len(text) < 200 {
			p.filter += k
		}
	}
}

// paste takes a text that was pasted.
func (m *model) paste(text string) {
	switch {
	case m.asked != nil && m.asked.typed && !m.asked.asking && !m.asked.busy:
		m.asked.insert(text)
	case m.filters:
		p := m.here()
		for _, r := range text {
			if r == '\n' || r == '\r' || len(p.filter) > 200 {
				break
			}
			m.filterKey(string(r))
		}
	}
}

// moves takes a key that moves the cursor, or the lines where there is none.
func (m *model) moves(k string) bool {
	page := max(m.body()-1, 1)
	by, ok := map[string]int{"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -page, "ctrl+b": -page, "pgdown": page, "ctrl+f": page, "space": page,
		"home": -far, "g": -far, "end": far, "G": far}[k]
	if !ok {
		return false
	}
	p, all := m.here(), m.shown()
	at := m.cursor(all)
	if at < 0 {
		last := max(len(all)-m.body(), 0)
		if p.tail {
			p.top = last
		}
		p.top = min(max(p.top+by, 0), last)
		p.tail = p.kind == paneLogs && p.top == last
		return true
	}
	next := min(max(at+by, 0), len(all)-1)
	for near := at + by; by*by == 1 && near >= 0 && near < len(all) && (near-at)*by <= hop; near += by {
		if all[near].key != "" {
			next = near
			break
		}
	}
	p.line, p.on = next, all[next].key
	return true
}

const (
	far = 1 << 20
	hop = 8 // lines that the cursor passes to be at one that can be opened
)

// cursor is the index of the row that the cursor is at; -1: there is none, since no row
// can be opened.
func (m *model) cursor(all []row) int {
	p := m.here()
	first, next := -1, -1
	for i, r := range all {
		switch {
		case r.key == "":
			continue
		case p.on == r.key:
			p.line = i
			return i
		case first < 0:
			first = i
		}
		if next < 0 && i >= p.line {
			next = i
		}
	}
	switch {
	case first < 0 || p.line < 0:
		return first
	case p.on == "":
		return min(p.line, len(all)-1)
	case next < 0:
		next = first
	}
	return next // the row has gone: the one in its place
}

// row is the one that the cursor is at; nil: there is none.
func (m *model) row() *row {
	all := m.shown()
	if at := m.cursor(all); at >= 0 {
		return &all[at]
	}
	return nil
}
