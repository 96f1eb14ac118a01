package shell

import (
	"slices"
	"strings"

	"sett/blackboard"
	"sett/roles/cli/grammar"
	"sett/roles/role"
)

// typedLine is a command line up to the word that is to be completed, parsed leniently: it
// need not be complete or correct.
type typedLine struct {
	node      *grammar.Command
	values    map[string]string // of flags, by name; the last of each
	arguments []string
	open      *grammar.Flag // the next word is its value
	literal   bool          // after --
	lost      bool          // there is no such command
	help      bool          // it asks for help: only the name of a command may follow
}

// readTyped reads words.
func readTyped(root *grammar.Command, words []string) *typedLine {
	t := &typedLine{node: root, values: map[string]string{}}
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

// argument takes a command's name or, after it, an argument.
func (t *typedLine) argument(word string) {
	if len(t.node.Commands) == 0 {
		t.arguments = append(t.arguments, word)
		return
	}
	next := t.node.Command(word)
	if next == nil {
		t.lost = true
		return
	}
	t.node = next
}

// take takes a flag, with the value that is joined to it if there is one.
func (t *typedLine) take(f *grammar.Flag, value string, joined bool) {
	switch {
	case f == nil: // unknown: the parser will say so
	case !joined && takesValue(f):
		t.open = f
	default:
		t.values[f.Name] = value
	}
}

// takeShorts takes the letters after one dash: flags without values, the last perhaps with
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

func takesValue(f *grammar.Flag) bool { return !f.Bare }

// flag returns the flag of that name that the command knows, or nil.
func (t *typedLine) flag(name string) *grammar.Flag {
	return t.find(func(f *grammar.Flag) bool { return f.Name == name })
}

func (t *typedLine) short(letter rune) *grammar.Flag {
	return t.find(func(f *grammar.Flag) bool { return f.Short == letter })
}

func (t *typedLine) find(is func(*grammar.Flag) bool) *grammar.Flag {
	for n := t.node; n != nil; n = n.Parent {
		if i := slices.IndexFunc(n.Flags, is); i >= 0 {
			return n.Flags[i]
		}
	}
	return nil
}

// beginning returns the candidates that begin with a word. An id fits by its beginning or its
// ending, in either case; a typed beginning gives the whole id.
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

// without leaves out candidates that are typed already or have control characters.
func without(all []candidate, already []string) []candidate {
	return slices.DeleteFunc(all, func(c candidate) bool {
		return c.value == "" || role.Clean(c.value) != c.value || slices.Contains(already, c.value) || c.id != "" && slices.Contains(already, c.id)
	})
}
