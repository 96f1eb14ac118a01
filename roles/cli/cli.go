// Package cli is Sett on the command line, for people and their scripts.
//
// Each command has a file of its own. All commands share the global flags (root.go),
// the parser (parse.go), the look-up of ids typed in part (resolve.go) and the checks
// of free text (words.go). Package instance finds the instance and opens its
// blackboard; package term prints; the other packages below do the work of commands
// that is more than one file. Data goes to stdout, messages to stderr.
//
// It decides nothing about claims and grants: it writes people's words and decisions
// to the blackboard, reads the results, and starts and stops units.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"sett/blackboard"
	"sett/contract/spelling"
	"sett/roles/cli/instance"
	"sett/roles/cli/manual"
	"sett/roles/cli/term"
	"sett/roles/role"
)

// app is the environment of a command. kong hands it to the command's Run method.
type app struct {
	term.Terminal
	at    *instance.Locator
	ctx   context.Context // ends when the user interrupts
	flags globals
	walks *walks // shared with commands that run beside this one; nil: none do
}

// newApp returns an app for the instance of the current directory.
func newApp(ctx context.Context, e role.Env) *app {
	a := &app{Terminal: term.New(e), ctx: ctx}
	a.at = instance.New(&a.Terminal, instance.Flags{})
	return a
}

// Run runs the command line. The error carries the exit code, and fits the terminal of stderr.
func Run(ctx context.Context, e role.Env) error {
	a := newApp(ctx, e)
	defer a.at.Close()
	return term.Fitted(e.Stderr, run(ctx, a, e))
}

// run runs the command line.
func run(ctx context.Context, a *app, e role.Env) error {
	args := versionFlag(e.Args)
	if _, ok := wantsHelp(args); ok {
		return explain(a, args)
	}
	r, parsed, err := parse(args)
	if err != nil {
		return err
	}
	a.obey(r.globals)
	a.at.Acts = acting.has(parsed.Command())
	if changing.has(parsed.Command()) {
		pipes := make(chan os.Signal, 1)
		signal.Notify(pipes, syscall.SIGPIPE) // or it would end this process
		defer signal.Stop(pipes)
		a.Stdout, a.Stderr = term.Unheard(a.Stdout), term.Unheard(a.Stderr)
	}
	if _, err := a.at.Directory(); err != nil && a.at.Flags.Directory != "" {
		return err // also for commands that do not need it: -C was wrong
	}
	typed, err := chosen(parsed)
	if err != nil {
		return err
	}
	if err = term.Interruptible(ctx, e.Hurry, a.Hold, func() error {
		if peoples.has(parsed.Command()) {
			if err := aPerson(a); err != nil {
				return err
			}
		}
		return typed.Run(a)
	}); err == nil {
		err = a.Unprinted()
	}
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return role.Fail(role.Interrupted, errors.New("interrupted"), "")
	}
	if unsure := (*blackboard.UnsureError)(nil); errors.As(err, &unsure) && unsure.ID != "" && role.CodeOf(err) == role.Environment {
		return mayBeMade(a, err, unsure)
	}
	if server := blackboard.MendableOf(err); server != nil && role.CodeOf(err) == role.Environment {
		return role.Fail(role.Environment, server, "%s", server.Remedy()) // without the names of the calls around it
	}
	if hint := instance.Remedy(err); hint != "" && role.CodeOf(err) == role.Failed {
		return role.Fail(role.Environment, err, "%s", hint)
	}
	if schema := (*blackboard.SchemaError)(nil); errors.As(err, &schema) && role.CodeOf(err) != role.Environment {
		return role.Fail(role.Environment, schema, "%s", schema.Remedy())
	}
	if hinted := (*role.Error)(nil); errors.Is(err, blackboard.ErrCorrupt) && !errors.As(err, &hinted) {
		return role.Fail(role.Failed, err, "a record is lost or corrupt: sett ledger export names all such records; an export from before has them")
	}
	if instance.IsEngineAway(err) && role.CodeOf(err) == role.Failed {
		return role.Fail(role.Environment, err, "is the container engine still running?")
	}
	return err
}

// mayBeMade is the error of a move without an answer, or without the word of the replicas. Repeating the command
// could make it twice: each goal is another one.
func mayBeMade(a *app, err error, unsure *blackboard.UnsureError) error {
	look := "sett "
	if name := a.at.Flags.Name; name != "" {
		look += "--name " + name + " "
	}
	if unsure.Made {
		return role.Fail(role.Environment, fmt.Errorf("this was done, and a failover may still lose it: %w", err),
			"do not repeat the command; once the replicas are back, look whether it stands: %sshow %s", look, unsure.ID)
	}
	return role.Fail(role.Environment, fmt.Errorf("the answer was lost, so this may have been done: %w", err),
		"before you repeat the command, look whether it was: %sshow %s", look, unsure.ID)
}

// changing are the commands that finish their work when the reader of their output
// goes away, as in `sett up | head -1`.
var changing = commands{"up", "down", "restart", "forage", "land", "checkout", "leftovers restore", "leftovers drop",
	"answer", "approve", "reject", "review", "cancel", "retry", "init", "ledger import"}

