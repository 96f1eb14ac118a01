package cli

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// What each shell runs to complete a command line. They ask `sett __complete`, which
// knows the commands from the same place as --help and as the parser.
//
//go:embed completion.bash
var completionBash string

//go:embed completion.zsh
var completionZsh string

//go:embed completion.fish
var completionFish string

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Help is shown by `sett completion --help`.
func (completionCmd) Help() string {
	return `Prints a script that makes a shell complete what is typed after sett with the TAB key:
commands, flags and their values, instances, agents and, from the blackboard of the
instance that is meant, ids with a word about each: what waits for an answer or for
approval, what failed, goals, claims and artefacts.

bash  in ~/.bashrc:
        eval "$(sett completion bash)"
      or once, where the package bash-completion is installed:
        sett completion bash > ~/.local/share/bash-completion/completions/sett
zsh   in ~/.zshrc, after compinit:
        eval "$(sett completion zsh)"
      or once, into a folder of $fpath, as _sett:
        sett completion zsh > ~/.zfunc/_sett
fish  once:
        sett completion fish > ~/.config/fish/completions/sett.fish

A blackboard that does not answer within 0.3 seconds is done without. Nothing is
started, and nothing is said when something is wrong.

Examples:
  sett completion bash > sett.bash
  sett completion zsh > _sett
  sett completion fish > sett.fish`
}

// Run prints the script.
func (c *completionCmd) Run(a *app) error {
	a.printf("%s", map[string]string{"bash": completionBash, "zsh": completionZsh, "fish": completionFish}[c.Shell])
	return nil
}

// completeCmd is what the scripts ask. Its arguments follow a --, so that none of
// them counts as one of its own.
type completeCmd struct {
	Shell string   `arg:"" help:"Which script asks."`
	Words []string `arg:"" optional:"" help:"What was typed, the word to complete last; from bash its COMP_WORDBREAKS, its COMP_TYPE, and the line up to the cursor."`
}

// Help is shown by `sett __complete --help`.
func (completeCmd) Help() string {
	return `What the scripts of sett completion ask. The first line of the answer says what kind it is:
:values, :files or :dirs (for these two the shell looks by itself). Then comes a value a line,
with a tab and a few words about it; for bash, as bash is to insert or list it.

Example: sett __complete -- fish completion ""`
}

// Run prints the candidates. It has nothing to say but them: whoever types must not be
// disturbed, so whatever is wrong only makes for fewer.
func (c *completeCmd) Run(a *app) error {
	var line bashLine
	words := c.Words
	if c.Shell == "bash" {
		if len(words) != 3 {
			return nil
		}
		line = parseBash(words[2], words[0])
		words = line.words
		if line.redirected {
			a.printf("%s\n", completeFiles)
			return nil
		}
	}
	if len(words) == 0 {
		return nil
	}
	last := len(words) - 1
	if c.Shell == "fish" { // which has the word as it was typed, and reads quotes as bash does
		typed := parseBash("sett "+words[last], "").words
		words = append(slices.Clone(words[:last]), typed[len(typed)-1])
	}
	parser, err := newParser(&root{})
	if err != nil {
		return nil
	}
	t := readTyped(parser, words[:last])
	r := (&completer{app: a.completing(t), typed: t, parser: parser}).complete(words[last])
	a.printf("%s\n", r.kind)
	if c.Shell == "bash" {
		a.printf("%s", line.reply(r.values, words, c.Words[1]))
		return nil
	}
	for _, v := range r.values {
		a.printf("%s\t%s\n", v.value, v.about)
	}
	return nil
}

// The kinds of answers: whether there are values, or the shell looks for files.
const (
	completeValues = ":values"
	completeFiles  = ":files"
	completeDirs   = ":dirs"
)

// candidate is what a word may become.
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
	*app
	typed  *typedLine
	parser *kong.Kong
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

// flags are those that can be typed now. Short forms are only shown to who asks for
// them.
func (c *completer) flags(word string) []candidate {
	var all []candidate
	for n := c.typed.node; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			if _, twice := c.typed.values[f.Name]; f.Hidden || twice && !f.IsCumulative() {
				continue
			}
			about := clean(f.Help)
			all = append(all, candidate{value: "--" + f.Name, about: about})
			if f.Short != 0 && !strings.HasPrefix(word, "--") {
				all = append(all, candidate{value: "-" + string(f.Short), about: about})
			}
		}
	}
	return append(all, candidate{value: "--help", about: "Show help for a command."})
}

// argument completes what is no flag: a command, or what the command is given.
func (c *completer) argument(word string) completion {
	t := c.typed
	if len(t.node.Children) > 0 {
		var all []candidate
		for _, n := range t.node.Children {
			if !n.Hidden {
				all = append(all, candidate{value: n.Name, about: clean(n.Help)})
			}
		}
		return completion{completeValues, beginning(all, word)}
	}
	if t.help {
		return completion{kind: completeValues}
	}
	at := len(t.arguments)
	if n := len(t.node.Positional); n > 0 && at >= n && t.node.Positional[n-1].IsCumulative() {
		at = n - 1
	}
	if at >= len(t.node.Positional) {
		return completion{kind: completeValues}
	}
	p := t.node.Positional[at]
	return c.of(p, fmt.Sprintf("%s %s", commandPath(t.node), strings.ToUpper(p.Name)), "", word, t.arguments[at:])
}

// value completes the value of a flag that stands behind before in the same word.
func (c *completer) value(f *kong.Flag, before, word string) completion {
	key := "--" + f.Name
	if !c.isGlobal(f) {
		key = commandPath(c.typed.node) + " " + key
	}
	return c.of(f.Value, key, before, word, nil)
}

func (c *completer) isGlobal(f *kong.Flag) bool {
	for _, g := range c.parser.Model.Flags {
		if g == f {
			return true
		}
	}
	return false
}

// of completes a value of the grammar: what it enumerates, else what its source knows.
func (c *completer) of(v *kong.Value, key, before, word string, already []string) completion {
	var all []candidate
	source := sources[key]
	switch {
	case v.Enum != "":
		for _, s := range v.EnumSlice() {
			all = append(all, candidate{value: s})
		}
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
