package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// parse reads the arguments of a command line that asks for no help. Building the
// grammar of all commands is a quarter of what sett needs to start, so the commands
// that the arguments name are tried first; what these do not understand, the whole
// grammar says what to make of.
func parse(args []string) (*root, *kong.Context, error) {
	r := &root{}
	if parser, err := newParserOf(r, args); err == nil {
		if parsed, err := parser.Parse(ownShorts(parser, args)); err == nil && parsed.Selected() != nil {
			return r, parsed, nil
		}
	}
	r = &root{}
	parser, err := newParser(r)
	if err != nil {
		return nil, nil, fmt.Errorf("build command line: %w", err)
	}
	parsed, err := parser.Parse(ownShorts(parser, args))
	if err != nil {
		return nil, nil, usageError(parser, err)
	}
	return r, parsed, nil
}

// newParser builds the grammar. Help is our own: see help.go.
func newParser(r *root) (*kong.Kong, error) { return kong.New(r, settings()...) }

// newParserOf builds the grammar with no other commands than those whose names are
// among the words. Whatever it understands means the same in the whole grammar: a
// command is only ever chosen by a word that is its name.
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
	return []kong.Option{kong.Name("sett"), kong.NoDefaultHelp(), kong.ExplicitGroups(groups)}
}

// commandName returns by what name a field of root is a command; empty if it is none.
func commandName(f reflect.StructField) string {
	if _, ok := f.Tag.Lookup("cmd"); !ok {
		return ""
	}
	if name := f.Tag.Get("name"); name != "" {
		return name
	}
	return strings.ToLower(f.Name)
}
