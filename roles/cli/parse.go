package cli

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"sett/roles/cli/grammar"
	"sett/roles/role"
)

// parse reads the arguments of a command line that asks for no help. Building the
// grammar of all commands takes a quarter of sett's time to start, so the commands that
// the arguments name are tried first. If that fails, the whole grammar parses the line
// or reports the error.
func parse(args []string) (*root, *kong.Context, error) {
	r := &root{}
	if parser, err := newParserOf(r, args); err == nil {
		if parsed, err := parseBy(parser, args); err == nil && parsed.Selected() != nil {
			return r, parsed, nil
		}
	}
	r = &root{}
	parser, err := newParser(r)
	if err != nil {
		return nil, nil, fmt.Errorf("build command line: %w", err)
	}
	parsed, err := parseBy(parser, args)
	if err != nil {
		return nil, nil, usageError(parser, parsed, err)
	}
	return r, parsed, nil
}

// parseBy parses a line by a grammar. It is kong's Parse without hooks, which no command has:
// kong calls them by names that the linker cannot know, so that it would keep every method
// of every type, half of the binary.
func parseBy(parser *kong.Kong, args []string) (*kong.Context, error) {
	c, err := kong.Trace(parser, ownShorts(parser, args))
	if err != nil {
		return nil, err
	}
	if c.Error != nil {
		return c, c.Error
	}
	apply := func() error { _, err := c.Apply(); return err }
	for _, step := range []func() error{c.Reset, c.Resolve, apply} {
		if err := step(); err != nil {
			return c, err
		}
	}
	return c, validate(c)
}

// validate refuses values outside their list or below zero, missing words, and flags that exclude each
// other, in kong's words. kong's own Validate calls methods by name, too.
func validate(c *kong.Context) error {
	n := c.Selected()
	if n == nil {
		n = c.Model.Node
	}
	for _, v := range append(c.Model.Values(), n.Values()...) {
		got := fmt.Sprint(v.Target)
		if v.Enum != "" && (v.Set || !v.Required) && !slices.Contains(v.EnumSlice(), got) {
			return fmt.Errorf("%s must be one of %s but got %q", v.ShortSummary(), quoted(v.EnumSlice(), ","), got)
		}
	}
	var words, commands []string
	for _, p := range n.Positional {
		if p.Required && !p.Set {
			words = append(words, p.Summary())
		}
	}
	for _, child := range n.Children {
		if !child.Hidden {
			commands = append(commands, child.Name)
		}
	}
	switch {
	case len(words) > 0:
		return fmt.Errorf("expected %q", strings.Join(words, " "))
	case emptyName(n) != "":
		return fmt.Errorf("%s is empty", emptyName(n))
	case belowZero(c.Path) != "":
		return fmt.Errorf("%s is negative", belowZero(c.Path))
	case len(commands) > 0:
		some := quoted(commands[:min(len(commands), 5)], ", ")
		if len(commands) > 5 {
			some += ", ..."
		}
		return fmt.Errorf("expected one of %s", some)
	}
	first := map[string]string{} // flag by the group that it excludes the others of
	for _, f := range n.Flags {
		for _, group := range f.Xor {
			if other := first[group]; f.Set && other != "" {
				return fmt.Errorf("--%s and --%s can't be used together", other, f.Name)
			} else if f.Set {
				first[group] = f.Name
			}
		}
	}
	return nil
}

// emptyName is the argument that names something, and was typed as an empty word: a script's variable
// without a value must not mean the default, which may be another goal or instance.
func emptyName(n *kong.Node) string {
	for i, p := range n.Positional {
		if p.Set && n.Name == "answer" && i+1 < len(n.Positional) && !n.Positional[i+1].Set && hasEmpty(p.Target) {
			return "the answer" // the only word: it is the text, since the question may be left out
		}
		if free := []string{"text", "why", "words"}; p.Set && !slices.Contains(free, p.Name) && hasEmpty(p.Target) {
			return "<" + p.Name + ">"
		}
	}
	for _, group := range n.AllFlags(true) {
		for _, f := range group {
			if f.Set && f.Enum == "" && f.PlaceHolder != "TEXT" && hasEmpty(f.Target) {
				return "--" + f.Name
			}
		}
	}
	return ""
}

func hasEmpty(v reflect.Value) bool {
	switch got := v.Interface().(type) {
	case string:
		return got == ""
	case []string:
		return slices.Contains(got, "")
	}
	return false
}

// quoted joins quoted texts.
func quoted(texts []string, by string) string {
	var out []string
	for _, s := range texts {
		out = append(out, strconv.Quote(s))
	}
	return strings.Join(out, by)
}

// command is a command that can be typed. Run is called through this interface and not by
// kong, for the reason that parseBy has.
type command interface{ Run(a *app) error }

