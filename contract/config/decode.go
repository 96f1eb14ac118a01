package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"sett/contract/spelling"
)

// decoder reads nodes into a Config and reports what does not fit.
type decoder struct {
	*reporter
	runtime     string              // overrides the file's; empty: it does not
	otherwise   string              // the runtime where neither says one; empty: docker
	saysRuntime *bool               // set to whether the file has one; nil: nobody asks
	places      map[string][]string // which sections know a key; made when somebody is to be told
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
			hint := d.elsewhere(e.key.text)
			if hint == "" {
				hint = didYouMean(e.key.text, known)
			}
			d.add(e.key.at, hint, "unknown key %s%s", quote(e.key.text), in(path))
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