// acting are the commands that change what is on the blackboard, or take from it into the
// repository. A blackboard of another workspace is refused to them.
var acting = commands{"up", "down", "restart", "forage", "land", "answer", "approve", "reject", "review", "cancel", "retry",
	"models pause", "models resume", "ledger import"}

// commands are names of commands, without their arguments.
type commands []string

// has says whether a parsed command, such as "land <goal>", is one of them.
func (c commands) has(parsed string) bool {
	return slices.ContainsFunc(c, func(name string) bool { return strings.HasPrefix(parsed+" ", name+" ") })
}

// obey applies the global flags.
func (a *app) obey(g globals) {
	a.flags, a.at.Flags, a.Colour = g, g.Flags, term.Coloured(a.Env, g.Color, a.Stdout)
	if g.Quiet {
		a.Stderr = io.Discard
	}
}

// printID prints an id for programs, which go on with it. On a terminal it prints nothing:
// messages say in words what was done.
func (a *app) printID(id string) {
	if !role.IsTerminal(a.Stdout) {
		a.Printf("%s\n", id)
	}
}

// wantsHelp reports whether the arguments ask for help, and returns them without the
// words that ask for it. No arguments at all ask for help.
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

// explain answers arguments that ask for help.
func explain(a *app, args []string) error {
	whole, args, err := grammarFor(args)
	if err != nil {
		return err
	}
	rest, _ := wantsHelp(args)
	rest = fromCommand(rest)
	if len(rest) > 0 && rest[0] == "fields" {
		err = manual.Fields(&a.Terminal, whole, fromCommand(rest[1:]))
	} else {
		err = manual.Help(&a.Terminal, whole, rest)
	}
	if err == nil {
		err = a.Unprinted()
	}
	return err
}

// fromCommand returns the arguments from the command's name on; none: it has no name.
func fromCommand(args []string) []string {
	if at := commandIndex(args); at >= 0 {
		return args[at:]
	}
	return nil
}

// versionFlag turns --version before any command into the command version.
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

// usageError turns an error of kong into our form, with its suggestion as the hint.
func usageError(parser *kong.Kong, parsed *kong.Context, err error) error {
	text := strings.ReplaceAll(err.Error(), `one of "",`, "one of ")
	command := "sett"
	if parsed != nil && parsed.Selected() != nil {
		command = "sett " + parsed.Selected().Path()
	}
	hint := command + " --help"
	text, guess, found := strings.Cut(text, ", did you mean ")
	typed, isWord := strings.CutPrefix(text, "unexpected argument ")
	flag, _ := strings.CutPrefix(text, "unknown flag ")
	found = found && len(flag) != len("-o") // each letter is near to each other one
	if c := ours(parser, strings.ToLower(strings.Trim(typed, `"`))); isWord && command == "sett" && c != "" {
		hint = fmt.Sprintf("did you mean %q?", c)
	} else if flag == "-o" && hasFlag(parsed, "file") {
		hint = `did you mean "--file"?`
	} else if found {
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
	return role.Fail(role.Usage, errors.New(role.Clean(plainly(text))), "%s", role.Clean(hint))
}

// plainly says in our words that a flag has no value, or one without a unit.
func plainly(text string) string {
	flag, rest, found := strings.Cut(text, ": expected ")
	if !found || !strings.HasPrefix(flag, "-") {
		return text
	}
	if strings.HasSuffix(rest, `but got "EOL" (<EOL>)`) {
		return "missing value of " + flag
	}
	if _, typed, ok := strings.Cut(rest, "time: missing unit in duration "); ok {
		return fmt.Sprintf("%s is %s, which has no unit: 30s, 5m or 1h", flag, typed)
	}
	return text
}

// hasFlag says whether the command that was typed has a flag.
func hasFlag(parsed *kong.Context, name string) bool {
	return parsed != nil && parsed.Selected() != nil &&
		slices.ContainsFunc(parsed.Selected().Flags, func(f *kong.Flag) bool { return f.Name == name })
}

// foreign maps the commands of other tools to ours.
var foreign = map[string]string{
	"ps": "list", "status": "list", "stop": "down", "rm": "down --purge", "run": "forage", "start": "up", "events": "watch",
	"inspect": "show", "describe": "show", "cat": "unearth", "artifacts": "hoard", "artefacts": "hoard",
}

// ours is the command that a word means which is none of sett's: that of other tools, or one
// below another command; empty: none.
func ours(parser *kong.Kong, word string) string {
	if c := foreign[word]; c != "" {
		return c
	}
	for _, n := range parser.Model.Children {
		for _, below := range n.Children {
			if !n.Hidden && !below.Hidden && below.Name == word {
				return n.Name + " " + word
			}
		}
	}
	return ""
}

// commandNames returns the names of all commands that help shows.
func commandNames(parser *kong.Kong) []string {
	var names []string
	for _, n := range parser.Model.Children {
		if !n.Hidden {
			names = append(names, n.Name)
		}
	}
	return names
}
