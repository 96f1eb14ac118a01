// Package prompt makes the prompt for a language model from a tool's input: a system text
// and a user text. It is pure, and equal work gives equal bytes: artefacts and commits have
// running numbers, and no time, id or hash gets in, so that a recording of a model can be
// replayed.
//
// Everything that others wrote stands between fences that it cannot close, and is
// introduced as material. No fence stops a model from obeying it: the tools and the
// contract do, since they allow no more than sett.yml says.
package prompt

import (
	"slices"
	"strings"

	"sett/blackboard"
	"sett/contract/tool"
)

// Form is the way in which the answer must come.
type Form string

// The forms.
const (
	FormTools  Form = "tools"  // by the tools of `sett llm`
	FormJSON   Form = "json"   // one JSON object of the contract on stdout
	FormText   Form = "text"   // the payload on stdout
	FormCommit Form = "commit" // changes of files
	FormBid    Form = "bid"    // a JSON object with bid and reason
)

// Task is all that a prompt is made of.
type Task struct {
	Role         string // of the agent
	Instructions string // the execution prompt of sett.yml; of a bid the claim prompt
	Input        tool.Input
	Files        []string // of the tree, with / between names; any order
	Form         Form
	Makes        []string // the types of its results; none: any
	Final        bool     // its result ends the goal
	Room         int      // tokens of both texts together; 0: no bound
}

// Prompt is the prompt for a task.
type Prompt struct {
	System, User string
	Left         []string // parts that did not fit, as the prompt names them, oldest first
}

// Text is the prompt for a program that reads one text.
func (p Prompt) Text() string { return p.System + "\n" + p.User }

// perToken is the number of bytes that a token has at least, as an estimate: no model with
// shorter tokens on average is known.
const perToken = 3

// Tokens estimates the tokens of a text of that many bytes, as an upper bound.
func Tokens(bytes int) int { return (bytes + perToken - 1) / perToken }

// New makes the prompt. Parts that do not fit Room are left out: first the context from the
// oldest on, without the goal, then the list of files. At last the middle of the target
// and of the goal is cut.
func New(t Task) Prompt {
	t.Files = slices.Sorted(slices.Values(t.Files))
	n := number(t.Input)
	parts := t.parts(n)
	p := Prompt{System: t.system()}
	if t.Room > 0 {
		p.Left = fit(parts, t.Room*perToken-len(p.System))
	}
	p.User = join(parts, p.Left)
	return p
}

// part is a paragraph of the user text.
type part struct {
	name   string   // as the note about missing parts names it
	head   string   // stays when the body is cut
	body   []string // within fences, each with its own line before it
	text   string
	drop   int  // the order in which parts are dropped; 0: never
	gone   bool //
	shrink bool // its body may be cut
}

func (t Task) parts(n *names) []*part {
	in := t.Input
	var all []*part
	if len(in.ContextChain) > 0 {
		all = append(all, &part{text: "# Context, oldest first\n"})
	}
	for i, a := range in.ContextChain {
		p := n.artefact(a)
		if a.Type != blackboard.TypeGoalDefined {
			p.drop = i + 1
		}
		all = append(all, p)
	}
	all = append(all, &part{text: "# The artefact to work on\n"}, n.artefact(in.Target))
	if in.Workspace != nil {
		all = append(all, &part{text: n.workspace(*in.Workspace)})
	}
	if len(t.Files) > 0 {
		p := &part{name: "the list of files", head: "Files:\n\n", body: []string{fileList(t.Files)}, drop: len(in.ContextChain) + 1}
		p.build()
		all = append(all, p)
	}
	if why := strings.TrimSpace(in.Retry.Why); why != "" {
		p := &part{head: "# Try again\n\nA person had this work tried again, and says:\n\n", body: []string{n.clean(why)}}
		p.build()
		all = append(all, p)
	}
	return append(all, &part{text: t.task(n)})
}

// build sets the text of the part.
func (p *part) build() {
	var b strings.Builder
	b.WriteString(p.head)
	for _, body := range p.body {
		b.WriteString(fenced(body))
	}
	p.text = b.String()
}

func size(parts []*part) (n int) {
	for _, p := range parts {
		if !p.gone {
			n += len(p.text) + 1
		}
	}
	return n
}

// noteSize is the room that the note about missing parts takes.
const noteSize = 200

// fit drops parts until the rest has the size, and returns their names.
func fit(parts []*part, room int) (left []string) {
	have := size(parts)
	if have <= room {
		return nil
	}
	room -= noteSize
	inOrder := slices.Clone(parts)
	slices.SortStableFunc(inOrder, func(a, b *part) int { return a.drop - b.drop })
	for _, p := range inOrder {
		if p.drop > 0 && have > room {
			p.gone = true
			have -= len(p.text) + 1
			left = append(left, p.name)
		}
	}
	return append(left, cut(parts, have-room)...)
}

// cut takes the middle out of the longest bodies, until so many bytes are gone.
func cut(parts []*part, over int) (left []string) {
	for over > 0 {
		var longest *part
		for _, p := range parts {
			if p.shrink && !p.gone && (longest == nil || len(p.text) > len(longest.text)) {
				longest = p
			}
		}
		if longest == nil {
			return left
		}
		before := len(longest.text)
		longest.shrink = false
		for i, body := range longest.body {
			longest.body[i] = Middle(body, max(leastKept, len(body)-over-len(cutMark)-20))
		}
		longest.build()
		if gone := before - len(longest.text); gone > 0 {
			over -= gone
			left = append(left, "the middle of "+longest.name)
		}
	}
	return left
}

// leastKept is the shortest text that is left of a body, in bytes.
const leastKept = 600

// join writes the parts that fit, and names the others in front.
func join(parts []*part, left []string) string {
	var b strings.Builder
	if len(left) > 0 {
		b.WriteString("Left out, because your context has no room for it: " + strings.Join(ranges(left), ", ") + ".\n\n")
	}
	for i, p := range parts {
		if p.gone {
			continue
		}
		b.WriteString(p.text)
		if i < len(parts)-1 {
			b.WriteString("\n")
		}
	}
	return b.String()
}
