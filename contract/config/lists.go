package config

import (
	"fmt"
	"path"
	"strings"

	"sett/blackboard"
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
			r.readOnce(n, path, into, func(item *node, s string) (string, bool) {
				if strings.TrimSpace(s) == "" {
					r.add(item.at, "'*' stands for all types", "%s: an empty artefact type", path)
					return "", false
				}
				return s, true
			})
		},
		shape: func() *schema {
			return orNothing(&schema{Type: kinds{"array"}, Unique: true, Default: []string{},
				Items: &schema{Type: scalars(), Pattern: visible}})
		},
		write: func() any { return append([]string{}, *into...) },
	}
}

// names is a list of artefact types, each once, without patterns. An empty value is none.
func (r *reader) names(into *[]string) part {
	p := r.types(into)
	p.read = func(n *node, path string) {
		r.readOnce(n, path, into, func(item *node, s string) (string, bool) {
			switch {
			case strings.TrimSpace(s) == "":
				r.add(item.at, "name a type, such as TerraformCode", "%s: an empty artefact type", path)
			case strings.Contains(s, "*"):
				r.add(item.at, "write each type out", "%s: %s is a pattern, and only names of types are read", path, quote(s))
			case s == blackboard.TypeGoalDefined:
				r.add(item.at, "take it out", "%s: only a goal is a GoalDefined", path)
			default:
				return s, true
			}
			return "", false
		})
	}
	p.shape = func() *schema {
		return orNothing(&schema{Type: kinds{"array"}, Unique: true, Default: []string{},
			Items: &schema{Type: scalars(), Pattern: `^[^*]*[^\s*][^*]*$`}})
	}
	return p
}

// nameOrNames is one artefact type, or a list of them.
func (r *reader) nameOrNames(into *[]string) part {
	p := r.names(into)
	return part{
		read: func(n *node, path string) {
			if n.kind == text {
				n = &node{kind: list, at: n.at, items: []*node{n}}
			}
			p.read(n, path)
		},
		shape: func() *schema {
			return &schema{AnyOf: []*schema{{Type: scalars(), Pattern: `^[^*]*[^\s*][^*]*$`}, p.shape()}}
		},
		write: func() any {
			switch len(*into) {
			case 0:
				return nil
			case 1:
				return (*into)[0]
			}
			return *into
		},
	}
}

// paths is a list of files and folders of the repository, each once. An empty value is
// none.
func (r *reader) paths(into *[]string) part {
	return part{
		read: func(n *node, path string) {
			r.readOnce(n, path, into, func(item *node, s string) (string, bool) { return r.inRepository(item, path, s) })
		},
		shape: func() *schema {
			return orNothing(&schema{Type: kinds{"array"}, Unique: true,
				Items: &schema{Type: scalars(), Pattern: `^[^/]`}})
		},
		write: func() any {
			if len(*into) == 0 {
				return nil
			}
			return *into
		},
	}
}

// inRepository cleans a path from the root of the repository, and refuses all others.
func (r *reader) inRepository(item *node, key, s string) (string, bool) {
	const hint = "a path from the repository's root, such as agents/lib"
	file := path.Clean(s)
	switch {
	case strings.TrimSpace(s) == "":
		r.add(item.at, hint, "%s: an empty path", key)
	case path.IsAbs(s):
		r.add(item.at, hint, "%s: %s is no path in the repository", key, quote(s))
	case outside(file):
		r.add(item.at, "copy the file into the repository", "%s: %s leads out of the repository", key, quote(s))
	case file == ".":
		r.add(item.at, "name the files and folders that programs use", "%s: %s is the whole repository", key, quote(s))
	default:
		return file, true
	}
	return "", false
}

// readOnce reads a list of scalars in which each may be once, in the form that check
// returns. It leaves out those that check has refused.
func (r *reader) readOnce(n *node, path string, into *[]string, check func(item *node, s string) (string, bool)) {
	switch n.kind {
	case nothing:
		return
	case list:
	default:
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
		if !ok {
			continue
		}
		value, ok := check(item, s)
		switch before := first[value]; {
		case !ok:
		case before != nil:
			r.add(item.at, fmt.Sprintf("it is first in line %d; keep one of them", before.at.line),
				"%s names %s twice", path, quote(s))
		default:
			first[value] = item
			r.typeAt(path, value, item.at)
			*into = append(*into, value)
		}
	}
}
