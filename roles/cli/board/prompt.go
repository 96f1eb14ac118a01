package board

import (
	"slices"
	"strings"

	"sett/roles/cli/act"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// prompt is an act of a person that is being prepared. It keeps the id of the thing it is
// about, wherever the cursor goes meanwhile.
type prompt struct {
	move, id string
	label    string
	typed    bool // a text is typed
	needs    bool // and must not be empty
	confirms bool // it is asked about once more
	asking   bool // a yes or no is awaited
	busy     bool // it is being done
	text     []rune
	at       int // where in the text is typed
}

// prepare begins an act.
func (m *model) prepare(p prompt) {
	p.asking = p.confirms && !p.typed
	m.asked, m.filters, m.message = &p, false, ""
}

// matter finds the one of a kind that is meant: where the cursor is, of the pane, or the
// only one.
func (m *model) matter(kind string) *view.Matter {
	if r := m.row(); r != nil && r.matter != nil && r.matter.Kind == kind {
		return r.matter
	}
	from := m.about(m.here())
	var found *view.Matter
	for i := range from {
		if from[i].Kind != kind {
			continue
		}
		if found != nil {
			m.tell("several wait: choose one with the arrow keys", true)
			return nil
		}
		found = &from[i]
	}
	if found == nil {
		m.tell(map[string]string{view.MatterQuestion: "no question waits here", view.MatterGate: "nothing waits for approval here"}[kind], true)
	}
	return found
}

// about names a matter, without more of its text than a line.
func about(x *view.Matter) string {
	maker := x.Agent
	if maker == "" {
		maker = x.Role
	}
	if x.Kind == view.MatterQuestion {
		return "question " + words.Short(x.ID) + " of " + maker + ": " + words.Quote(x.Text)
	}
	return x.About.Type + " " + words.Short(x.ID) + " of " + maker + ": " + words.Quote(x.Text)
}

// answer, approve and reject prepare the acts on matters.
func (m *model) answer() {
	if x := m.matter(view.MatterQuestion); x != nil {
		m.prepare(prompt{move: "answer", id: x.ID, label: "Answer " + about(x), typed: true, needs: true})
	}
}

func (m *model) approve() {
	if x := m.matter(view.MatterGate); x != nil {
		m.prepare(prompt{move: "approve", id: x.ID, label: "Approve " + about(x), confirms: true})
	}
}

func (m *model) reject() {
	if x := m.matter(view.MatterGate); x != nil {
		m.prepare(prompt{move: "reject", id: x.ID, label: "Reject " + about(x), typed: true, needs: true, confirms: true})
	}
}

// cancel and retry prepare the acts on goals.
func (m *model) cancel() {
	if id, text := m.goal(); id != "" {
		m.prepare(prompt{move: "cancel", id: id, label: "Cancel goal " + words.Short(id) + ": " + words.Quote(text), typed: true, needs: true, confirms: true})
	}
}

func (m *model) retry() {
	if id, text := m.goal(); id != "" {
		m.prepare(prompt{move: "retry", id: id, label: "Try goal " + words.Short(id) + " again: " + words.Quote(text), confirms: true})
	}
}

// goal is the one that the cursor is at, or that is shown.
func (m *model) goal() (id, text string) {
	if r := m.row(); r != nil && r.goal != "" {
		return r.goal, r.text
	}
	if p := m.here(); p.kind == paneGoal {
		if v, ok := p.values.(*goalValues); ok {
			text = v.Shown.Text
		}
		return p.id, text
	}
	m.tell("choose a goal first", true)
	return "", ""
}

// promptKey takes a key while an act is being prepared.
func (m *model) promptKey(k string) []effect {
	p := m.asked
	switch {
	case p.busy:
	case p.asking:
		switch {
		case k == p.yes():
			return m.do()
		case k == "esc" || !p.typed && (k == "n" || k == "q"):
			m.asked = nil
		case k == "n":
			p.asking = false // back to the words
		}
	case k == "esc":
		m.asked = nil
	case k == "enter":
		if p.needs && strings.TrimSpace(string(p.text)) == "" {
			m.tell("say it in words first", true)
			break
		}
		if p.confirms {
			p.asking = true
			break
		}
		return m.do()
	default:
		p.edit(k)
	}
	return nil
}

// yes is the key that confirms: not the one that led here, which may be pressed twice.
func (p *prompt) yes() string {
	if p.typed {
		return "y"
	}
	return "enter"
}

// do has the act done, once.
func (m *model) do() []effect {
	p := m.asked
	p.busy, m.message = true, ""
	return []effect{does{p.move, p.id, act.Wish{Text: strings.TrimSpace(string(p.text))}}}
}

// wasDone takes the outcome of an act. Words that were refused can be typed on.
func (m *model) wasDone(t wasDone) []effect {
	p := m.asked
	if t.err == nil {
		m.asked = nil
		m.tell(strings.ReplaceAll(t.done.Says, "\n", "; "), false)
		return m.stir()
	}
	if p != nil {
		p.busy, p.asking = false, false
		if !p.typed {
			m.asked = nil
		}
	}
	problem := act.ProblemOf(t.err)
	text := problem.Error
	if problem.Hint != "" {
		text += " (" + problem.Hint + ")"
	}
	m.tell(text, true)
	return m.stir()
}

// edit takes a key of a text.
func (p *prompt) edit(k string) {
	switch k {
	case "left":
		p.at = max(p.at-1, 0)
	case "right":
		p.at = min(p.at+1, len(p.text))
	case "home", "ctrl+a":
		p.at = 0
	case "end", "ctrl+e":
		p.at = len(p.text)
	case "backspace", "ctrl+h":
		p.remove(p.at - 1)
	case "delete", "ctrl+d":
		p.remove(p.at)
	case "ctrl+u":
		p.text, p.at = append([]rune{}, p.text[p.at:]...), 0
	case "ctrl+w":
		for p.at > 0 && p.text[p.at-1] == ' ' {
			p.remove(p.at - 1)
		}
		for p.at > 0 && p.text[p.at-1] != ' ' {
			p.remove(p.at - 1)
		}
	case "alt+enter", "ctrl+j", "shift+enter":
		p.insert("\n")
	case "space":
		p.insert(" ")
	default:
		if len([]rune(k)) == 1 {
			p.insert(k)
		}
	}
}

const mostTyped = 64 << 10 // characters of a text

// insert types a text. Line ends are line feeds, and nothing else in it acts.
func (p *prompt) insert(text string) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	typed := slices.DeleteFunc([]rune(strings.ToValidUTF8(text, "")), func(r rune) bool { return r != '\n' && r != '\t' && role.Harmful(r) })
	typed = typed[:min(len(typed), max(mostTyped-len(p.text), 0))]
	p.text = slices.Insert(p.text, p.at, typed...)
	p.at += len(typed)
}

func (p *prompt) remove(at int) {
	if at < 0 || at >= len(p.text) {
		return
	}
	p.text = append(p.text[:at:at], p.text[at+1:]...)
	if at < p.at {
		p.at--
	}
}
