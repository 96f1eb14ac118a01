package config

import (
	"fmt"
	"strings"
)

// words is a list of scalars, the first of which is not empty: a program and its
// arguments.
func (d *decoder) words(into *[]string) part {
	return part{
		read: func(n *node, path string) { d.readWords(n, path, into) },
		shape: func() *schema {
			return &schema{Type: kinds{"array"}, MinItems: 1, Items: &schema{Type: scalars()},
				PrefixItems: []*schema{{Type: scalars(), Pattern: visible}}}
		},
		write: func() any {
			if *into == nil {
				return nil
			}
			return *into
		},
	}
}

func (d *decoder) readWords(n *node, path string, into *[]string) {
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

// types is a list of artefact type patterns, each once. Nothing is none.
func (d *decoder) types(into *[]string) part {
	return part{
		read: func(n *node, path string) {
			if n.kind != nothing {
				d.readTypes(n, path, into)
			}
		},
		shape: func() *schema {
			return orNothing(&schema{Type: kinds{"array"}, Unique: true, Default: []string{},
				Items: &schema{Type: scalars(), Pattern: visible}})
		},
		write: func() any { return append([]string{}, *into...) },
	}
}

func (d *decoder) readTypes(n *node, path string, into *[]string) {
	if n.kind != list {
		hint := ""
		if n.kind == text {
			hint = "write a list: [" + n.text + "]"
		}
		d.wrongType(n, path, list, hint)
		return
	}
	first := map[string]*node{}
	for i, item := range n.items {
		s, ok := d.written(item, fmt.Sprintf("%s[%d]", path, i))
		before := first[s]
		switch {
		case !ok:
		case strings.TrimSpace(s) == "":
			d.add(item.at, "'*' stands for all types", "%s: an empty artefact type", path)
		case before != nil:
			d.add(item.at, fmt.Sprintf("it is first in line %d; keep one of them", before.at.line),
				"%s names %s twice", path, quote(s))
		default:
			first[s] = item
			*into = append(*into, s)
		}
	}
}
