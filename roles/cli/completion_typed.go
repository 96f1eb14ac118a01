package cli

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"sett/blackboard"
)

// typedLine is what stands on a command line before the word that is to be completed,
// read as the parser would, but leniently: it need not be whole, or right.
type typedLine struct {
	node      *kong.Node
	values    map[string]string // of flags, by name; the last of each
	arguments []string
	open      *kong.Flag // whose value the next word is
	literal   bool       // after --
	lost      bool       // there is no such command
	help      bool       // it asks for help: what follows names a command and nothing else
}

// readTyped reads words.
func readTyped(parser *kong.Kong, words []string) *typedLine {
	t := &typedLine{node: parser.Model.Node, values: map[string]string{}}
	words = ownShorts(parser, words)
	for _, word := range words {
		switch {
		case t.open != nil:
			t.values[t.open.Name], t.open = word, nil
		case t.literal:
			t.argument(word)
		case word == "--":
			t.literal = true
		case strings.HasPrefix(word, "--"):
			name, value, joined := strings.Cut(word[2:], "=")
			t.take(t.flag(name), value, joined)
		case len(word) > 1 && word[0] == '-':
			t.takeShorts(word[1:])
		case !t.help && t.node.Parent == nil && word == "help":
			t.help = true
		case t.help && t.node.Parent == nil && word == "fields": // of a command
		default:
			t.argument(word)
		}
	}
	return t
}

// argument takes a command's name or, after it, what it is given.
func (t *typedLine) argument(word string) {
	if len(t.node.Children) == 0 {
		t.arguments = append(t.arguments, word)
		return
	}
	i := slices.IndexFunc(t.node.Children, func(n *kong.Node) bool { return n.Name == word || slices.Contains(n.Aliases, word) })
	if i < 0 {
		t.lost = true
		return
	}
	t.node = t.node.Children[i]
}

// take takes a flag, with the value that is joined to it if there is one.
func (t *typedLine) take(f *kong.Flag, value string, joined bool) {
	switch {
	case f == nil: // unknown: the parser will say so
	case !joined && takesValue(f):
		t.open = f
	default:
		t.values[f.Name] = value
	}
}

// takeShorts takes what follows one dash: flags without values, the last perhaps with
// one.
func (t *typedLine) takeShorts(letters string) {
	for i, letter := range letters {
		f := t.short(letter)
		if f != nil && takesValue(f) {
			value := letters[i+len(string(letter)):]
			t.take(f, strings.TrimPrefix(value, "="), value != "")
			return
		}
		t.take(f, "", true)
	}
}

func takesValue(f *kong.Flag) bool { return !f.IsBool() && !f.IsCounter() }

// flag returns the flag of that name that the command knows, or nil.
func (t *typedLine) flag(name string) *kong.Flag {
	return t.find(func(f *kong.Flag) bool { return f.Name == name })
}

func (t *typedLine) short(letter rune) *kong.Flag {
	return t.find(func(f *kong.Flag) bool { return f.Short == letter })
}

func (t *typedLine) find(is func(*kong.Flag) bool) *kong.Flag {
	for n := t.node; n != nil; n = n.Parent {
		if i := slices.IndexFunc(n.Flags, is); i >= 0 {
			return n.Flags[i]
		}
	}
	return nil
}

// beginning returns the candidates that go on from a word. Of an id that is a
// beginning or an ending, in either case; who types a beginning gets the whole id.
func beginning(all []candidate, word string) []candidate {
	part, isID := blackboard.NormalizeIDPart(word)
	var fit []candidate
	for _, c := range all {
		switch {
		case strings.HasPrefix(c.value, word):
			fit = append(fit, c)
		case !isID || c.id == "":
		case strings.HasPrefix(c.value, part):
			fit = append(fit, c)
		case strings.HasPrefix(c.id, part):
			c.value = c.id
			fit = append(fit, c)
		}
	}
	return fit
}

// without leaves out what is there already, and what a terminal or a script could
// not be given.
func without(all []candidate, already []string) []candidate {
	return slices.DeleteFunc(all, func(c candidate) bool {
		return c.value == "" || clean(c.value) != c.value || slices.Contains(already, c.value) || c.id != "" && slices.Contains(already, c.id)
	})
}
