package config

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// check is a condition of a text.
type check struct {
	fault func(s string) (fault, hint string) // the fault of the text, or ""
	shape func(s *schema)                     // adds the same condition to a schema, as far as possible
}

// text is a text that is not empty.
func (r *reader) text(into *string, checks ...check) part {
	standard := *into
	return part{
		read: func(n *node, path string) {
			if n.kind != text {
				hint := ""
				if n.kind == integer || n.kind == number || n.kind == boolean {
					hint = "put it in quotes: \"" + n.text + "\""
				}
				r.wrongType(n, path, text, hint)
				return
			}
			if strings.TrimSpace(n.text) == "" {
				r.add(n.at, "give it a value or leave it out", "%s is empty", path)
				return
			}
			if r.clean(n, path) && r.passes(n, path, checks) {
				*into = n.text
			}
		},
		shape: func() *schema {
			s := &schema{Type: kinds{"string"}, Pattern: visible}
			for _, c := range checks {
				c.shape(s)
			}
			s.Default = given(standard)
			return s
		},
		write: func() any { return given(*into) },
	}
}

// visible is the pattern of a text with more than white space.
const visible = `\S`

// given returns a text, or nil for an empty one.
func given(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (r *reader) passes(n *node, path string, checks []check) bool {
	for _, c := range checks {
		if fault, hint := c.fault(n.text); fault != "" {
			r.add(n.at, hint, "%s: %s", path, fault)
			return false
		}
	}
	return true
}

// scalars are the types of JSON that written reads.
func scalars() kinds { return kinds{"string", "number", "boolean"} }

// prose is a text that may be empty.
func (r *reader) prose(into *string) part {
	return part{
		read: func(n *node, path string) {
			if n.kind == nothing {
				return
			}
			if s, ok := r.written(n, path); ok {
				*into = s
			}
		},
		shape: func() *schema { return orNothing(&schema{Type: scalars()}) },
		write: func() any { return given(*into) },
	}
}

// oneOf is one of a few words.
func oneOf[T ~string](r *reader, into *T, words ...T) part {
	known := make([]string, len(words))
	for i, w := range words {
		known[i] = string(w)
	}
	standard := string(*into)
	isKnown := check{
		fault: func(s string) (string, string) {
			if slices.Contains(known, s) {
				return "", ""
			}
			return "unknown value " + quote(s), didYouMean(s, known)
		},
	}
	return part{
		read: func(n *node, path string) {
			var s string
			r.text(&s, isKnown).read(n, path)
			if s != "" {
				*into = T(s)
			}
		},
		shape: func() *schema {
			s := &schema{Type: kinds{"string"}, Default: given(standard)}
			for _, w := range known {
				s.Enum = append(s.Enum, w)
			}
			return s
		},
		write: func() any { return given(string(*into)) },
	}
}

// flag is true or false.
func (r *reader) flag(into *bool) part {
	standard := *into
	return part{
		read: func(n *node, path string) {
			if n.kind != boolean {
				hint := "true or false"
				if n.kind == text && (n.text == "true" || n.text == "false") {
					hint = "leave out the quotes"
				}
				r.wrongType(n, path, boolean, hint)
				return
			}
			*into = strings.EqualFold(n.text, "true")
		},
		shape: func() *schema { return &schema{Type: kinds{"boolean"}, Default: standard} },
		write: func() any { return *into },
	}
}

var wholeNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`) })

// mostCount is the largest number that count reads.
const mostCount = 1<<31 - 1

// count is a whole number, at least least. A smaller value stands for no value.
func (r *reader) count(into *int, least int) part {
	set := func(v int) any {
		if v < least {
			return nil
		}
		return v
	}
	standard := *into
	return part{
		read: func(n *node, path string) { r.readCount(n, path, into, least) },
		shape: func() *schema {
			return &schema{Type: kinds{"integer"}, Minimum: &least, Maximum: mostCount, Default: set(standard)}
		},
		write: func() any { return set(*into) },
	}
}

// atMost bounds a count.
func atMost(r *reader, most int, p part, into *int) part {
	read, shape := p.read, p.shape
	p.read = func(n *node, path string) {
		if read(n, path); *into > most {
			r.add(n.at, "", "%s must be at most %d, not %d", path, most, *into)
		}
	}
	p.shape = func() *schema {
		s := shape()
		s.Maximum = most
		return s
	}
	return p
}

func (r *reader) readCount(n *node, path string, into *int, least int) {
	if n.kind != integer || !wholeNumber().MatchString(n.text) {
		hint := "write it in digits"
		if n.kind == text && wholeNumber().MatchString(n.text) {
			hint = "leave out the quotes"
		}
		if n.kind == integer {
			r.add(n.at, hint, "%s must be a decimal number: %s", path, quote(n.text))
			return
		}
		r.wrongType(n, path, integer, hint)
		return
	}
	v, err := strconv.ParseInt(n.text, 10, 32)
	switch {
	case err != nil:
		r.add(n.at, "", "%s is out of range: %s", path, quote(n.text))
	case int(v) < least:
		r.add(n.at, "", "%s must be at least %d, not %d", path, least, v)
	default:
		*into = int(v)
	}
}
