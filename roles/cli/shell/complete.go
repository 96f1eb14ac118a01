// Package shell completes what is typed in a shell: commands and flags from the grammar,
// values from the instance and its blackboard. It prints nothing else and starts nothing.
package shell

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"sett/roles/cli/grammar"
	"sett/roles/cli/instance"
	"sett/roles/role"
)

//go:embed completion.bash
var completionBash string

//go:embed completion.zsh
var completionZsh string

//go:embed completion.fish
var completionFish string

// Script returns the script that makes a shell complete; empty for another shell.
func Script(shell string) string {
	return map[string]string{"bash": completionBash, "zsh": completionZsh, "fish": completionFish}[shell]
}

// Complete prints the candidates for the last of the words that a shell has. read returns
// the grammar, and typed words in its terms.
func Complete(ctx context.Context, at *instance.Locator, read func(words []string) (*grammar.Command, []string, error), shell string, typed []string) {
	var line bashLine
	words := typed
	if shell == "bash" {
		if len(words) != 3 {
			return
		}
		line = parseBash(words[2], words[0])
		words = line.words
		if line.redirected {
			at.Printf("%s\n", completeFiles)
			return
		}
	}
	if len(words) == 0 {
		return
	}
	last := len(words) - 1
	if shell == "fish" { // which has the word as it was typed, and reads quotes as bash does
		unquoted := parseBash("sett "+words[last], "").words
		words = append(slices.Clone(words[:last]), unquoted[len(unquoted)-1])
	}
	root, before, err := read(words[:last])
	if err != nil {
		return
	}
	t := readTyped(root, before)
	r := (&completer{at: completing(at, t), ctx: ctx, typed: t, root: root}).complete(words[last])
	at.Printf("%s\n", r.kind)
	if shell == "bash" {
		at.Printf("%s", line.reply(r.values, words, typed[1]))
		return
	}
	for _, v := range r.values {
		at.Printf("%s\t%s\n", v.value, v.about)
	}
}

// The kinds of answers: whether there are values, or the shell looks for files.
const (
	completeValues = ":values"
	completeFiles  = ":files"
	completeDirs   = ":dirs"
)

// candidate is a possible completion of a word.
type candidate struct {
	value string
	about string // a few words, on one line; may be empty
	id    string // the whole id that value is the ending of; empty: it is none
}

// completion is how a word may go on.
type completion struct {
	kind   string
	values []candidate
}

// completer completes one word.
type completer struct {
	at    *instance.Locator
	ctx   context.Context
	typed *typedLine
	root  *grammar.Command
}

// complete says how the word may go on.
func (c *completer) complete(word string) completion {
	t := c.typed
	name, value, joined := strings.Cut(word, "=")
	switch {
	case t.lost:
		return completion{kind: completeValues}
	case t.open != nil:
		return c.value(t.open, "", word)
	case t.literal || !strings.HasPrefix(word, "-"):
		return c.argument(word)
	case joined && strings.HasPrefix(word, "--"):
		if f := t.flag(name[2:]); f != nil {
			return c.value(f, name+"=", value)
		}
		return completion{kind: completeValues}
	case len(word) > 2 && word[1] != '-':
		if f := t.short(rune(word[1])); f != nil && takesValue(f) {
			return c.value(f, word[:2], word[2:])
		}
		return completion{kind: completeValues}
	}
	return completion{completeValues, beginning(c.flags(word), word)}
}

// flags are those that can be typed now. Short forms are offered after a single
// dash only.
func (c *completer) flags(word string) []candidate {
	var all []candidate
	for n := c.typed.node; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			if _, twice := c.typed.values[f.Name]; f.Hidden || twice && !f.Many {
				continue
			}
			about := role.Clean(f.Help)
			all = append(all, candidate{value: "--" + f.Name, about: about})
			if f.Short != 0 && !strings.HasPrefix(word, "--") {
				all = append(all, candidate{value: "-" + string(f.Short), about: about})
			}
		}
	}
	return append(all, candidate{value: "--help", about: "Show help for a command."})
}

// argument completes a word that is no flag: a command, or a command's argument.
func (c *completer) argument(word string) completion {
	t := c.typed
	if len(t.node.Commands) > 0 {
		var all []candidate
		for _, n := range t.node.Commands {
			if !n.Hidden {
				all = append(all, candidate{value: n.Name, about: role.Clean(n.Help)})
			}
		}
		return completion{completeValues, beginning(all, word)}
	}
	if t.help {
		return completion{kind: completeValues}
	}
	at := len(t.arguments)
	if n := len(t.node.Arguments); n > 0 && at >= n && t.node.Arguments[n-1].Many {
		at = n - 1
	}
	if at >= len(t.node.Arguments) {
		return completion{kind: completeValues}
	}
	p := t.node.Arguments[at]
	return c.of(&p.Value, fmt.Sprintf("%s %s", t.node.Path(), strings.ToUpper(p.Name)), "", word, t.arguments[at:])
}

// value completes the value of a flag that stands behind before in the same word.
func (c *completer) value(f *grammar.Flag, before, word string) completion {
	key := "--" + f.Name
	if !c.isGlobal(f) {
		key = c.typed.node.Path() + " " + key
	}
	return c.of(&f.Value, key, before, word, nil)
}

func (c *completer) isGlobal(f *grammar.Flag) bool {
	for _, g := range c.root.Flags {
		if g == f {
			return true
		}
	}
	return false
}

// of completes a value of the grammar: from its enumeration, else from its source.
func (c *completer) of(v *grammar.Value, key, before, word string, already []string) completion {
	var all []candidate
	source := sources[key]
	if last := strings.LastIndex(word, ","); source.list && last >= 0 {
		already = strings.Split(word[:last], ",")
		before, word = before+word[:last+1], word[last+1:]
	}
	switch {
	case len(v.Choices) > 0:
		all = named(v.Choices)
	case source.kind != "":
		return completion{kind: source.kind}
	case source.read != nil:
		all = source.read(c)
	}
	all = without(beginning(all, word), already)
	for i := range all {
		all[i].value = before + all[i].value
	}
	return completion{completeValues, all}
}
