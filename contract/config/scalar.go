package config

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// check is what a text must be like.
type check struct {
	fault func(s string) (fault, hint string) // what is wrong with it, or ""
	shape func(s *schema)                     // says the same in a schema, as far as that can
}

// text is a text that is not empty.
func (d *decoder) text(into *string, checks ...check) part {
	standard := *into
	return part{
		read: func(n *node, path string) {
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

// visible is the pattern of a text that is more than white space.
const visible = `\S`

// given returns a text, or nil for an empty one.
func given(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (d *decoder) passes(n *node, path string, checks []check) bool {
	for _, c := range checks {
		if fault, hint := c.fault(n.text); fault != "" {
			d.add(n.at, hint, "%s: %s", path, fault)
			return false
		}
	}
	return true
}

// scalars are the types of JSON that written reads.
func scalars() kinds { return kinds{"string", "number", "boolean"} }

// prose is a text that may be empty.
func (d *decoder) prose(into *string) part {
	return part{
		read: func(n *node, path string) {
			if n.kind == nothing {
				return
			}
			if s, ok := d.written(n, path); ok {
				*into = s
			}
		},
		shape: func() *schema { return orNothing(&schema{Type: scalars()}) },
		write: func() any { return given(*into) },
	}
}

// oneOf is one of a few words.
func oneOf[T ~string](d *decoder, into *T, words ...T) part {
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
			d.text(&s, isKnown).read(n, path)
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
func (d *decoder) flag(into *bool) part {
	standard := *into
	return part{
		read: func(n *node, path string) {
			if n.kind != boolean {
				hint := "true or false"
				if n.kind == text && (n.text == "true" || n.text == "false") {
					hint = "leave out the quotes"
				}
				d.wrongType(n, path, boolean, hint)
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

// count is a whole number of at least least. Below that it stands for: not given.
func (d *decoder) count(into *int, least int) part {
	set := func(v int) any {
		if v < least {
			return nil
		}
		return v
	}
	standard := *into
	return part{
		read: func(n *node, path string) { d.readCount(n, path, into, least) },
		shape: func() *schema {
			return &schema{Type: kinds{"integer"}, Minimum: &least, Maximum: mostCount, Default: set(standard)}
		},
		write: func() any { return set(*into) },
	}
}

func (d *decoder) readCount(n *node, path string, into *int, least int) {
	if n.kind != integer || !wholeNumber().MatchString(n.text) {
		hint := "write it in digits"
		if n.kind == text && wholeNumber().MatchString(n.text) {
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
