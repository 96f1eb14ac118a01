package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"unicode/utf16"
	"unicode/utf8"

	"sett/contract/config"
	"sett/roles/role"
)

// Form is the -o flag of every command that reads.
type Form struct {
	Output string `short:"o" enum:"table,json,jsonl,yaml" default:"table" placeholder:"FORMAT" help:"How to print: table, json, jsonl (one object per line) or yaml."`
}

// Shown is the result of a command, in the formats of -o. The names of its JSON fields
// are part of the interface.
type Shown struct {
	Whole any          // json and yaml: one value
	Lines any          // jsonl: a slice, one line for each element; nil: whole on one line
	Table func() error // prints it for people
}

// Emit prints a result in the format of -o.
func (t *Terminal) Emit(o Form, s Shown) error {
	switch {
	case o.ForPeople():
		return s.Table()
	case o.Output != "jsonl" || s.Lines == nil:
		return o.write(t.Stdout, s.Whole)
	}
	for all, i := reflect.ValueOf(s.Lines), 0; i < all.Len(); i++ {
		if err := o.write(t.Stdout, all.Index(i).Interface()); err != nil {
			return err
		}
	}
	return nil
}

// Entry prints one value of an endless stream: json as one object after another, yaml
// as one document after another. line shows it to people.
func (o Form) Entry(w io.Writer, v any, line func() error) error {
	if o.ForPeople() {
		return line()
	}
	if o.Output == "yaml" {
		if _, err := io.WriteString(w, "---\n"); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return o.write(w, v)
}

// write writes one value in a format for programs.
func (o Form) write(w io.Writer, v any) error {
	switch o.Output {
	case "yaml":
		text, err := config.YAML(v)
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			return fmt.Errorf("print: %w", err)
		}
		return nil
	case "json":
		return writeJSON(w, v, "  ")
	}
	return writeJSON(w, v, "")
}

// ForPeople says whether the format is a table, so that messages about it help.
func (o Form) ForPeople() bool { return o.Output == "table" }

// writeJSON writes a value and ends the line. It escapes every character that a terminal
// obeys; to a program the text is the same. encoding/json escapes only some of them.
func writeJSON(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if _, err := w.Write(escapeJSON(b.Bytes())); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// escapeJSON writes every character that a terminal obeys, or shows nothing for, as \u….
// A JSON document has such characters only within strings, but for the line feeds of its
// layout.
func escapeJSON(doc []byte) []byte {
	var out []byte // the escaped document so far; nil: nothing to escape yet
	done := 0      // the number of bytes of doc that are in out
	for i := 0; i < len(doc); {
		if c := doc[i]; c >= ' ' && c < 0x7f || c == '\n' {
			i++
			continue
		}
		r, size := utf8.DecodeRune(doc[i:])
		if r == utf8.RuneError || role.Harmful(r) || role.Joiner(r) {
			out = append(out, doc[done:i]...)
			if r == utf8.RuneError {
				out = append(out, "\ufffd"...) // for invalid UTF-8, which metadata may have
			} else {
				for _, unit := range utf16.AppendRune(nil, r) {
					out = append(out, '\\', 'u', hexDigits[unit>>12], hexDigits[unit>>8&15], hexDigits[unit>>4&15], hexDigits[unit&15])
				}
			}
			done = i + size
		}
		i += size
	}
	if done == 0 {
		return doc
	}
	return append(out, doc[done:]...)
}

const hexDigits = "0123456789abcdef"
