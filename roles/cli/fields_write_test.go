package cli

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// field is one of an object, as encoding/json names it.
type field struct {
	name     string
	of       reflect.Type
	optional bool
	in       reflect.Type // the struct that has it
	goName   string
}

// fieldsIn returns the fields of a struct, those of embedded ones in their place.
func fieldsIn(of reflect.Type) []field {
	var all []field
	hidden := map[string]bool{}
	for f := range of.Fields() {
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case f.Anonymous && tag == "":
			all = append(all, fieldsIn(f.Type)...)
		case !f.IsExported() || name == "-":
		case f.Type == reflect.TypeFor[*struct{}](): // only there to hide one that is embedded
			hidden[name] = true
		default:
			all = append(all, field{name, f.Type, strings.Contains(options, "omit"), of, f.Name})
		}
	}
	return slices.DeleteFunc(all, func(f field) bool { return hidden[f.name] })
}

// text describes the objects, each nested one once.
func (p printed) text(t *testing.T, source *comments) string {
	if p.notes != "" {
		return p.notes + "\n"
	}
	var out strings.Builder
	var nested []reflect.Type
	for i, o := range p.objects {
		if o.title != "" {
			out.WriteString(strings.Repeat("\n", min(i, 1)) + o.title + "\n")
		}
		if o.of != nil {
			out.WriteString(described(t, source, o.of, &nested))
		}
	}
	named := map[string]reflect.Type{}
	for i := 0; i < len(nested); i++ {
		name := objectNames[nested[i]]
		if same := named[name]; same != nil {
			t.Errorf("sett %s: both %v and %v are called %s", p.command, same, nested[i], name)
		}
		named[name] = nested[i]
		out.WriteString("\n" + name + "\n" + described(t, source, nested[i], &nested))
	}
	return out.String()
}

// described writes an object's fields, a line each or more, and gathers the objects in
// them.
func described(t *testing.T, source *comments, of reflect.Type, nested *[]reflect.Type) string {
	const width = 80
	var rows [][3]string
	var widths [2]int
	for _, f := range fieldsIn(of) {
		row := [3]string{f.name, wordFor(t, f.of, nested), source.of(f)}
		if f.optional {
			row[0] += "?"
		} else if f.of.Kind() == reflect.Pointer {
			row[1] += " or null"
		}
		for i := range widths {
			widths[i] = max(widths[i], len(row[i]))
		}
		rows = append(rows, row)
	}
	var out strings.Builder
	for _, row := range rows {
		head := fmt.Sprintf("  %-*s  %-*s  ", widths[0], row[0], widths[1], row[1])
		for _, line := range wrapped(row[2], width-len(head)) {
			out.WriteString(strings.TrimRight(head+line, " ") + "\n")
			head = strings.Repeat(" ", len(head))
		}
	}
	return out.String()
}

// wrapped breaks a text into lines; one at least.
func wrapped(text string, width int) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		if *last != "" && len(*last)+1+len(word) > width {
			lines = append(lines, word)
			continue
		}
		*last = strings.TrimPrefix(*last+" "+word, " ")
	}
	return lines
}

// wordFor says in a word what a value is.
func wordFor(t *testing.T, of reflect.Type, nested *[]reflect.Type) string {
	switch {
	case of == reflect.TypeFor[time.Time]():
		return "time"
	case of == reflect.TypeFor[json.RawMessage]():
		return "any JSON"
	}
	switch of.Kind() {
	case reflect.Pointer:
		return wordFor(t, of.Elem(), nested)
	case reflect.Slice:
		return "list of " + wordFor(t, of.Elem(), nested)
	case reflect.Map:
		return "map to " + wordFor(t, of.Elem(), nested)
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "bool"
	case reflect.Struct:
		if objectNames[of] == "" {
			t.Errorf("give %v a name", of)
		}
		if !slices.Contains(*nested, of) {
			*nested = append(*nested, of)
		}
		return objectNames[of]
	}
	return "number"
}
