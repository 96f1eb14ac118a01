package config

import (
	"fmt"
	"strings"
)

// words is a list of scalars: a program, which is not empty, and its arguments.
func (r *reader) words(into *[]string) part {
	return part{
		read: func(n *node, path string) { r.readWords(n, path, into) },
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

func (r *reader) readWords(n *node, path string, into *[]string) {
	if n.kind != list {
		hint := ""
		if n.kind == text {
			hint = "write a list, program first: [\"sh\", \"-c\", \"…\"] where a shell is meant"
		}
		r.wrongType(n, path, list, hint)
		return
	}
	var words []string
	for i, item := range n.items {
		word, ok := r.written(item, fmt.Sprintf("%s[%d]", path, i))
		if !ok {
			return
		}
		words = append(words, word)
	}
	if len(words) == 0 || strings.TrimSpace(words[0]) == "" {
		r.add(n.at, "the first item is the program: [\"/app/run.sh\"]", "%s names no program", path)
		return
	}
	*into = words
}

// types is a list of artefact type patterns, each once. An empty value is none.
func (r *reader) types(into *[]string) part {
	return part{
		read: func(n *node, path string) {
			if n.kind != nothing {
				r.readTypes(n, path, into)
			}
		},
		shape: func() *schema {
			return orNothing(&schema{Type: kinds{"array"}, Unique: true, Default: []string{},
				Items: &schema{Type: scalars(), Pattern: visible}})
		},
		write: func() any { return append([]string{}, *into...) },
	}
}

func (r *reader) readTypes(n *node, path string, into *[]string) {
	if n.kind != list {
		hint := ""
		if n.kind == text {
			hint = "write a list: [" + n.text + "]"
		}
		r.wrongType(n, path, list, hint)
		return
	}
	first := map[string]*node{}
	for i, item := range n.items {
		s, ok := r.written(item, fmt.Sprintf("%s[%d]", path, i))
		before := first[s]
		switch {
		case !ok:
		case strings.TrimSpace(s) == "":
			r.add(item.at, "'*' stands for all types", "%s: an empty artefact type", path)
		case before != nil:
			r.add(item.at, fmt.Sprintf("it is first in line %d; keep one of them", before.at.line),
				"%s names %s twice", path, quote(s))
		default:
			first[s] = item
			*into = append(*into, s)
		}
	}
}
