package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"unicode/utf8"

	"sett/contract/config"
)

// outputs is the -o flag of every command that reads.
type outputs struct {
	Output string `short:"o" enum:"table,json,jsonl,yaml" default:"table" placeholder:"FORMAT" help:"How to print: table, json, jsonl (one object per line) or yaml."`
}

// shown is what a command has found, in the forms it can be printed in. Names of
// fields are part of the interface.
type shown struct {
	whole any          // json and yaml: one value
	lines any          // jsonl: a slice, one line for each element; nil: whole on one line
	table func() error // for people
}

// emit prints what was found in the form that was asked for.
func (a *app) emit(o outputs, s shown) error {
	switch {
	case o.forPeople():
		return s.table()
	case o.Output != "jsonl" || s.lines == nil:
		return o.write(a.Stdout, s.whole)
	}
	for all, i := reflect.ValueOf(s.lines), 0; i < all.Len(); i++ {
		if err := o.write(a.Stdout, all.Index(i).Interface()); err != nil {
			return err
		}
	}
	return nil
}

// entry prints one value of a stream that has no end to wait for: json as one
// object after another, yaml as one document after another. line shows it to people.
func (o outputs) entry(w io.Writer, v any, line func() error) error {
	if o.forPeople() {
		return line()
	}
	if o.Output == "yaml" {
		if _, err := io.WriteString(w, "---\n"); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return o.write(w, v)
}

// write writes one value in a form for programs.
func (o outputs) write(w io.Writer, v any) error {
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

// forPeople says whether a table was asked for, so that talk about it helps.
func (o outputs) forPeople() bool { return o.Output == "table" }

// writeJSON writes a value and ends the line. What a terminal would obey is
// escaped, which to a program is the same; JSON itself only does so with some of it.
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

// escapeJSON writes every character that acts as \u…. In a JSON document there are
// none but within strings, the line feeds of its own layout aside; and none of them
// is beyond what four digits can say.
func escapeJSON(doc []byte) []byte {
	var out []byte // what was looked at; nil: nothing acts so far
	done := 0      // so much of doc is in it
	for i := 0; i < len(doc); {
		if c := doc[i]; c >= ' ' && c < 0x7f || c == '\n' {
			i++
			continue
		}
		r, size := utf8.DecodeRune(doc[i:])
		if r == utf8.RuneError || harmful(r) {
			out = append(out, doc[done:i]...)
			if r == utf8.RuneError {
				out = append(out, "\ufffd"...) // for what is no UTF-8, which metadata may be
			} else {
				out = append(out, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
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
