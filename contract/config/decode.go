package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"sett/contract/spelling"
)

// decoder reads a file into a Config and reports its errors.
type decoder struct {
	*reporter
	read         *reader
	runtime      string     // overrides the file's; empty: it does not
	otherwise    string     // the runtime where neither says one; empty: docker
	saysRuntime  *string    // set to the file's own; nil: nobody asks
	saysEmbedded *bool      // set to whether the file says it; nil: nobody asks
	warnings     *[]Warning // is set to the doubts; nil: nobody asks
	doubts       []Warning
	faulty       []string // paths of lists that had a fault, and so may lack an item
}

// newDecoder returns a decoder that reports problems of the file.
func newDecoder(file, source string) *decoder {
	report := newReporter(file, source)
	return &decoder{reporter: report, read: &reader{reporter: report}}
}

// reader reads values of each kind, and sections of them.
type reader struct {
	*reporter
	places map[string][]string // the sections that know a key; made for the first unknown key
	named  map[string]position // of names of types, by the path of their list and the name
}

// typeAt notes the place of a type's name.
func (r *reader) typeAt(path, name string, at position) {
	if r.named == nil {
		r.named = map[string]position{}
	}
	r.named[path+"\x00"+name] = at
}

// object reads a mapping with a fixed set of keys, and returns its keys. A misspelt
// key counts as the nearest known key, so that no message calls that one missing. An
// empty value counts as an empty mapping.
func (r *reader) object(n *node, path string, fields ...field) map[string]*node {
	keys := map[string]*node{}
	for _, e := range r.mapping(n, path) {
		if strings.HasPrefix(e.key.text, extension) {
			continue
		}
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == e.key.text })
		if i < 0 {
			known := make([]string, len(fields))
			for i, f := range fields {
				known[i] = f.key
			}
			hint := r.elsewhere(e.key.text)
			if hint == "" {
				hint = didYouMean(e.key.text, known)
			}
			r.add(e.key.at, hint, "unknown key %s%s", quote(e.key.text), in(path))
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

// mapping returns the entries of a mapping, each key once.
func (r *reader) mapping(n *node, path string) []entry {
	if n.kind == nothing {
		return nil
	}
	if n.kind != mapping {
		r.wrongType(n, path, mapping, "")
		return nil
	}
	first := map[string]*node{}
	entries := make([]entry, 0, len(n.entries))
	for _, e := range n.entries {
		if before := first[e.key.text]; before != nil {
			r.add(e.key.at, fmt.Sprintf("it is first in line %d; keep one of them", before.at.line),
				"duplicate key %s%s", quote(e.key.text), in(path))
			continue
		}
		first[e.key.text] = e.key
		entries = append(entries, e)
	}
	return entries
}

func (r *reader) wrongType(n *node, path string, want kind, hint string) {
	switch n.kind {
	case broken:
	case nothing:
		r.add(n.at, "give it a value or leave it out", "%s has no value", place(path))
	default:
		r.add(n.at, hint, "%s must be %s, not %s", place(path), want, n.kind)
	}
}

// clean refuses text that neither a process's environment nor JSON can carry.
func (r *reader) clean(n *node, path string) bool {
	switch {
	case strings.ContainsRune(n.text, 0):
		r.add(n.at, "", "%s contains a NUL character", path)
	case !utf8.ValidString(n.text):
		r.add(n.at, "", "%s is not valid UTF-8", path)
	default:
		return true
	}
	return false
}

// written reads any scalar as written, quoted or not.
func (r *reader) written(n *node, path string) (string, bool) {
	switch n.kind {
	case text, integer, number, boolean:
		return n.text, r.clean(n, path)
	}
	r.wrongType(n, path, text, "")
	return "", false
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
