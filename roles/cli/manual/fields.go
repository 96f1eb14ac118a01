package manual

import (
	_ "embed"
	"fmt"
	"strings"

	"sett/roles/cli/grammar"
	"sett/roles/cli/term"
	"sett/roles/role"
)

// fieldsText names the fields of everything that commands print for programs, a part
// for each command behind a line "# COMMAND". It is written from the types and their
// comments, and TestFields compares it with the output of the commands.
//
//go:embed fields.txt
var fieldsText string

// fieldsOf returns the description of a command's fields; empty when it has none.
func fieldsOf(n *grammar.Command) string {
	_, rest, _ := strings.Cut(fieldsText, "\n# "+n.Path()+"\n")
	text, _, _ := strings.Cut(rest, "\n# ")
	return strings.Trim(text, "\n")
}

// fieldsIntro explains how to read the fields.
const fieldsIntro = `Fields of -o json and yaml, and of the lines of jsonl. One with a ? may be absent, one
that is "or null" null; "list" is never null. Times are RFC 3339, in UTC.`

// Fields prints the fields of the command that the words name, or the names of all
// that have any.
func Fields(on *term.Terminal, root *grammar.Command, typed []string) error {
	n, err := commandOf(root, typed)
	if err != nil {
		return err
	}
	if n == nil {
		on.Printf("sett help fields COMMAND names the fields of what a command prints for programs:\n")
		for _, n := range root.Below() {
			if fieldsOf(n) != "" {
				on.Printf("  %s\n", n.Path())
			}
		}
		return nil
	}
	text := fieldsOf(n)
	if text == "" { // sett leftovers is sett leftovers list
		for _, below := range n.Below() {
			if of := fieldsOf(below); of != "" {
				text += "\n\nsett " + below.Path() + ":\n\n" + of
			}
		}
		text = strings.TrimPrefix(text, "\n\n")
	}
	if text == "" {
		return role.Fail(role.NotFound, fmt.Errorf("sett %s prints nothing with fields", n.Path()), "sett help %s", n.Path())
	}
	if strings.Contains(text, "\n  ") { // else they are described elsewhere
		text = term.Fill(fieldsIntro) + "\n" + text
	}
	on.Printf("%s\n", text)
	return nil
}