// chosen returns the command that was typed.
func chosen(c *kong.Context) (command, error) {
	if n := c.Selected(); n != nil {
		if typed, ok := n.Target.Addr().Interface().(command); ok {
			return typed, nil
		}
	}
	return nil, role.Fail(role.Usage, errors.New("no command"), "sett --help")
}

// newParser builds the grammar. Help is our own: see help.go.
func newParser(r *root) (*kong.Kong, error) { return kong.New(r, settings()...) }

// newParserOf builds the grammar with only the commands that are named among the
// words. A line that it accepts means the same in the whole grammar: a command is only
// ever chosen by its name.
func newParserOf(r *root, words []string) (*kong.Kong, error) {
	options, commands := settings(), reflect.ValueOf(r).Elem()
	for i := range commands.NumField() {
		field := commands.Type().Field(i)
		if name := commandName(field); name != "" && slices.Contains(words, name) {
			tag := field.Tag
			options = append(options, kong.DynamicCommand(name, tag.Get("help"), tag.Get("group"), commands.Field(i).Addr().Interface(), string(tag)))
		}
	}
	return kong.New(&r.globals, options...)
}

func settings() []kong.Option {
	return []kong.Option{
		kong.Name("sett"), kong.NoDefaultHelp(), kong.ExplicitGroups(groups),
		kong.KindMapper(reflect.Int, number[int]()), kong.TypeMapper(reflect.TypeFor[time.Duration](), number[time.Duration]()),
	}
}

// commandName returns the name of the command in a field of root; empty if it is none.
func commandName(f reflect.StructField) string {
	if _, ok := f.Tag.Lookup("cmd"); !ok {
		return ""
	}
	if name := f.Tag.Get("name"); name != "" {
		return name
	}
	return strings.ToLower(f.Name)
}

// grammarFor returns the whole grammar as those arguments are read by, and the arguments
// in its terms.
func grammarFor(args []string) (*grammar.Command, []string, error) {
	parser, err := newParser(&root{})
	if err != nil {
		return nil, nil, fmt.Errorf("build command line: %w", err)
	}
	args = ownShorts(parser, args)
	return commandOf(parser.Model.Node, nil), args, nil
}

// commandOf returns a command of kong's as a plain value.
func commandOf(n *kong.Node, parent *grammar.Command) *grammar.Command {
	c := &grammar.Command{Name: n.Name, Help: n.Help, Detail: n.Detail, Hidden: n.Hidden, Parent: parent}
	if n.Group != nil {
		c.Group = n.Group.Title
	}
	for _, f := range n.Flags {
		flag := &grammar.Flag{Value: valueOf(f.Value), Short: f.Short, Placeholder: f.PlaceHolder, Bare: f.IsBool() || f.IsCounter(), Hidden: f.Hidden}
		if !f.IsBool() {
			flag.Placeholder = cmp.Or(f.PlaceHolder, strings.ToUpper(f.Name))
		}
		c.Flags = append(c.Flags, flag)
	}
	for _, p := range n.Positional {
		c.Arguments = append(c.Arguments, &grammar.Argument{Value: valueOf(p), Required: p.Required})
	}
	for _, child := range n.Children {
		c.Commands = append(c.Commands, commandOf(child, c))
	}
	return c
}

func valueOf(v *kong.Value) grammar.Value {
	is := grammar.Value{Name: v.Name, Help: v.Help, Many: v.IsCumulative()}
	if v.Enum != "" {
		is.Choices = v.EnumSlice()
	}
	return is
}

// isBelowZero says whether a word is meant as a number or a duration below zero.
func isBelowZero(word string) bool {
	rest, minus := strings.CutPrefix(word, "-")
	return minus && strings.IndexAny(rest, ".0123456789") == 0
}

// number reads a number or a duration behind a flag, also one below zero: kong takes such a
// word for a flag. belowZero refuses it, with all others.
func number[T any]() kong.Mapper {
	usual := kong.NewRegistry().RegisterDefaults().ForType(reflect.TypeFor[T]())
	return kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
		if word, ok := ctx.Scan.Peek().Value.(string); ok && isBelowZero(word) {
			ctx.Scan.Pop()
			ctx.Scan.PushTyped(word, kong.FlagValueToken)
		}
		return usual.Decode(ctx, target)
	})
}

// belowZero is the flag that was given a number or a duration below zero, with its value: none
// has a meaning for it. A default may be one.
func belowZero(typed []*kong.Path) string {
	for _, p := range typed {
		f := p.Flag
		if f == nil {
			continue
		}
		if v := reflect.Indirect(f.Target); (v.Kind() == reflect.Int || v.Kind() == reflect.Int64) && v.Int() < 0 {
			return fmt.Sprintf("--%s: %v", f.Name, v.Interface())
		}
	}
	return ""
}
