// Package cli is Sett on the command line: what people and their scripts type.
//
// Each command has a file of its own. What they share is here: the flags that
// every command knows (root.go) and how arguments are read (parse.go), which workspace,
// configuration and instance is meant (instance.go), its blackboard (open.go), what is
// kept of it (state.go), what an id typed in part stands for (resolve.go) and words that
// are free text (words.go); and how things are shown: in the form that -o names
// (format.go), to people (output.go, table.go). Data goes to stdout, talk to stderr.
//
// It decides nothing about claims and grants: it writes what people say to the
// blackboard, reads what became of it, and starts and stops units.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/alecthomas/kong"

	"sett/contract/spelling"
	"sett/roles/role"
	"sett/runtime/docker"
)

// app is the world of a command: what kong hands to its Run method.
type app struct {
	role.Env
	ctx    context.Context // ends when the user interrupts
	flags  globals
	colour bool      // of what goes to stdout
	prompt io.Writer // what asks a person something, also where --quiet makes Stderr silent

	engines *engine                // of containers, if it is needed
	lost    *atomic.Pointer[error] // the first error of printf; shared with copies, and nil where nobody asks
}

// Run runs the command line. The error carries the exit code.
func Run(ctx context.Context, e role.Env) error {
	a := &app{Env: e, ctx: ctx, prompt: e.Stderr, engines: &engine{}, lost: &atomic.Pointer[error]{}}
	defer a.closeEngine()
	args := versionFlag(e.Args)
	if _, ok := wantsHelp(args); ok {
		return a.explain(args)
	}
	r, parsed, err := parse(args)
	if err != nil {
		return err
	}
	if err := refuseNegative(parsed.Flags()); err != nil {
		return err
	}
	a.obey(r.globals)
	if _, err := a.directory(); err != nil && a.flags.Directory != "" {
		return err // whether the command needs it or not: it was not meant to be another
	}
	if err = parsed.Run(a); err == nil {
		err = a.unprinted()
	}
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return role.Fail(role.Interrupted, errors.New("interrupted"), "")
	}
	if errors.Is(err, docker.ErrEngine) && role.CodeOf(err) == role.Failed {
		return role.Fail(role.Environment, err, "is the container engine still running?")
	}
	return err
}

// obey takes the flags that every command knows.
func (a *app) obey(g globals) {
	a.flags, a.colour = g, coloured(a.Env, g.Color, a.Stdout)
	if g.Quiet {
		a.Stderr = io.Discard
	}
}

// wantsHelp says whether the arguments ask for help instead of action, as none do,
// and returns them without what asked.
func wantsHelp(args []string) ([]string, bool) {
	if len(args) == 0 {
		return nil, true
	}
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}
	asks := func(s string) bool { return s == "--help" || s == "-h" }
	if at := commandIndex(args[:end]); at >= 0 && args[at] == "help" {
		return slices.DeleteFunc(slices.Concat(args[:at], args[at+1:end]), asks), true
	}
	if !slices.ContainsFunc(args[:end], asks) {
		return nil, false
	}
	return slices.DeleteFunc(slices.Clone(args[:end]), asks), true
}

// versionFlag takes --version before any command for the command.
func versionFlag(args []string) []string {
	for i := range args {
		if args[i] == "--version" && commandIndex(args[:i]) < 0 {
			args = slices.Clone(args)
			args[i] = "version"
			break
		}
	}
	return args
}

// ownShorts makes room for `logs -f`, which people expect to follow, where
// everywhere else, and before the command, -f names the configuration file.
func ownShorts(parser *kong.Kong, args []string) []string {
	at := commandIndex(args)
	if at < 0 || args[at] != "logs" {
		return args
	}
	for _, f := range parser.Model.Flags {
		if f.Short == 'f' {
			f.Short = 0
		}
	}
	for _, child := range parser.Model.Children {
		for _, f := range child.Flags {
			if child.Name == "logs" && f.Name == "follow" {
				f.Short = 'f'
			}
		}
	}
	args = slices.Clone(args)
	for i := range at {
		if file, ok := strings.CutPrefix(args[i], "-f"); ok {
			args[i] = strings.TrimSuffix("--config="+file, "=")
		}
	}
	return args
}

// commandIndex returns where the command's name is: the first argument that is
// neither a global flag nor its value; -1 when there is none.
func commandIndex(args []string) int {
	for i := 0; i < len(args); i++ {
		switch s := args[i]; {
		case slices.Contains([]string{"-C", "-f", "--directory", "--config", "--name", "--color"}, s):
			i++ // its value
		case !strings.HasPrefix(s, "-"):
			return i
		}
	}
	return -1
}

// usageError turns what kong says into our form, the suggestion as the hint.
func usageError(parser *kong.Kong, err error) error {
	text := strings.ReplaceAll(err.Error(), `one of "",`, "one of ")
	command := "sett"
	var p *kong.ParseError
	if errors.As(err, &p) && p.Context != nil {
		if node := p.Context.Selected(); node != nil {
			command = "sett " + node.Path()
		}
	}
	hint := command + " --help"
	text, guess, found := strings.Cut(text, ", did you mean ")
	if found {
		hint = "did you mean " + guess
	} else if word, ok := strings.CutPrefix(text, "unexpected argument "); ok && command == "sett" {
		text = "unknown command " + word
		if s := spelling.Nearest(word, commandNames(parser)); s != "" {
			hint = fmt.Sprintf("did you mean %q?", s)
		}
	}
	if word, ok := strings.CutPrefix(text, "unexpected argument "); ok && command == "sett" {
		text = "unknown command " + word
	}
	if missing, ok := strings.CutPrefix(text, "expected \"<"); ok { // in the words of our help
		name, _, _ := strings.Cut(missing, ">")
		text = "missing argument " + strings.ToUpper(name)
	}
	return role.Fail(role.Usage, errors.New(clean(text)), "%s", clean(hint))
}

// commandNames returns what can be typed after `sett`.
func commandNames(parser *kong.Kong) []string {
	var names []string
	for _, n := range parser.Model.Children {
		if !n.Hidden {
			names = append(names, n.Name)
		}
	}
	return names
}
