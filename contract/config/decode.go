package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sett/contract/spelling"
)

// decoder reads nodes into a Config and reports what does not fit.
type decoder struct {
	*reporter
	runtime string // overrides the file's; empty: it does not
}

// reader reads a node into something. The path names the node in messages.
type reader func(n *node, path string)

// field is a key that a mapping may have.
type field struct {
	key  string
	read reader
}

// object reads a mapping with a fixed set of keys and returns the keys that were
// there. A misspelt key counts as the one it was meant to be, so that it is not
// reported as missing, too. An empty value counts as an empty mapping.
func (d *decoder) object(n *node, path string, fields ...field) map[string]*node {
	keys := map[string]*node{}
	for _, e := range d.mapping(n, path) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == e.key.text })
		if i < 0 {
			known := make([]string, len(fields))
			for i, f := range fields {
				known[i] = f.key
			}
			d.add(e.key.at, didYouMean(e.key.text, known), "unknown key %s%s", quote(e.key.text), in(path))
			if meant := spelling.Nearest(e.key.text, known); keys[meant] == nil {
				keys[meant] = e.key
			}
			continue
		}
		keys[e.key.text] = e.key
		fields[i].read(e.value, join(path, e.key.text))
	}
	return keys
}

// section is a reader for object.
func (d *decoder) section(fields ...field) reader {
	return func(n *node, path string) { d.object(n, path, fields...) }
}

// mapping returns the entries of a mapping, each key once.
func (d *decoder) mapping(n *node, path string) []entry {
	if n.kind == nothing {
		return nil
	}
	if n.kind != mapping {
		d.wrongType(n, path, mapping, "")
		return nil
	}
	first := map[string]*node{}
	entries := make([]entry, 0, len(n.entries))
	for _, e := range n.entries {
		if before := first[e.key.text]; before != nil {
			d.add(e.key.at, fmt.Sprintf("it is first in line %d; keep one of them", before.at.line),
				"duplicate key %s%s", quote(e.key.text), in(path))
			continue
		}
		first[e.key.text] = e.key
		entries = append(entries, e)
	}
	return entries
}

func (d *decoder) wrongType(n *node, path string, want kind, hint string) {
	switch n.kind {
	case broken:
	case nothing:
		d.add(n.at, "give it a value or leave it out", "%s has no value", place(path))
	default:
		d.add(n.at, hint, "%s must be %s, not %s", place(path), want, n.kind)
	}
}

// check looks at a text and says what is wrong with it, or "".
type check func(s string) (fault, hint string)

// text reads a text that is not empty.
func (d *decoder) text(into *string, checks ...check) reader {
	return func(n *node, path string) {
		if n.kind != text {
			hint := ""
			if n.kind == integer || n.kind == number || n.kind == boolean {
				hint = "put it in quotes: \"" + n.text + "\""
			}
			d.wrongType(n, path, text, hint)
			return
		}
		if strings.TrimSpace(n.text) == "" {
			d.add(n.at, "give it a value or leave it out", "%s is empty", path)
			return
		}
		if d.clean(n, path) && d.passes(n, path, checks) {
			*into = n.text
		}
	}
}

func (d *decoder) passes(n *node, path string, checks []check) bool {
	for _, c := range checks {
		if fault, hint := c(n.text); fault != "" {
			d.add(n.at, hint, "%s: %s", path, fault)
			return false
		}
	}
	return true
}

// clean refuses what neither a process's environment nor JSON can carry.
func (d *decoder) clean(n *node, path string) bool {
	switch {
	case strings.ContainsRune(n.text, 0):
		d.add(n.at, "", "%s contains a NUL character", path)
	case !utf8.ValidString(n.text):
		d.add(n.at, "", "%s is not valid UTF-8", path)
	default:
		return true
	}
	return false
}

// written reads any scalar as it is written; whether it is quoted makes no
// difference.
func (d *decoder) written(n *node, path string) (string, bool) {
	switch n.kind {
	case text, integer, number, boolean:
		return n.text, d.clean(n, path)
	}
	d.wrongType(n, path, text, "")
	return "", false
}

// prose reads a text that may be empty.
func (d *decoder) prose(into *string) reader {
	return func(n *node, path string) {
		if n.kind == nothing {
			return
		}
		if s, ok := d.written(n, path); ok {
			*into = s
		}
	}
}

// oneOf reads one of a few words.
func oneOf[T ~string](d *decoder, into *T, words ...T) reader {
	known := make([]string, len(words))
	for i, w := range words {
		known[i] = string(w)
	}
	return func(n *node, path string) {
		var s string
		d.text(&s, func(s string) (string, string) {
			if slices.Contains(known, s) {
				return "", ""
			}
			return "unknown value " + quote(s), didYouMean(s, known)
		})(n, path)
		if s != "" {
			*into = T(s)
		}
	}
}

// flag reads true or false.
func (d *decoder) flag(into *bool) reader {
	return func(n *node, path string) {
		if n.kind != boolean {
			hint := "true or false"
			if n.kind == text && (n.text == "true" || n.text == "false") {
				hint = "leave out the quotes"
			}
			d.wrongType(n, path, boolean, hint)
			return
		}
		*into = strings.EqualFold(n.text, "true")
	}
}

var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// count reads a whole number of at least least.
func (d *decoder) count(into *int, least int) reader {
	return func(n *node, path string) {
		if n.kind != integer || !wholeNumber.MatchString(n.text) {
			hint := "write it in digits"
			if n.kind == text && wholeNumber.MatchString(n.text) {
				hint = "leave out the quotes"
			}
			if n.kind == integer {
				d.add(n.at, hint, "%s must be a decimal number: %s", path, quote(n.text))
				return
			}
			d.wrongType(n, path, integer, hint)
			return
		}
		v, err := strconv.ParseInt(n.text, 10, 32)
		switch {
		case err != nil:
			d.add(n.at, "", "%s is out of range: %s", path, quote(n.text))
		case int(v) < least:
			d.add(n.at, "", "%s must be at least %d, not %d", path, least, v)
		default:
			*into = int(v)
		}
	}
}

// words reads a list of scalars, the first of which is not empty: a program and
// its arguments.
func (d *decoder) words(into *[]string) reader {
	return func(n *node, path string) {
		if n.kind != list {
			hint := ""
			if n.kind == text {
				hint = "write a list, program first: [\"sh\", \"-c\", \"…\"] where a shell is meant"
			}
			d.wrongType(n, path, list, hint)
			return
		}
		var words []string
		for i, item := range n.items {
			word, ok := d.written(item, fmt.Sprintf("%s[%d]", path, i))
			if !ok {
				return
			}
			words = append(words, word)
		}
		if len(words) == 0 || strings.TrimSpace(words[0]) == "" {
			d.add(n.at, "the first item is the program: [\"/app/run.sh\"]", "%s names no program", path)
			return
		}
		*into = words
	}
}

func join(path, key string) string {
	if utf8.RuneCountInString(key) > 60 {
		key = string([]rune(key)[:60]) + "…"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// in is the end of a message about a key.
func in(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}

// place names the value at a path.
func place(path string) string {
	if path == "" {
		return "the file"
	}
	return path
}
