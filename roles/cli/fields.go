package cli

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"sett/roles/role"
)

// fieldsText names the fields of everything that commands print for programs, a part
// for each command behind a line "# COMMAND". It is written from the types and their
// comments, and held against what the commands print (see TestFields).
//
//go:embed fields.txt
var fieldsText string

// fieldsOf returns what is said of a command's fields; empty when it has none.
func fieldsOf(n *kong.Node) string {
	_, rest, _ := strings.Cut(fieldsText, "\n# "+commandPath(n)+"\n")
	text, _, _ := strings.Cut(rest, "\n# ")
	return strings.Trim(text, "\n")
}

// fieldsIntro says how to read them.
const fieldsIntro = `Fields of -o json and yaml, and of the lines of jsonl. One with a ? may be absent, one
that is "or null" null; "list" is never null. Times are RFC 3339, in UTC.`

// printFields prints the fields of the command that the arguments name, or the names
// of all that have any.
func (a *app) printFields(parser *kong.Kong, args []string) error {
	n, err := a.commandOf(parser, args)
	if err != nil {
		return err
	}
	if n == nil {
		a.printf("sett help fields COMMAND names the fields of what a command prints for programs:\n")
		for _, n := range parser.Model.Leaves(true) {
			if fieldsOf(n) != "" {
				a.printf("  %s\n", commandPath(n))
			}
		}
		return nil
	}
	text := fieldsOf(n)
	if text == "" {
		return role.Fail(role.NotFound, fmt.Errorf("sett %s prints nothing with fields", commandPath(n)), "sett help %s", commandPath(n))
	}
	if strings.Contains(text, "\n  ") { // else they are described elsewhere
		text = fieldsIntro + "\n\n" + text
	}
	a.printf("%s\n", text)
	return nil
}
